/*
 * Red if: a step has no time limit, a connection outlives its port or its
 * command, one sandbox can take all there is, or the log has no end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/op.h"
#include "tests/fake_net.h"
#include "tests/proxy_world.h"

static void
every_step_has_its_time(void **state)
{
	int fd = client();

	(void)state;
	/* However it dribbles in. */
	for (int i = 0; i < 11; i++) {
		if (send(fd, "G", 1, MSG_NOSIGNAL) < 0)
			break;
		turn(1000);
	}
	assert_true(gone(fd));
	close(fd);
	fake_net_name("hang.ok.example", NULL, 0);
	fd = client();
	say(fd, "CONNECT hang.ok.example:443 HTTP/1.1\r\n\r\n");
	turn(0);
	turn(PROXY_RESOLVE_MS);
	hear(fd);
	assert_memory_equal(w.got, "HTTP/1.1 504", 12);
	/* Who doesn't take his refusal is left all the same. */
	turn(PROXY_LINGER_MS);
	assert_int_equal(w.port->counts.open, 0);
	close(fd);
	fake_net_hang_dial(true);
	fd = client();
	say(fd, "CONNECT ok.example:443 HTTP/1.1\r\n\r\n");
	turn(20);
	turn(PROXY_DIAL_MS);
	hear(fd);
	assert_memory_equal(w.got, "HTTP/1.1 504", 12);
	close(fd);
	turn(0);
	fake_net_hang_dial(false);
	fd = client();
	int server = tunnel(fd);
	turn(RELAY_IDLE_MS - 1000);
	assert_false(gone(fd));
	say(server, "x");
	turn(RELAY_IDLE_MS - 1000);
	assert_false(gone(fd));
	turn(RELAY_HALF_IDLE_MS);
	assert_true(gone(fd));
	close(fd);
	close(server);
	/* Who has said all gets an answer soon, or none. */
	fd = client();
	server = tunnel(fd);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn(RELAY_HALF_IDLE_MS - 1000);
	assert_false(gone(fd));
	turn(RELAY_HALF_IDLE_MS);
	assert_true(gone(fd));
	close(fd);
	close(server);
}

static void
one_sandbox_takes_its_share_only(void **state)
{
	int fds[PROXY_PORT_CONNS + 20];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = client();
	turn(0);
	assert_int_equal(w.port->counts.open, w.proxy->port_max);
	/* Another sandbox is not the poorer for it. */
	struct sockaddr_in first = w.at, other_at;
	int fd = listen_at(&other_at);
	struct proxy_port *other = proxy_open(w.proxy, "s2", &fd, 1), *mine = w.port;
	w.at = other_at;
	w.port = other;
	ask_text("CONNECT ok.example:443 HTTP/1.1\r\n\r\n");
	assert_memory_equal(w.got, "HTTP/1.1 200", 12);
	proxy_close(&other);
	w.port = mine;
	w.at = first;
	/* Those that waited come in when the first have gone. */
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		close(fds[i]);
		turn(0);
	}
	assert_int_equal(w.port->counts.open, 0);
	ask_text("CONNECT ok.example:443 HTTP/1.1\r\n\r\n");
	assert_memory_equal(w.got, "HTTP/1.1 200", 12);
}

static void
a_client_that_reads_nothing_stops_its_server(void **state)
{
	static char block[65536];
	int fd = client_with(4096), server = tunnel(fd);
	size_t sent = 0;
	ssize_t n;

	(void)state;
	/* As much as fits, again and again, until nothing moves any more. */
	for (size_t before = 1; before != sent; turn(0)) {
		before = sent;
		while ((n = send(server, block, sizeof(block), MSG_NOSIGNAL |
		    MSG_DONTWAIT)) > 0)
			sent += (size_t)n;
	}
	/* What the kernel holds for both, and one chunk of ours. */
	assert_true(sent < (24u << 20));
	close(server);
	size_t heard = 0;
	for (int i = 0; i < 5000; i++) {
		if (!hear(fd))
			break;
		heard += w.len;
		turn(0);
	}
	assert_int_equal(heard, sent);
	close(fd);
}

