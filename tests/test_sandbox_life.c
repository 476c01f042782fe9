/* What persists between commands, background, idle, the disk. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/scene.h"
#include "tests/sandbox_sim.h"

static void
give(const char *text, size_t len)
{
	fake.plan.giveback = text;
	fake.plan.giveback_len = len;
}

/* Rules 4.2: the gate judged `ls`, so `ls` must not be a function there. */
static void
words_of_login_files_reach_only_isolated_commands(void **state)
{
	static const char words[] = "P/workspace\n\0E\0"
	    "Fgreet() { echo from-login; }\n\0Aalias ls='rm -r'\n\0.\0";

	(void)state;
	for (int i = 0; i < 3; i++) {
		bool isolated = i == 1;
		struct ran r;

		fake_reset();
		if (i == 0)
			fake.props.isolation = 0;
		plain_words = i == 2;	/* isolated, and judged all the same */
		give(words, sizeof(words) - 1);
		make(1, 0);
		run(&r, "ls");
		assert_int_equal(r.code, 0);
		assert_int_equal(strstr(fake.last_script, "from-login") != NULL,
		    isolated);
		assert_int_equal(strstr(fake.last_script, "alias ls") != NULL,
		    isolated);
		fake.plan.giveback = NULL;
		plain_words = false;
		end();
	}
}

static void
on_scene(void *arg, struct scene *scene)
{
	*(struct scene **)arg = scene;
}

static struct scene *
look(void)
{
	char *text CLEANUP_FREE = sandbox_key_text(&key);
	struct scene *scene = NULL;

	(void)sandbox_look(sb, text, sandbox_cwd(sb, &key), NULL, 0, on_scene,
	    &scene);
	while (!scene) {
		sim_wait(loop, 100);
		sim_run_until_idle(loop);
	}
	return scene;
}

static void
on_changed(void *arg, const struct sandbox_result *res)
{
	char **changed = arg;

	*changed = mem_str(res->changed ? res->changed : "");
	assert_int_equal(res->started, !res->changed);
}

/* Rules 4.3: between the ask and the start another command left an export. */
static void
exports_since_the_ask_refuse_the_start(void **state)
{
	static const char left[] = "P/workspace\n\0Edeclare -x A=\"b\"\n\0.\0";
	struct sandbox_cmd cmd = { .command = "echo x", .command_len = 6 };

	(void)state;
	for (int change = 0; change <= 1; change++) {
		char *text CLEANUP_FREE = sandbox_key_text(&key);
		char *changed = NULL;
		struct ran r;

		fake_reset();
		make(1, 0);
		run(&r, "warm");
		struct permit_terms terms = { .command = cmd.command,
			.command_len = cmd.command_len, .sandbox = text,
			.workdir = "", .scene = look(),
			.isolation = sandbox_props(sb, key.owner).isolation };
		struct permit *permit = permit_issue(&terms);

		if (change)
			give(left, sizeof(left) - 1);
		run(&r, "other");
		fake.plan.giveback = NULL;
		(void)sandbox_run(sb, &key, &cmd, &permit, NULL, on_changed,
		    &changed);
		for (int i = 0; i < 100 && !changed; i++) {
			sim_wait(loop, 10);
			sim_advance(loop, 100);
		}
		assert_non_null(changed);
		assert_int_equal(strstr(changed, "exported variables") != NULL,
		    change);
		mem_free(changed);
		end();
	}
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

/* Rules 5.8: over its quota, what makes it larger is ended, with the cause. */
static void
a_workspace_has_a_quota(void **state)
{
	const uint64_t mib = 1 << 20;
	struct ran r, grows;

	(void)state;
	fake_reset();
	fake.props.workspace_max = 100 * mib;
	make(1, 0);
	run(&r, "warm");
	fake.usage.bytes = 100 * mib;
	fake.plan.run_ms = -1;
	background(&r);
	begin(&grows, "dd");
	sim_advance(loop, 5000);
	assert_int_equal(grows.calls, 0);
	fake.usage.bytes++;
	sim_advance(loop, 2500);
	assert_int_equal(grows.calls, 1);
	assert_int_equal(grows.code, 137);
	assert_non_null(strstr(grows.error, "its quota is 100 MiB"));
	assert_int_equal(fake.procs, 0);
	/* What removes files, or reads, may go on; what goes on adding may not. */
	begin(&grows, "rm -r big");
	sim_advance(loop, 5000);
	fake.usage.bytes = 90 * mib;
	sim_advance(loop, 5000);
	assert_int_equal(grows.calls, 0);
	fake.usage.bytes = 101 * mib;
	sim_advance(loop, 2500);
	assert_int_equal(grows.calls, 1);
	fake.usage.bytes = 1;
	fake.too_deep = true;
	begin(&grows, "mkdir");
	sim_advance(loop, 2500);
	assert_int_equal(grows.calls, 1);
	assert_non_null(strstr(grows.error, "deeper than 512"));
	end();
}

/* One that is over between two looks is told with the next result. */
static void
short_commands_count_for_the_quota(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	fake.props.workspace_max = 1 << 20;
	make(1, 0);
	run(&r, "warm");
	sim_advance(loop, 60000);
	unsigned before = fake.measured;
	fake.usage.bytes = 2 << 20;
	run(&r, "dd");
	sim_advance(loop, 60000);
	assert_int_equal(fake.measured, before + 1);	/* nothing runs any more */
	run(&r, "ls");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.note, "its quota is 1 MiB"));
	end();
}

