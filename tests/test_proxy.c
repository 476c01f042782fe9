/*
 * The proxy on the hand-moved clock, with names and servers of the test; the
 * clients are real sockets.  That nothing but a checked address is dialled is
 * held by tests/fake_net.c.  Red if: a refusal has no words, a step has no time
 * limit, a connection outlives its port, a byte behind a request goes on, or
 * one sandbox can take all there is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/op.h"
#include "sandbox/proxy.h"
#include "sandbox/proxy_priv.h"
#include "tests/fake_net.h"
#include "tests/loop_sim.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static struct world {
	struct loop *loop;
	struct proxy *proxy;
	struct proxy_port *port;
	struct sockaddr_in at;
	char got[200000], kept[4096];
	size_t len;
} w;

static int
listen_at(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)at, len) == 0 &&
		listen(fd, 512) == 0 &&
		getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

static int
setup(void **state)
{
	const struct egress_opts opts = {
		.allow = LIST("ok.example", "*.ok.example", "10.9.9.9", "127.0.0.1",
			"8.8.8.8", "mixed.example", "private.example", "own.example",
			"rebind.example"),
		.private_allow = LIST("10.9.9.9"),
	};
	struct err err = { ERR_NONE, "" };

	(void)state;
	memset(&w, 0, sizeof(w));
	fake_net_reset();
	fake_net_name("ok.example", "93.184.216.34", 20);
	fake_net_permit("10.9.9.9");
	w.loop = loop_new();
	w.proxy = proxy_new(w.loop, &opts, &err);
	assert_non_null(w.proxy);
	int fd = listen_at(&w.at);
	w.port = proxy_open(w.proxy, "s1", &fd, 1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	int server = fake_net_server();

	if (server >= 0)
		close(server);
	proxy_close(&w.port);
	proxy_free(&w.proxy);
	loop_free(&w.loop);
	assert_int_equal(op_live(), 0);
	return 0;
}

/* ---- a client ------------------------------------------------------------------------ */

/* All that the kernel and the next ms have for us. */
static void
turn(msec_t ms)
{
	for (int i = 0; i < 5; i++)
		while (sim_poll(w.loop))
			;
	sim_advance(w.loop, ms);
	while (sim_poll(w.loop))
		;
}

