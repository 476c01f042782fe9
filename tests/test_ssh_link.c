/* The SSH connection and its channels against a real sshd. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/ssh_link.h"
#include "tests/real.h"
#include "tests/real_sshd.h"

static struct sshd sshd;
static const char *missing;
static struct real real;

/* One command and what came of it. */
struct cmd {
	struct ssh_chan *chan;
	bool opened, closed;
	int status;
	char signal[16];
	struct err err;
	struct buf out[2];
	size_t pause_at;	/* pauses when so much has come */
	bool paused;
};

static void
on_opened(void *arg)
{
	((struct cmd *)arg)->opened = true;
}

static void
on_data(void *arg, int fd, const char *data, size_t len)
{
	struct cmd *c = arg;

	assert_true(c->opened && !c->closed && !c->paused);
	buf_add(&c->out[fd - 1], data, len);
	if (c->pause_at && c->out[0].len >= c->pause_at) {
		c->paused = true;
		ssh_chan_flow(c->chan, false);
	}
}

static void
on_closed(void *arg, int status, const char *signal, const struct err *err)
{
	struct cmd *c = arg;

	assert_false(c->closed);
	c->chan = NULL;
	c->closed = true;
	c->status = status;
	if (signal)
		snprintf(c->signal, sizeof(c->signal), "%s", signal);
	if (err)
		c->err = *err;
}

static const struct ssh_chan_events events = { on_opened, on_data, on_closed };

static void
start(struct cmd *c, struct ssh_link *link, const char *command)
{
	memset(c, 0, sizeof(*c));
	buf_init(&c->out[0], 64 << 20);
	buf_init(&c->out[1], 1 << 20);
	c->chan = ssh_chan_exec(link, command, false, &events, c);
	assert_false(c->closed);
}

static void
done(struct cmd *c)
{
	ssh_chan_free(&c->chan);
	buf_done(&c->out[0]);
	buf_done(&c->out[1]);
}

static struct ssh_target
target(void)
{
	return (struct ssh_target){
		.host = "127.0.0.1", .port = sshd.port, .key_file = sshd.key,
		.known_hosts = sshd.known_hosts, .user = sshd.user,
	};
}

static struct ssh_link *
new_link(void)
{
	struct ssh_target t = target();

	if (missing) {
		print_message("SKIP %s\n", missing);
		skip();
	}
	return ssh_link_new(real.loop, &t);
}

static void
expect_refused(const struct ssh_target *t, enum err_code code, const char *word)
{
	struct ssh_link *link = ssh_link_new(real.loop, t);
	struct cmd c;

	start(&c, link, "true");
	assert_true(real_until(&real, &c.closed));
	if (c.err.code != code || !strstr(c.err.text, word))
		fail_msg("%d %s", c.err.code, c.err.text);
	assert_false(c.opened);
	done(&c);
	ssh_link_free(&link);
}

static void
streams_status_and_input_arrive(void **state)
{
	struct ssh_link *link = new_link();
	struct cmd c;

	(void)state;
	start(&c, link, "cat; echo err >&2; exit 7");
	assert_true(ssh_chan_send(c.chan, "in\n", 3));
	ssh_chan_send_eof(c.chan);
	assert_true(real_until(&real, &c.closed));
	assert_int_equal(c.err.code, ERR_NONE);
	assert_int_equal(c.status, 7);
	assert_string_equal(c.out[0].data, "in\n");
	assert_string_equal(c.out[1].data, "err\n");
	done(&c);
	start(&c, link, "kill -9 $$");
	assert_true(real_until(&real, &c.closed));
	assert_int_equal(c.status, -1);
	assert_string_equal(c.signal, "KILL");
	done(&c);
	ssh_link_free(&link);
}

/* Red if a window is not respected, or a paused channel stops its neighbours. */
static void
much_data_both_ways_and_a_paused_neighbour(void **state)
{
	struct ssh_link *link = new_link();
	struct cmd slow, fast;
	char *big = mem_alloc(12 << 20);

	(void)state;
	memset(big, 'x', 12 << 20);
	start(&slow, link, "head -c 9000000 /dev/zero");
	slow.pause_at = 100000;
	start(&fast, link, "cat");
	assert_true(ssh_chan_send(fast.chan, big, 12 << 20));
	ssh_chan_send_eof(fast.chan);
	assert_true(real_until(&real, &fast.closed));
	assert_int_equal(fast.out[0].len, 12 << 20);
	assert_int_equal(fast.status, 0);
	assert_true(slow.paused && !slow.closed && slow.out[0].len < 4 << 20);
	slow.pause_at = 0;
	slow.paused = false;
	ssh_chan_flow(slow.chan, true);
	assert_true(real_until(&real, &slow.closed));
	assert_int_equal(slow.out[0].len, 9000000);
	done(&slow);
	done(&fast);
	mem_free(big);
	ssh_link_free(&link);
}

/* sshd allows 10 sessions a connection: the rest must wait, not fail. */
static void
more_commands_than_the_server_allows_wait(void **state)
{
	struct ssh_link *link = new_link();
	struct cmd c[20];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		start(&c[i], link, "read x; echo $x");
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		ssh_chan_send(c[i].chan, "go\n", 3);
		ssh_chan_send_eof(c[i].chan);
	}
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		assert_true(real_until(&real, &c[i].closed));
		assert_string_equal(c[i].err.text, "");
		assert_string_equal(c[i].out[0].data, "go\n");
		done(&c[i]);
	}
	assert_int_equal(ssh_link_epoch(link), 1);
	ssh_link_free(&link);
}

