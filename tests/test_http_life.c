/* Deadlines, cancel in every phase, bodies and streams. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/http_client.h"

/* ---- timers ---------------------------------------------------------------------- */

static void
serve_silent(void *arg, int fd, int n)
{
	atomic_int *reached = arg;
	char in[4096];

	(void)n;
	raw_read_request(fd, in, sizeof(in));
	atomic_fetch_add(reached, 1);
	raw_wait_gone(fd);
	atomic_fetch_add(reached, 1000);
}

static void
fifty_failures_side_by_side_all_end(void **state)	/* C062 */
{
	struct client *c = *state;
	atomic_int reached = 0;
	struct raw_server *srv = raw_server_new(serve_silent, &reached);
	CLEANUP_FREE char *silent = url_of(srv, "http");
	CLEANUP_FREE char *refused = mem_printf("http://127.0.0.1:%d/",
		closed_port());
	struct call k[50];

	for (size_t i = 0; i < 50; i++) {
		struct http_req req = { .url = i % 2 ? silent : refused,
			.body = "x", .body_len = 1, .total_ms = 400 };
		client_start(&k[i], c, &req);
	}
	loop_run(c->loop);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(k[i].ended, 1);
		assert_int_equal(k[i].outcome,
			i % 2 ? HTTP_UNKNOWN : HTTP_NOT_SENT);
		assert_int_equal(k[i].code,
			i % 2 ? ERR_TIMEOUT : ERR_UNAVAILABLE);
		call_done(&k[i]);
	}
	raw_server_free(&srv);
}

static void
stop_loop(void *arg)
{
	struct client *c = arg;

	loop_stop(c->loop);
}

static void
an_idle_client_does_nothing(void **state)
{
	struct client *c = *state;
	struct call k;
	struct http_req req = { 0 };

	client_ask(c, serve_echo, NULL, &req, &k);
	call_done(&k);
	/* let libcurl see the server's close first */
	loop_after(c->loop, 50, "stop", stop_loop, c);
	loop_run(c->loop);
	loop_stats(c->loop, true);
	loop_after(c->loop, 300, "stop", stop_loop, c);
	loop_run(c->loop);
	assert_true(loop_stats(c->loop, true).callbacks < 10);
}

static void
serve_dribble_then_silent(void *arg, int fd, int n)
{
	char in[4096];

	(void)arg;
	(void)n;
	if (!raw_read_request(fd, in, sizeof(in)))
		return;
	raw_write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
	for (int i = 0; i < 10; i++) {
		usleep(50000);
		raw_write(fd, "x");
	}
	raw_wait_gone(fd);
}

static void
silence_is_noticed_and_slowness_is_not_silence(void **state)
{
	struct call k;
	struct http_req req = { .idle_ms = 300, .on_data = on_stream };

	client_ask(*state, serve_dribble_then_silent, NULL, &req, &k);
	assert_int_equal(k.outcome, HTTP_CUT);
	assert_int_equal(k.code, ERR_TIMEOUT);
	assert_int_equal(k.streamed.len, 10);
	call_done(&k);
}

static void
the_total_deadline_beats_a_dribble(void **state)
{
	struct call k;
	struct http_req req = { .total_ms = 200 };

	client_ask(*state, serve_dribble_then_silent, NULL, &req, &k);
	assert_int_equal(k.outcome, HTTP_CUT);
	assert_int_equal(k.status, 200);
	assert_int_equal(k.code, ERR_TIMEOUT);
	call_done(&k);
}

/* A listener whose queue is full: connects to it stay pending. */
struct deaf { int fd; int fill[4]; int port; };

static void
deaf_open(struct deaf *d)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	d->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(d->fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(d->fd, 0), 0);
	getsockname(d->fd, (struct sockaddr *)&sin, &len);
	d->port = ntohs(sin.sin_port);
	for (size_t i = 0; i < ARRAY_LEN(d->fill); i++) {
		d->fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(d->fill[i], (struct sockaddr *)&sin, sizeof(sin));
	}
	usleep(20000);
}

static void
deaf_close(struct deaf *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->fill); i++)
		close(d->fill[i]);
	close(d->fd);
}

static void
deadlines_hold_while_connecting(void **state)
{
	struct client *c = *state;
	struct deaf d;
	struct call k[2];

	deaf_open(&d);
	CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d/", d.port);
	struct http_req total = { .url = url, .total_ms = 150 };
	struct http_req conn = { .url = url, .connect_ms = 150 };
	client_start(&k[0], c, &total);
	client_start(&k[1], c, &conn);
	loop_run(c->loop);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(k[i].outcome, HTTP_NOT_SENT);
		assert_int_equal(k[i].code, ERR_TIMEOUT);
		call_done(&k[i]);
	}
	deaf_close(&d);
}

