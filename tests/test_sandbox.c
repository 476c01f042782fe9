/* The shared half on the hand-moved clock, over a backend that can be broken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/procs.h"
#include "tests/fake_backend.h"
#include "tests/loop_sim.h"
#include "tests/tmpdir.h"

static const struct sandbox_key key = { "main", "chat:1", SANDBOX_MESSAGING };
static struct loop *loop;
static struct sandboxes *sb;
static unsigned alarms;

struct ran {
	struct op *op;
	unsigned calls;
	int code;
	char output[2048], error[512], note[1024], cwd[256], process[32];
	bool started, lost;
	msec_t at;
};

static void
keep(char *to, size_t size, const char *from)
{
	assert_int_equal(mem_copy_str(to, size, from ? from : ""), 0);
}

static void
on_done(void *arg, const struct sandbox_result *res)
{
	struct ran *r = arg;

	r->op = NULL;
	r->calls++;
	r->code = res->exit_code;
	keep(r->output, sizeof(r->output), res->output);
	keep(r->error, sizeof(r->error), res->error);
	keep(r->note, sizeof(r->note), res->note);
	keep(r->cwd, sizeof(r->cwd), res->cwd);
	keep(r->process, sizeof(r->process), res->process_id);
	r->started = res->started;
	r->lost = res->lost;
	r->at = loop_now(loop);
}

static void
on_alarm(void *arg, const char *key_text, const char *text)
{
	(void)arg;
	assert_string_equal(key_text, "main/messaging/chat:1");
	assert_non_null(strstr(text, "5 s"));
	alarms++;
}

static void
begin_cmd(struct ran *r, const struct sandbox_cmd *cmd)
{
	char *text CLEANUP_FREE = sandbox_key_text(&key);
	struct permit_terms terms = { .command = cmd->command,
		.command_len = cmd->command_len, .sandbox = text,
		.workdir = cmd->workdir, .background = cmd->background,
		.isolation = sandbox_props(sb, key.owner).isolation };
	struct permit *permit = permit_issue(&terms);

	memset(r, 0, sizeof(*r));
	r->op = sandbox_run(sb, &key, cmd, &permit, NULL, on_done, r);
	assert_null(permit);
	assert_int_equal(r->calls, 0);
}

static void
begin(struct ran *r, const char *command)
{
	struct sandbox_cmd cmd = { .command = command,
		.command_len = strlen(command) };

	begin_cmd(r, &cmd);
}

static void
run(struct ran *r, const char *command)
{
	begin(r, command);
	sim_advance(loop, 1000);
	assert_int_equal(r->calls, 1);
}

static void
make(uint64_t seed, msec_t lifetime)
{
	struct sandbox_opts opts = { .messaging_backend = "fake",
		.console_backend = "fake", .state_dir = tmpdir_make(),
		.instance_id = "test", .lifetime_ms = lifetime,
		.timeout_ms = 60000, .timeout_max_ms = 600000,
		.output_max = 1000 };
	struct err err = { ERR_NONE, "" };

	loop = loop_sim_new(seed);
	alarms = 0;
	sb = sandboxes_new(loop, NULL, NULL, &opts, &err);
	assert_non_null(sb);
	sandboxes_on_alarm(sb, on_alarm, NULL);
}

static void
on_flag(void *arg)
{
	*(bool *)arg = true;
}

static void
end(void)
{
	bool closed = false;
	struct op *op = sandboxes_close(sb, on_flag, &closed);

	(void)op;
	sim_advance(loop, 11000);
	assert_true(closed);
	assert_int_equal(fake.procs, 0);
	assert_int_equal(fake.boxes, 0);
	sandboxes_free(&sb);
	assert_int_equal(op_live(), 0);
	assert_int_equal(permit_live(), 0);
	loop_free(&loop);	/* refuses while a timer is left */
	tmpdir_remove();
}

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

/* ---- what persists -------------------------------------------------------------------- */

static void
give(const char *text, size_t len)
{
	fake.plan.giveback = text;
	fake.plan.giveback_len = len;
}

