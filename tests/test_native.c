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
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/real_native.h"

static const struct native_opts defaults = { .network = "none" };

/* SKIP, not a pass, where the machine allows no namespaces. */
static int
setup(void **state)
{
	struct nat *nat = mem_alloc(sizeof(*nat));

	if (!nat_start(nat, &defaults, NULL))
		fail_msg("%s", nat->error);
	if (!nat_probe(nat)) {
		fprintf(stderr, "# skipped: %s\n", nat->error);
		*state = NULL;
		nat_stop(nat);
		mem_free(nat);
		return 0;
	}
	if (!nat_open(nat))
		fail_msg("%s", nat->error);
	*state = nat;
	return 0;
}

static int
teardown(void **state)
{
	struct nat *nat = *state;

	if (nat)
		nat_stop(nat);
	mem_free(nat);
	return 0;
}

#define NAT(state) ({ if (!*(state)) skip(); (struct nat *)*(state); })

static void
expect(struct nat *nat, const char *script, int code, const char *out)
{
	struct nat_run run;

	nat_run(nat, &run, script);
	if (run.error[0])
		fail_msg("%s", run.error);
	if (nat_exit_code(&run) != code || (out && strcmp(run.out.data, out) != 0))
		fail_msg("`%s` gave %d and \"%s\"", script, nat_exit_code(&run),
			run.out.data);
	nat_run_done(&run);
}

static void
the_probe_tells_what_is_in_force(void **state)
{
	struct nat *nat = NAT(state);

	assert_string_equal(nat->props.level, "full");
	assert_string_equal(nat->props.why, "");
	assert_int_equal(nat->props.isolation, SANDBOX_ISOLATED);
	assert_non_null(strstr(nat->props.limits, "256 processes"));
	assert_string_equal(nat->props.workspace, "/workspace");
}

static void
exit_codes_come_through(void **state)
{
	struct nat *nat = NAT(state);

	expect(nat, "exit 0", 0, "");
	expect(nat, "exit 7", 7, "");
	expect(nat, "exit 255", 255, "");
	expect(nat, "nosuchprogram", 127, NULL);
	expect(nat, "/etc/hosts", 126, NULL);
}

static void
signals_of_its_own_end_a_command_as_anywhere(void **state)
{
	struct nat *nat = NAT(state);

	expect(nat, "kill -TERM $$", 128 + SIGTERM, "");
	expect(nat, "kill -ABRT $$", 128 + SIGABRT, "");
	expect(nat, "kill -KILL $$", 128 + SIGKILL, "");
	expect(nat, "bash -c 'kill -TERM $$'; exit $?", 143, NULL);
	expect(nat, "bash -c 'kill -ABRT $$'; exit $?", 134, NULL);
	expect(nat, "trap 'echo caught; exit 3' TERM; kill -TERM $$", 3, "caught\n");
}

static void
the_surroundings_are_those_that_are_promised(void **state)
{
	struct nat *nat = NAT(state);

	expect(nat, "pwd; id -un; id -u; hostname; echo $HOME; umask", 0,
		"/workspace\nsandbox\n1000\nsandbox\n/workspace\n0022\n");
	expect(nat, "ls /proc/self/fd | tr '\\n' ' '", 0, "0 1 2 3 ");
	expect(nat, "cat; read -r x; echo end", 0, "end\n");
	expect(nat, "ls /; cat /sys/* /run/* 2>/dev/null; ls -A /tmp /home", 0, NULL);
	expect(nat, "cd /tmp && echo x > f && cat f && mkfifo p && ls", 0, "x\nf\np\n");
	expect(nat, "echo a > /dev/stdout; echo b >/dev/stderr; echo c >/dev/null", 0,
		"a\nb\n");
	expect(nat, "[ -c /dev/tty ] && [ -d /dev/pts ] && head -c3 /dev/zero | wc -c",
		0, "3\n");
	expect(nat, "for i in 0 1; do echo $i; done < <(echo sub)", 0, "0\n1\n");
}

static void
the_workspace_and_tmp_last_from_command_to_command(void **state)
{
	struct nat *nat = NAT(state);

	expect(nat, "echo one > file; echo two > /tmp/file", 0, "");
	expect(nat, "cat file /tmp/file", 0, "one\ntwo\n");
	nat_close(nat);
	assert_true(nat_open(nat));
	expect(nat, "cat file; cat /tmp/file 2>/dev/null", 1, "one\n");
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
	assert_int_equal(real_count("ghtest-native-inside"), 0);
}

