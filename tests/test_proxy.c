/*
 * What the proxy lets through and what not.  That nothing but a checked address
 * is dialled is held by tests/fake_net.c.  Red if: a refusal has no words, or a
 * byte behind a request goes on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/fake_net.h"
#include "tests/proxy_world.h"

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
	/* The request is whole: that the client says no more is no news. */
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn(0);
	assert_false(gone(server));
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PROXY_TEST(a_tunnel_carries_bytes_both_ways),
		PROXY_TEST(bytes_behind_connect_are_not_lost),
		PROXY_TEST(a_plain_request_goes_on_rewritten),
		PROXY_TEST(a_second_request_never_reaches_the_server),
		PROXY_TEST(a_broken_body_ends_both_sides),
		PROXY_TEST(socks_by_name_reaches_the_same),
		PROXY_TEST(names_off_the_list_are_not_even_looked_up),
		PROXY_TEST(addresses_are_checked_in_every_guise),
		PROXY_TEST(what_a_name_leads_to_is_checked),
		PROXY_TEST(a_name_that_changes_is_checked_each_time),
		PROXY_TEST(a_named_private_address_is_reached),
		PROXY_TEST(failures_have_words_of_their_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