static void
what_is_given_back_is_what_comes_next(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
#define GIVE(s) give(s, sizeof(s) - 1)
	GIVE("P/srv/x\n\0Edeclare -x A=\"b\"\ndeclare -x PATH=\"/evil\"\n\0.");
	run(&r, "one");
	assert_string_equal(r.cwd, "/srv/x");
	fake.plan.giveback = NULL;
	run(&r, "two");		/* the record had no end: nothing was kept */
	assert_null(strstr(fake.last_script, "/srv/x"));
	assert_null(strstr(fake.last_env, "\nA=b\n"));
	GIVE("P/srv/x\n\0Edeclare -x A=\"b\"\ndeclare -x PATH=\"/evil\"\n\0.\0");
	run(&r, "three");
	fake.plan.giveback = NULL;
	run(&r, "four");
	assert_non_null(strstr(fake.last_script, "cd -- '/srv/x'"));
	assert_non_null(strstr(fake.last_env, "\nA=b\n"));
	assert_null(strstr(fake.last_env, "evil"));
	GIVE("D\0P/workspace\n\0E\0.\0");
	run(&r, "five");
	assert_non_null(strstr(r.note, "/srv/x no longer exists"));
	fake.plan.giveback = NULL;
	sandbox_reset(sb, &key);
	run(&r, "six");
	assert_null(strstr(fake.last_env, "\nA=b\n"));
	GIVE("X\0");
	run(&r, "seven");
	assert_int_equal(r.code, SANDBOX_EXIT_DIR);
	assert_false(r.started);
#undef GIVE
	fake.plan.giveback = NULL;
	end();
}

static void
a_cancelled_command_gives_nothing_back(void **state)
{
	static const char given[] = "P/evil\n\0E\0.\0";
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	give(given, sizeof(given) - 1);
	begin(&r, "one");
	sim_advance(loop, 2);
	op_cancel(&r.op);
	sim_advance(loop, 1000);
	fake.plan.giveback = NULL;
	run(&r, "two");
	assert_null(strstr(fake.last_script, "/evil"));
	end();
}

/* ---- background, idle ---------------------------------------------------------------- */

static void
background(struct ran *r)
{
	struct sandbox_cmd cmd = { .command = "serve", .command_len = 5,
		.background = true };

	begin_cmd(r, &cmd);
}

static void
background_belongs_to_the_session_once_started(void **state)
{
	struct ran r;
	struct json *list;

	(void)state;
	for (msec_t ms = 0; ms < 6; ms++) {
		fake_reset();
		make(1, 0);
		run(&r, "warm");
		fake.plan.run_ms = -1;
		background(&r);
		sim_advance(loop, ms);
		bool told = r.calls;
		op_cancel(&r.op);
		sim_advance(loop, 100);
		list = sandbox_processes(sb, &key);
		assert_int_equal(json_len(list), told);
		assert_int_equal(fake.procs, told);
		if (told)
			assert_string_equal(json_get_str(json_at(list, 0),
			    "session_id", ""), r.process);
		json_free(&list);
		sandbox_end_processes(sb, &key);
		sim_advance(loop, 100);
		assert_int_equal(fake.procs, 0);
		end();
	}
}

static void
background_processes_are_bounded(void **state)
{
	struct ran r;
	struct json *list;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	for (int i = 0; i < 70; i++) {	/* ended ones make room */
		background(&r);
		sim_advance(loop, 100);
		assert_int_equal(r.code, 0);
	}
	list = sandbox_processes(sb, &key);
	assert_int_equal(json_len(list), 64);
	json_free(&list);
	fake.plan.run_ms = -1;
	for (int i = 0; i < 64; i++) {
		background(&r);
		sim_advance(loop, 100);
		assert_int_equal(r.code, 0);
	}
	background(&r);
	sim_advance(loop, 100);
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	end();
}

