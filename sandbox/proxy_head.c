#include "sandbox/proxy_head.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct text {
	const char *s;
	size_t n;
};

struct field {
	struct text name, value;
};

struct reading {
	struct proxy_head *head;
	struct text method, path;
	bool http10;
	struct field fields[PROXY_HEADERS_MAX];
	size_t nfields;
	int status;
	struct err *err;
};

static int
bad(struct reading *r, int status, const char *why)
{
	r->status = status;
	return err_set(r->err, ERR_INVALID, "%s", why);
}

static bool
is(struct text t, const char *s)
{
	return t.n == strlen(s) && strncasecmp(t.s, s, t.n) == 0;
}

static bool
is_token(struct text t)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < t.n; i++) {
		unsigned c = (unsigned char)t.s[i];
		if (!(c - '0' < 10 || (c | 32) - 'a' < 26 ||
		    (c && strchr(marks, (int)c))))
			return false;
	}
	return t.n > 0;
}

/* What is left of `t` up to `c`; t goes on behind it. False: there is none. */
static bool
cut(struct text *t, char c, struct text *ret)
{
	const char *at = memchr(t->s, c, t->n);

	if (!at)
		return false;
	*ret = (struct text){ t->s, (size_t)(at - t->s) };
	t->n -= ret->n + 1;
	t->s = at + 1;
	return true;
}

/* ---- the first line ------------------------------------------------------------- */

/* HOST[:PORT]; need_port: it must be written. */
static int
read_authority(struct reading *r, struct text a, bool need_port)
{
	struct text host = a;
	unsigned long port = need_port ? 0 : 80;
	const char *close = a.n && a.s[0] == '[' ? memchr(a.s, ']', a.n) : NULL;
	size_t from = close ? (size_t)(close - a.s) + 1 : 0;
	const char *colon = memchr(a.s + from, ':', a.n - from);

	if (memchr(a.s, '@', a.n))
		return bad(r, 400, "user and password in the address are not taken");
	if (colon) {
		struct text digits = { colon + 1, a.n - (size_t)(colon + 1 - a.s) };
		host.n = (size_t)(colon - a.s);
		port = 0;
		for (size_t i = 0; i < digits.n && port <= UINT16_MAX; i++) {
			if (digits.s[i] < '0' || digits.s[i] > '9')
				return bad(r, 400, "the port is no number");
			port = port * 10 + (unsigned long)(digits.s[i] - '0');
		}
	}
	if (close && host.n != from)
		return bad(r, 400, "there is something behind the bracket");
	if (egress_target(&r->head->target, host.s, host.n, port, r->err) < 0) {
		r->status = 400;
		return -1;
	}
	return 0;
}

static int
read_url(struct reading *r, struct text url)
{
	static const char scheme[] = "http://";
	size_t n = sizeof(scheme) - 1;

	if (url.n < n || strncasecmp(url.s, scheme, n) != 0)
		return bad(r, 400, url.n && url.s[0] == '/' ? "this is a proxy: the "
			"request needs a whole URL" : "only http:// URLs are fetched; "
			"for anything else use CONNECT");
	struct text a = { url.s + n, 0 };
	while (a.n < url.n - n && !strchr("/?#", a.s[a.n]))
		a.n++;
	r->path = (struct text){ a.s + a.n, url.n - n - a.n };
	if (memchr(r->path.s, '#', r->path.n))
		return bad(r, 400, "a fragment has no place in a request");
	return read_authority(r, a, false);
}

static int
read_line(struct reading *r, struct text line)
{
	struct text target;

	if (!cut(&line, ' ', &r->method) || !is_token(r->method) ||
	    !cut(&line, ' ', &target))
		return bad(r, 400, "the request line is not METHOD URL HTTP/1.1");
	for (size_t i = 0; i < target.n; i++)
		if (target.s[i] <= 32 || target.s[i] >= 127)
			return bad(r, 400, "the URL has characters that must be encoded");
	r->http10 = is(line, "HTTP/1.0");
	if (!r->http10 && (line.n != 8 || memcmp(line.s, "HTTP/1.1", 8) != 0))
		return bad(r, 400, "only HTTP/1.1 and HTTP/1.0 are spoken here");
	r->head->connect = r->method.n == 7 && memcmp(r->method.s, "CONNECT", 7) == 0;
	if (!r->head->connect)
		return read_url(r, target);
	for (size_t i = 0; i < target.n; i++)
		if (strchr("/?#", target.s[i]))
			return bad(r, 400, "CONNECT takes HOST:PORT");
	return read_authority(r, target, true);
}