static void
a_hanging_name_server_does_not_hold_the_deadline(void **state)
{
	struct client *c = *state;
	struct call k;
	struct http_req req = { .url = "http://hangs.test/", .total_ms = 150 };

	client_start(&k, c, &req);
	loop_run(c->loop);	/* the look-up still hangs when this returns */
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	assert_int_equal(k.code, ERR_TIMEOUT);
	call_done(&k);
	dns_let_go();
}

/* ---- cancel ------------------------------------------------------------------------ */

static void
cancel_during_the_name_look_up(void **state)
{
	struct client *c = *state;
	struct call k;
	struct http_req req = { .url = "http://hangs.test/" };

	client_start(&k, c, &req);
	client_run_until_dns_hangs(c);
	op_cancel(&k.op);	/* would never return if it waited for the name */
	assert_int_equal(op_live(), 0);
	assert_int_equal(k.ended, 0);
	call_done(&k);
	dns_let_go();
}

static void
cancel_before_anything_happened(void **state)
{
	struct client *c = *state;
	struct call k;
	struct http_req req = { .url = "http://127.0.0.1:1/" };

	client_start(&k, c, &req);
	op_cancel(&k.op);
	loop_after(c->loop, 20, "stop", stop_loop, c);
	loop_run(c->loop);
	assert_int_equal(k.ended, 0);
	call_done(&k);
}

static void
cancel_during_connect(void **state)
{
	struct client *c = *state;
	struct deaf d;
	struct call k;

	deaf_open(&d);
	CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d/", d.port);
	struct http_req req = { .url = url };
	client_start(&k, c, &req);
	loop_after(c->loop, 50, "stop", stop_loop, c);
	loop_run(c->loop);
	op_cancel(&k.op);
	assert_int_equal(k.ended, 0);
	call_done(&k);
	deaf_close(&d);
}

static void
serve_half(void *arg, int fd, int n)
{
	atomic_int *reached = arg;
	char in[4096];

	(void)n;
	raw_read_request(fd, in, sizeof(in));
	raw_write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
	usleep(20000);
	atomic_fetch_add(reached, 1);
	raw_wait_gone(fd);
	atomic_fetch_add(reached, 1000);
}

/* The server's handler ends only when our socket is closed. */
static void
cancel_while_served(struct client *c, raw_server_fn *fn)
{
	atomic_int reached = 0;
	struct raw_server *srv = raw_server_new(fn, &reached);
	CLEANUP_FREE char *url = url_of(srv, "http");
	struct http_req req = { .url = url, .body = "x", .body_len = 1 };
	struct call k;

	client_start(&k, c, &req);
	client_run_until(c, &reached, 1);
	op_cancel(&k.op);
	/* without the loop: the socket must already be closed */
	while (atomic_load(&reached) < 1000)
		usleep(1000);
	assert_int_equal(k.ended, 0);
	assert_int_equal(op_live(), 0);
	call_done(&k);
	raw_server_free(&srv);
}

static void
cancel_while_waiting_for_the_header(void **state)
{
	cancel_while_served(*state, serve_silent);
}

static void
cancel_in_the_body(void **state)
{
	cancel_while_served(*state, serve_half);
}

static void
cancel_after_the_end_but_before_the_news(void **state)
{
	struct client *c = *state;
	struct call k;
	const char *bad[] = { "X: a\r\nY: b", NULL };
	struct http_req req = { .url = "http://127.0.0.1:1/", .headers = bad };

	client_start(&k, c, &req);	/* has ended already */
	op_cancel(&k.op);
	loop_after(c->loop, 20, "stop", stop_loop, c);
	loop_run(c->loop);
	assert_int_equal(k.ended, 0);
	call_done(&k);
}

/* ---- bodies --------------------------------------------------------------------------- */

static void
serve_bytewise(void *arg, int fd, int n)
{
	const char *says = arg;
	char in[4096];

	(void)n;
	if (!raw_read_request(fd, in, sizeof(in)))
		return;
	for (; *says; says++) {
		char one[2] = { *says, '\0' };

		if (!raw_write(fd, one))
			return;
		usleep(200);
	}
}

