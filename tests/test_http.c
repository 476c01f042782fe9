/* What is known after a request, whatever the other side does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "tests/http_client.h"

/* ---- what is known ----------------------------------------------------------- */

static void
a_whole_answer_is_answered(void **state)
{
	struct call k;
	const char *h[] = { "Content-Type: text/plain", NULL };
	struct http_req req = { .body = "hello", .body_len = 5, .headers = h };

	client_ask(*state, serve_echo, NULL, &req, &k);
	assert_int_equal(k.outcome, HTTP_ANSWERED);
	assert_int_equal(k.status, 429);
	assert_memory_equal(k.body, "hello|POST /x", 13);
	assert_string_equal(k.type, "application/json");
	assert_string_equal(k.retry_after, "7");
	assert_string_equal(k.should_retry, "false");
	call_done(&k);
}

static void
one_url(struct client *c, const char *url, struct call *k)
{
	struct http_req req = { .url = url, .body = "x", .body_len = 1 };

	client_start(k, c, &req);
	loop_run(c->loop);
	assert_int_equal(k->ended, 1);
}

static void
a_refused_connection_is_not_sent(void **state)
{
	struct call k;
	CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d/",
		closed_port());

	one_url(*state, url, &k);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	assert_int_equal(k.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(k.text, "test call"));
	call_done(&k);
}

static void
an_unknown_name_is_not_sent(void **state)
{
	struct call k;

	one_url(*state, "http://nowhere.test/", &k);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	assert_int_equal(k.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(k.text, "nowhere.test"));
	call_done(&k);
}

static void
other_schemes_are_refused(void **state)
{
	const char *urls[] = { "file:///etc/passwd", "ftp://127.0.0.1/", "::" };

	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		struct call k;

		one_url(*state, urls[i], &k);
		assert_int_equal(k.outcome, HTTP_NOT_SENT);
		call_done(&k);
	}
}

static void
serve_garbage(void *arg, int fd, int n)
{
	(void)arg;
	(void)n;
	raw_write(fd, "this is no TLS at all\r\n\r\n");
	raw_wait_gone(fd);
}

static void
failed_tls_is_not_sent(void **state)
{
	struct call k;
	struct raw_server *srv = raw_server_new(serve_garbage, NULL);
	CLEANUP_FREE char *url = url_of(srv, "https");

	one_url(*state, url, &k);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	call_done(&k);
	raw_server_free(&srv);
}

static void
serve_reset_in_handshake(void *arg, int fd, int n)
{
	char one;

	(void)arg;
	(void)n;
	recv(fd, &one, 1, 0);
	raw_reset(fd);
}

static void
a_reset_before_the_request_is_not_sent(void **state)
{
	struct call k;
	struct raw_server *srv = raw_server_new(serve_reset_in_handshake, NULL);
	CLEANUP_FREE char *url = url_of(srv, "https");

	one_url(*state, url, &k);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	call_done(&k);
	raw_server_free(&srv);
}

static void
serve_reset_at_once(void *arg, int fd, int n)
{
	atomic_int *seen = arg;
	char sink[4096];
	ssize_t len = recv(fd, sink, sizeof(sink), MSG_DONTWAIT);

	(void)n;
	if (len > 0)
		atomic_fetch_add(seen, 1);
	raw_reset(fd);
}

/* Either may happen; but "not sent" must never be said of a byte that came. */
static void
a_reset_around_the_first_byte_never_lies(void **state)
{
	int not_sent = 0;

	for (int i = 0; i < 50; i++) {
		struct call k;
		atomic_int seen = 0;
		struct http_req req = { .body = "x", .body_len = 1 };

		client_ask(*state, serve_reset_at_once, &seen, &req, &k);
		assert_true(k.outcome == HTTP_UNKNOWN ||
			k.outcome == HTTP_NOT_SENT);
		if (k.outcome == HTTP_NOT_SENT) {
			not_sent++;
			assert_int_equal(atomic_load(&seen), 0);
		}
		call_done(&k);
	}
	fprintf(stderr, "# reset at once: %d of 50 known as not sent\n", not_sent);
}

static void
serve_reset_after_one_byte(void *arg, int fd, int n)
{
	char one;

	(void)arg;
	(void)n;
	recv(fd, &one, 1, 0);
	raw_reset(fd);
}