/* Rules 5.8: the sum of what sandboxes hold in memory is bounded. */
static void
an_idle_one_makes_way_and_a_busy_one_does_not(void **state)
{
	struct sandbox_cmd cmd = { .command = "x", .command_len = 1 };
	struct sandbox_key who = key;
	struct ran r[4];

	(void)state;
	fake_reset();
	fake.props.boxes_max = 2;	/* the fake holds no more */
	make(1, 0);
	for (size_t i = 0; i < ARRAY_LEN(r); i++) {
		const char *scopes[] = { "a", "b", "c", "d" };
		who.scope = scopes[i];
		begin_for(&r[i], &who, &cmd);
		sim_advance(loop, 1000);
		assert_int_equal(r[i].code, 0);
		assert_int_equal(r[i].calls, 1);
	}
	assert_int_equal(fake.closes, 2);
	fake.plan.run_ms = -1;
	for (size_t i = 2; i < 4; i++) {
		who.scope = i == 2 ? "c" : "d";
		begin_for(&r[i], &who, &cmd);
	}
	sim_advance(loop, 1000);
	who.scope = "a";
	begin_for(&r[0], &who, &cmd);
	sim_advance(loop, 1000);
	assert_int_equal(r[0].code, SANDBOX_EXIT_REFUSED);
	assert_non_null(strstr(r[0].error, "all of the 2 sandboxes"));
	op_cancel(&r[2].op);
	op_cancel(&r[3].op);
	sim_advance(loop, 1000);
	fake.plan.run_ms = 1;
	begin_for(&r[0], &who, &cmd);
	sim_advance(loop, 1000);
	assert_int_equal(r[0].code, 0);
	end();
}

/* Of another process, or of a restart: what is over already may be tidied up. */
static void
what_was_there_before_is_nobodys_doing(void **state)
{
	struct ran r, waits;

	(void)state;
	for (int slow = 0; slow <= 1; slow++) {
		fake_reset();
		fake.props.workspace_max = 1 << 20;
		fake.usage.bytes = 5 << 20;
		if (slow)		/* the first look takes too long */
			fake.plan.close_ms = 5000;
		make(1, 0);
		begin(&r, "rm");
		sim_advance(loop, 1500);
		assert_int_equal(r.calls, !slow);
		sim_advance(loop, 1500);
		assert_int_equal(r.calls, 1);
		fake.plan.close_ms = 2;
		fake.plan.run_ms = -1;
		begin(&waits, "rm -r");
		sim_advance(loop, 20000);
		assert_int_equal(waits.calls, 0);
		fake.usage.bytes++;
		sim_advance(loop, 2500);
		assert_int_equal(waits.calls, 1);
		assert_int_equal(waits.code, 137);
		end();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_login_files_reach_only_isolated_commands),
		cmocka_unit_test(exports_since_the_ask_refuse_the_start),
		cmocka_unit_test(what_is_given_back_is_what_comes_next),
		cmocka_unit_test(a_cancelled_command_gives_nothing_back),
		cmocka_unit_test(background_belongs_to_the_session_once_started),
		cmocka_unit_test(background_processes_are_bounded),
		cmocka_unit_test(idle_it_is_closed_and_its_things_stay),
		cmocka_unit_test(time_asleep_counts_at_the_moment_of_use),
		cmocka_unit_test(background_keeps_it_open_and_zero_means_never),
		cmocka_unit_test(many_wait_and_all_are_answered),
		cmocka_unit_test(a_full_disk_ends_what_eats_it),
		cmocka_unit_test(a_workspace_has_a_quota),
		cmocka_unit_test(short_commands_count_for_the_quota),
		cmocka_unit_test(what_was_there_before_is_nobodys_doing),
		cmocka_unit_test(an_idle_one_makes_way_and_a_busy_one_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
