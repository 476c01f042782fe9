#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "sandbox/permit.h"

static const struct permit_terms base = {
	.command = "ls -l", .command_len = 5, .sandbox = "main/console/x",
	.workdir = "", .generation = 7, .isolation = 15, .background = false,
};

static void
the_same_terms_are_accepted_once(void **state)
{
	struct permit *p = permit_issue(&base);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(permit_live(), 1);
	assert_int_equal(permit_consume(&p, &base, &err), 0);
	assert_null(p);
	assert_int_equal(permit_live(), 0);
	assert_int_equal(permit_consume(&p, &base, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
}

static void
any_difference_refuses_and_ends_the_permit(void **state)
{
	struct permit_terms others[] = { base, base, base, base, base, base, base,
		base, base };

	(void)state;
	others[0].command = "ls -L";
	others[1].command_len = 4;
	others[2].sandbox = "main/console/y";
	others[3].workdir = "/tmp";
	others[4].generation = 8;
	others[5].isolation = 7;
	others[6].background = true;
	others[7].input = "y";
	others[7].input_len = 1;
	others[8].input_len = 1;	/* a zero byte is an input, too */
	others[8].input = "";
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct permit *p = permit_issue(&base);
		struct err err = { 0 };
		assert_int_equal(permit_consume(&p, &others[i], &err), -1);
		assert_int_equal(err.code, ERR_DENIED);
		assert_null(p);
		assert_int_equal(permit_live(), 0);
	}
}

static void
a_withdrawn_permit_is_gone(void **state)
{
	struct permit *p = permit_issue(&base);

	(void)state;
	permit_free(&p);
	assert_null(p);
	assert_int_equal(permit_live(), 0);
	permit_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_terms_are_accepted_once),
		cmocka_unit_test(any_difference_refuses_and_ends_the_permit),
		cmocka_unit_test(a_withdrawn_permit_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
