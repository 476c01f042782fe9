/*
 * Red if: a request that two readers could read in two ways is taken, the head
 * for the server names another host than the one that was checked, or a byte
 * behind the body counts as body.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/proxy_head.h"
#include "sandbox/proxy_socks.h"

static struct proxy_head head;
static struct buf forward;
static struct err err;
static int status;

static enum proxy_head_result
read_n(const char *text, size_t len)
{
	buf_clear(&forward);
	err.code = ERR_NONE;
	return proxy_head_read(text, len, &head, &forward, &status, &err);
}

static enum proxy_head_result
read_head(const char *text)
{
	return read_n(text, strlen(text));
}

static int
setup(void **state)
{
	(void)state;
	buf_init(&forward, 65536);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	buf_done(&forward);
	return 0;
}

static void
a_tunnel_is_read(void **state)
{
	static const char text[] = "CONNECT Example.org:443 HTTP/1.1\r\n"
		"Host: Example.org:443\r\nProxy-Connection: keep-alive\r\n\r\nTLS";

	(void)state;
	assert_int_equal(read_head(text), PROXY_HEAD_DONE);
	assert_true(head.connect);
	assert_string_equal(head.target.host, "example.org");
	assert_int_equal(head.target.port, 443);
	assert_int_equal(head.len, strlen(text) - 3);
	assert_int_equal(forward.len, 0);
	for (size_t i = 0; i < head.len; i++)
		assert_int_equal(read_n(text, i), PROXY_HEAD_MORE);
	assert_int_equal(read_head("CONNECT [2001:4860::1]:8443 HTTP/1.0\r\n\r\n"),
		PROXY_HEAD_DONE);
	assert_true(head.target.literal && head.target.ip.v6);
}

static void
a_plain_request_is_written_anew(void **state)
{
	(void)state;
	assert_int_equal(read_head("GET http://Example.ORG/a?b=c HTTP/1.1\r\n"
		"host: example.org:80\r\nUser-Agent: x\r\nProxy-Authorization: Basic z\r\n"
		"Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nUpgrade: h2c\r\n"
		"Keep-Alive: 5\r\nTE: trailers\r\nCookie:  a=b \r\n\r\n"),
		PROXY_HEAD_DONE);
	assert_false(head.connect);
	assert_string_equal(forward.data, "GET /a?b=c HTTP/1.1\r\n"
		"Host: example.org\r\nUser-Agent: x\r\nCookie: a=b\r\n"
		"Connection: close\r\n\r\n");
	assert_true(proxy_body_ended(&head.body));
	/* An address in another spelling goes on as what it is. */
	assert_int_equal(read_head("HEAD http://0x8.010.2056:8080?q HTTP/1.0\r\n\r\n"),
		PROXY_HEAD_DONE);
	assert_string_equal(forward.data, "HEAD /?q HTTP/1.0\r\n"
		"Host: 8.8.8.8:8080\r\nConnection: close\r\n\r\n");
	assert_int_equal(read_head("GET http://[2a00::1]/ HTTP/1.1\r\n"
		"Host: [2a00:0:0::1]\r\n\r\n"), PROXY_HEAD_DONE);
	assert_non_null(strstr(forward.data, "\r\nHost: [2a00::1]\r\n"));
	/* The length of the body can't be declared private to this hop. */
	assert_int_equal(read_head("POST http://a.de/ HTTP/1.1\r\nHost: a.de\r\n"
		"Connection: content-length\r\nContent-Length: 3\r\n\r\nabc"),
		PROXY_HEAD_DONE);
	assert_non_null(strstr(forward.data, "\r\nContent-Length: 3\r\n"));
	assert_int_equal(head.body.left, 3);
}

