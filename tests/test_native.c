/*
 * The native sandbox, real: as whoever runs the tests, and once more as an
 * ordinary user when that is root (see main).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/real_native.h"

static void
the_probe_tells_what_is_in_force(void **state)
{
	struct nat *nat = NAT(state);

	assert_string_equal(nat->props.level, "full");
	assert_string_equal(nat->props.why, "");
	assert_int_equal(nat->props.isolation, SANDBOX_ISOLATED);
	assert_non_null(strstr(nat->props.limits, "256 processes"));
	assert_non_null(strstr(nat->props.limits, "cpu "));
	assert_non_null(strstr(nat->props.limits, "workspaces of 10240 MiB"));
	assert_string_equal(nat->props.workspace, "/workspace");
}

static void
exit_codes_come_through(void **state)
{
	struct nat *nat = NAT(state);

	nat_expect(nat, "exit 0", 0, "");
	nat_expect(nat, "exit 7", 7, "");
	nat_expect(nat, "exit 255", 255, "");
	nat_expect(nat, "nosuchprogram", 127, NULL);
	nat_expect(nat, "/etc/hosts", 126, NULL);
}

static void
signals_of_its_own_end_a_command_as_anywhere(void **state)
{
	struct nat *nat = NAT(state);

	nat_expect(nat, "kill -TERM $$", 128 + SIGTERM, "");
	nat_expect(nat, "kill -ABRT $$", 128 + SIGABRT, "");
	nat_expect(nat, "kill -KILL $$", 128 + SIGKILL, "");
	nat_expect(nat, "bash -c 'kill -TERM $$'; exit $?", 143, NULL);
	nat_expect(nat, "bash -c 'kill -ABRT $$'; exit $?", 134, NULL);
	nat_expect(nat, "trap 'echo caught; exit 3' TERM; kill -TERM $$", 3, "caught\n");
}

static void
the_surroundings_are_those_that_are_promised(void **state)
{
	struct nat *nat = NAT(state);

	nat_expect(nat, "pwd; id -un; id -u; hostname; echo $HOME; umask", 0,
		"/workspace\nsandbox\n1000\nsandbox\n/workspace\n0022\n");
	nat_expect(nat, "ls /proc/self/fd | tr '\\n' ' '", 0, "0 1 2 3 ");
	nat_expect(nat, "cat; read -r x; echo end", 0, "end\n");
	nat_expect(nat, "ls /; cat /sys/* /run/* 2>/dev/null; ls -A /tmp /home", 0, NULL);
	nat_expect(nat, "cd /tmp && echo x > f && cat f && mkfifo p && ls", 0, "x\nf\np\n");
	nat_expect(nat, "echo a > /dev/stdout; echo b >/dev/stderr; echo c >/dev/null", 0,
		"a\nb\n");
	nat_expect(nat, "[ -c /dev/tty ] && [ -d /dev/pts ] && head -c3 /dev/zero | wc -c",
		0, "3\n");
	nat_expect(nat, "for i in 0 1; do echo $i; done < <(echo sub)", 0, "0\n1\n");
}

static void
the_workspace_and_tmp_last_from_command_to_command(void **state)
{
	struct nat *nat = NAT(state);

	nat_expect(nat, "echo one > file; echo two > /tmp/file", 0, "");
	nat_expect(nat, "cat file /tmp/file", 0, "one\ntwo\n");
	nat_close(nat);
	assert_true(nat_open(nat));
	nat_expect(nat, "cat file; cat /tmp/file 2>/dev/null", 1, "one\n");
}

static void
stdout_and_stderr_apart_and_input_given(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;

	nat_spawn(nat, &run, "cat; echo oops >&2", NAT_SPLIT, "given\n");
	assert_true(real_until(&nat->real, &run.dead));
	assert_string_equal(run.out.data, "given\n");
	assert_string_equal(run.err.data, "oops\n");
	nat_run_done(&run);
}

static void
what_is_written_to_the_giveback_descriptor_comes_back_once_and_whole(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;

	nat_spawn(nat, &run, "head -c 100000 /dev/zero >&3; echo done",
		NAT_RAW, NULL);
	assert_true(real_until(&nat->real, &run.dead));
	assert_int_equal(run.given.len, 100000);
	assert_string_equal(run.out.data, "done\n");
	nat_run_done(&run);
	/* More than any environment: the shell isn't blocked, and none is kept. */
	nat_spawn(nat, &run, "head -c 3000000 /dev/zero >&3; echo done",
		NAT_RAW, NULL);
	assert_true(real_until(&nat->real, &run.dead));
	assert_int_equal(run.given.len, 0);
	assert_string_equal(run.out.data, "done\n");
	nat_run_done(&run);
}

