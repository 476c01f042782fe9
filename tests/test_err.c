#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

static void
setting_returns_failure_and_takes_no_error_too(void **state)
{
	(void)state;
	struct err err = { .code = ERR_NONE };

	assert_int_equal(err_set(&err, ERR_CONFIG, "key %s", "x"), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.text, "key x");
	assert_int_equal(err_set(NULL, ERR_CONFIG, "key"), -1);
	assert_int_equal(err_wrap(NULL, "a"), -1);
	assert_int_equal(err_set_errno(NULL, EIO, "a"), -1);
}

static void
wrapping_puts_the_outer_text_first_and_keeps_the_code(void **state)
{
	(void)state;
	struct err err;

	err_set_errno(&err, ENOENT, "open %s", "/x");
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(err_wrap(&err, "read config"), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.text,
	    "read config: open /x: No such file or directory");
	err_set_errno(&err, EIO, "write");
	assert_int_equal(err.code, ERR_IO);
}

static void
a_long_text_is_cut_between_characters_with_dots(void **state)
{
	(void)state;
	char text[1600] = "";
	struct err err;

	for (int pad = 0; pad < 4; pad++) {
		memset(text, 'a', (size_t)pad);
		text[pad] = '\0';
		while (strlen(text) < 1500)
			strncat(text, "\xF0\x9F\x98\x80", 5);
		err_set(&err, ERR_IO, "%s", text);
		size_t len = strlen(err.text);

		assert_true(len < ERR_TEXT_MAX && len > ERR_TEXT_MAX - 8);
		assert_string_equal(err.text + len - 3, "...");
		assert_true(utf8_valid(err.text, len));
		err_wrap(&err, "%s", text);
		assert_true(utf8_valid(err.text, strlen(err.text)));
	}
}

static void
bytes_that_are_no_utf8_are_replaced(void **state)
{
	(void)state;
	struct err err;

	err_set(&err, ERR_IO, "name \xFF!");
	assert_string_equal(err.text, "name \xEF\xBF\xBD!");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_returns_failure_and_takes_no_error_too),
		cmocka_unit_test(wrapping_puts_the_outer_text_first_and_keeps_the_code),
		cmocka_unit_test(a_long_text_is_cut_between_characters_with_dots),
		cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
