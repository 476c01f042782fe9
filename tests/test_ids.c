#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/ids.h"

static void
hex_ids_have_the_length_asked_for_and_differ(void **state)
{
	(void)state;
	char a[ID_HEX_MAX], b[ID_HEX_MAX];

	for (size_t n = 0; n <= 64; n++) {
		memset(a, '!', sizeof(a));
		ids_hex(a, n);
		assert_int_equal(strlen(a), n);
		assert_int_equal(strspn(a, "0123456789abcdef"), n);
	}
	ids_hex(b, 64);
	assert_string_not_equal(a, b);
}

static void
sha256_of_abc_is_the_published_value(void **state)
{
	(void)state;
	char hex[2 * SHA256_LEN + 1];

	ids_sha256_hex("abc", 3, hex);	/* FIPS 180-2, appendix B.1 */
	assert_string_equal(hex,
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void
equal_compares_every_byte(void **state)
{
	(void)state;

	assert_true(ids_equal("abc", "abc", 3));
	assert_false(ids_equal("abc", "abd", 3));
	assert_false(ids_equal("xbc", "abc", 3));
	assert_true(ids_equal("abc", "abd", 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hex_ids_have_the_length_asked_for_and_differ),
		cmocka_unit_test(sha256_of_abc_is_the_published_value),
		cmocka_unit_test(equal_compares_every_byte),
	};

	return cmocka_run_group_tests_name("ids", tests, NULL, NULL);
}