static void
a_background_tree_lives_on_while_others_come_and_go(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run bg, run;

	nat_spawn(nat, &bg, "setsid sleep 300 & exit 0", NAT_KEEP, NULL);
	assert_true(real_until(&nat->real, &bg.exited));
	for (int i = 0; i < 3; i++)
		expect(nat, "echo hi; sleep 300 & exit 0", 0, "hi\n");
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
		assert_int_equal(real_count("ghtest-native-inside"), 0);
	}
	expect(nat, "echo still here", 0, "still here\n");
}

static void
a_tree_of_two_hundred_dies_and_dead_means_dead(void **state)
{
	struct nat *nat = NAT(state);
	struct nat_run run;

	nat_spawn(nat, &run, "trap '' TERM HUP\nfor i in $(seq 66); do "
		"(setsid bash -c 'trap \"\" TERM; sleep 300 & sleep 300' &); done; "
		"echo up; sleep 300", 0, NULL);
	while (real_count("ghtest-native-inside") < 199)
		real_turn(&nat->real, 10);
	nat_kill(&run);
	assert_true(real_until(&nat->real, &run.dead));
	assert_int_equal(real_count("ghtest-native-inside"), 0);
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
	expect(nat, "echo other", 0, "other\n");
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
	assert_int_equal(real_count("ghtest-native-inside"), 0);
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
	assert_true(real_none_left("ghtest-native-inside"));
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

	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct nat nat;
		struct nat_run run;
		setenv("TMPDIR", outer->state, 1);	/* cleared up with it */
		if (!nat_start(&nat, &defaults, NULL) || !nat_open(&nat))
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
	while (real_count("ghtest-native-inside") < 2)
		usleep(5000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(real_none_left("ghtest-native-inside"));
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
	real_turn(&nat->real, 100);
	assert_int_equal(real_children(launcher_pid(nat->real.launcher)), 0);
	assert_true(nat_open(nat));
	expect(nat, "echo fine", 0, "fine\n");
}

static void
a_workspace_that_is_a_link_out_is_refused(void **state)
{
	struct nat *nat = NAT(state);
	CLEANUP_FREE char *link = mem_printf("%s/link", nat->state);

	nat_close(nat);
	assert_int_equal(symlink("/etc", link), 0);
	mem_free(nat->workspace);
	nat->workspace = mem_str(link);
	assert_false(nat_open(nat));
	assert_non_null(strstr(nat->error, "link"));
	assert_int_equal(unlink(link), 0);
}

static void
refusals_name_cause_and_cure(void **state)
{
	struct nat nat;
	struct native_opts net = { .network = "bridge" };
	struct native_bind state_bind = { "/", "/host", false };
	struct native_bind dev_bind = { "/dev", "/data/dev", false };
	struct native_bind etc_bind = { "/usr/share", "/etc/x", false };
	struct native_opts binds = { .binds = &state_bind, .nbinds = 1 };

	(void)state;
	assert_false(nat_start(&nat, &net, NULL));
	assert_non_null(strstr(nat.error, "none"));
	nat_stop(&nat);
	assert_false(nat_start(&nat, &defaults, "debian:12"));
	assert_non_null(strstr(nat.error, "directory"));
	nat_stop(&nat);
	assert_false(nat_start(&nat, &defaults, "/usr/share"));
	assert_non_null(strstr(nat.error, "/bin/sh"));
	nat_stop(&nat);
	assert_false(nat_start(&nat, &binds, NULL));
	assert_non_null(strstr(nat.error, "state"));
	nat_stop(&nat);
	binds.binds = &dev_bind;
	assert_false(nat_start(&nat, &binds, NULL));
	nat_stop(&nat);
	binds.binds = &etc_bind;
	assert_false(nat_start(&nat, &binds, NULL));
	nat_stop(&nat);
}

static void
binds_are_read_only_unless_said_and_count_in_the_isolation(void **state)
{
	(void)NAT(state);
	char ro[] = "/tmp/ghbind-XXXXXX", rw[] = "/tmp/ghbind-XXXXXX";
	assert_non_null(mkdtemp(ro));
	assert_non_null(mkdtemp(rw));
	assert_int_equal(chmod(rw, 0777), 0);
	assert_int_equal(chmod(ro, 0777), 0);
	struct native_bind list[] = { { ro, "/data/ro", false }, { rw, "/data/rw", true } };
	struct native_opts opts = { .binds = list, .nbinds = 2 };
	struct nat nat;

	assert_true(nat_start(&nat, &opts, NULL));
	assert_true(nat_probe(&nat));
	assert_int_equal(nat.props.isolation, SANDBOX_ISOLATED & ~SANDBOX_NO_HOST_FILES);
	assert_true(nat_open(&nat));
	expect(&nat, "echo x > /data/rw/f && cat /data/rw/f; echo x > /data/ro/f", 1, NULL);
	CLEANUP_FREE char *made = mem_printf("%s/f", rw);
	assert_int_equal(access(made, F_OK), 0);
	unlink(made);
	nat_stop(&nat);
	rmdir(ro);
	rmdir(rw);
}

static void
limits_hold(void **state)
{
	(void)NAT(state);
	struct native_opts opts = {
		.memory_max = 192u << 20, .pids_max = 40, .files_max = 64,
		.file_size_max = 8u << 20, .tmp_max = 16u << 20,
	};
	struct nat nat;

	assert_true(nat_start(&nat, &opts, NULL));
	assert_true(nat_open(&nat));
	expect(&nat, "ulimit -n; ulimit -c", 0, "64\n0\n");
	expect(&nat, "head -c 9000000 /dev/zero > f", 128 + SIGXFSZ, NULL);
	expect(&nat, "head -c 9000000 /dev/zero > f; stat -c %s f", 0, NULL);
	expect(&nat, "for i in 1 2 3; do head -c 7000000 /dev/zero > /tmp/$i || exit 9; done",
		9, NULL);
	expect(&nat, "n=$(for i in $(seq 60); do sleep 0.5 & done 2>&1 | "
		"grep -c unavailable); [ $n -gt 0 ] && exit 9", 9, NULL);
	struct nat_run run;
	nat_run(&nat, &run, "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo got");
	assert_null(strstr(run.out.data, "got"));
	nat_run_done(&run);
	nat_close(&nat);
	assert_true(nat_open(&nat));
	expect(&nat, "echo fine", 0, "fine\n");
	nat_stop(&nat);
}

/* Root's tests run once more as somebody else. */
/* The helper, opened by root: the tree may lie where that user cannot look. */
static int
hand_over_helper(void)
{
	char path[64];
	int fd = open(getenv("GATEHOUSE_HELPER"), O_RDONLY);

	if (fd < 0 || mem_format(path, sizeof(path), "/proc/%d/fd/%d",
	    (int)getpid(), fd) < 0)
		return -1;
	return setenv("GATEHOUSE_HELPER", path, 1);
}

static int
again_as_ordinary_user(char **argv)
{
	if (geteuid() != 0 || getenv("GATEHOUSE_TEST_AGAIN"))
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		if (hand_over_helper() < 0 ||
		    setgroups(0, NULL) < 0 || setresgid(12345, 12345, 12345) < 0 ||
		    setresuid(12345, 12345, 12345) < 0 ||
		    setenv("GATEHOUSE_TEST_AGAIN", "1", 1) < 0)
			_exit(2);
		/* Its own TAP would confuse ours: to stderr. */
		dup2(2, 1);
		setenv("CMOCKA_MESSAGE_OUTPUT", "STDOUT", 1);
		execv("/proc/self/exe", argv);
		_exit(2);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return status;
}

static char **program_argv;

static void
all_of_this_holds_for_an_ordinary_user(void **state)
{
	(void)state;
	if (geteuid() != 0 || getenv("GATEHOUSE_TEST_AGAIN"))
		skip();
	assert_int_equal(again_as_ordinary_user(program_argv), 0);
}

int
main(int argc, char **argv)
{
#define REAL(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
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
		REAL(a_workspace_that_is_a_link_out_is_refused),
		cmocka_unit_test(refusals_name_cause_and_cure),
		REAL(binds_are_read_only_unless_said_and_count_in_the_isolation),
		REAL(limits_hold),
		cmocka_unit_test(all_of_this_holds_for_an_ordinary_user),
	};

	(void)argc;
	program_argv = argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
