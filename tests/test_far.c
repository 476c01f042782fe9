/*
 * Commands under the far helper: the real helper over two pipes, and the near
 * half alone with frames that are cut anywhere.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/far.h"
#include "sandbox/native-init/far_proto.h"
#include "tests/real.h"
#include "tests/tmpdir.h"

struct session {
	struct real real;
	struct far *far;
	pid_t pid;			/* of the helper */
	int to, from;
	struct watch *to_watch, *from_watch;
	bool started, exited, ended, dead;
	int status;
	unsigned leftovers;
	struct buf out[2], given;
	char error[600];
	bool no_userns;			/* of the spec */
	enum err_code code;
	char mark[40];
};

static void
on_started(void *arg, int pid)
{
	struct session *s = arg;

	assert_false(s->started);
	assert_true(pid > 0);
	s->started = true;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct session *s = arg;

	assert_true(s->started);
	buf_add(&s->out[fd == 2], data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct session *s = arg;

	assert_false(s->exited);
	buf_add(&s->given, data, len);
}

static void
on_exited(void *arg, int status, unsigned leftovers)
{
	struct session *s = arg;

	assert_true(s->started && !s->exited && !s->ended);
	s->exited = true;
	s->status = status;
	s->leftovers = leftovers;
}

static void
on_dead(void *arg, const struct err *err)
{
	(void)arg, (void)err;
	fail_msg("dead is the backend's word");
}

static const struct proc_events events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

static size_t
io_write(void *arg, const void *data, size_t len)
{
	struct session *s = arg;
	ssize_t n = s->to < 0 ? (ssize_t)len : write(s->to, data, len);

	if (n < 0 && errno == EPIPE)
		return len;
	if (n < (ssize_t)len && s->to_watch)
		loop_watch_set(s->to_watch, LOOP_WRITE);
	return n < 0 ? 0 : (size_t)n;
}

static void
io_end(void *arg, const struct err *err)
{
	struct session *s = arg;

	assert_false(s->ended);
	s->ended = true;
	s->dead = !err;
	s->code = err ? err->code : ERR_NONE;
	assert_int_equal(mem_copy_str(s->error, sizeof(s->error),
	    err ? err->text : ""), 0);
}

static const struct far_io io = { io_write, io_end, NULL };

static void
on_writable(void *arg, unsigned ready)
{
	struct session *s = arg;

	(void)ready;
	loop_watch_set(s->to_watch, 0);
	far_writable(s->far);
}

static void
on_readable(void *arg, unsigned ready)
{
	struct session *s = arg;
	char chunk[5000];
	ssize_t n = read(s->from, chunk, sizeof(chunk));

	(void)ready;
	if (n > 0) {
		far_input(s->far, chunk, (size_t)n);
		return;
	}
	loop_unwatch(&s->from_watch);
	far_lost(s->far, NULL);
}

static void
run_helper(const char *const *argv, int in, int out)
{
	union { const char *const *in; char *const *out; } args = { .in = argv };

	dup2(in, 0);
	dup2(out, 1);
	execv(getenv("GATEHOUSE_HELPER"), args.out);
	_exit(99);
}

/* req's script, input and flags are the test's. */
static void
begin(struct session *s, struct spawn_req *req, uint32_t seconds)
{
	int to[2], from[2];
	char mark[64];
	const char *const env[] = { mark, "PATH=/usr/bin:/bin", NULL };
	const char *const argv[] = { "gatehouse-helper", "far", s->mark, NULL };

	bool no_userns = s->no_userns;

	memset(s, 0, sizeof(*s));
	ids_hex(s->mark, 20);
	assert_int_equal(mem_format(mark, sizeof(mark), "MARK=%s", s->mark), 0);
	real_setup(&s->real);
	buf_init(&s->out[0], 8 << 20);
	buf_init(&s->out[1], 8 << 20);
	buf_init(&s->given, 8 << 20);
	assert_int_equal(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	s->pid = fork();
	if (s->pid == 0)
		run_helper(argv, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	s->to = to[1];
	s->from = from[0];
	fcntl(s->to, F_SETFL, O_NONBLOCK);
	req->script_len = strlen(req->script);
	req->env = env;
	req->events = &events;
	req->arg = s;
	struct far_spec spec = { .req = req, .dir = "/", .seconds = seconds,
		.no_userns = no_userns, .io = &io, .arg = s };
	s->far = far_new(&spec);
	s->to_watch = loop_watch(s->real.loop, s->to, 0, "to", on_writable, s);
	s->from_watch = loop_watch(s->real.loop, s->from, LOOP_READ, "from",
	    on_readable, s);
	far_writable(s->far);
}

static void
finish(struct session *s)
{
	far_free(&s->far);
	loop_unwatch(&s->to_watch);
	loop_unwatch(&s->from_watch);
	if (s->to >= 0)
		close(s->to);
	close(s->from);
	waitpid(s->pid, NULL, 0);
	assert_true(real_none_left(s->mark));
	buf_done(&s->out[0]);
	buf_done(&s->out[1]);
	buf_done(&s->given);
	real_teardown(&s->real);
}

static void
until_output(struct session *s, const char *text)
{
	for (int i = 0; i < 2000 && !strstr(s->out[0].data, text); i++)
		real_turn(&s->real, 10);
	assert_non_null(strstr(s->out[0].data, text));
}

#define STUB "exec 4<&-; "
#define TREE "(setsid bash -c 'sleep 1000 </dev/null >/dev/null 2>&1 & " \
	"setsid sleep 1000 </dev/null >/dev/null 2>&1 &' &); "

static void
a_command_runs_and_is_told_to_the_end(void **state)
{
	struct spawn_req req = { .split = true,
		.script = STUB "echo out; echo err >&2; printf given >&3; pwd; "
		"ls /proc/self/fd | tr '\\n' ' '; exit 7" };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead && s.exited);
	assert_int_equal(WEXITSTATUS(s.status), 7);
	assert_int_equal(s.leftovers, 0);
	assert_string_equal(s.out[0].data, "out\n/\n0 1 2 3 4 ");
	assert_string_equal(s.out[1].data, "err\n");
	assert_string_equal(s.given.data, "given");
	finish(&s);
}

static void
input_of_megabytes_arrives_and_ends(void **state)
{
	size_t n = 5 << 20;
	char *input = mem_alloc(n);
	struct spawn_req req = { .script = "wc -c; cat", .input = input,
		.input_len = n };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.ended));
	assert_string_equal(s.out[0].data, "5242880\n");
	finish(&s);
	mem_free(input);
}

