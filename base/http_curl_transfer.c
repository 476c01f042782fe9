/*
 * One transfer as libcurl sees it: its options, and the functions that libcurl
 * calls while it runs.  They only note things on the transfer; what follows
 * from them happens in http_curl.c, outside libcurl.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/http_curl_priv.h"
#include "base/mem.h"

#define HTTP_CONNECT_MS 15000
#define HTTP_HEADER_VALUE_MAX 256

/*
 * Called between "connected" and the first byte of the request.  libcurl
 * counts what it says to a proxy as request bytes, hence size_before.
 */
static int
on_curl_prereq(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct transfer *t = arg;

	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	t->last_byte = loop_now(t->http->loop);
	if (t->on_wire)
		return CURL_PREREQFUNC_OK;	/* a GET that libcurl repeats */
	t->on_wire = true;
	curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &t->size_before);
	transfer_watch_idle(t);
	return CURL_PREREQFUNC_OK;
}

static size_t
on_curl_read(char *out, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = t->body_len - t->body_at;

	if (len > size * n)
		len = size * n;
	memcpy(out, t->body + t->body_at, len);
	t->body_at += len;
	t->last_byte = loop_now(t->http->loop);
	return len;
}

static void
header_value(char **ret, const char *line, size_t len, const char *name)
{
	size_t nlen = strlen(name);

	if (len <= nlen || line[nlen] != ':' || strncasecmp(line, name, nlen))
		return;
	line += nlen + 1;
	len -= nlen + 1;
	while (len && (line[0] == ' ' || line[0] == '\t'))
		line++, len--;
	while (len && (unsigned char)line[len - 1] <= ' ')
		len--;
	if (len > HTTP_HEADER_VALUE_MAX)
		return;
	mem_free(*ret);
	*ret = mem_strn(line, len);
}

static size_t
on_curl_header(char *line, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * n;

	t->last_byte = loop_now(t->http->loop);
	if (len >= 5 && !memcmp(line, "HTTP/", 5)) {
		const char *sp = memchr(line, ' ', len);
		long code = sp ? strtol(sp + 1, NULL, 10) : 0;

		/* 1xx: the answer proper is still to come */
		t->status = code >= 200 && code <= 999 ? (int)code : 0;
		/* headers of an interim answer don't count */
		mem_free(STEAL(t->content_type));
		mem_free(STEAL(t->retry_after));
		mem_free(STEAL(t->retry_after_ms));
		mem_free(STEAL(t->should_retry));
		return len;
	}
	if (t->status && (len == 1 || (len == 2 && line[0] == '\r')))
		t->headers_whole = true;
	header_value(&t->content_type, line, len, "content-type");
	header_value(&t->retry_after, line, len, "retry-after");
	header_value(&t->retry_after_ms, line, len, "retry-after-ms");
	header_value(&t->should_retry, line, len, "x-should-retry");
	return len;
}

static size_t
on_curl_write(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * n;

	t->last_byte = loop_now(t->http->loop);
	if (!t->on_data || t->status / 100 != 2) {
		t->too_big = !buf_add(&t->got, data, len);
		return t->too_big ? 0 : len;
	}
	if (len > t->max_body - t->streamed || !buf_add(&t->stream, data, len)) {
		t->too_big = true;
		return 0;
	}
	t->streamed += len;
	transfer_ready(t);
	return len;
}

static bool
has_header(const struct http_req *req, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *p = req->headers; p && *p; p++)
		if (!strncasecmp(*p, name, n) && (*p)[n] == ':')
			return true;
	return false;
}

static void
transfer_headers(struct transfer *t, const struct http_req *req)
{
	struct curl_slist *l = NULL;

	for (const char *const *p = req->headers; p && *p; p++) {
		l = curl_slist_append(l, *p);
		REQUIRE(l);
	}
	/* libcurl's own ideas: a pause of 1 s, and a type that is not true */
	l = curl_slist_append(l, "Expect:");
	REQUIRE(l);
	if (!has_header(req, "content-type"))
		l = curl_slist_append(l, "Content-Type:");
	t->headers = l;
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, l);
}

static void
transfer_method(struct transfer *t, const struct http_req *req)
{
	const char *method = req->method ? req->method :
		req->body ? "POST" : "GET";
	bool get = !strcmp(method, "GET");

	/*
	 * A body by callback, without a way to seek: libcurl can't send it a
	 * second time when a kept-alive connection turns out to be dead. One
	 * without a body it could repeat, so that one gets its own connection.
	 */
	if (!get || req->body_len) {
		curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)t->body_len);
		curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, on_curl_read);
		curl_easy_setopt(t->easy, CURLOPT_READDATA, t);
		if (strcmp(method, "POST"))
			curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, method);
	}
	if (req->fresh || (!get && !req->body_len))
		curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L);
}

void
http_setup_peer(const struct http *h, CURL *e)
{
	curl_easy_setopt(e, CURLOPT_PROXY, h->proxy ? h->proxy : "");
	curl_easy_setopt(e, CURLOPT_NOPROXY, h->no_proxy);
	if (h->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, h->ca_file);
	if (h->unix_socket)
		curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, h->unix_socket);
	if (h->cert_file)
		curl_easy_setopt(e, CURLOPT_SSLCERT, h->cert_file);
	if (h->key_file)
		curl_easy_setopt(e, CURLOPT_SSLKEY, h->key_file);
}

void
transfer_setup(struct transfer *t, const struct http_req *req)
{
	struct http *h = t->http;
	CURL *e = t->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, &t->owner);
	curl_easy_setopt(e, CURLOPT_URL, req->url);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	/* else the end of a transfer waits for its name look-up */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(req->connect_ms ? req->connect_ms : HTTP_CONNECT_MS));
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_text);
	curl_easy_setopt(e, CURLOPT_USERAGENT, h->user_agent);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	http_setup_peer(h, e);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_curl_prereq);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_curl_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_curl_write);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	transfer_method(t, req);
	transfer_headers(t, req);
}