/* ---- fields ------------------------------------------------------------------------ */

static int
read_field(struct reading *r, struct text line)
{
	struct field f = { .value = line };

	if (r->nfields == PROXY_HEADERS_MAX)
		return bad(r, 431, "too many header fields");
	/* This also refuses a folded line and a space before the colon. */
	if (!cut(&f.value, ':', &f.name) || !is_token(f.name))
		return bad(r, 400, "a header line is not NAME: VALUE");
	while (f.value.n && strchr(" \t", f.value.s[0])) {
		f.value.s++;
		f.value.n--;
	}
	while (f.value.n && strchr(" \t", f.value.s[f.value.n - 1]))
		f.value.n--;
	for (size_t i = 0; i < f.value.n; i++) {
		unsigned char c = (unsigned char)f.value.s[i];
		if ((c < 32 && c != '\t') || c == 127)
			return bad(r, 400, "a control character in a header");
	}
	r->fields[r->nfields++] = f;
	return 0;
}

static const struct field *
find_field(const struct reading *r, const char *name, size_t *ret_count)
{
	const struct field *found = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < r->nfields; i++)
		if (is(r->fields[i].name, name)) {
			found = &r->fields[i];
			++*ret_count;
		}
	return found;
}

static int
check_host(struct reading *r)
{
	size_t count;
	const struct field *host = find_field(r, "host", &count);
	struct egress_target asked = r->head->target;

	if (count > 1)
		return bad(r, 400, "more than one Host");
	if (count == 0 || r->head->connect)
		return 0;	/* of a tunnel nothing is sent on */
	if (read_authority(r, host->value, false) < 0)
		return -1;
	struct egress_target named = r->head->target;
	r->head->target = asked;
	bool same = named.port == asked.port && named.literal == asked.literal &&
		(named.literal ? ip_equal(&named.ip, &asked.ip) :
		strcmp(named.host, asked.host) == 0);
	return same ? 0 : bad(r, 400, "Host and URL name different servers");
}

static int
read_length(struct reading *r, struct text digits)
{
	uint64_t v = 0;

	for (size_t i = 0; i < digits.n; i++) {
		if (digits.s[i] < '0' || digits.s[i] > '9' || i >= 18)
			return bad(r, 400, "Content-Length is no number");
		v = v * 10 + (uint64_t)(digits.s[i] - '0');
	}
	if (digits.n == 0)
		return bad(r, 400, "Content-Length is no number");
	if (v && r->head->connect)
		return bad(r, 400, "CONNECT has no body");
	proxy_body_length(&r->head->body, v);
	return 0;
}

static int
check_body(struct reading *r)
{
	size_t nlengths, ncodings;
	const struct field *length = find_field(r, "content-length", &nlengths);
	const struct field *coding = find_field(r, "transfer-encoding", &ncodings);

	if (nlengths + ncodings > 1)
		return bad(r, 400, "the length of the body is given more than once");
	if (coding && (r->http10 || r->head->connect))
		return bad(r, 400, "this request can't have a Transfer-Encoding");
	if (coding && !is(coding->value, "chunked"))
		return bad(r, 501, "only Transfer-Encoding: chunked is known");
	if (coding)
		proxy_body_chunked(&r->head->body);
	return length ? read_length(r, length->value) : 0;
}

/* ---- the head for the server ------------------------------------------------------- */