static void
input_that_nobody_reads_does_not_hang(void **state)
{
	size_t n = 5 << 20;
	char *input = mem_alloc(n);
	struct spawn_req req = { .script = "echo done", .input = input,
		.input_len = n };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	assert_string_equal(s.out[0].data, "done\n");
	finish(&s);
	mem_free(input);
}

static void
what_is_left_behind_is_counted_and_ended(void **state)
{
	struct spawn_req req = { .script = TREE "sleep 0.2; echo ok" };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	assert_int_equal(s.leftovers, 2);
	finish(&s);
}

static void
children_stay_if_they_may_and_die_by_kill(void **state)
{
	struct spawn_req req = { .script = TREE "echo ok", .keep_children = true };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.exited));
	real_turn(&s.real, 200);
	assert_false(s.ended);
	assert_true(real_count(s.mark) >= 2);
	far_kill(s.far);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	finish(&s);
}

/* Red if a command can make one, or can't fork, or runs on when asked not to. */
static void
new_user_namespaces_are_refused_where_asked(void **state)
{
	struct spawn_req req = { .script = "LC_ALL=C unshare -U true 2>&1\n"
		"(echo a fork); grep ^Seccomp: /proc/self/status; seq 3 | tail -1" };
	struct session s = { .no_userns = true };

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	assert_string_equal(s.out[0].data, "unshare: unshare failed: Operation not "
	    "permitted\na fork\nSeccomp:\t2\n3\n");
	finish(&s);
}

static void
a_kill_before_the_start_runs_nothing(void **state)
{
	struct spawn_req req = { .script = "echo ran; sleep 1000" };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	far_kill(s.far);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	finish(&s);
}

static void
the_end_of_the_stream_ends_the_tree(void **state)
{
	struct spawn_req req = { .script = TREE "echo up; sleep 1000",
		.keep_children = true };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	until_output(&s, "up");
	loop_unwatch(&s.to_watch);
	close(s.to);
	s.to = -1;
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	finish(&s);
}

static void
its_time_ends_it(void **state)
{
	struct spawn_req req = { .script = TREE "trap '' TERM; echo up; sleep 1000" };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 1);
	assert_true(real_until(&s.real, &s.ended));
	assert_true(s.dead);
	finish(&s);
}

