/* Real processes: what backend local and the launcher promise. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "tests/real.h"

struct run {
	bool started, exited, dead;
	pid_t pid;
	int status;
	unsigned leftovers;
	char error[512];
};

static void
on_started(void *arg, pid_t pid)
{
	struct run *run = arg;

	assert_false(run->exited || run->dead);
	run->started = true;
	run->pid = pid;
}

static void
on_exited(void *arg, int status, unsigned leftovers)
{
	struct run *run = arg;

	assert_true(run->started);
	assert_false(run->exited || run->dead);
	run->exited = true;
	run->status = status;
	run->leftovers = leftovers;
}

static void
on_dead(void *arg, const struct err *err)
{
	struct run *run = arg;

	assert_false(run->dead);
	run->dead = true;
	if (err)
		assert_int_equal(mem_copy_str(run->error, sizeof(run->error), err->text), 0);
}

static const struct child_events events = { on_started, on_exited, on_dead };

static struct child *
start(struct real *real, struct run *run, const char *script, const char *mark,
	bool keep, const int *fds, size_t nfds)
{
	CLEANUP_FREE char *env_mark = mem_printf("MARK=%s", mark);
	const char *const argv[] = { "/bin/bash", "-c", script, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", env_mark, NULL };
	static const int null_fds[] = { -1, -1, -1 };
	struct child_spec spec = {
		.argv = argv, .env = env, .cwd = "/tmp", .keep_children = keep,
		.fds = fds ? fds : null_fds, .nfds = fds ? nfds : 3,
	};
	struct err err = { ERR_NONE, "" };

	memset(run, 0, sizeof(*run));
	struct child *child = child_spawn(real->launcher, &spec, &events, run, &err);
	if (!child)
		fail_msg("%s", err.text);
	return child;
}

static char *
mark_new(void)
{
	static unsigned n;

	return mem_printf("ghtest-%d-%u-", (int)getpid(), n++);
}

static int
setup(void **state)
{
	struct real *real = mem_alloc(sizeof(*real));

	real_setup(real);
	assert_int_equal(launcher_allow_local(real->launcher, NULL, NULL), 0);
	*state = real;
	return 0;
}

static int
teardown(void **state)
{
	struct real *real = *state;

	real_teardown(real);
	mem_free(real);
	return 0;
}

static void
exit_codes_and_signals_are_told(void **state)
{
	struct real *real = *state;
	struct run run;

	start(real, &run, "exit 7", "x", false, NULL, 0);
	assert_false(run.started);	/* never from inside spawn */
	assert_true(real_until(real, &run.dead));
	assert_true(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 7);
	assert_int_equal(run.leftovers, 0);
	start(real, &run, "kill -TERM $$", "x", false, NULL, 0);
	assert_true(real_until(real, &run.dead));
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGTERM);
}

static void
what_cannot_be_executed_is_told_apart_from_an_exit_code(void **state)
{
	struct real *real = *state;
	const char *const argv[] = { "/nonexistent/program", NULL };
	const char *const env[] = { NULL };
	struct child_spec spec = { .argv = argv, .env = env, .cwd = "/" };
	struct run run = { .started = false };

	assert_non_null(child_spawn(real->launcher, &spec, &events, &run, NULL));
	assert_true(real_until(real, &run.dead));
	assert_false(run.started || run.exited);
	assert_non_null(strstr(run.error, "No such file"));
}

