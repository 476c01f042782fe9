#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/owner.h"
#include "gateway/owner_client.h"
#include "gateway/owner_path.h"
#include "tests/tmpdir.h"

static struct loop *loop;
static struct home home;
static struct owner *owner;
static struct err err;
static struct owner_call *open_call;
static char heard[64];
static int started, gone;

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

/* Lets the loop do what is ready; nothing asserts on the time. */
static void
turn(void)
{
	(void)loop_after(loop, 10, "test", stop, NULL);
	assert_int_equal(loop_run(loop), 0);
}

static void
on_echo(void *arg, struct owner_call *call, const struct json *req)
{
	struct json *a = json_object();

	(void)arg;
	started++;
	json_set_str(a, "event", "text");
	json_set_str(a, "text", json_get_str(req, "text", ""));
	owner_call_send(call, a);
	owner_call_end(call, json_set_int(json_object(), "n", 7), true);
}

static void
on_chat(void *arg, struct owner_call *call, const struct json *req)
{
	(void)arg, (void)req;
	started++;
	open_call = call;
	owner_call_set_data(call, heard);
}

static void
on_chat_input(void *arg, struct owner_call *call, const struct json *frame)
{
	(void)arg;
	assert_ptr_equal(owner_call_data(call), heard);
	assert_int_equal(mem_copy_str(heard, sizeof(heard),
		json_get_str(frame, "text", "")), 0);
}

static void
on_chat_gone(void *arg, struct owner_call *call)
{
	(void)arg;
	assert_ptr_equal(call, open_call);
	owner_call_send(call, json_object());
	open_call = NULL;
	gone++;
}

static const struct owner_handler handlers[] = {
	{ "echo", on_echo, NULL, NULL },
	{ "chat", on_chat, on_chat_input, on_chat_gone },
};

static int
setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	tmpdir_make();
	started = gone = 0;
	heard[0] = '\0';
	open_call = NULL;
	loop = loop_new();
	/* Longer than a socket's path may be. */
	assert_int_equal(home_find(&home, tmpdir_path("a-rather-long-name-for-a-state"
		"-directory-which-no-socket-address-could-hold-in-its-107-bytes-of-p"
		"ath"), NULL, &err), 0);
	assert_int_equal(home_create(&home, &err), 0);
	owner = owner_listen(loop, &home, handlers, ARRAY_LEN(handlers), NULL, &err);
	assert_non_null(owner);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	owner_free(&owner);
	loop_free(&loop);
	home_done(&home);
	tmpdir_remove();
	return 0;
}

static struct owner_client *
connect_and_send(const char *cmd, const char *text)
{
	struct owner_client *c = owner_connect(&home, &err);
	struct json *req = json_set_str(json_object(), "cmd", cmd);

	assert_non_null(c);
	json_set_str(req, "text", text);
	assert_int_equal(owner_client_send(c, req, &err), 0);
	turn();
	return c;
}

static void
expect_frame(struct owner_client *c, const char *key, const char *value)
{
	struct json *frame = NULL;

	assert_int_equal(owner_client_receive(c, 0, &frame, &err), 1);
	assert_string_equal(json_get_str(frame, key, ""), value);
	json_free(&frame);
}

static void
an_answer_streams_and_ends(void **state)
{
	struct owner_client *c = connect_and_send("echo", "hello");
	struct json *frame = NULL;

	(void)state;
	expect_frame(c, "text", "hello");
	assert_int_equal(owner_client_receive(c, 0, &frame, &err), 1);
	assert_true(json_get_bool(frame, "ok", false));
	assert_int_equal(json_get_int(frame, "n", 0), 7);
	json_free(&frame);
	assert_int_equal(owner_client_receive(c, 0, &frame, &err), 0);
	/* The connection can be used again. */
	assert_int_equal(owner_client_send(c, json_set_str(json_object(), "cmd",
		"echo"), &err), 0);
	turn();
	expect_frame(c, "event", "text");
	owner_disconnect(&c);
	turn();
}

static void
an_unknown_command_is_refused_in_words(void **state)
{
	struct owner_client *c = connect_and_send("fly", "");
	struct json *frame = NULL;

	(void)state;
	assert_int_equal(owner_client_receive(c, 0, &frame, &err), 1);
	assert_false(json_get_bool(frame, "ok", true));
	assert_non_null(strstr(json_get_str(frame, "error", ""), "command"));
	json_free(&frame);
	owner_disconnect(&c);
}