static void
a_reset_after_the_first_byte_is_unknown(void **state)
{
	struct call k;
	CLEANUP_FREE char *big = mem_alloc(1u << 20);
	struct http_req req = { .body = big, .body_len = 1u << 20 };

	client_ask(*state, serve_reset_after_one_byte, NULL, &req, &k);
	assert_int_equal(k.outcome, HTTP_UNKNOWN);
	assert_int_equal(k.status, 0);
	assert_int_equal(k.code, ERR_LOST);
	call_done(&k);
}

static void
a_cut_answer_is_told_by_what_arrived(void **state)
{
	static const struct cut cuts[] = {
		{ "", HTTP_UNKNOWN, 0, false },
		{ "", HTTP_UNKNOWN, 0, true },
		{ "HTTP/1.1 2", HTTP_UNKNOWN, 0, false },
		{ "HTTP/1.1 100 Continue\r\n\r\n", HTTP_UNKNOWN, 0, false },
		{ "HTTP/1.1 200 OK\r\n", HTTP_CUT, 200, false },
		{ "HTTP/1.1 200 OK\r\nContent-Le", HTTP_CUT, 200, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":",
			HTTP_CUT, 200, false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
			HTTP_CUT, 200, false },
		{ "HTTP/1.1 502 Bad\r\nContent-Length: 9\r\n\r\nx",
			HTTP_CUT, 502, false },
		{ "nonsense\r\n\r\n", HTTP_UNKNOWN, 0, false },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
			"Content-Length: 2\r\n\r\nok", HTTP_ANSWERED, 200, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		struct call k;
		struct cut cut = cuts[i];
		struct http_req req = { .body = "x", .body_len = 1 };

		client_ask(*state, serve_cut, &cut, &req, &k);
		if (k.outcome != cut.outcome || k.status != cut.status)
			fail_msg("cut %zu: outcome %d status %d", i, k.outcome,
				k.status);
		call_done(&k);
	}
}

/* ---- one request, once -------------------------------------------------------- */

struct counted { atomic_int bodies; atomic_int later_connections; };