static void
only_the_given_descriptors_and_environment_arrive(void **state)
{
	struct real *real = *state;
	struct run run;
	int out[2];
	char text[4096];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	int fds[] = { -1, out[1], out[1], out[1] };
	start(real, &run, "echo x >/dev/stderr; echo y >&3; ls /proc/self/fd | "
		"tr '\\n' ' '; exec 3>&-; /usr/bin/env", "envmark", false, fds, 4);
	close(out[1]);
	assert_true(real_until(real, &run.dead));
	ssize_t n = read(out[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	close(out[0]);
	/* 4 is ls's own directory. */
	assert_non_null(strstr(text, "x\ny\n0 1 2 3 4 "));
	assert_non_null(strstr(text, "MARK=envmark"));
	assert_null(strstr(text, "HOME="));
	assert_null(strstr(text, "GATEHOUSE"));
}

static void
kill_reaches_double_forked_setsid_children_that_ignore_term(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;
	struct child *child = start(real, &run,
		"trap '' TERM; (setsid bash -c 'trap \"\" TERM HUP; sleep 300 & "
		"(sleep 300 &) ; setsid sleep 300 & sleep 300' &) ; sleep 300",
		mark, false, NULL, 0);

	assert_true(real_until(real, &run.started));
	while (real_count(mark) < 6)
		real_turn(real, 5);
	child_kill(child);
	assert_true(real_until(real, &run.dead));
	assert_string_equal(run.error, "");
	/* dead is the proof: nothing is waited for here. */
	assert_int_equal(real_count(mark), 0);
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGKILL);
}

static void
what_a_foreground_command_leaves_is_counted_and_ended(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;

	start(real, &run, "setsid sleep 300 & sleep 300 & sleep 0.1; exit 3",
		mark, false, NULL, 0);
	assert_true(real_until(real, &run.dead));
	assert_int_equal(WEXITSTATUS(run.status), 3);
	assert_int_equal(run.leftovers, 2);
	assert_int_equal(real_count(mark), 0);
}

static void
a_background_tree_outlives_its_shell_until_it_is_killed(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;
	struct child *child = start(real, &run, "setsid sleep 300 & exit 0",
		mark, true, NULL, 0);

	assert_true(real_until(real, &run.exited));
	real_turn(real, 50);
	assert_false(run.dead);
	assert_int_equal(real_count(mark), 1);
	child_kill(child);
	assert_true(real_until(real, &run.dead));
	assert_int_equal(real_count(mark), 0);
}

static void
cancel_at_any_moment_after_the_start_leaves_nothing(void **state)
{
	static const int after[] = { 0, 1, 2, 5, 10 };
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;

	for (int i = 0; i < 50; i++) {
		struct child *child = start(real, &run, "sleep 60 & sleep 60", mark,
			false, NULL, 0);
		if (after[i % 5])
			real_turn(real, after[i % 5]);
		child_kill(child);
		assert_true(real_until(real, &run.dead));
		assert_int_equal(real_count(mark), 0);
	}
}

static void
a_forgotten_one_dies_and_tells_nothing(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;
	struct child *child = start(real, &run, "setsid sleep 300 & sleep 300",
		mark, true, NULL, 0);

	assert_true(real_until(real, &run.started));
	while (real_count(mark) < 3)
		real_turn(real, 5);
	child_forget(child);
	while (real_count(mark) > 0)
		real_turn(real, 5);
	real_turn(real, 20);
	assert_false(run.exited || run.dead);
}

static void
a_fork_storm_of_two_hundred_dies(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;
	struct child *child = start(real, &run,
		"f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 300; }; "
		"f 6; sleep 300", mark, false, NULL, 0);

	assert_true(real_until(real, &run.started));
	while (real_count(mark) < 100)
		real_turn(real, 5);
	child_kill(child);
	assert_true(real_until(real, &run.dead));
	assert_int_equal(real_count(mark), 0);
}

/* A gateway of its own in a child process: starts trees, then waits. */
static pid_t
gateway_fork(const char *mark, pid_t *ret_launcher)
{
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct real real;
		struct run run[2];
		real_setup(&real);
		if (launcher_allow_local(real.launcher, NULL, NULL) < 0)
			_exit(1);
		start(&real, &run[0], "(setsid bash -c 'sleep 300 & sleep 300' &); sleep 300",
			mark, false, NULL, 0);
		start(&real, &run[1], "setsid sleep 300 & exit 0", mark, true, NULL, 0);
		real_until(&real, &run[1].exited);
		pid_t launcher = launcher_pid(real.launcher);
		if (write(out[1], &launcher, sizeof(launcher)) < 0)
			_exit(1);
		for (;;)
			real_turn(&real, 1000);
	}
	close(out[1]);
	assert_int_equal(read(out[0], ret_launcher, sizeof(*ret_launcher)),
		sizeof(*ret_launcher));
	close(out[0]);
	while (real_count(mark) < 5)
		usleep(5000);
	return pid;
}

static void
kill_9_of_the_gateway_leaves_nothing(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	pid_t launcher;

	(void)state;
	pid_t gateway = gateway_fork(mark, &launcher);
	kill(gateway, SIGKILL);
	waitpid(gateway, NULL, 0);
	assert_true(real_none_left(mark));
	for (int i = 0; i < 1000 && kill(launcher, 0) == 0; i++)
		usleep(10000);
	assert_int_equal(kill(launcher, 0), -1);
}

static void
kill_9_of_the_launcher_leaves_nothing(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	pid_t launcher;

	(void)state;
	pid_t gateway = gateway_fork(mark, &launcher);
	kill(launcher, SIGKILL);
	assert_true(real_none_left(mark));
	kill(gateway, SIGKILL);
	waitpid(gateway, NULL, 0);
}

