#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/nearest.h"

static const char *const names[] = { "allowed_users", "allow_all_users",
	"native", "docker", "local", "ssh", "run" };

static void
slips_of_the_finger_find_their_name(void **state)
{
	static const struct { const char *word, *want; } rows[] = {
		{ "alowed_users", "allowed_users" }, { "allowed_usrs", "allowed_users" },
		{ "allow_al_users", "allow_all_users" }, { "Docker", "docker" },
		{ "dokcer", "docker" }, { "locl", "local" }, { "shs", "ssh" },
		{ "rn", "run" }, { "nativ", "native" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = nearest_name(rows[i].word, names, ARRAY_LEN(names));

		assert_non_null(got);
		assert_string_equal(got, rows[i].want);
	}
}

static void
other_words_find_nothing(void **state)
{
	char longer[200];

	(void)state;
	assert_null(nearest_name("kubernetes", names, ARRAY_LEN(names)));
	assert_null(nearest_name("xyz", names, ARRAY_LEN(names)));
	assert_null(nearest_name("", names, ARRAY_LEN(names)));
	assert_null(nearest_name("docker", NULL, 0));
	for (size_t i = 0; i < sizeof(longer) - 1; i++)
		longer[i] = 'a';
	longer[sizeof(longer) - 1] = '\0';
	assert_null(nearest_name(longer, names, ARRAY_LEN(names)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_of_the_finger_find_their_name),
		cmocka_unit_test(other_words_find_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
