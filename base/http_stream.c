/*
 * base/http_stream.h on libcurl: a handle with CURLOPT_CONNECT_ONLY brings the
 * connection; request, answer and the bytes after it are ours.  The handle
 * stays with the multi handle, which owns the connection, until the end.
 */
#include "base/http_stream.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/http_curl_priv.h"
#include "base/mem.h"

#define HEADER_MAX 16384
#define REFUSAL_MAX 65536
#define CHUNK 65536
#define CHUNKS_A_TURN 4

enum stream_step { STREAM_CONNECT, STREAM_ASK, STREAM_REFUSED, STREAM_OPEN,
	STREAM_ENDED };

struct http_stream {
	struct http_easy owner;
	struct http *http;
	const struct http_stream_events *events;
	void *arg;
	char *label;
	CURL *easy;
	enum stream_step step;
	struct watch *watch;
	struct timer *timer;	/* until open; then: more may be buffered */
	struct buf out;		/* the request, not yet sent */
	struct buf in;		/* header, or the body of a refusal */
	int status;
	long length;		/* of a refusal; -1: up to the end */
	bool reading, want_write;
	bool *freed;
};

static void on_ready(void *arg, unsigned ready);

static void
stream_end(struct http_stream *s, const struct err *err)
{
	const struct http_stream_events *events = s->events;
	bool refused = s->step == STREAM_REFUSED;

	if (s->step == STREAM_ENDED)
		return;
	s->step = STREAM_ENDED;
	loop_cancel(&s->timer);
	loop_unwatch(&s->watch);
	events->end(s->arg, err, refused ? s->status : 0,
		refused ? s->in.data : "", refused ? s->in.len : 0);
}

static void
stream_broken(struct http_stream *s, enum err_code code, const char *why)
{
	struct err err = { ERR_NONE, "" };

	err_set(&err, code, "%s: %s", s->label, why);
	stream_end(s, &err);
}

static void
watch_set(struct http_stream *s)
{
	if (s->watch)
		loop_watch_set(s->watch, (s->reading ? LOOP_READ : 0) |
			(s->out.len || s->want_write ? LOOP_WRITE : 0));
}

static void
stream_send(struct http_stream *s)
{
	while (s->out.len) {
		size_t n = 0;
		CURLcode rc = curl_easy_send(s->easy, s->out.data, s->out.len, &n);

		if (rc == CURLE_AGAIN)
			break;
		if (rc != CURLE_OK) {
			stream_broken(s, ERR_LOST, curl_easy_strerror(rc));
			return;
		}
		buf_drain(&s->out, n);
	}
	watch_set(s);
}

/* ---- the answer ------------------------------------------------------------- */

static long
header_length(const char *head)
{
	const char *p = strcasestr(head, "\r\ncontent-length:");

	return p ? strtol(p + 17, NULL, 10) : -1;
}

/* The header is whole: what follows it belongs to the stream. */
static void
stream_answered(struct http_stream *s, size_t head_len)
{
	bool freed = false;

	s->in.data[head_len - 1] = '\0';
	const char *space = strchr(s->in.data, ' ');
	s->status = space ? (int)strtol(space + 1, NULL, 10) : 0;
	s->length = header_length(s->in.data);
	buf_drain(&s->in, head_len);
	if (s->status != 101 && s->status != 200) {
		s->step = STREAM_REFUSED;
		return;
	}
	s->step = STREAM_OPEN;
	loop_cancel(&s->timer);
	s->freed = &freed;
	s->events->open(s->arg);
	if (!freed && s->in.len)
		s->events->data(s->arg, s->in.data, s->in.len);
	if (freed)
		return;
	s->freed = NULL;
	buf_done(&s->in);
	buf_init(&s->in, 0);
}

static void
stream_take(struct http_stream *s, const char *data, size_t len)
{
	const char *end;

	if (s->step == STREAM_OPEN) {
		s->events->data(s->arg, data, len);
		return;
	}
	if (!buf_add(&s->in, data, len)) {
		stream_broken(s, ERR_PROTOCOL, "an endless answer");
		return;
	}
	if (s->step == STREAM_ASK) {
		end = memmem(s->in.data, s->in.len, "\r\n\r\n", 4);
		if (!end) {
			if (s->in.len > HEADER_MAX)
				stream_broken(s, ERR_PROTOCOL, "an endless header");
			return;
		}
		bool freed = false, *outer = s->freed;

		s->freed = &freed;
		stream_answered(s, (size_t)(end - s->in.data) + 4);
		if (freed) {
			if (outer)
				*outer = true;
			return;
		}
		s->freed = outer;
	}
	if (s->step == STREAM_REFUSED && s->length >= 0 &&
	    s->in.len >= (size_t)s->length)
		stream_end(s, NULL);
}

/* TLS may hold bytes back that the descriptor no longer shows. */
static void
on_more(void *arg)
{
	struct http_stream *s = arg;

	s->timer = NULL;
	if (s->reading)
		on_ready(s, LOOP_READ);
}

