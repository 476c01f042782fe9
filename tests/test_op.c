#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/op.h"

struct job {
	struct op op;
	int *cancelled;
};

static void
job_cancel(struct op *op)
{
	struct job *job = (struct job *)op;

	(*job->cancelled)++;
	mem_free(job);
}

static const struct op_type job_type = { "job", job_cancel };

static struct op *
job_start(int *cancelled)
{
	struct job *job = mem_alloc(sizeof(*job));

	job->cancelled = cancelled;
	op_init(&job->op, &job_type);
	return &job->op;
}

static void
cancel_calls_the_implementer_once_and_clears_the_handle(void **state)
{
	(void)state;
	int cancelled = 0;
	struct op *op = job_start(&cancelled);

	assert_int_equal(op_live(), 1);
	op_cancel(&op);
	op_cancel(&op);
	assert_null(op);
	assert_int_equal(cancelled, 1);
	assert_int_equal(op_live(), 0);
}

static void
cancelling_nothing_is_allowed(void **state)
{
	(void)state;
	struct op *op = NULL;

	op_cancel(&op);
	op_cancel(NULL);
	assert_int_equal(op_live(), 0);
}

static void
a_finished_op_is_no_longer_counted(void **state)
{
	(void)state;
	int cancelled = 0;
	struct op *op = job_start(&cancelled);

	op_finish(op);
	assert_int_equal(op_live(), 0);
	assert_int_equal(cancelled, 0);
	mem_free(op);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cancel_calls_the_implementer_once_and_clears_the_handle),
		cmocka_unit_test(cancelling_nothing_is_allowed),
		cmocka_unit_test(a_finished_op_is_no_longer_counted),
	};

	return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