static void
kill_it(const char *id, const char *sweep)
{
	const char *const argv[] = { "gatehouse-helper", "far-kill", id, sweep,
		NULL };
	char said[20] = "";
	int out[2], status;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		run_helper(argv, open("/dev/null", O_RDONLY), out[1]);
	close(out[1]);
	assert_true(read(out[0], said, sizeof(said) - 1) > 0);
	close(out[0]);
	waitpid(pid, &status, 0);
	assert_string_equal(said, FAR_KILL_DEAD);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
the_killing_side_ends_it_by_its_id_also_when_it_is_stopped(void **state)
{
	struct spawn_req req = { .script = TREE "echo up; sleep 0.3; "
		"kill -STOP $PPID; "
		"sleep 1000" };
	struct session s = { .pid = 0 };

	(void)state;
	begin(&s, &req, 0);
	until_output(&s, "up");
	real_turn(&s.real, 600);
	kill_it("0123456789abcdef0000", NULL);	/* another: touches nothing */
	assert_true(real_count(s.mark) >= 3);
	kill_it(s.mark, NULL);
	assert_true(real_until(&s.real, &s.ended));
	/* It was not awaited to speak: the killer's word counts. */
	assert_int_equal(s.code, ERR_LOST);
	finish(&s);
}

static void
a_failed_start_says_why(void **state)
{
	struct spawn_req req = { .script = "echo no" };
	struct session s = { .pid = 0 };
	int to[2], from[2];

	(void)state;
	begin(&s, &req, 0);
	assert_true(real_until(&s.real, &s.ended));
	finish(&s);
	/* A directory that is not there. */
	assert_int_equal(pipe2(to, 0) | pipe2(from, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		const char *const argv[] = { "h", "far", "x", NULL };
		close(to[1]);
		run_helper(argv, to[0], from[1]);
	}
	static const char frames[] = "\1\0\0\0\x0d" "\0\0\0\0" "\0\0\0\0" "/none"
	    "\4\0\0\0\0";
	assert_int_equal(write(to[1], frames, sizeof(frames) - 1),
	    sizeof(frames) - 1);
	char said[200] = "";
	close(from[1]);
	for (size_t at = 0; at < sizeof(said) - 1;) {
		ssize_t n = read(from[0], said + at, sizeof(said) - 1 - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(to[0]);
	close(to[1]);
	close(from[0]);
	waitpid(pid, NULL, 0);
	assert_non_null(memmem(said, sizeof(said), "enter its directory", 19));
}

/* What it prints, one directory and one that is not there given. */
static int
tend(const char *verb, const char *dir, char *said, size_t size)
{
	CLEANUP_FREE char *missing = mem_printf("%s-missing", dir);
	const char *const argv[] = { "gatehouse-helper", "far-tend", verb, missing,
		dir, NULL };
	int out[2], status;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		run_helper(argv, open("/dev/null", O_RDONLY), out[1]);
	close(out[1]);
	ssize_t n = read(out[0], said, size - 1);
	said[n > 0 ? n : 0] = 0;
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

/* Red if a closed directory is left, a link is followed, or the count is off. */
static void
a_directory_is_emptied_and_measured(void **state)
{
	char said[200];

	(void)state;
	const char *dir = tmpdir_make();
	CLEANUP_FREE char *top = mem_printf("%s/top", dir);
	CLEANUP_FREE char *deep = mem_printf("%s/deep", top);
	assert_int_equal(mkdir(top, 0755) | mkdir(deep, 0755), 0);
	tmpdir_write("kept", "text");
	tmpdir_write("top/deep/file", "text");
	assert_int_equal(symlink("../../kept", tmpdir_path("top/deep/link")), 0);
	assert_int_equal(tend("measure", top, said, sizeof(said)), 0);
	assert_non_null(strstr(said, " 3\n"));
	assert_int_equal(chmod(deep, 0), 0);
	assert_int_equal(tend("empty", top, said, sizeof(said)), 0);
	assert_int_equal(strncmp(said, "done ", 5), 0);
	assert_int_equal(rmdir(top), 0);
	CLEANUP_FREE char *kept = tmpdir_read("kept");
	assert_string_equal(kept, "text");
	assert_int_equal(tend("else", top, said, sizeof(said)), 2);
	tmpdir_remove();
}

/* ---- the near half alone ------------------------------------------------------- */

static size_t
take_all(void *arg, const void *data, size_t len)
{
	(void)arg, (void)data;
	return len;
}

static const struct far_io deaf_io = { take_all, io_end, NULL };

static void
alone(struct session *s)
{
	struct spawn_req req = { .script = "x", .script_len = 1,
		.events = &events, .arg = s };
	struct far_spec spec = { .req = &req, .dir = "", .io = &deaf_io,
		.arg = s };

	memset(s, 0, sizeof(*s));
	buf_init(&s->out[0], 1 << 20);
	buf_init(&s->out[1], 1 << 20);
	buf_init(&s->given, 1 << 20);
	s->far = far_new(&spec);
}

static void
alone_done(struct session *s)
{
	far_free(&s->far);
	buf_done(&s->out[0]);
	buf_done(&s->out[1]);
	buf_done(&s->given);
}

#define STARTED "\x20\0\0\0\x08\0\0\0\x2a\0\0\0\1"
#define EXITED "\x25\0\0\0\x08\0\0\1\0\0\0\0\2"
#define DEAD "\x26\0\0\0\0"

static void
frames_cut_anywhere_are_the_same(void **state)
{
	static const char all[] = "Welcome to this host\n" FAR_MAGIC STARTED
	    "\x22\0\0\0\5hello" "\x23\0\0\0\3err" "\x24\0\0\0\2gi" "\x24\0\0\0\2ve"
	    EXITED "\x22\0\0\0\4late" DEAD;

	(void)state;
	for (size_t step = 1; step < sizeof(all); step++) {
		struct session s = { .pid = 0 };
		size_t len = sizeof(all) - 1;
		alone(&s);
		for (size_t at = 0; at < len; at += step)
			far_input(s.far, all + at,
			    len - at < step ? len - at : step);
		assert_true(s.started && s.exited && s.ended && s.dead);
		assert_string_equal(s.out[0].data, "hellolate");
		assert_string_equal(s.out[1].data, "err");
		assert_string_equal(s.given.data, "give");
		assert_int_equal(s.leftovers, 2);
		assert_int_equal(WEXITSTATUS(s.status), 1);
		alone_done(&s);
	}
}

static void
nonsense_ends_it(void **state)
{
	static const struct { const char *bytes; size_t len; } bad[] = {
#define BAD(text) { text, sizeof(text) - 1 }
		BAD(FAR_MAGIC "\x22\0\0\0\1x"),	/* output before the start */
		BAD(FAR_MAGIC EXITED),
		BAD(FAR_MAGIC STARTED STARTED),
		BAD(FAR_MAGIC STARTED EXITED EXITED),
		BAD(FAR_MAGIC "\x20\0\0\0\0"),
		BAD(FAR_MAGIC "\x21\0\0\0\1x"),
		BAD(FAR_MAGIC "\x01\0\0\0\0"),
		BAD(FAR_MAGIC "\x22\xff\xff\xff\xff"),
		BAD(FAR_MAGIC "\x22\0\1\0\1"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct session s = { .pid = 0 };
		alone(&s);
		far_input(s.far, bad[i].bytes, bad[i].len);
		assert_true(s.ended && !s.dead);
		assert_int_equal(s.code, ERR_PROTOCOL);
		far_input(s.far, DEAD, 5);	/* nothing is heard any more */
		far_lost(s.far, NULL);
		assert_false(s.dead);
		alone_done(&s);
	}
}

static void
endless_noise_is_bounded(void **state)
{
	struct session s = { .pid = 0 };
	char noise[1000];

	(void)state;
	memset(noise, 'n', sizeof(noise));
	alone(&s);
	for (int i = 0; i < 100 && !s.ended; i++)
		far_input(s.far, noise, sizeof(noise));
	assert_int_equal(s.code, ERR_PROTOCOL);
	alone_done(&s);
}

static void
without_a_helper_its_words_are_the_reason(void **state)
{
	static const char said[] = "OCI runtime exec failed: \x1b[31mno such file";
	struct session s = { .pid = 0 };

	(void)state;
	alone(&s);
	far_input(s.far, said, sizeof(said) - 1);
	far_lost(s.far, "exit code 127");
	assert_int_equal(s.code, ERR_IO);
	assert_non_null(strstr(s.error, "exit code 127: OCI runtime exec failed"));
	assert_null(strchr(s.error, 0x1b));
	alone_done(&s);
}

static void
a_lost_stream_is_not_a_dead_tree(void **state)
{
	struct session s = { .pid = 0 };

	(void)state;
	alone(&s);
	far_input(s.far, FAR_MAGIC STARTED, FAR_MAGIC_LEN + 13);
	far_lost(s.far, "reset");
	assert_true(s.ended && !s.dead && far_started(s.far));
	assert_int_equal(s.code, ERR_LOST);
	alone_done(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_runs_and_is_told_to_the_end),
		cmocka_unit_test(input_of_megabytes_arrives_and_ends),
		cmocka_unit_test(input_that_nobody_reads_does_not_hang),
		cmocka_unit_test(what_is_left_behind_is_counted_and_ended),
		cmocka_unit_test(children_stay_if_they_may_and_die_by_kill),
		cmocka_unit_test(new_user_namespaces_are_refused_where_asked),
		cmocka_unit_test(a_kill_before_the_start_runs_nothing),
		cmocka_unit_test(the_end_of_the_stream_ends_the_tree),
		cmocka_unit_test(its_time_ends_it),
		cmocka_unit_test(
		    the_killing_side_ends_it_by_its_id_also_when_it_is_stopped),
		cmocka_unit_test(a_failed_start_says_why),
		cmocka_unit_test(a_directory_is_emptied_and_measured),
		cmocka_unit_test(frames_cut_anywhere_are_the_same),
		cmocka_unit_test(nonsense_ends_it),
		cmocka_unit_test(endless_noise_is_bounded),
		cmocka_unit_test(without_a_helper_its_words_are_the_reason),
		cmocka_unit_test(a_lost_stream_is_not_a_dead_tree),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
