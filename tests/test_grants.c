#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "gateway/gate/grants.h"

static void
add(struct grants *g, const char *session, const char *asker, const char *rule,
    msec_t until)
{
	const struct grant grant = { session, asker, rule, "fake:9", until };

	grants_add(g, &grant);
}

/* One session, one asker, one rule: nothing else is covered. */
static void
a_grant_covers_exactly_what_it_names(void **state)
{
	struct grants *g = grants_new();

	(void)state;
	add(g, "s", "fake:1", "recursive delete", 0);
	assert_true(grants_cover(g, "s", "fake:1", "recursive delete", 5));
	assert_false(grants_cover(g, "t", "fake:1", "recursive delete", 5));
	assert_false(grants_cover(g, "s", "fake:2", "recursive delete", 5));
	assert_false(grants_cover(g, "s", "fake:1", "recursive", 5));
	assert_false(grants_cover(g, "s", "fake:1", GRANT_ALL, 5));
	add(g, "s", "fake:1", GRANT_ALL, 0);
	assert_true(grants_cover(g, "s", "fake:1", "anything", 5));
	assert_false(grants_cover(g, "s", "fake:2", "anything", 5));
	assert_int_equal(grants_forget(g, "s", "fake:1", GRANT_ALL), 1);
	assert_false(grants_cover(g, "s", "fake:1", "anything", 5));
	assert_int_equal(grants_forget(g, "s", NULL, NULL), 1);
	assert_false(grants_cover(g, "s", "fake:1", "recursive delete", 5));
	grants_free(&g);
}

static void
a_grant_ends_at_its_time(void **state)
{
	struct grants *g = grants_new();

	(void)state;
	add(g, "s", "fake:1", "x", 1000);
	assert_true(grants_cover(g, "s", "fake:1", "x", 999));
	assert_false(grants_cover(g, "s", "fake:1", "x", 1000));
	assert_false(grants_cover(g, "s", "fake:1", "x", 999));	/* gone */
	grants_free(&g);
}

static void
the_oldest_is_forgotten_and_nothing_grows(void **state)
{
	struct grants *g = grants_new();

	(void)state;
	for (int i = 0; i < 3000; i++) {
		CLEANUP_FREE char *rule = mem_printf("rule %d", i);

		add(g, "s", "fake:1", rule, 0);
		add(g, "s", "fake:1", rule, 0);
	}
	CLEANUP_JSON struct json *list = grants_list(g, NULL, 0);

	assert_int_equal(json_len(list), 1024);
	assert_false(grants_cover(g, "s", "fake:1", "rule 0", 0));
	assert_true(grants_cover(g, "s", "fake:1", "rule 2999", 0));
	grants_free(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grant_covers_exactly_what_it_names),
		cmocka_unit_test(a_grant_ends_at_its_time),
		cmocka_unit_test(the_oldest_is_forgotten_and_nothing_grows),
	};

	return cmocka_run_group_tests_name("grants", tests, NULL, NULL);
}
