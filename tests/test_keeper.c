#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/keeper.h"
#include "tests/loop_sim.h"
#include "tests/tmpdir.h"

struct told {
	int n;
	bool ok;
};

static void
on_kept(void *arg, const struct err *err)
{
	struct told *t = arg;

	t->n++;
	t->ok = !err;
}

static void
wait_for(struct loop *loop, const int *n)
{
	for (int i = 0; i < 100 && *n == 0; i++) {
		sim_wait(loop, 100);
		sim_run_until_idle(loop);
	}
}

/* Told means on disk; a cancelled one is written all the same (rules 1.7). */
static void
what_is_told_is_on_disk(void **state)
{
	struct loop *loop = loop_sim_new(1);
	struct err err;
	struct told one = { 0 }, two = { 0 };

	(void)state;
	tmpdir_make();
	tmpdir_write("config.yaml", "# mine\n");
	struct keeper *k = keeper_new(loop, tmpdir_path("config.yaml"), &err);
	struct op *gone = keeper_add(k, "rm -r a", on_kept, &one);

	(void)keeper_add(k, "rm -r b", on_kept, &two);
	op_cancel(&gone);
	wait_for(loop, &two.n);
	assert_int_equal(one.n, 0);
	assert_true(two.ok);
	CLEANUP_FREE char *text = tmpdir_read("config.yaml");

	assert_string_equal(text, "# mine\ncommand_allowlist: [\"rm -r a\", "
	    "\"rm -r b\"]\n");
	keeper_free(&k);
	loop_free(&loop);
	tmpdir_remove();
}

static void
a_file_that_cannot_be_written_is_told(void **state)
{
	struct loop *loop = loop_sim_new(1);
	struct err err;
	struct told t = { 0 };

	(void)state;
	tmpdir_make();
	tmpdir_write("config.yaml", "a:\n\tb\n");
	struct keeper *k = keeper_new(loop, tmpdir_path("config.yaml"), &err);

	(void)keeper_add(k, "rm -r a", on_kept, &t);
	wait_for(loop, &t.n);
	assert_int_equal(t.n, 1);
	assert_false(t.ok);
	keeper_free(&k);
	loop_free(&loop);
	tmpdir_remove();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_is_on_disk),
		cmocka_unit_test(a_file_that_cannot_be_written_is_told),
	};

	return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