static const struct { int status; const char *text; } refused[] = {
	{ 400, "GET / HTTP/1.1\r\nHost: a.de\r\n\r\n" },
	{ 400, "GET https://a.de/ HTTP/1.1\r\nHost: a.de\r\n\r\n" },
	{ 400, "GET ftp://a.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nHost: b.de\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nHost: a.de:81\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nHost: a.de\r\nHost: a.de\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nHost: a.de\r\nhOST: b.de\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nHost : a.de\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nHost: a.de\r\n X: folded\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nX\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\n: x\r\n\r\n" },
	{ 400, "GET http://u:p@a.de/ HTTP/1.1\r\nHost: a.de\r\n\r\n" },
	{ 400, "GET http://a.de@b.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de\\@b.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de/#x HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de:/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de:99999999999999999999/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET http:///x HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/2\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1 \r\n\r\n" },
	{ 400, "GET  http://a.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET\thttp://a.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de/\x80 HTTP/1.1\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\nHost: a.de\n\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nX: a\rb\r\n\r\n" },
	{ 400, "GET http://a.de/ HTTP/1.1\r\nX: a\x01\r\n\r\n" },
	{ 400, "G@T http://a.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "\r\nGET http://a.de/ HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT a.de HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT http://a.de:443/ HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT a.de:443/x HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT user@a.de:443 HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT ::1:443 HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT [::1]x:443 HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT a.de:443:80 HTTP/1.1\r\n\r\n" },
	{ 400, "CONNECT a.de:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n" },
	{ 400, "CONNECT a.de:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.1\r\nContent-Length: 3\r\n"
		"Content-Length: 3\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.1\r\nContent-Length: 3\r\n"
		"Transfer-Encoding: chunked\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.1\r\nContent-Length: +3\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.1\r\nContent-Length:\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.1\r\nContent-Length: 99999999999999999999"
		"\r\n\r\n" },
	{ 400, "POST http://a.de/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ 501, "POST http://a.de/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked"
		"\r\n\r\n" },
	{ 501, "POST http://a.de/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n" },
	{ 501, "POST http://a.de/ HTTP/1.1\r\nTransfer-Encoding:\r\n\r\n" },
};

static void
what_can_be_read_in_two_ways_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (read_head(refused[i].text) != PROXY_HEAD_BAD)
			fail_msg("taken: %s", refused[i].text);
		if (status != refused[i].status)
			fail_msg("%d for: %s", status, refused[i].text);
		assert_int_equal(err.code, ERR_INVALID);
	}
	/* The words are for the one who made the mistake. */
	assert_int_equal(read_head("CONNECT u:p@a.de:443 HTTP/1.1\r\n\r\n"),
		PROXY_HEAD_BAD);
	assert_non_null(strstr(err.text, "user and password"));
	assert_int_equal(read_n("GET http://a.de/\0 HTTP/1.1\r\n\r\n", 30),
		PROXY_HEAD_BAD);
}

static void
a_head_has_an_end(void **state)
{
	CLEANUP_BUF struct buf b;

	(void)state;
	buf_init(&b, 65536);
	buf_add_str(&b, "GET http://a.de/ HTTP/1.1\r\nX: ");
	while (b.len < PROXY_HEAD_MAX - 1)
		buf_add_char(&b, 'x');
	assert_int_equal(read_n(b.data, b.len), PROXY_HEAD_MORE);
	buf_add_char(&b, 'x');
	assert_int_equal(read_n(b.data, b.len), PROXY_HEAD_BAD);
	assert_int_equal(status, 431);
	buf_clear(&b);
	buf_add_str(&b, "GET http://a.de/ HTTP/1.1\r\n");
	for (int i = 0; i <= PROXY_HEADERS_MAX; i++)
		buf_add_str(&b, "a:\r\n");
	buf_add_str(&b, "\r\n");
	assert_int_equal(read_n(b.data, b.len), PROXY_HEAD_BAD);
	assert_int_equal(status, 431);
}

/* ---- bodies -------------------------------------------------------------------------- */

/* In pieces of one byte and at once; -1 or how many bytes are the body. */
static ptrdiff_t
body_of(const char *text, bool *ret_ended)
{
	struct proxy_body whole, bytes;
	ptrdiff_t sum = 0, n;

	proxy_body_chunked(&whole);
	proxy_body_chunked(&bytes);
	n = proxy_body_feed(&whole, text, strlen(text));
	for (const char *p = text; *p && sum >= 0; p++) {
		ptrdiff_t one = proxy_body_feed(&bytes, p, 1);
		sum = one < 0 ? -1 : sum + one;
	}
	assert_int_equal(n, sum);
	if (n >= 0)
		assert_int_equal(proxy_body_ended(&whole), proxy_body_ended(&bytes));
	*ret_ended = proxy_body_ended(&whole);
	return n;
}