/* Concerns the way between two neighbours (RFC 9110 7.6.1), or the proxy. */
static bool
is_hop(const struct reading *r, struct text name)
{
	static const char *const hops[] = {
		"connection", "proxy-connection", "keep-alive", "te", "upgrade",
		"proxy-authorization", "proxy-authenticate", "host",
	};

	for (size_t i = 0; i < ARRAY_LEN(hops); i++)
		if (is(name, hops[i]))
			return true;
	/* How long the body is can't be declared a matter of this hop. */
	if (is(name, "content-length") || is(name, "transfer-encoding"))
		return false;
	for (size_t i = 0; i < r->nfields; i++) {
		struct text rest = r->fields[i].value, one;
		if (!is(r->fields[i].name, "connection"))
			continue;
		for (bool more = true; more; ) {
			more = cut(&rest, ',', &one);
			if (!more)
				one = rest;
			while (one.n && strchr(" \t", one.s[0])) {
				one.s++;
				one.n--;
			}
			while (one.n && strchr(" \t", one.s[one.n - 1]))
				one.n--;
			if (one.n == name.n && strncasecmp(one.s, name.s, one.n) == 0)
				return true;
		}
	}
	return false;
}

static void
add(struct buf *out, struct text t)
{
	buf_add(out, t.s, t.n);
}

static void
write_forward(const struct reading *r, struct buf *out)
{
	const struct egress_target *t = &r->head->target;
	char host[EGRESS_HOST_MAX];

	REQUIRE(mem_copy_str(host, sizeof(host), t->host) == 0);
	if (t->literal)
		ip_text(&t->ip, host);
	bool v6 = t->literal && t->ip.v6;
	add(out, r->method);
	buf_add_str(out, r->path.n && r->path.s[0] == '/' ? " " : " /");
	add(out, r->path);
	buf_printf(out, " HTTP/1.%c\r\nHost: %s%s%s", r->http10 ? '0' : '1',
		v6 ? "[" : "", host, v6 ? "]" : "");
	if (t->port != 80)
		buf_printf(out, ":%u", t->port);
	buf_add_str(out, "\r\n");
	for (size_t i = 0; i < r->nfields; i++) {
		const struct field *f = &r->fields[i];
		if (is_hop(r, f->name))
			continue;
		add(out, f->name);
		buf_add_str(out, ": ");
		add(out, f->value);
		buf_add_str(out, "\r\n");
	}
	/* One request a connection: what follows would not have been checked. */
	buf_add_str(out, "Connection: close\r\n\r\n");
}

/* Each CR before an LF, each LF behind a CR; no NUL. */
static bool
lines_are_clean(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == 0 || (data[i] == '\n' && (i == 0 || data[i - 1] != '\r')))
			return false;
		if (data[i] == '\r' && i + 1 < len && data[i + 1] != '\n')
			return false;
	}
	return true;
}

static int
read_all(struct reading *r, const char *data, size_t len)
{
	struct text rest = { data, len }, line;
	bool first = true;

	while (cut(&rest, '\n', &line) && line.n > 1) {
		line.n--;	/* its CR */
		if ((first ? read_line(r, line) : read_field(r, line)) < 0)
			return -1;
		first = false;
	}
	if (first)
		return bad(r, 400, "an empty request");
	return check_host(r) < 0 || check_body(r) < 0 ? -1 : 0;
}

enum proxy_head_result
proxy_head_read(const char *data, size_t len, struct proxy_head *ret,
	struct buf *forward, int *ret_status, struct err *err)
{
	struct reading r = { .head = ret, .status = 400, .err = err };
	size_t look = len < PROXY_HEAD_MAX ? len : PROXY_HEAD_MAX;
	const char *end = memmem(data, look, "\r\n\r\n", 4);
	size_t head = end ? (size_t)(end - data) + 4 : look;
	int result = 0;

	memset(ret, 0, sizeof(*ret));
	if (!lines_are_clean(data, head))
		result = bad(&r, 400, "line ends must be CR LF, without NUL");
	else if (!end && len < PROXY_HEAD_MAX)
		return PROXY_HEAD_MORE;
	else if (!end)
		result = bad(&r, 431, "the head of the request is too large");
	else
		result = read_all(&r, data, head);
	*ret_status = r.status;
	if (result < 0)
		return PROXY_HEAD_BAD;
	ret->len = head;
	if (!ret->connect)
		write_forward(&r, forward);
	return PROXY_HEAD_DONE;
}
