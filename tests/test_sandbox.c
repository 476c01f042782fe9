/* Starts, cancels, failures and survivors, over a backend that can be broken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/sandbox_sim.h"

static void
first_command_opens_takes_the_snapshot_and_runs(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "echo out");
	assert_int_equal(r.code, 0);
	assert_string_equal(r.output, "out\n");
	assert_string_equal(r.cwd, "/workspace");
	assert_true(r.started && !r.lost);
	assert_int_equal(fake.opens, 1);
	assert_int_equal(fake.spawns, 2);
	run(&r, "echo out");
	assert_int_equal(fake.opens, 1);
	assert_int_equal(fake.spawns, 3);
	assert_non_null(strstr(fake.last_script, "'echo out'"));
	end();
}

/* At every millisecond of its life, with many orders of what falls together. */
static void
cancelled_at_any_moment_nothing_is_left(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 12; seed++) {
		for (msec_t ms = -1; ms < 40; ms++) {
			struct ran r, next;
			fake_reset();
			make(seed, 0);
			begin(&r, "sleep 1");
			if (ms >= 0)
				sim_advance(loop, ms);
			unsigned calls = r.calls;
			op_cancel(&r.op);
			begin(&next, "echo next");
			sim_advance(loop, 1000);
			assert_int_equal(r.calls, calls);
			assert_int_equal(next.calls, 1);
			assert_int_equal(next.code, 0);
			assert_int_equal(fake.procs, 0);
			assert_int_equal(alarms, 0);
			end();
		}
	}
}

static void
whatever_fails_is_told_once_and_nothing_ran(void **state)
{
	(void)state;
	/* start, probe, open, spawn of the login shell, spawn of the command */
	for (unsigned n = 1; n <= 5; n++) {
		struct ran r, next;
		fake_reset();
		fake.plan.fail_at = n;
		make(1, 0);
		run(&r, "echo out");
		assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
		assert_false(r.started || r.lost);
		assert_non_null(strstr(r.error, "fake"));
		assert_string_equal(r.output, "");
		run(&next, "echo out");
		/* What never came up stays down; the rest was bad luck. */
		assert_int_equal(next.code, n <= 2 ? SANDBOX_EXIT_REFUSED : 0);
		end();
	}
}

static void
a_backend_that_is_not_there_is_never_replaced(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	fake.plan.probe_err = "user namespaces are off; set kernel.x=1";
	make(1, 0);
	run(&r, "id");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_string_equal(r.error, fake.plan.probe_err);
	assert_false(r.started);
	assert_int_equal(fake.spawns, 0);
	assert_int_equal(fake.opens, 0);
	assert_false(sandbox_props(sb, SANDBOX_MESSAGING).available);
	assert_non_null(strstr(sandbox_describe(sb, SANDBOX_MESSAGING),
	    "kernel.x"));
	end();
}

static void
less_isolation_than_permitted_is_refused(void **state)
{
	struct ran r;
	bool probed = false;

	(void)state;
	fake_reset();
	make(1, 0);
	sandboxes_probe(sb, on_flag, &probed);
	sim_advance(loop, 10);
	assert_true(probed);
	begin(&r, "id");
	fake.props.isolation = 0;
	sim_advance(loop, 1000);
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_non_null(strstr(r.error, "isolates less"));
	assert_int_equal(fake.spawns, 0);
	end();
}

static void
a_time_out_is_the_smallest_of_what_was_said(void **state)
{
	struct sandbox_cmd cmd = { .command = "sleep", .command_len = 5 };
	static const msec_t asked[] = { 0, 500, 5000000 };
	static const msec_t want[] = { 60000, 500, 600000 };

	(void)state;
	fake_reset();
	make(1, 0);
	struct ran r;
	run(&r, "warm");
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		fake.plan.run_ms = -1;
		cmd.timeout_ms = asked[i];
		msec_t start = loop_now(loop);
		begin_cmd(&r, &cmd);
		sim_advance(loop, 700000);
		assert_int_equal(r.code, SANDBOX_EXIT_TIMEOUT);
		assert_non_null(strstr(r.output, "out\n[Command timed out after"));
		assert_in_range(r.at - start, want[i], want[i] + 20);
	}
	end();
}