static void
a_script_far_over_the_argv_limit_runs(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;
	CLEANUP_FREE char *script = mem_alloc(700 * 1024 + 64);

	memset(script, 'x', 700 * 1024);
	memcpy(script, "echo ", 5);
	memcpy(script + 700 * 1024, " | wc -c\n", 10);
	nat_run(nat, &run, script);
	assert_string_equal(run.out.data, "716796\n");
	nat_run_done(&run);
}

static void
leftovers_are_counted_and_a_held_pipe_does_not_hold_the_end(void **state)
{
	static const char *const scripts[] = {
		"sleep 300 &", "(sleep 300 &)", "true | setsid sleep 300 &",
		"nohup sleep 300 &", "sleep 300 </dev/null >/dev/null &",
	};
	struct nat *nat = NAT(state);
	struct nat_run run;

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		CLEANUP_FREE char *script = mem_printf("%s\nsleep 0.05; exit 4", scripts[i]);
		nat_run(nat, &run, script);
		assert_int_equal(nat_exit_code(&run), 4);
		assert_int_equal(run.leftovers, 1);
		nat_run_done(&run);
	}
	assert_int_equal(real_count(nat_mark()), 0);
}

static void
a_background_tree_lives_on_while_others_come_and_go(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run bg, run;

	nat_spawn(nat, &bg, "setsid sleep 300 & exit 0", NAT_KEEP, NULL);
	assert_true(real_until(&nat->real, &bg.exited));
	for (int i = 0; i < 3; i++)
		nat_expect(nat, "echo hi; sleep 300 & exit 0", 0, "hi\n");
	nat_spawn(nat, &run, "sleep 300", 0, NULL);
	assert_true(real_until(&nat->real, &run.started));
	nat_kill(&run);
	assert_true(real_until(&nat->real, &run.dead));
	nat_run_done(&run);
	assert_false(bg.dead);
	nat_kill(&bg);
	assert_true(real_until(&nat->real, &bg.dead));
	assert_string_equal(bg.error, "");
	nat_run_done(&bg);
}

static void
cancel_at_any_moment_leaves_nothing(void **state)
{
	static const int after[] = { 0, 1, 2, 5, 10 };
	struct nat *nat = NAT(state);
	struct nat_run run;

	for (int i = 0; i < 100; i++) {
		nat_spawn(nat, &run, "trap '' TERM; setsid sleep 60 & sleep 60", 0, NULL);
		if (after[i % 5])
			real_turn(&nat->real, after[i % 5]);
		nat_kill(&run);
		assert_true(real_until(&nat->real, &run.dead));
		nat_run_done(&run);
		assert_int_equal(real_count(nat_mark()), 0);
	}
	nat_expect(nat, "echo still here", 0, "still here\n");
}

static void
a_tree_of_two_hundred_dies_and_dead_means_dead(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;

	nat_spawn(nat, &run, "trap '' TERM HUP\nfor i in $(seq 66); do "
		"(setsid bash -c 'trap \"\" TERM; sleep 300 & sleep 300' &); done; "
		"echo up; sleep 300", 0, NULL);
	while (real_count(nat_mark()) < 199)
		real_turn(&nat->real, 10);
	nat_kill(&run);
	assert_true(real_until(&nat->real, &run.dead));
	assert_int_equal(real_count(nat_mark()), 0);
	nat_run_done(&run);
}