static char bytewise_ok[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	"Transfer-Encoding: chunked\r\n\r\n5\r\nda\xc3\xa9t\r\n3\r\nxyz\r\n0\r\n\r\n";
static char bytewise_bad[] = "HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nlater";

static void
one_byte_at_a_time_is_the_same_stream(void **state)
{
	struct call k;
	struct http_req req = { .on_data = on_stream };

	client_ask(*state, serve_bytewise, bytewise_ok, &req, &k);
	assert_int_equal(k.outcome, HTTP_ANSWERED);
	assert_string_equal(k.streamed.data, "da\xc3\xa9txyz");
	assert_string_equal(k.body, "");
	assert_string_equal(k.type, "text/event-stream");
	call_done(&k);
}

static void
the_error_body_of_a_stream_is_collected(void **state)
{
	struct call k;
	struct http_req req = { .on_data = on_stream };

	client_ask(*state, serve_bytewise, bytewise_bad, &req, &k);
	assert_int_equal(k.outcome, HTTP_ANSWERED);
	assert_int_equal(k.status, 503);
	assert_int_equal(k.chunks, 0);
	assert_string_equal(k.body, "later");
	call_done(&k);
}

static void
a_reader_may_leave(void **state)
{
	struct client *c = *state;
	atomic_int reached = 0;
	struct raw_server *srv = raw_server_new(serve_half, &reached);
	CLEANUP_FREE char *url = url_of(srv, "http");
	struct http_req req = { .url = url, .on_data = on_stream };
	struct call k;

	client_start(&k, c, &req);
	k.leave = true;
	loop_run(c->loop);
	assert_int_equal(k.ended, 1);
	assert_int_equal(k.outcome, HTTP_CUT);
	assert_int_equal(k.chunks, 1);
	call_done(&k);
	raw_server_free(&srv);
}

static void
a_reader_may_cancel_its_own_transfer(void **state)
{
	struct client *c = *state;
	atomic_int reached = 0;
	struct raw_server *srv = raw_server_new(serve_half, &reached);
	CLEANUP_FREE char *url = url_of(srv, "http");
	struct http_req req = { .url = url, .on_data = on_stream };
	struct call k;

	client_start(&k, c, &req);
	k.cancel = true;
	loop_run(c->loop);
	assert_int_equal(k.ended, 0);
	assert_int_equal(op_live(), 0);
	call_done(&k);
	raw_server_free(&srv);
}

static void
serve_flood(void *arg, int fd, int n)
{
	char in[4096];
	char block[1001];

	(void)arg;
	(void)n;
	memset(block, 'y', 1000);
	block[1000] = '\0';
	if (!raw_read_request(fd, in, sizeof(in)))
		return;
	raw_write(fd, "HTTP/1.1 200 OK\r\n\r\n");
	while (raw_write(fd, block))
		;
}

static void
a_flood_is_cut_at_its_bound(void **state)
{
	for (int streamed = 0; streamed < 2; streamed++) {
		struct call k;
		struct http_req req = { .max_body = 50000,
			.on_data = streamed ? on_stream : NULL };

		client_ask(*state, serve_flood, NULL, &req, &k);
		assert_int_equal(k.outcome, HTTP_CUT);
		assert_int_equal(k.code, ERR_LIMIT);
		assert_true(k.body_len <= 50000 && k.streamed.len <= 50000);
		call_done(&k);
	}
}

static void
a_redirect_is_an_answer(void **state)
{
	struct call k;
	struct cut moved = { .says = "HTTP/1.1 302 Found\r\n"
		"Location: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n" };
	struct http_req req = { 0 };

	client_ask(*state, serve_cut, &moved, &req, &k);
	assert_int_equal(k.outcome, HTTP_ANSWERED);
	assert_int_equal(k.status, 302);
	call_done(&k);
}

static void
a_line_break_in_a_header_is_refused(void **state)
{
	struct call k;
	const char *bad[] = { "Authorization: Bearer x\r\nX-Evil: 1", NULL };
	struct http_req req = { .headers = bad };

	client_ask(*state, serve_echo, NULL, &req, &k);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	assert_int_equal(k.code, ERR_INVALID);
	call_done(&k);
}

#define T(name) cmocka_unit_test_setup_teardown(name, client_setup, client_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(fifty_failures_side_by_side_all_end),
		T(an_idle_client_does_nothing),
		T(silence_is_noticed_and_slowness_is_not_silence),
		T(the_total_deadline_beats_a_dribble),
		T(deadlines_hold_while_connecting),
		T(a_hanging_name_server_does_not_hold_the_deadline),
		T(cancel_during_the_name_look_up),
		T(cancel_before_anything_happened),
		T(cancel_during_connect),
		T(cancel_while_waiting_for_the_header),
		T(cancel_in_the_body),
		T(cancel_after_the_end_but_before_the_news),
		T(one_byte_at_a_time_is_the_same_stream),
		T(the_error_body_of_a_stream_is_collected),
		T(a_reader_may_leave),
		T(a_reader_may_cancel_its_own_transfer),
		T(a_flood_is_cut_at_its_bound),
		T(a_redirect_is_an_answer),
		T(a_line_break_in_a_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
