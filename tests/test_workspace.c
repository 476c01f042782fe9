/* Workspaces: shared out, wiped, pruned, and what is remembered is bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/sandbox_priv.h"
#include "tests/sandbox_sim.h"
#include "tests/tmpdir.h"

#define DAY_MS 86400000LL

static struct sandboxes_pruned pruned;
static unsigned prunes;

static void
on_pruned(void *arg, const struct sandboxes_pruned *res, const struct err *err)
{
	(void)arg;
	assert_int_equal(err != NULL, res->failed > 0);
	pruned = *res;
	prunes++;
}

static void
prune(msec_t before)
{
	unsigned was = prunes;
	struct op *op = sandboxes_prune(sb, before, on_pruned, NULL);

	(void)op;
	sim_advance(loop, 1000);
	assert_int_equal(prunes, was + 1);
}

/* Directories below sandboxes/, or below its only one. */
static unsigned
count(bool inside)
{
	char path[512], first[512] = "";
	unsigned n = 0;
	struct dirent *e;

	snprintf(path, sizeof(path), "%s", tmpdir_path("sandboxes"));
	DIR *dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.') {
			n++;
			snprintf(first, sizeof(first), "%.200s/%.200s", path,
			    e->d_name);
		}
	if (dir)
		closedir(dir);
	if (!inside)
		return n;
	assert_int_equal(n, 1);
	n = 0;
	dir = opendir(first);
	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static void
run_as(struct ran *r, const char *scope)
{
	const struct sandbox_key other = { "main", scope, SANDBOX_MESSAGING };
	struct sandbox_cmd cmd = { .command = "true", .command_len = 4 };

	begin_for(r, &other, &cmd);
	sim_advance(loop, 1000);
	assert_int_equal(r->calls, 1);
	assert_int_equal(r->code, 0);
}

static void
a_wipe_ends_what_runs_and_a_new_workspace_begins(void **state)
{
	struct ran bg, fg, next;
	struct sandbox_cmd serve = { .command = "serve", .command_len = 5,
		.background = true };

	(void)state;
	fake_reset();
	make(1, 0);
	run(&fg, "warm");
	fake.plan.run_ms = -1;
	begin_cmd(&bg, &serve);
	sim_advance(loop, 100);
	begin(&fg, "long");
	sim_advance(loop, 100);
	assert_int_equal(fake.procs, 2);
	fake.plan.run_ms = 4;
	sandbox_wipe(sb, &key);
	begin(&next, "next");
	sim_advance(loop, 1000);
	assert_int_equal(fg.calls, 1);
	assert_int_equal(fg.code, 137);
	assert_non_null(strstr(fg.error, "workspace is being removed"));
	assert_int_equal(next.calls, 1);
	assert_int_equal(next.code, 0);
	assert_int_equal(fake.procs, 0);
	assert_int_equal(fake.opens, 2);	/* not in the old one */
	assert_int_equal(fake.emptied, 1);
	assert_int_equal(count(true), 2);	/* key and the new workspace */
	assert_int_equal(alarms, 0);
	end();
}

/* While something there is alive and deaf, nothing is removed under it. */
static void
a_wipe_waits_for_survivors(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.plan.run_ms = -1;
	fake.plan.kill_ms = -1;
	begin(&r, "long");
	sim_advance(loop, 100);
	sandbox_wipe(sb, &key);
	sim_advance(loop, 20000);
	assert_int_equal(alarms, 1);
	assert_int_equal(fake.emptied, 0);
	fake_let_die();
	sim_advance(loop, 1000);
	assert_int_equal(fake.emptied, 1);
	assert_int_equal(count(false), 0);
	end();
}

static void
only_what_is_old_and_unused_is_pruned(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 60000);
	run_as(&r, "a");
	run_as(&r, "b");
	sim_advance(loop, 200000);		/* both are closed */
	run_as(&r, "c");			/* in use */
	assert_int_equal(count(false), 3);
	prune(1000);
	assert_int_equal(pruned.removed, 0);
	assert_int_equal(pruned.kept, 3);
	prune(INT64_MAX);
	assert_int_equal(pruned.removed, 2);
	assert_int_equal(pruned.kept, 1);
	assert_int_equal(count(false), 1);
	run_as(&r, "a");			/* begins anew */
	assert_int_equal(count(false), 2);
	end();
}

static void
half_removed_is_removed_by_the_next_prune(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 60000);
	run(&r, "warm");
	sim_advance(loop, 200000);
	fake.plan.empty_fails = true;
	prune(INT64_MAX);
	assert_int_equal(pruned.failed, 1);
	assert_int_equal(count(true), 2);	/* key and trash */
	fake.plan.empty_fails = false;
	prune(1);				/* its age does not matter */
	assert_int_equal(pruned.removed, 1);
	assert_int_equal(count(false), 0);
	end();
}

/* Rules 3.9: nothing by age before the clocks have agreed for 10 minutes. */
static void
retention_waits_for_an_honest_clock(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	retention = 30 * DAY_MS;
	make(1, 60000);
	run(&r, "warm");
	sim_advance(loop, 130000);
	assert_int_equal(fake.boxes, 0);
	sim_set_wall(loop, loop_wall(loop) + 400 * DAY_MS);
	sim_advance(loop, 480000);		/* 10 min 10 s: it has jumped */
	assert_int_equal(count(false), 1);
	sim_advance(loop, 600000);
	assert_int_equal(count(false), 0);
	retention = 0;
	end();
}

static void
without_a_retention_nothing_goes_by_itself(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 60000);
	run(&r, "warm");
	sim_advance(loop, 400 * DAY_MS);
	assert_int_equal(count(false), 1);
	end();
}

static void
memories_of_closed_sandboxes_are_bounded(void **state)
{
	struct ran r;
	char scope[32];

	(void)state;
	fake_reset();
	make(1, 1000);
	for (int i = 0; i < 1100; i++) {
		snprintf(scope, sizeof(scope), "chat:%d", i);
		run_as(&r, scope);
		sim_advance(loop, 2000);
	}
	assert_true(sb->cells.used <= CELLS_MAX);
	assert_int_equal(count(false), 1100);	/* their files stay */
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wipe_ends_what_runs_and_a_new_workspace_begins),
		cmocka_unit_test(a_wipe_waits_for_survivors),
		cmocka_unit_test(only_what_is_old_and_unused_is_pruned),
		cmocka_unit_test(half_removed_is_removed_by_the_next_prune),
		cmocka_unit_test(retention_waits_for_an_honest_clock),
		cmocka_unit_test(without_a_retention_nothing_goes_by_itself),
		cmocka_unit_test(memories_of_closed_sandboxes_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