static void
commands_run_side_by_side_and_do_not_see_each_other(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run[8];

	for (int i = 0; i < 8; i++)
		nat_spawn(nat, &run[i], "sleep 0.2; set -- /proc/[0-9]*; echo $#", 0, NULL);
	for (int i = 0; i < 8; i++) {
		assert_true(real_until(&nat->real, &run[i].dead));
		/* Its PID 1 and its shell. */
		assert_string_equal(run[i].out.data, "2\n");
		nat_run_done(&run[i]);
	}
}

static void
a_flood_is_held_back_by_the_reader_and_others_go_on(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run flood;

	nat_spawn(nat, &flood, "yes | head -c 1000000000", 0, NULL);
	assert_true(real_until(&nat->real, &flood.started));
	backend_native.flow(flood.proc, false);
	real_turn(&nat->real, 50);
	size_t before = flood.out.len;
	nat_expect(nat, "echo other", 0, "other\n");
	/* At most the pipe's own buffer was read after the stop. */
	assert_true(flood.out.len == before);
	backend_native.flow(flood.proc, true);
	nat_kill(&flood);
	assert_true(real_until(&nat->real, &flood.dead));
	nat_run_done(&flood);
}

static void
more_commands_than_there_is_room_for_are_told_so(void **state)
{
	struct nat *nat = NAT(state);
	static struct nat_run run[65];
	bool refused = false;

	for (int i = 0; i < 65; i++)
		nat_spawn(nat, &run[i], "sleep 300", 0, NULL);
	assert_true(real_until(&nat->real, &run[64].dead));
	assert_string_not_equal(run[64].error, "");
	for (int i = 0; i < 64; i++)
		refused = refused || run[i].dead;
	assert_false(refused);
	nat_close(nat);
	for (int i = 0; i < 65; i++) {
		assert_true(run[i].dead);
		nat_run_done(&run[i]);
	}
}

static void
the_end_of_a_box_is_the_end_of_all_in_it(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run bg, fg;

	nat_spawn(nat, &bg, "setsid sleep 300 & exit 0", NAT_KEEP, NULL);
	nat_spawn(nat, &fg, "sleep 300", 0, NULL);
	assert_true(real_until(&nat->real, &bg.exited));
	nat_close(nat);
	assert_string_equal(nat->error, "");
	assert_true(bg.dead && fg.dead);
	assert_int_equal(real_count(nat_mark()), 0);
	nat_run_done(&bg);
	nat_run_done(&fg);
}

static void
the_death_of_the_launcher_ends_every_command_and_is_seen(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;

	nat_spawn(nat, &run, "sleep 300", 0, NULL);
	assert_true(real_until(&nat->real, &run.started));
	kill(launcher_pid(nat->real.launcher), SIGKILL);
	assert_true(real_until(&nat->real, &run.dead));
	assert_true(real_until(&nat->real, &nat->real.gone));
	assert_true(real_none_left(nat_mark()));
	nat_run_done(&run);
	nat_spawn(nat, &run, "true", 0, NULL);
	assert_true(real_until(&nat->real, &run.dead));
	assert_string_not_equal(run.error, "");
	nat_run_done(&run);
}