static void
a_lost_connection_is_told_and_the_next_command_connects_anew(void **state)
{
	struct ssh_link *link = new_link();
	struct cmd running, waiting[10], next;

	(void)state;
	start(&running, link, "echo up; sleep 1000");
	while (!running.out[0].len)
		real_turn(&real, 5);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		start(&waiting[i], link, "sleep 1000");
	while (!waiting[6].opened)
		real_turn(&real, 5);
	sshd_cut(&sshd);
	assert_true(real_until(&real, &running.closed));
	assert_int_equal(running.err.code, ERR_LOST);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		assert_true(waiting[i].closed);
		assert_int_equal(waiting[i].err.code, waiting[i].opened ? ERR_LOST :
		    ERR_UNAVAILABLE);
		done(&waiting[i]);
	}
	assert_false(ssh_link_is_up(link));
	start(&next, link, "echo again");
	assert_true(real_until(&real, &next.closed));
	assert_string_equal(next.out[0].data, "again\n");
	assert_int_equal(ssh_link_epoch(link), 2);
	done(&running);
	done(&next);
	ssh_link_free(&link);
}

static void
host_keys_are_checked(void **state)
{
	char *none CLEANUP_FREE = mem_printf("%s/none", sshd.dir);
	struct ssh_target t = target();

	(void)state;
	if (missing)
		skip();
	t.known_hosts = none;
	expect_refused(&t, ERR_CONFIG, "is not known (ssh-ed25519 SHA256:");
	t.accept_new = true;
	struct ssh_link *link = ssh_link_new(real.loop, &t);
	struct cmd c;
	start(&c, link, "true");
	assert_true(real_until(&real, &c.closed));
	assert_int_equal(c.status, 0);
	done(&c);
	ssh_link_free(&link);
	t.accept_new = false;	/* it was written down */
	link = ssh_link_new(real.loop, &t);
	start(&c, link, "true");
	assert_true(real_until(&real, &c.closed));
	assert_int_equal(c.status, 0);
	done(&c);
	ssh_link_free(&link);
	sshd_new_host_key(&sshd);
	sshd_restart(&sshd);
	t.accept_new = true;	/* a changed one is never accepted */
	expect_refused(&t, ERR_DENIED, "HAS CHANGED");
	expect_refused(&t, ERR_DENIED, "HAS CHANGED");
}

static void
what_refuses_us_is_named(void **state)
{
	struct ssh_target t = target();
	char *none CLEANUP_FREE = mem_printf("%s/fresh", sshd.dir);

	(void)state;
	if (missing)
		skip();
	t.accept_new = true;
	t.known_hosts = none;
	t.key_file = sshd.other_key;
	expect_refused(&t, ERR_DENIED, "refused to log in");
	t.key_file = "/nonexistent/key";
	expect_refused(&t, ERR_DENIED, "/nonexistent/key (No such file");
	t.key_file = sshd.key;
	t.port = 1;
	expect_refused(&t, ERR_IO, "connecting to 127.0.0.1 port 1");
	t.host = "no-such-host.invalid";
	expect_refused(&t, ERR_NOT_FOUND, "no-such-host.invalid");
}

/* An agent that accepts and is silent: a cancel must not wait for it. */
static void
a_silent_agent_holds_up_nobody(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct ssh_target t = target();
	char *none CLEANUP_FREE = mem_printf("%s/fresh", sshd.dir);
	struct cmd c;

	(void)state;
	if (missing)
		skip();
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/agent", sshd.dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(listen(fd, 1), 0);
	t.agent = sun.sun_path;
	t.key_file = NULL;
	t.accept_new = true;
	t.known_hosts = none;
	struct ssh_link *link = ssh_link_new(real.loop, &t);
	start(&c, link, "true");
	int client = -1;
	for (int i = 0; client < 0 && !c.closed && i < 2000; i++) {
		struct timeval none_yet = { 0, 5000 };
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none_yet, sizeof(none_yet));
		real_turn(&real, 5);
		client = accept(fd, NULL, NULL);
	}
	assert_true(client >= 0);
	real_turn(&real, 100);
	assert_false(c.closed);
	done(&c);
	ssh_link_free(&link);
	close(client);
	close(fd);
}

static int
setup(void **state)
{
	(void)state;
	(void)sshd_start(&sshd, &missing);
	if (sshd.pid)
		missing = NULL;
	real_setup(&real);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	real_teardown(&real);
	sshd_stop(&sshd);
	assert_int_equal(op_live(), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_status_and_input_arrive),
		cmocka_unit_test(much_data_both_ways_and_a_paused_neighbour),
		cmocka_unit_test(more_commands_than_the_server_allows_wait),
		cmocka_unit_test(a_lost_connection_is_told_and_the_next_command_connects_anew),
		cmocka_unit_test(host_keys_are_checked),
		cmocka_unit_test(what_refuses_us_is_named),
		cmocka_unit_test(a_silent_agent_holds_up_nobody),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