static void
stream_recv(struct http_stream *s)
{
	static char chunk[CHUNK];	/* loop thread; used up at once */
	bool freed = false;

	for (int i = 0; i < CHUNKS_A_TURN && s->reading; i++) {
		size_t n = 0;
		CURLcode rc = curl_easy_recv(s->easy, chunk, sizeof(chunk), &n);

		if (rc == CURLE_AGAIN)
			return;
		if (rc != CURLE_OK || n == 0) {
			if (rc != CURLE_OK || s->step == STREAM_ASK)
				stream_broken(s, ERR_LOST, rc != CURLE_OK ?
					curl_easy_strerror(rc) :
					"closed without an answer");
			else
				stream_end(s, NULL);
			return;
		}
		s->freed = &freed;
		stream_take(s, chunk, n);
		if (freed)
			return;
		s->freed = NULL;
		if (s->step == STREAM_ENDED)
			return;
	}
	if (s->reading && !s->timer)
		s->timer = loop_defer(s->http->loop, "http stream", on_more, s);
}

static void
on_ready(void *arg, unsigned ready)
{
	struct http_stream *s = arg;

	if (ready & LOOP_WRITE) {
		bool freed = false;

		stream_send(s);
		if (s->step == STREAM_ENDED)
			return;
		if (s->want_write && !s->out.len && s->step == STREAM_OPEN) {
			s->want_write = false;
			watch_set(s);
			s->freed = &freed;
			s->events->writable(s->arg);
			if (freed)
				return;
			s->freed = NULL;
		}
	}
	if (ready & LOOP_READ)
		stream_recv(s);
}

/* ---- start and end ------------------------------------------------------------ */

/* Connected, or not; called from the loop. */
static void
on_connected(struct http_easy *owner, CURLcode rc)
{
	struct http_stream *s = (struct http_stream *)(void *)owner;
	curl_socket_t fd = CURL_SOCKET_BAD;

	if (rc != CURLE_OK) {
		stream_broken(s, ERR_UNAVAILABLE, curl_easy_strerror(rc));
		return;
	}
	curl_easy_getinfo(s->easy, CURLINFO_ACTIVESOCKET, &fd);
	if (fd == CURL_SOCKET_BAD) {
		stream_broken(s, ERR_INTERNAL, "no socket");
		return;
	}
	s->step = STREAM_ASK;
	s->reading = true;
	s->watch = loop_watch(s->http->loop, fd, LOOP_READ | LOOP_WRITE,
		"http stream", on_ready, s);
}

static void
on_late(void *arg)
{
	struct http_stream *s = arg;

	s->timer = NULL;
	stream_broken(s, ERR_TIMEOUT, "no answer in time");
}

static void
put_request(struct http_stream *s, const char *url, const char *body)
{
	const char *host = strstr(url, "://");
	const char *path;

	host = host ? host + 3 : url;
	path = strchr(host, '/');
	REQUIRE(path);
	buf_printf(&s->out, "POST %s HTTP/1.1\r\nHost: %.*s\r\n"
		"User-Agent: %s\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		path, (int)(path - host), host, s->http->user_agent ?
		s->http->user_agent : "gatehouse", strlen(body), body);
}

struct http_stream *
http_stream_start(struct http *http, const struct http_stream_req *req,
	const struct http_stream_events *events, void *arg)
{
	struct http_stream *s = mem_alloc(sizeof(*s));
	CURL *e = curl_easy_init();

	REQUIRE(e && req->open_ms > 0);
	s->owner.ended = on_connected;
	s->http = http;
	http->live++;
	s->events = events;
	s->arg = arg;
	s->label = mem_str(req->label);
	s->easy = e;
	buf_init(&s->out, 65536);
	buf_init(&s->in, REFUSAL_MAX);
	put_request(s, req->url, req->body);
	curl_easy_setopt(e, CURLOPT_PRIVATE, &s->owner);
	curl_easy_setopt(e, CURLOPT_URL, req->url);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	/* ALPN must not choose HTTP/2: what follows is written by us. */
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)req->open_ms);
	http_setup_peer(http, e);
	s->timer = loop_after(http->loop, req->open_ms, "http stream", on_late, s);
	curl_loop_add(&http->curl, e);
	return s;
}

void
http_stream_free(struct http_stream **sp)
{
	if (!*sp)
		return;
	struct http_stream *s = STEAL(*sp);

	if (s->freed)
		*s->freed = true;
	loop_cancel(&s->timer);
	loop_unwatch(&s->watch);
	curl_loop_remove(&s->http->curl, s->easy);
	curl_easy_cleanup(s->easy);
	s->http->live--;
	buf_done(&s->out);
	buf_done(&s->in);
	mem_free(s->label);
	mem_free(s);
}

size_t
http_stream_write(struct http_stream *s, const void *data, size_t len)
{
	const char *p = data;
	size_t done = 0;

	if (s->step != STREAM_OPEN || s->out.len)
		return 0;
	while (done < len) {
		size_t n = 0;
		CURLcode rc = curl_easy_send(s->easy, p + done, len - done, &n);

		if (rc == CURLE_AGAIN)
			break;
		if (rc != CURLE_OK)
			return len;	/* reading tells of the end */
		done += n;
	}
	if (done < len) {
		s->want_write = true;
		watch_set(s);
	}
	return done;
}

void
http_stream_flow(struct http_stream *s, bool reading)
{
	if (s->step != STREAM_OPEN || s->reading == reading)
		return;
	s->reading = reading;
	watch_set(s);
	if (reading && !s->timer)
		s->timer = loop_defer(s->http->loop, "http stream", on_more, s);
}