static void
idle_it_is_closed_and_its_things_stay(void **state)
{
	static const char given[] = "P/srv\n\0Eexport A='b'\n\0.\0";
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 60000);
	give(given, sizeof(given) - 1);
	run(&r, "one");
	fake.plan.giveback = NULL;
	sim_advance(loop, 58000);
	assert_int_equal(fake.boxes, 1);
	sim_advance(loop, 62000);
	assert_int_equal(fake.boxes, 0);
	run(&r, "two");
	assert_int_equal(fake.opens, 2);
	assert_int_equal(fake.spawns, 3);	/* no second snapshot */
	assert_non_null(strstr(fake.last_env, "\nA=b\n"));
	assert_non_null(strstr(fake.last_script, "cd -- '/srv'"));
	end();
}

static void
time_asleep_counts_at_the_moment_of_use(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 60000);
	run(&r, "one");
	sim_suspend(loop, 3600000);
	run(&r, "two");
	assert_int_equal(r.code, 0);
	assert_int_equal(fake.closes, 1);
	assert_int_equal(fake.opens, 2);
	end();
}

static void
background_keeps_it_open_and_zero_means_never(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	make(1, 60000);
	run(&r, "one");
	fake.plan.run_ms = -1;
	background(&r);
	sim_advance(loop, 600000);
	assert_int_equal(fake.boxes, 1);
	fake.plan.run_ms = 1;
	sim_suspend(loop, 600000);
	run(&r, "two");
	assert_int_equal(fake.procs, 1);
	assert_int_equal(fake.opens, 1);
	sandbox_end_processes(sb, &key);
	sim_advance(loop, 130000);
	assert_int_equal(fake.boxes, 0);
	end();
	fake_reset();
	make(1, 0);
	run(&r, "one");
	sim_advance(loop, 100000000);
	assert_int_equal(fake.boxes, 1);
	end();
}

static void
many_wait_and_all_are_answered(void **state)
{
	struct ran r[64], over;

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		fake_reset();
		make(seed, 0);
		for (size_t i = 0; i < ARRAY_LEN(r); i++)
			begin(&r[i], "echo");
		begin(&over, "echo");
		for (size_t i = 0; i < ARRAY_LEN(r); i += 3)
			op_cancel(&r[i].op);
		sim_advance(loop, 1000);
		for (size_t i = 0; i < ARRAY_LEN(r); i++)
			assert_int_equal(r[i].calls, i % 3 != 0);
		assert_int_equal(over.code, SANDBOX_EXIT_REFUSED);
		assert_int_equal(fake.opens, 1);
		end();
	}
}

static void
a_full_disk_ends_what_eats_it(void **state)
{
	const uint64_t gib = 1 << 30;
	struct ran r, ate, waits;

	(void)state;
	fake_reset();
	make(1, 0);
	run(&r, "warm");
	fake.disk = (struct disk_space){ .free = 3 * gib, .total = 10 * gib };
	fake.plan.run_ms = -1;
	background(&r);
	begin(&ate, "dd");
	sim_advance(loop, 3000);
	fake.disk.free = gib + 1;
	sim_advance(loop, 3000);
	assert_int_equal(ate.calls, 0);
	fake.disk.free = gib - 1;
	sim_advance(loop, 2500);
	assert_int_equal(ate.calls, 1);
	assert_int_equal(ate.code, 137);
	assert_true(ate.started);
	assert_non_null(strstr(ate.error, "disk is nearly full"));
	assert_int_equal(fake.procs, 0);
	/* Low from the start: nobody here ate it. */
	begin(&waits, "ls");
	sim_advance(loop, 9000);
	assert_int_equal(waits.calls, 0);
	op_cancel(&waits.op);
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
		cmocka_unit_test(what_is_given_back_is_what_comes_next),
		cmocka_unit_test(a_cancelled_command_gives_nothing_back),
		cmocka_unit_test(background_belongs_to_the_session_once_started),
		cmocka_unit_test(background_processes_are_bounded),
		cmocka_unit_test(idle_it_is_closed_and_its_things_stay),
		cmocka_unit_test(time_asleep_counts_at_the_moment_of_use),
		cmocka_unit_test(background_keeps_it_open_and_zero_means_never),
		cmocka_unit_test(many_wait_and_all_are_answered),
		cmocka_unit_test(a_full_disk_ends_what_eats_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