static void
serve_second_dies(void *arg, int fd, int n)
{
	struct counted *s = arg;
	char in[4096];

	if (n > 0 && recv(fd, in, 1, MSG_PEEK) > 0)
		atomic_fetch_add(&s->later_connections, 1);
	for (int i = 0; raw_read_request(fd, in, sizeof(in)); i++) {
		atomic_fetch_add(&s->bodies, 1);
		if (n == 0 && i == 1) {
			raw_reset(fd);
			return;
		}
		raw_write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
}

static void
second_dies(struct client *c, const struct http_req *what, struct call *k,
	int *ret_bodies, int *ret_later)
{
	struct counted s = { 0 };
	struct raw_server *srv = raw_server_new(serve_second_dies, &s);
	CLEANUP_FREE char *url = url_of(srv, "http");

	for (int i = 0; i < 2; i++) {
		struct http_req req = *what;

		req.url = url;
		client_start(k, c, &req);
		loop_run(c->loop);
		if (i == 0) {
			assert_int_equal(k->outcome, HTTP_ANSWERED);
			call_done(k);
		}
	}
	raw_server_free(&srv);
	*ret_later = atomic_load(&s.later_connections);
	*ret_bodies = atomic_load(&s.bodies);
}

static void
a_post_on_a_dying_kept_connection_is_sent_once(void **state)	/* C019 */
{
	struct call k;
	struct http_req req = { .body = "send me once", .body_len = 12 };
	int bodies, later;

	second_dies(*state, &req, &k, &bodies, &later);
	/* libcurl may connect again before it finds that it can't */
	assert_int_equal(later, 0);
	assert_int_equal(bodies, 2);
	assert_int_equal(k.outcome, HTTP_UNKNOWN);
	call_done(&k);
}

static void
a_post_without_a_body_is_sent_once_too(void **state)
{
	struct call k;
	struct http_req req = { .method = "POST" };
	int bodies, later;

	second_dies(*state, &req, &k, &bodies, &later);
	assert_int_equal(bodies, 2);
	assert_int_equal(k.outcome, HTTP_ANSWERED);
	call_done(&k);
}

static void
serve_one_each(void *arg, int fd, int n)
{
	char in[4096];

	(void)n;
	if (!raw_read_request(fd, in, sizeof(in)))
		return;
	atomic_fetch_add((atomic_int *)arg, 1);
	raw_write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* C060: the close comes when the next request starts, a moment later, or never. */
static void
many_short_requests_with_server_closes(void **state)
{
	struct client *c = *state;
	atomic_int bodies = 0;
	struct raw_server *srv = raw_server_new(serve_one_each, &bodies);
	struct raw_server *keep = raw_server_new(serve_echo, NULL);
	CLEANUP_FREE char *closing = url_of(srv, "http");
	CLEANUP_FREE char *keeping = url_of(keep, "http");
	int answered = 0;

	for (int i = 0; i < 400; i++) {
		struct call k[4];

		for (size_t j = 0; j < 4; j++) {
			struct http_req req = { .body = "x", .body_len = 1,
				.url = (i + (int)j) % 3 ? closing : keeping };
			client_start(&k[j], c, &req);
		}
		loop_run(c->loop);
		for (size_t j = 0; j < 4; j++) {
			answered += k[j].outcome == HTTP_ANSWERED;
			if (k[j].outcome == HTTP_NOT_SENT)
				fail_msg("%s", k[j].text);
			call_done(&k[j]);
		}
	}
	fprintf(stderr, "# %d of 1600 answered\n", answered);
	assert_true(answered > 1500);
	raw_server_free(&srv);
	raw_server_free(&keep);
}

static void
fresh_means_a_connection_of_its_own(void **state)
{
	struct client *c = *state;
	struct raw_server *srv = raw_server_new(serve_echo, NULL);
	CLEANUP_FREE char *url = url_of(srv, "http");
	int want[] = { 1, 1, 2 };

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct call k;
		struct http_req req = { .url = url, .fresh = i == 2 };

		client_start(&k, c, &req);
		loop_run(c->loop);
		assert_int_equal(k.outcome, HTTP_ANSWERED);
		assert_int_equal(raw_server_connections(srv), want[i]);
		call_done(&k);
	}
	raw_server_free(&srv);
}

/* ---- proxies ----------------------------------------------------------------------------- */

static void
serve_proxy(void *arg, int fd, int n)
{
	char in[4096];

	(void)arg;
	(void)n;
	while (raw_read_request(fd, in, sizeof(in))) {
		if (!strncmp(in, "CONNECT ", 8))
			raw_write(fd, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
		else if (!strncmp(in, "GET http://far.test/", 20))
			raw_write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nfar");
		else
			raw_write(fd, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
	}
}

static void
a_proxy_is_used_but_not_for_loopback(void **state)
{
	struct client c = { .loop = ((struct client *)*state)->loop };
	struct raw_server *proxy = raw_server_new(serve_proxy, NULL);
	struct raw_server *near = raw_server_new(serve_echo, NULL);
	CLEANUP_FREE char *purl = url_of(proxy, "http");
	CLEANUP_FREE char *nurl = url_of(near, "http");
	struct http_opts opts = { .user_agent = "t", .proxy = purl };
	struct call k;

	c.http = http_new(c.loop, &opts);
	struct http_req far = { .url = "http://far.test/" };
	client_start(&k, &c, &far);
	loop_run(c.loop);
	assert_int_equal(k.outcome, HTTP_ANSWERED);
	assert_string_equal(k.body, "far");
	call_done(&k);

	struct http_req tunnel = { .url = "https://far.test/", .body = "x",
		.body_len = 1 };
	client_start(&k, &c, &tunnel);
	loop_run(c.loop);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	call_done(&k);

	int before = raw_server_connections(proxy);
	struct http_req direct = { .url = nurl };
	client_start(&k, &c, &direct);
	loop_run(c.loop);
	assert_int_equal(k.status, 429);
	assert_int_equal(raw_server_connections(proxy), before);
	call_done(&k);
	http_free(&c.http);
	raw_server_free(&proxy);
	raw_server_free(&near);
}

#define T(name) cmocka_unit_test_setup_teardown(name, client_setup, client_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_whole_answer_is_answered),
		T(a_refused_connection_is_not_sent),
		T(an_unknown_name_is_not_sent),
		T(other_schemes_are_refused),
		T(failed_tls_is_not_sent),
		T(a_reset_before_the_request_is_not_sent),
		T(a_reset_around_the_first_byte_never_lies),
		T(a_reset_after_the_first_byte_is_unknown),
		T(a_cut_answer_is_told_by_what_arrived),
		T(a_post_on_a_dying_kept_connection_is_sent_once),
		T(a_post_without_a_body_is_sent_once_too),
		T(many_short_requests_with_server_closes),
		T(fresh_means_a_connection_of_its_own),
		T(a_proxy_is_used_but_not_for_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