static void
a_killed_launcher_is_reported_with_its_cause_and_starts_nothing_more(void **state)
{
	struct real *real = *state;
	struct run run;
	struct err err = { ERR_NONE, "" };
	const char *const argv[] = { "/bin/true", NULL };
	const char *const env[] = { NULL };
	struct child_spec spec = { .argv = argv, .env = env, .cwd = "/" };

	start(real, &run, "sleep 300", "x", false, NULL, 0);
	assert_true(real_until(real, &run.started));
	kill(launcher_pid(real->launcher), SIGKILL);
	assert_true(real_until(real, &real->gone));
	assert_non_null(strstr(real->gone_text, "signal 9"));
	assert_true(real_until(real, &run.dead));
	assert_null(child_spawn(real->launcher, &spec, &events, &run, &err));
	assert_int_equal(err.code, ERR_LOST);
}

static pid_t
keeper_of(pid_t pid)
{
	CLEANUP_FREE char *path = mem_printf("/proc/%d/stat", (int)pid);
	char text[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > 0);
	text[n] = 0;
	return (pid_t)strtol(strrchr(text, ')') + 4, NULL, 10);
}

static void
kill_9_of_a_keeper_leaves_nothing_and_is_not_called_confirmed(void **state)
{
	CLEANUP_FREE char *mark = mark_new();
	struct real *real = *state;
	struct run run;

	start(real, &run, "(setsid sleep 300 &); setsid sleep 300 & sleep 300", mark,
		false, NULL, 0);
	assert_true(real_until(real, &run.started));
	while (real_count(mark) < 4)
		real_turn(real, 5);
	kill(keeper_of(run.pid), SIGKILL);
	assert_true(real_until(real, &run.dead));
	assert_string_not_equal(run.error, "");
	assert_true(real_none_left(mark));
}

static void
nothing_can_be_permitted_after_the_first_act(void **state)
{
	struct real *real = *state;
	struct run run;
	struct err err = { ERR_NONE, "" };

	start(real, &run, "true", "x", false, NULL, 0);
	assert_true(real_until(real, &run.dead));
	assert_int_equal(launcher_allow_native(real->launcher, "x", 1, &err), -1);
	assert_int_equal(launcher_allow_local(real->launcher, NULL, &err), -1);
	/* And the launcher itself, not only our side, holds to the first. */
	struct wire_out out;
	wire_out_init(&out, LAUNCHER_SEAL);
	assert_int_equal(launcher_request(real->launcher, &out, NULL, 0, &err), 0);
	start(real, &run, "true", "x", false, NULL, 0);
	assert_true(real_until(real, &run.dead));
	assert_string_equal(run.error, "");
}

static void
a_user_that_was_not_permitted_is_refused(void **state)
{
	struct real *real = *state;
	struct err err = { ERR_NONE, "" };
	const char *const argv[] = { "/bin/true", NULL };
	const char *const env[] = { NULL };
	struct child_spec spec = {
		.argv = argv, .env = env, .cwd = "/", .user = "nobody",
	};

	assert_null(child_spawn(real->launcher, &spec, &events, NULL, &err));
	assert_int_equal(err.code, ERR_DENIED);
}

