#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/agent/retry.h"

static struct model_result
failure(enum model_error error, msec_t after)
{
	return (struct model_result){ .error = error, .retry_after_ms = after };
}

static void
only_passing_failures_are_tried_again(void **state)
{
	(void)state;
	for (int e = MODEL_ERR_NONE; e <= MODEL_ERR_POLICY; e++) {
		struct model_result res = failure((enum model_error)e, 0);
		struct retry r;

		retry_init(&r);
		assert_int_equal(retry_next(&r, &res, 0) >= 0,
		    e == MODEL_ERR_RETRY);
	}
}

static void
waits_grow_are_spread_and_end(void **state)
{
	(void)state;
	static const msec_t longest[] = { 2000, 4000, 8000 };
	struct model_result res = failure(MODEL_ERR_RETRY, 0);
	struct retry one, other;

	retry_init(&one);
	retry_init(&other);
	assert_int_not_equal(retry_next(&one, &res, 1),
	    retry_next(&other, &res, 400));
	for (uint64_t random = 0; random < 5000; random += 7) {
		struct retry r;

		retry_init(&r);
		for (int i = 0; i < 3; i++) {
			msec_t wait = retry_next(&r, &res, random);

			assert_true(wait <= longest[i]);
			assert_true(wait >= longest[i] * 3 / 4);
		}
		assert_int_equal(retry_next(&r, &res, random), -1);
		retry_init(&r);
		assert_true(retry_next(&r, &res, random) > 0);
	}
}

static void
the_servers_wish_is_the_least(void **state)
{
	(void)state;
	struct retry r;
	struct model_result res = failure(MODEL_ERR_RETRY, 9000);

	for (uint64_t random = 0; random < 5000; random += 7) {
		retry_init(&r);
		msec_t wait = retry_next(&r, &res, random);

		assert_true(wait >= 9000 && wait <= 9500);
	}
	retry_init(&r);
	res.retry_after_ms = 3;
	assert_int_equal(retry_next(&r, &res, 0), 3);
	res.retry_after_ms = -1;
	assert_int_equal(retry_next(&r, &res, 0), -1);
}

static void
a_wait_that_no_person_sits_through_is_refused(void **state)
{
	(void)state;
	struct retry r;
	struct model_result res = failure(MODEL_ERR_RETRY, 3600000);

	retry_init(&r);
	assert_int_equal(retry_next(&r, &res, 0), -1);
	res.retry_after_ms = 200000;
	assert_int_equal(retry_next(&r, &res, 0), 200000);
	assert_int_equal(retry_next(&r, &res, 0), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_passing_failures_are_tried_again),
		cmocka_unit_test(waits_grow_are_spread_and_end),
		cmocka_unit_test(the_servers_wish_is_the_least),
		cmocka_unit_test(a_wait_that_no_person_sits_through_is_refused),
	};

	return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