static void
held_pipes_do_not_hold_the_result(void **state)
{
	struct ran r, next;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.plan.dead_ms = -1;
	fake.plan.kill_ms = 2000;
	fake.plan.leftovers = 2;
	msec_t start = loop_now(loop);
	begin(&r, "server &");
	sim_advance(loop, 400);
	assert_int_equal(r.calls, 1);
	assert_in_range(r.at - start, 300, 310);
	assert_non_null(strstr(r.note, "2 processes"));
	assert_non_null(strstr(r.note, "background: true"));
	fake.plan.dead_ms = 1;
	begin(&next, "echo");
	sim_advance(loop, 1500);
	assert_int_equal(next.calls, 0);	/* not before the first is dead */
	sim_advance(loop, 1000);
	assert_int_equal(next.calls, 1);
	end();
}

/* ---- survivors -------------------------------------------------------------------- */

static void
a_survivor_closes_the_sandbox_and_is_told_once(void **state)
{
	struct ran r, waits, next;
	struct json *status;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.plan.run_ms = fake.plan.kill_ms = -1;
	begin(&r, "deaf");
	sim_advance(loop, 50);
	op_cancel(&r.op);
	fake.plan.run_ms = 1;
	begin(&waits, "echo");
	sim_advance(loop, 4990);
	assert_int_equal(alarms, 0);
	assert_int_equal(waits.calls, 0);
	status = sandboxes_status(sb);
	assert_int_equal(json_len(status), 1);
	json_free(&status);
	sim_advance(loop, 100);
	assert_int_equal(alarms, 1);
	assert_int_equal(waits.calls, 1);
	assert_int_equal(waits.code, SANDBOX_EXIT_REFUSED);
	run(&next, "echo");
	assert_int_equal(next.code, SANDBOX_EXIT_REFUSED);
	assert_non_null(strstr(next.error, "every minute"));
	unsigned kills = fake.kills;
	sim_advance(loop, 180000);
	assert_int_equal(fake.kills, kills + 3);
	assert_int_equal(alarms, 1);
	fake_let_die();
	run(&next, "echo");
	assert_int_equal(next.code, 0);
	assert_int_equal(alarms, 1);
	status = sandboxes_status(sb);
	assert_int_equal(json_len(status), 0);
	json_free(&status);
	fake.plan.kill_ms = 1;
	end();
}

static void
a_lost_tree_means_a_new_box(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.plan.dead_code = ERR_LOST;
	run(&r, "touch x");
	assert_true(r.lost && r.started);
	assert_int_equal(r.code, -1);
	assert_non_null(strstr(r.error, "fake proc"));
	fake.plan.dead_code = ERR_NONE;
	run(&r, "echo");
	assert_int_equal(r.code, 0);
	assert_int_equal(fake.opens, 2);
	assert_int_equal(fake.closes, 1);
	end();
}

static void
a_shell_that_never_started_did_nothing(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.plan.never_starts = true;
	fake.plan.dead_code = ERR_IO;
	run(&r, "echo");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_false(r.started || r.lost);
	end();
}

static void
closing_is_bounded_whatever_survives(void **state)
{
	bool closed = false;
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.plan.run_ms = fake.plan.kill_ms = -1;
	begin(&r, "deaf");
	sim_advance(loop, 50);
	op_cancel(&r.op);
	sandboxes_close(sb, on_flag, &closed);
	sim_advance(loop, 9990);
	assert_false(closed);
	sim_advance(loop, 20);
	assert_true(closed);
	fake_let_die();
	end();
}

static void
hanging_login_files_are_ended(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	fake.plan.run_ms = -1;
	begin(&r, "echo");
	sim_advance(loop, 9000);
	assert_int_equal(r.calls, 0);
	fake.plan.run_ms = 1;
	sim_advance(loop, 2000);
	assert_int_equal(r.calls, 1);
	assert_int_equal(r.code, 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_command_opens_takes_the_snapshot_and_runs),
		cmocka_unit_test(cancelled_at_any_moment_nothing_is_left),
		cmocka_unit_test(whatever_fails_is_told_once_and_nothing_ran),
		cmocka_unit_test(a_backend_that_is_not_there_is_never_replaced),
		cmocka_unit_test(less_isolation_than_permitted_is_refused),
		cmocka_unit_test(a_time_out_is_the_smallest_of_what_was_said),
		cmocka_unit_test(held_pipes_do_not_hold_the_result),
		cmocka_unit_test(a_survivor_closes_the_sandbox_and_is_told_once),
		cmocka_unit_test(a_lost_tree_means_a_new_box),
		cmocka_unit_test(a_shell_that_never_started_did_nothing),
		cmocka_unit_test(closing_is_bounded_whatever_survives),
		cmocka_unit_test(hanging_login_files_are_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