static void
as_root_commands_run_as_the_written_user_and_may_reopen_their_output(void **state)
{
	struct real real;
	struct run run = { .started = false };
	int out[2];
	char text[200] = "";

	(void)state;
	if (geteuid() != 0)
		skip();
	real_setup(&real);
	assert_int_equal(launcher_allow_local(real.launcher, "nobody", NULL), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	const char *const argv[] = { "/bin/bash", "-c",
		"id -un > /dev/stdout; grep -c '^CapEff:.0*$' /proc/self/status", NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	int fds[] = { -1, out[1], out[1] };
	struct child_spec spec = {
		.argv = argv, .env = env, .cwd = "/", .user = "nobody",
		.fds = fds, .nfds = 3,
	};
	assert_non_null(child_spawn(real.launcher, &spec, &events, &run, NULL));
	close(out[1]);
	assert_true(real_until(&real, &run.dead));
	assert_true(read(out[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "nobody\n1\n");
	close(out[0]);
	real_teardown(&real);
}

/* Who sends the frame may be no root any more (gateway.user). */
static void
no_file_is_given_away_by_roots_rights(void **state)
{
	char dir[] = "/tmp/ghchild-XXXXXX";
	const char *const argv[] = { "/bin/true", NULL };
	const char *const env[] = { NULL };
	struct run run = { .started = false };
	struct real real;
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	real_setup(&real);
	assert_int_equal(launcher_allow_local(real.launcher, "root", NULL), -1);
	assert_int_equal(launcher_allow_local(real.launcher, "nobody", NULL), 0);
	assert_non_null(mkdtemp(dir));
	CLEANUP_FREE char *file = mem_printf("%s/file", dir);
	CLEANUP_FREE char *fifo = mem_printf("%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	int fds[] = { open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600),
		open(fifo, O_RDWR | O_CLOEXEC), -1 };
	struct child_spec spec = { .argv = argv, .env = env, .cwd = "/",
		.user = "nobody", .fds = fds, .nfds = 3, .terminal = true };

	assert_non_null(child_spawn(real.launcher, &spec, &events, &run, NULL));
	assert_true(real_until(&real, &run.dead));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fstat(fds[i], &st), 0);
		assert_int_equal(st.st_uid, 0);
		close(fds[i]);
	}
	unlink(file);
	unlink(fifo);
	rmdir(dir);
	real_teardown(&real);
}

static unsigned
count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static void
the_launcher_has_no_environment_and_none_of_our_descriptors(void **state)
{
	struct real real;
	char text[64];

	(void)state;
	setenv("CANARY_API_KEY", "zzz", 1);
	/* Not close-on-exec, as a careless library might leave one. */
	int careless = open("/etc/hostname", O_RDONLY);
	real_setup(&real);
	unsetenv("CANARY_API_KEY");
	assert_int_equal(launcher_allow_local(real.launcher, NULL, NULL), 0);
	struct run run;
	start(&real, &run, "true", "x", false, NULL, 0);
	assert_true(real_until(&real, &run.dead));
	CLEANUP_FREE char *environ = mem_printf("/proc/%d/environ",
		(int)launcher_pid(real.launcher));
	CLEANUP_FREE char *fds = mem_printf("/proc/%d/fd",
		(int)launcher_pid(real.launcher));
	int fd = open(environ, O_RDONLY | O_CLOEXEC);
	if (geteuid() == 0) {
		assert_int_equal(read(fd, text, sizeof(text)), 0);
		/* . .. 0 1 2, channel, signals, two ends of the life pipe */
		assert_int_equal(count_entries(fds), 9);
		close(fd);
	} else {
		/* Not even we may look: it is not dumpable. */
		assert_int_equal(fd, -1);
		assert_int_equal(count_entries(fds), 0);
	}
	close(careless);
	real_teardown(&real);
}

static void
a_helper_of_another_version_is_named_as_such(void **state)
{
	struct real *real = *state;
	char path[] = "/tmp/ghhelper-XXXXXX";
	int fd = mkstemp(path);
	struct real other = { .loop = real->loop };
	struct err err = { ERR_NONE, "" };

	assert_true(fd >= 0 && write(fd, "#!/bin/sh\nexit 4\n", 17) == 17 &&
		fchmod(fd, 0755) == 0);
	close(fd);
	other.launcher = launcher_start(path, &err);
	assert_non_null(other.launcher);
	real_attach(&other);
	assert_true(real_until(&other, &other.gone));
	assert_non_null(strstr(other.gone_text, "another version"));
	launcher_free(&other.launcher);
	unlink(path);
	assert_null(launcher_start("/nonexistent/helper", &err));
	assert_non_null(strstr(err.text, "/nonexistent/helper"));
}

int
main(void)
{
#define REAL(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		REAL(exit_codes_and_signals_are_told),
		REAL(what_cannot_be_executed_is_told_apart_from_an_exit_code),
		REAL(only_the_given_descriptors_and_environment_arrive),
		REAL(kill_reaches_double_forked_setsid_children_that_ignore_term),
		REAL(what_a_foreground_command_leaves_is_counted_and_ended),
		REAL(a_background_tree_outlives_its_shell_until_it_is_killed),
		REAL(cancel_at_any_moment_after_the_start_leaves_nothing),
		REAL(a_forgotten_one_dies_and_tells_nothing),
		REAL(a_fork_storm_of_two_hundred_dies),
		cmocka_unit_test(kill_9_of_the_gateway_leaves_nothing),
		cmocka_unit_test(kill_9_of_the_launcher_leaves_nothing),
		REAL(a_killed_launcher_is_reported_with_its_cause_and_starts_nothing_more),
		REAL(kill_9_of_a_keeper_leaves_nothing_and_is_not_called_confirmed),
		REAL(nothing_can_be_permitted_after_the_first_act),
		REAL(a_user_that_was_not_permitted_is_refused),
		cmocka_unit_test(the_launcher_has_no_environment_and_none_of_our_descriptors),
		REAL(a_helper_of_another_version_is_named_as_such),
		cmocka_unit_test(no_file_is_given_away_by_roots_rights),
		cmocka_unit_test(as_root_commands_run_as_the_written_user_and_may_reopen_their_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