static void
connections_end_with_their_port(void **state)
{
	int fd = client(), server = tunnel(fd), waiting = client(), silent = client();

	(void)state;
	say(waiting, "CONNECT ok.example:443 HTTP/1.1\r\n\r\n");
	turn(0);
	assert_int_equal(w.port->counts.open, 3);
	proxy_close(&w.port);
	assert_true(gone(fd) && gone(server) && gone(waiting) && gone(silent));
	assert_int_equal(op_live(), 0);
	close(fd);
	close(server);
	close(waiting);
	close(silent);
}

static void
what_an_ended_command_left_open_ends_soon(void **state)
{
	int fd = client(), server = tunnel(fd), other = client();
	int other_server = tunnel(other);

	(void)state;
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	/* Its end has not been read when the word of the command's comes. */
	proxy_command_ended(w.port);
	assert_false(gone(fd));
	turn(RELAY_SURPLUS_MS + 1);
	assert_true(gone(fd));
	/* Who still speaks, or only ends later, is left alone. */
	assert_int_equal(shutdown(other, SHUT_WR), 0);
	turn(RELAY_SURPLUS_MS * 2);
	say(other_server, "late");
	turn(0);
	hear(other);
	assert_string_equal(w.got, "late");
	close(fd);
	close(server);
	close(other);
	close(other_server);
	/* One that waits for its server, too. */
	fake_net_name("hang.ok.example", NULL, 0);
	fd = client();
	say(fd, "CONNECT hang.ok.example:443 HTTP/1.1\r\n\r\n");
	turn(0);
	close(fd);
	proxy_command_ended(w.port);
	turn(0);
	assert_int_equal(w.port->counts.open, 0);
}

/* Whenever it is cut off, nothing is left. */
static void
a_port_can_close_at_any_time(void **state)
{
	(void)state;
	for (msec_t at = 0; at < 40; at++) {
		int fd = client();
		say(fd, at % 2 ? "CONNECT ok.example:443 HTTP/1.1\r\n\r\nx" :
			"GET http://ok.example/ HTTP/1.1\r\n\r\n");
		turn(at);
		proxy_close(&w.port);
		assert_int_equal(op_live(), 0);
		close(fd);
		int server = fake_net_server();
		if (server >= 0)
			close(server);
		int again = listen_at(&w.at);
		w.port = proxy_open(w.proxy, "s1", &again, 1);
	}
}

static void
the_log_is_bounded_and_counts(void **state)
{
	int out[2];
	char text[65536];
	unsigned lines = 0;

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	log_open(out[1], LOG_INFO);
	for (int i = 0; i < 100; i++)
		refused_with("CONNECT evil.example:443 HTTP/1.1\r\n\r\n", 403, "evil");
	turn(10000);
	refused_with("CONNECT evil.example:443 HTTP/1.1\r\n\r\n", 403, "evil");
	log_open(2, LOG_INFO);
	ssize_t n = read(out[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	for (const char *p = text; (p = strstr(p, "refused: ")); p++)
		lines++;
	assert_in_range(lines, 31, 62);
	assert_non_null(strstr(text, "sandbox=s1 CONNECT evil.example:443 refused: "
		"evil.example is not on native.network_allow"));
	assert_non_null(strstr(text, "more decisions were not shown"));
	close(out[0]);
	close(out[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PROXY_TEST(every_step_has_its_time),
		PROXY_TEST(one_sandbox_takes_its_share_only),
		PROXY_TEST(a_client_that_reads_nothing_stops_its_server),
		PROXY_TEST(connections_end_with_their_port),
		PROXY_TEST(what_an_ended_command_left_open_ends_soon),
		PROXY_TEST(a_port_can_close_at_any_time),
		PROXY_TEST(the_log_is_bounded_and_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