static void
a_chunked_body_ends_where_it_says(void **state)
{
	static const struct { const char *text; ptrdiff_t len; bool ended; } rows[] = {
		{ "0\r\n\r\n", 5, true },
		{ "3\r\nabc\r\n0\r\n\r\nGET http://evil/", 13, true },
		{ "A;x=\"y\"\r\n0123456789\r\n000\r\nT: v\r\n\r\nrest", 34, true },
		{ "3\r\nab", 5, false }, { "", 0, false }, { "5", 1, false },
		{ "3\r\nabcX", -1, false }, { "3\r\nabc\n", -1, false },
		{ "3\nabc", -1, false }, { "-3\r\n", -1, false }, { "0x3\r\n", -1, false },
		{ " 3\r\n", -1, false }, { "3 \r\n", -1, false }, { "\r\n", -1, false },
		{ "1234567890abcdef\r\n", -1, false }, { "3;\n", -1, false },
		{ "0\r\n X: folded\r\n\r\n", -1, false }, { "0\r\nX: a\x01\r\n", -1, false },
		{ "0\r\nX: a\n\r\n", -1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool ended;
		ptrdiff_t len = body_of(rows[i].text, &ended);
		if (len != rows[i].len || (len >= 0 && ended != rows[i].ended))
			fail_msg("%td, %d for: %s", len, ended, rows[i].text);
	}
}

/* ---- SOCKS ------------------------------------------------------------------------------ */

static enum socks_result
socks(const char *bytes, size_t len, struct egress_target *t,
	enum socks_reply *reply)
{
	size_t used = 0;
	enum socks_result res = socks_request((const unsigned char *)bytes, len, t,
		&used, reply, &err);

	if (res == SOCKS_DONE)
		assert_int_equal(used, len);
	return res;
}

static void
socks_names_and_addresses_are_read(void **state)
{
	static const char name[] = "\5\1\0\3\13example.org\1\273";
	static const char v6[] = "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\377\377\12\0\0\1\0\120";
	struct egress_target t;
	enum socks_reply reply;
	size_t used;

	(void)state;
	assert_int_equal(socks_greeting((const unsigned char *)"\5\2\2\0", 4, &used),
		SOCKS_DONE);
	assert_int_equal(used, 4);
	assert_int_equal(socks_greeting((const unsigned char *)"\5\2\2", 3, &used),
		SOCKS_MORE);
	assert_int_equal(socks_greeting((const unsigned char *)"\5\1\2", 3, &used),
		SOCKS_BAD);
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		assert_int_equal(socks(name, i, &t, &reply), SOCKS_MORE);
	assert_int_equal(socks(name, sizeof(name) - 1, &t, &reply), SOCKS_DONE);
	assert_string_equal(t.host, "example.org");
	assert_int_equal(t.port, 443);
	assert_int_equal(socks("\5\1\0\1\177\0\0\1\0\120", 10, &t, &reply), SOCKS_DONE);
	assert_true(t.literal && !t.ip.v6 && t.ip.b[0] == 127);
	/* A mapped address is what it maps to. */
	assert_int_equal(socks(v6, sizeof(v6) - 1, &t, &reply), SOCKS_DONE);
	assert_true(t.literal && !t.ip.v6 && t.ip.b[0] == 10);
}

static void
socks_does_nothing_else(void **state)
{
	static const struct { const char *bytes; size_t len; enum socks_reply reply; }
	rows[] = {
		{ "\5\2\0\1\1\1\1\1\0\120", 10, SOCKS_COMMAND },
		{ "\5\3\0\1\1\1\1\1\0\120", 10, SOCKS_COMMAND },
		{ "\5\1\0\2\1\1\1\1\0\120", 10, SOCKS_ADDRESS_TYPE },
		{ "\4\1\0\1\1\1\1\1\0\120", 10, SOCKS_FAILED },
		{ "\5\1\1\1\1\1\1\1\0\120", 10, SOCKS_FAILED },
		{ "\5\1\0\1\1\1\1\1\0\0", 10, SOCKS_NOT_ALLOWED },
		{ "\5\1\0\3\0\0\120", 7, SOCKS_NOT_ALLOWED },
		{ "\5\1\0\3\17evil\0google.com\0\120", 22, SOCKS_NOT_ALLOWED },
		{ "\5\1\0\3\5a@b.c\0\120", 12, SOCKS_NOT_ALLOWED },
	};
	struct egress_target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum socks_reply reply = SOCKS_OK;
		assert_int_equal(socks(rows[i].bytes, rows[i].len, &t, &reply),
			SOCKS_BAD);
		assert_int_equal(reply, rows[i].reply);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tunnel_is_read),
		cmocka_unit_test(a_plain_request_is_written_anew),
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_head_has_an_end),
		cmocka_unit_test(a_chunked_body_ends_where_it_says),
		cmocka_unit_test(socks_names_and_addresses_are_read),
		cmocka_unit_test(socks_does_nothing_else),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