static int
client(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&w.at, sizeof(w.at)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static void
say_n(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

static void
say(int fd, const char *text)
{
	say_n(fd, text, strlen(text));
}

/* Reads what is there into w.got. False at the end. */
static bool
hear(int fd)
{
	ssize_t n = recv(fd, w.got, sizeof(w.got) - 1, MSG_DONTWAIT);

	w.len = n > 0 ? (size_t)n : 0;
	w.got[w.len] = 0;
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static bool
gone(int fd)
{
	while (hear(fd))
		if (w.len == 0)
			return false;
	return true;
}

/* One request in a connection of its own; the answer is in w.got. */
static void
ask(const char *request, size_t len)
{
	int fd = client();

	say_n(fd, request, len);
	turn(50);
	turn(0);
	hear(fd);
	size_t len_heard = w.len;
	memcpy(w.kept, w.got, sizeof(w.kept));
	close(fd);
	/* Who was connected is told that the server went, too. */
	int server = fake_net_server();
	if (server >= 0)
		close(server);
	turn(50);
	memcpy(w.got, w.kept, sizeof(w.kept));
	w.len = len_heard;
}

static void
ask_text(const char *request)
{
	ask(request, strlen(request));
}

static void
refused_with(const char *request, int status, const char *words)
{
	CLEANUP_FREE char *line = mem_printf("HTTP/1.1 %d ", status);
	unsigned dials = fake_net_dials();

	ask_text(request);
	if (strncmp(w.got, line, strlen(line)) != 0 || !strstr(w.got, words))
		fail_msg("%s got: %s", request, w.got);
	assert_non_null(strstr(w.got, "\r\nContent-Type: text/plain"));
	assert_non_null(strstr(w.got, "\r\nConnection: close\r\n"));
	assert_int_equal(fake_net_dials(), dials);
	assert_int_equal(w.port->counts.open, 0);
}

static int
tunnel(int fd)
{
	say(fd, "CONNECT ok.example:443 HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	turn(30);
	turn(0);
	hear(fd);
	assert_memory_equal(w.got, "HTTP/1.1 200 ", 13);
	int server = fake_net_server();
	assert_true(server >= 0);
	return server;
}

/* ---- what goes through ------------------------------------------------------------------ */

static void
a_tunnel_carries_bytes_both_ways(void **state)
{
	int fd = client(), server = tunnel(fd);

	(void)state;
	assert_string_equal(fake_net_dialled(), "93.184.216.34:443");
	say(fd, "up\0and binary");
	turn(0);
	hear(server);
	assert_string_equal(w.got, "up");
	say(server, "down");
	turn(0);
	hear(fd);
	assert_string_equal(w.got, "down");
	/* A half-closed side is passed on; the other goes on. */
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn(0);
	assert_true(gone(server));
	say(server, "late");
	turn(0);
	hear(fd);
	assert_string_equal(w.got, "late");
	close(server);
	turn(0);
	assert_true(gone(fd));
	close(fd);
	assert_int_equal(w.port->counts.open, 0);
	assert_int_equal(w.port->counts.allowed, 1);
}

static void
bytes_behind_connect_are_not_lost(void **state)
{
	int fd = client();

	(void)state;
	say(fd, "CONNECT ok.example:443 HTTP/1.1\r\n\r\nhello");
	turn(30);
	turn(0);
	int server = fake_net_server();
	hear(server);
	assert_string_equal(w.got, "hello");
	close(server);
	close(fd);
	turn(0);
}

static void
a_plain_request_goes_on_rewritten(void **state)
{
	int fd = client();

	(void)state;
	say(fd, "GET http://ok.example/x HTTP/1.1\r\nHost: ok.example\r\n"
		"Proxy-Connection: keep-alive\r\n\r\n");
	turn(30);
	turn(0);
	int server = fake_net_server();
	assert_string_equal(fake_net_dialled(), "93.184.216.34:80");
	hear(server);
	assert_string_equal(w.got, "GET /x HTTP/1.1\r\nHost: ok.example\r\n"
		"Connection: close\r\n\r\n");
	say(server, "HTTP/1.1 204 No Content\r\n\r\n");
	close(server);
	turn(0);
	hear(fd);
	assert_string_equal(w.got, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_true(gone(fd));
	close(fd);
}

static void
a_second_request_never_reaches_the_server(void **state)
{
	int fd = client();

	(void)state;
	say(fd, "POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n"
		"Content-Length: 4\r\n\r\nbody"
		"GET http://private.example/ HTTP/1.1\r\nHost: private.example\r\n\r\n");
	turn(30);
	turn(0);
	int server = fake_net_server();
	hear(server);
	assert_non_null(strstr(w.got, "\r\n\r\nbody"));
	assert_null(strstr(w.got, "private"));
	/* The answer comes whole, then the connection ends. */
	say(server, "HTTP/1.1 200 OK\r\n");
	turn(1000);
	say(server, "Content-Length: 2\r\n\r\nok");
	turn(0);
	hear(fd);
	assert_non_null(strstr(w.got, "\r\n\r\nok"));
	turn(RELAY_SURPLUS_MS);
	assert_true(gone(fd));
	assert_true(gone(server));
	close(server);
	close(fd);
	/* The same, when it comes later on a kept connection. */
	fd = client();
	say(fd, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	turn(30);
	turn(0);
	server = fake_net_server();
	hear(server);
	say(fd, "GET http://private.example/ HTTP/1.1\r\n\r\n");
	turn(0);
	hear(server);
	assert_int_equal(w.len, 0);
	turn(RELAY_SURPLUS_MS);
	assert_true(gone(server));
	close(server);
	close(fd);
	assert_int_equal(fake_net_dials(), 2);
}

static void
a_broken_body_ends_both_sides(void **state)
{
	int fd = client();

	(void)state;
	say(fd, "POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3\r\nab");
	turn(30);
	turn(0);
	int server = fake_net_server();
	hear(server);
	assert_non_null(strstr(w.got, "\r\n\r\n3\r\nab"));
	say(fd, "c0\r\n\r\nGET / HTTP/1.1\r\n\r\n");
	turn(0);
	hear(server);
	assert_null(strstr(w.got, "GET"));
	assert_true(gone(server));
	close(server);
	close(fd);
}

static void
socks_by_name_reaches_the_same(void **state)
{
	int fd = client();

	(void)state;
	say_n(fd, "\5\1\0", 3);
	turn(0);
	hear(fd);
	assert_memory_equal(w.got, "\5\0", 2);
	say_n(fd, "\5\1\0\3\12ok.example\1\273", 17);
	turn(30);
	turn(0);
	hear(fd);
	assert_int_equal(w.len, 10);
	assert_memory_equal(w.got, "\5\0\0\1", 4);
	int server = fake_net_server();
	say(server, "x");
	turn(0);
	hear(fd);
	assert_string_equal(w.got, "x");
	close(server);
	close(fd);
	turn(0);
}

/* ---- what doesn't --------------------------------------------------------------------------- */

static void
names_off_the_list_are_not_even_looked_up(void **state)
{
	(void)state;
	refused_with("CONNECT secret.evil.example:443 HTTP/1.1\r\n\r\n", 403,
		"not on native.network_allow");
	refused_with("GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		403, "evil.example");
	refused_with("CONNECT ok.example:22 HTTP/1.1\r\n\r\n", 403, "port 22");
	refused_with("CONNECT 1.1.1.1:443 HTTP/1.1\r\n\r\n", 403, "1.1.1.1");
	assert_int_equal(fake_net_look_ups(), 0);
	assert_int_equal(w.port->counts.refused, 4);
}

static void
addresses_are_checked_in_every_guise(void **state)
{
	static const char *const never[] = { "127.0.0.1", "2130706433", "0x7f.1",
		"017700000001", "[::ffff:127.0.0.1]" };

	(void)state;
	/* Their like is on the list of hosts: what stops them is what they are. */
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		CLEANUP_FREE char *connect = mem_printf("CONNECT %s:80 HTTP/1.1\r\n\r\n",
			never[i]);
		CLEANUP_FREE char *plain = mem_printf("GET http://%s/ HTTP/1.1\r\n\r\n",
			never[i]);
		refused_with(connect, 403, "loopback");
		refused_with(plain, 403, "loopback");
	}
	ask("\5\1\0\5\1\0\1\177\0\0\1\0\120", 13);
	assert_memory_equal(w.got, "\5\0\5\2", 4);
	ask("\5\1\0\5\1\0\3\12" "127.0.0x01\0\120", 20);
	assert_memory_equal(w.got, "\5\0\5\2", 4);
}

static void
what_a_name_leads_to_is_checked(void **state)
{
	(void)state;
	fake_net_name("private.example", "10.0.0.5", 0);
	refused_with("CONNECT private.example:443 HTTP/1.1\r\n\r\n", 403,
		"10.0.0.5, a private address");
	fake_net_name("private.example", "169.254.169.254", 0);
	refused_with("GET http://private.example/latest/meta-data/ HTTP/1.1\r\n\r\n",
		403, "metadata");
	fake_net_name("private.example", "64:ff9b::a00:5", 0);
	refused_with("CONNECT private.example:443 HTTP/1.1\r\n\r\n", 403, "private");
	/* One bad address spoils all: which would be dialled is chance. */
	fake_net_name("mixed.example", "93.184.216.34 10.0.0.5", 0);
	refused_with("CONNECT mixed.example:443 HTTP/1.1\r\n\r\n", 403, "10.0.0.5");
	fake_net_name("own.example", "93.184.216.99", 0);
	fake_net_own("93.184.216.99");
	refused_with("CONNECT own.example:443 HTTP/1.1\r\n\r\n", 403,
		"this machine itself");
}

static void
a_name_that_changes_is_checked_each_time(void **state)
{
	int fd = client();

	(void)state;
	fake_net_name("rebind.example", "93.184.216.34", 0);
	say(fd, "CONNECT rebind.example:443 HTTP/1.1\r\n\r\n");
	/* Its answer is in: what the name says from now on is no matter. */
	turn(0);
	fake_net_name("rebind.example", "127.0.0.1", 0);
	turn(10);
	hear(fd);
	assert_memory_equal(w.got, "HTTP/1.1 200", 12);
	assert_string_equal(fake_net_dialled(), "93.184.216.34:443");
	assert_int_equal(fake_net_look_ups(), 1);
	close(fd);
	close(fake_net_server());
	turn(0);
	refused_with("CONNECT rebind.example:443 HTTP/1.1\r\n\r\n", 403, "loopback");
}

static void
a_named_private_address_is_reached(void **state)
{
	(void)state;
	ask_text("CONNECT 10.9.9.9:443 HTTP/1.1\r\n\r\n");
	assert_memory_equal(w.got, "HTTP/1.1 200", 12);
	assert_string_equal(fake_net_dialled(), "10.9.9.9:443");
}

static void
failures_have_words_of_their_own(void **state)
{
	(void)state;
	refused_with("CONNECT no.ok.example:443 HTTP/1.1\r\n\r\n", 502, "resolved");
	ask("\5\1\0\5\1\0\3\15no.ok.example\0\120", 23);
	assert_memory_equal(w.got, "\5\0\5\4", 4);
	fake_net_fail_dial(ERR_UNAVAILABLE);
	ask_text("CONNECT ok.example:443 HTTP/1.1\r\n\r\n");
	assert_memory_equal(w.got, "HTTP/1.1 502", 12);
	refused_with("what is this\r\n\r\n", 400, "");
	refused_with("\x16\x03\x01", 400, "neither HTTP nor SOCKS5");
	ask("\4\1\0\120\1\1\1\1\0", 9);
	assert_memory_equal(w.got, "\0\133", 2);
	ask("\5\1\2", 3);
	assert_memory_equal(w.got, "\5\377", 2);
	ask("\5\1\0\5\3\0\1\1\1\1\1\0\120", 13);
	assert_memory_equal(w.got, "\5\0\5\7", 4);
}

/* ---- bounds ------------------------------------------------------------------------------------ */

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
	int fd = client(), server = tunnel(fd);
	size_t sent = 0;
	ssize_t n;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		n = send(server, block, sizeof(block), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			break;
		sent += (size_t)n;
		turn(0);
	}
	assert_int_equal(n, -1);
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
	turn(RELAY_SURPLUS_MS + 1);
	assert_true(gone(server));
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

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_tunnel_carries_bytes_both_ways),
		T(bytes_behind_connect_are_not_lost),
		T(a_plain_request_goes_on_rewritten),
		T(a_second_request_never_reaches_the_server),
		T(a_broken_body_ends_both_sides),
		T(socks_by_name_reaches_the_same),
		T(names_off_the_list_are_not_even_looked_up),
		T(addresses_are_checked_in_every_guise),
		T(what_a_name_leads_to_is_checked),
		T(a_name_that_changes_is_checked_each_time),
		T(a_named_private_address_is_reached),
		T(failures_have_words_of_their_own),
		T(every_step_has_its_time),
		T(one_sandbox_takes_its_share_only),
		T(a_client_that_reads_nothing_stops_its_server),
		T(connections_end_with_their_port),
		T(what_an_ended_command_left_open_ends_soon),
		T(a_port_can_close_at_any_time),
		T(the_log_is_bounded_and_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