static void
later_frames_reach_the_call_and_leaving_ends_it_once(void **state)
{
	struct owner_client *c = connect_and_send("chat", "");

	(void)state;
	assert_non_null(open_call);
	assert_int_equal(owner_client_send(c, json_set_str(json_object(), "text",
		"yes"), &err), 0);
	turn();
	assert_string_equal(heard, "yes");
	owner_call_send(open_call, json_set_str(json_object(), "event", "ask"));
	turn();
	expect_frame(c, "event", "ask");
	owner_disconnect(&c);
	turn();
	assert_int_equal(gone, 1);
}

static void
a_frame_during_a_call_without_input_drops_the_client(void **state)
{
	static const struct owner_handler only[] = {
		{ "chat", on_chat, NULL, on_chat_gone } };
	struct owner_client *c;

	(void)state;
	owner_free(&owner);
	owner = owner_listen(loop, &home, only, 1, NULL, &err);
	c = connect_and_send("chat", "");
	assert_int_equal(owner_client_send(c, json_object(), &err), 0);
	turn();
	assert_int_equal(gone, 1);
	owner_disconnect(&c);
}

static void
ending_the_owner_tells_every_call(void **state)
{
	struct owner_client *c = connect_and_send("chat", "");
	struct json *frame = NULL;

	(void)state;
	owner_free(&owner);
	assert_int_equal(gone, 1);
	assert_int_equal(owner_client_receive(c, 0, &frame, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
	owner_disconnect(&c);
	assert_null(owner_connect(&home, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void
send_raw(struct owner_client *c, const void *data, size_t len)
{
	assert_int_equal(send(owner_client_fd(c), data, len, MSG_NOSIGNAL),
		(ssize_t)len);
}

static void
nonsense_drops_only_its_sender(void **state)
{
	struct owner_client *good = connect_and_send("chat", "");
	struct owner_client *bad = owner_connect(&home, &err);
	struct owner_client *cut = owner_connect(&home, &err);
	struct json *frame = NULL;

	(void)state;
	send_raw(bad, "\0\x08\0\x01", 4);	/* one byte more than allowed */
	send_raw(cut, "\0\0\0\x10{\"cm", 8);
	turn();
	assert_int_equal(owner_client_receive(bad, 0, &frame, &err), -1);
	assert_int_equal(owner_client_receive(cut, 0, &frame, &err), 0);
	owner_disconnect(&cut);
	turn();
	assert_int_equal(gone, 0);
	owner_disconnect(&bad);
	owner_disconnect(&good);
}

/* A client that never reads can't make the owner's memory grow. */
static void
a_client_that_does_not_read_is_dropped(void **state)
{
	struct owner_client *c = connect_and_send("chat", "");
	char *big = mem_alloc(100001);

	(void)state;
	memset(big, 'x', 100000);
	for (int i = 0; i < 200 && open_call; i++) {
		owner_call_send(open_call, json_set_str(json_object(), "t", big));
		turn();
	}
	assert_int_equal(gone, 1);
	mem_free(big);
	owner_disconnect(&c);
}

/* C209, the server's half. */
static void
a_thousand_clients_that_close_early_change_nothing(void **state)
{
	struct owner_client *c;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		c = owner_connect(&home, &err);
		assert_non_null(c);
		assert_int_equal(owner_client_send(c, json_set_str(json_object(),
			"cmd", "echo"), &err), 0);
		owner_disconnect(&c);
		if (i % 32 == 31)
			turn();
	}
	turn();
	turn();
	c = connect_and_send("echo", "still here");
	expect_frame(c, "text", "still here");
	owner_disconnect(&c);
}

static void
clients_are_bounded(void **state)
{
	struct owner_client *c[OWNER_CLIENTS_MAX + 8];
	struct json *frame = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		c[i] = owner_connect(&home, &err);
		turn();
	}
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		assert_int_equal(owner_client_receive(c[i], 0, &frame, &err),
			i < OWNER_CLIENTS_MAX ? 0 : -1);
		owner_disconnect(&c[i]);
	}
}

static void
the_socket_is_ours_alone(void **state)
{
	CLEANUP_FREE char *path = home_path(&home, "control.sock");
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	if (geteuid() != 0)
		skip();
	/* Even where modes would let another user in, the peer's uid doesn't. */
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chmod(home.dir, 0711), 0);
	assert_int_equal(chmod(tmpdir_path("."), 0711), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct owner_client *c;
		struct json *frame = NULL;

		if (setuid(65534))
			_exit(3);
		c = owner_connect(&home, &err);
		if (!c)
			_exit(4);
		(void)owner_client_send(c, json_set_str(json_object(), "cmd", "echo"),
			&err);
		_exit(owner_client_receive(c, 5000, &frame, &err) == -1 ? 0 : 5);
	}
	int status = -1;
	while (waitpid(pid, &status, WNOHANG) == 0)
		turn();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(started, 0);
}

static void
on_status(void *arg, struct owner_call *call, const struct json *req)
{
	struct json *platform = json_set_str(json_object(), "name", "telegram");
	struct json *list = json_array();

	(void)arg, (void)req;
	started++;
	json_set_str(platform, "state", "backoff");
	json_set_str(platform, "why", "no network");
	json_add_take(list, platform);
	owner_call_end(call, json_set_take(json_object(), "platforms", list), true);
}

/* Runs the built program beside the loop; its exit status, output in text. */
static int
run_program(const char *const *argv, char *text, size_t size)
{
	CLEANUP_FREE char *path = mem_printf("%s/gatehouse",
		getenv("TOP_BUILDDIR"));
	size_t len = 0;
	int out[2], status;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		execv(path, (char *const *)(uintptr_t)argv);
		_exit(99);
	}
	close(out[1]);
	while (waitpid(pid, &status, WNOHANG) == 0)
		turn();
	while (len < size - 1) {
		ssize_t n = read(out[0], text + len, size - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	close(out[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
the_status_command_asks_the_owner(void **state)
{
	static const struct owner_handler answering[] = {
		{ "status", on_status, NULL, NULL } };
	const char *argv[] = { "gatehouse", "--home", home.dir, "status", NULL };
	char text[4096];
	int lock = owner_lock(&home, 0, &err);
	CLEANUP_FREE char *pid = mem_printf("running, pid %d\n", (int)getpid());

	(void)state;
	assert_true(lock >= 0);
	owner_free(&owner);
	owner = owner_listen(loop, &home, answering, 1, NULL, &err);
	assert_int_equal(run_program(argv, text, sizeof(text)), 0);
	assert_int_equal(started, 1);
	assert_non_null(strstr(text, pid));
	assert_non_null(strstr(text, "telegram: backoff, no network"));
	/* An owner that holds the lock and does not listen is told apart. */
	owner_free(&owner);
	assert_int_equal(run_program(argv, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "it does not answer"));
	close(lock);
	assert_int_equal(run_program(argv, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "not running"));
}

/* ---- the lock ------------------------------------------------------------- */

/* A child that holds the lock until its pipe is closed, then dies. */
static pid_t
hold_lock(int *ret_pipe)
{
	int go[2], ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (owner_lock(&home, 0, &err) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		while (read(go[0], &c, 1) > 0)
			;
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*ret_pipe = go[1];
	return pid;
}

static void
a_second_owner_is_refused_with_the_pid(void **state)
{
	int hold;
	pid_t pid = hold_lock(&hold);
	CLEANUP_FREE char *want = mem_printf("(pid %d)", (int)pid);

	(void)state;
	assert_int_equal(owner_lock(&home, 0, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_non_null(strstr(err.text, want));
	assert_int_equal(owner_path_holder(&home), pid);
	close(hold);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(owner_path_holder(&home), 0);
}

static void
a_dying_owner_is_waited_for(void **state)
{
	int hold, fd;
	pid_t pid = hold_lock(&hold);

	(void)state;
	if (fork() == 0) {
		(void)poll(NULL, 0, 200);
		kill(pid, SIGKILL);
		_exit(0);
	}
	fd = owner_lock(&home, 20000, &err);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	close(hold);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void
a_chat_becomes_owner_or_finds_one(void **state)
{
	struct owner_client *c = NULL;
	int hold, fd;
	pid_t pid;

	(void)state;
	fd = owner_claim(&home, &c, &err);
	assert_true(fd >= 0);
	assert_null(c);
	close(fd);
	pid = hold_lock(&hold);
	assert_int_equal(owner_claim(&home, &c, &err), -2);
	assert_non_null(c);
	owner_disconnect(&c);
	close(hold);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(an_answer_streams_and_ends),
		T(an_unknown_command_is_refused_in_words),
		T(later_frames_reach_the_call_and_leaving_ends_it_once),
		T(a_frame_during_a_call_without_input_drops_the_client),
		T(ending_the_owner_tells_every_call),
		T(nonsense_drops_only_its_sender),
		T(a_client_that_does_not_read_is_dropped),
		T(a_thousand_clients_that_close_early_change_nothing),
		T(clients_are_bounded),
		T(the_socket_is_ours_alone),
		T(the_status_command_asks_the_owner),
		T(a_second_owner_is_refused_with_the_pid),
		T(a_dying_owner_is_waited_for),
		T(a_chat_becomes_owner_or_finds_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