static void
kill_9_of_the_gateway_ends_the_sandbox(void **state)
{
	struct nat *outer = NAT(state);
	int pipefd[2];
	char c;

	(void)nat_mark();
	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct nat nat;
		struct nat_run run;
		setenv("TMPDIR", outer->state, 1);	/* cleared up with it */
		if (!nat_start(&nat, &nat_defaults, NULL) || !nat_open(&nat))
			_exit(1);
		nat_spawn(&nat, &run, "setsid sleep 300 & sleep 300", 0, NULL);
		real_until(&nat.real, &run.started);
		if (write(pipefd[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			real_turn(&nat.real, 1000);
	}
	close(pipefd[1]);
	assert_int_equal(read(pipefd[0], &c, 1), 1);
	close(pipefd[0]);
	while (real_count(nat_mark()) < 2)
		usleep(5000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(real_none_left(nat_mark()));
}

static void
an_open_that_is_cancelled_leaves_no_sandbox(void **state)
{
	struct nat *nat = NAT(state);
	unsigned cancelled = 0;

	nat_close(nat);
	for (int i = 0; i < 40; i++) {
		struct op *op = nat_open_start(nat);
		if (i % 4)
			real_turn(&nat->real, i % 4);
		if (nat->opened) {
			nat_close(nat);
			continue;
		}
		op_cancel(&op);
		cancelled++;
	}
	assert_true(cancelled >= 10);
	/* At once on an idle machine; a minute is a bound, not a wait. */
	for (int i = 0; i < 600 &&
	    real_children(launcher_pid(nat->real.launcher)) > 0; i++)
		real_turn(&nat->real, 100);
	assert_int_equal(real_children(launcher_pid(nat->real.launcher)), 0);
	assert_true(nat_open(nat));
	nat_expect(nat, "echo fine", 0, "fine\n");
}

static void
a_gateway_that_gave_up_its_rights_still_kills(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;

	if (geteuid() != 0)
		skip();
	assert_int_equal(setresuid(-1, 12345, -1), 0);
	nat_spawn(nat, &run, "setsid sleep 300 & sleep 300", 0, NULL);
	bool started = real_until(&nat->real, &run.started);
	nat_kill(&run);
	bool dead = real_until(&nat->real, &run.dead);
	assert_int_equal(setresuid(-1, 0, -1), 0);
	assert_true(started && dead);
	assert_int_equal(real_count(nat_mark()), 0);
	nat_run_done(&run);
}

static char **program_argv;

static void
all_of_this_holds_for_an_ordinary_user(void **state)
{
	(void)state;
	if (geteuid() != 0 || getenv("GATEHOUSE_TEST_AGAIN"))
		skip();
	assert_int_equal(nat_again(program_argv), 0);
}

int
main(int argc, char **argv)
{
#define REAL(f) cmocka_unit_test_setup_teardown(f, nat_setup, nat_teardown)
	const struct CMUnitTest tests[] = {
		REAL(the_probe_tells_what_is_in_force),
		REAL(exit_codes_come_through),
		REAL(signals_of_its_own_end_a_command_as_anywhere),
		REAL(the_surroundings_are_those_that_are_promised),
		REAL(the_workspace_and_tmp_last_from_command_to_command),
		REAL(stdout_and_stderr_apart_and_input_given),
		REAL(what_is_written_to_the_giveback_descriptor_comes_back_once_and_whole),
		REAL(a_script_far_over_the_argv_limit_runs),
		REAL(leftovers_are_counted_and_a_held_pipe_does_not_hold_the_end),
		REAL(a_background_tree_lives_on_while_others_come_and_go),
		REAL(cancel_at_any_moment_leaves_nothing),
		REAL(a_tree_of_two_hundred_dies_and_dead_means_dead),
		REAL(commands_run_side_by_side_and_do_not_see_each_other),
		REAL(a_flood_is_held_back_by_the_reader_and_others_go_on),
		REAL(more_commands_than_there_is_room_for_are_told_so),
		REAL(the_end_of_a_box_is_the_end_of_all_in_it),
		REAL(the_death_of_the_launcher_ends_every_command_and_is_seen),
		REAL(kill_9_of_the_gateway_ends_the_sandbox),
		REAL(an_open_that_is_cancelled_leaves_no_sandbox),
		REAL(a_gateway_that_gave_up_its_rights_still_kills),
		cmocka_unit_test(all_of_this_holds_for_an_ordinary_user),
	};

	(void)argc;
	program_argv = argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
