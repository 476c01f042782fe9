/*
 * base/http.h on libcurl: the life of a transfer, and the client.
 *
 * libcurl is never called from inside one of its own callbacks, and no
 * callback of a caller runs inside libcurl: what libcurl reports is noted on
 * the transfer (http_curl_transfer.c) and handed over from the loop
 * (http_deliver), so a caller may start and cancel what it likes anywhere.
 */
#include <string.h>

#include "base/http_curl_priv.h"
#include "base/log.h"
#include "base/mem.h"

#define HTTP_MAX_BODY (4u << 20)
#define HTTP_MAX_CONNECTS 16

static void http_deliver(void *arg);
static void transfer_end(struct transfer *t, CURLcode rc);
static void transfer_ended(struct http_easy *easy, CURLcode rc);
static void transfer_cancel(struct op *op);

static const struct op_type transfer_type = { "http", transfer_cancel };

void
transfer_ready(struct transfer *t)
{
	struct http *h = t->http;

	if (!t->ready) {
		t->ready = true;
		TAILQ_INSERT_TAIL(&h->ready, t, ready_link);
	}
	if (!h->deliver)
		h->deliver = loop_defer(h->loop, "http-deliver", http_deliver, h);
}

static void
on_idle(void *arg)
{
	struct transfer *t = arg;
	msec_t quiet = loop_now(t->http->loop) - t->last_byte;

	t->idle = NULL;
	if (quiet < t->idle_ms) {
		t->idle = loop_after(t->http->loop, t->idle_ms - quiet,
			"http-idle", on_idle, t);
		return;
	}
	err_set(&t->err, ERR_TIMEOUT, "%s: no byte for %lld ms", t->label,
		(long long)quiet);
	transfer_end(t, CURLE_OPERATION_TIMEDOUT);
}

void
transfer_watch_idle(struct transfer *t)
{
	if (t->idle_ms)
		t->idle = loop_after(t->http->loop, t->idle_ms, "http-idle",
			on_idle, t);
}

static void
on_total(void *arg)
{
	struct transfer *t = arg;

	t->total = NULL;
	err_set(&t->err, ERR_TIMEOUT, "%s: %s within %lld ms", t->label,
		t->status ? "no whole answer" : t->on_wire ? "no answer" :
		"no connection",
		(long long)(loop_now(t->http->loop) - t->started));
	transfer_end(t, CURLE_OPERATION_TIMEDOUT);
}

/* ---- the end of a transfer ----------------------------------------------- */

/* Closes the socket if an answer is under way; libcurl keeps an idle one. */
static void
transfer_stop(struct transfer *t)
{
	loop_cancel(&t->total);
	loop_cancel(&t->idle);
	if (!t->easy)
		return;
	CURL *easy = STEAL(t->easy);
	curl_loop_remove(&t->http->curl, easy);
	curl_easy_cleanup(easy);
	curl_slist_free_all(STEAL(t->headers));
}

static enum err_code
err_code_of(CURLcode rc, enum http_outcome outcome)
{
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return ERR_TIMEOUT;
	if (outcome != HTTP_NOT_SENT)
		return ERR_LOST;
	return rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL ?
		ERR_CONFIG : ERR_UNAVAILABLE;
}

/*
 * What is known.  A request with no byte past size_before never left; the
 * replay that libcurl refused (CURLE_SEND_FAIL_REWIND) has left once.
 */
static enum http_outcome
outcome_of(const struct transfer *t, CURLcode rc, long request_size)
{
	if (t->status)
		return rc == CURLE_OK && t->headers_whole ? HTTP_ANSWERED : HTTP_CUT;
	if (t->on_wire && (request_size > t->size_before ||
	    rc == CURLE_SEND_FAIL_REWIND))
		return HTTP_UNKNOWN;
	return HTTP_NOT_SENT;
}

/* rc is libcurl's word, or ours with t->err already set. */
static void
transfer_end(struct transfer *t, CURLcode rc)
{
	long request_size = 0;

	if (t->ended)
		return;
	curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &request_size);
	t->outcome = outcome_of(t, rc, request_size);
	log_debug("http", NULL, "%s: status %d, %s, %lld ms", t->label, t->status,
		curl_easy_strerror(rc),
		(long long)(loop_now(t->http->loop) - t->started));
	transfer_stop(t);
	t->ended = true;
	if (t->too_big)
		err_set(&t->err, ERR_LIMIT, "%s: the answer is larger than %zu bytes",
			t->label, t->max_body);
	else if (t->outcome != HTTP_ANSWERED && t->err.code == ERR_NONE)
		err_set(&t->err, err_code_of(rc, t->outcome), "%s: %s", t->label,
			rc == CURLE_OK ? "the answer ends in its header" :
			t->curl_text[0] ? t->curl_text : curl_easy_strerror(rc));
	transfer_ready(t);
}

static void
transfer_ended(struct http_easy *easy, CURLcode rc)
{
	transfer_end((struct transfer *)(void *)((char *)easy -
		offsetof(struct transfer, owner)), rc);
}

static void
on_curl_ended(CURL *easy, CURLcode rc)
{
	struct http_easy *owner;
	char *p;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &p);
	owner = (struct http_easy *)(void *)p;
	owner->ended(owner, rc);
}

static void
transfer_free(struct transfer *t)
{
	mem_free(t->label);
	mem_free(t->body);
	mem_free(t->content_type);
	mem_free(t->retry_after);
	mem_free(t->retry_after_ms);
	mem_free(t->should_retry);
	buf_done(&t->got);
	buf_done(&t->stream);
	mem_free(t);
}

/* Takes it off the client: nothing of h refers to it any more. */
static void
transfer_detach(struct transfer *t)
{
	struct http *h = t->http;

	transfer_stop(t);
	if (t->ready)
		TAILQ_REMOVE(&h->ready, t, ready_link);
	t->ready = false;
	if (TAILQ_EMPTY(&h->ready))
		loop_cancel(&h->deliver);
	h->live--;
}

static void
transfer_cancel(struct op *op)
{
	struct transfer *t = (struct transfer *)(void *)op;

	transfer_detach(t);
	if (t->gone)
		*t->gone = true;
	transfer_free(t);
}

static void
transfer_reader_left(struct transfer *t)
{
	buf_clear(&t->stream);
	if (t->ended && t->outcome != HTTP_ANSWERED)
		return;
	err_set(&t->err, ERR_LOST, "%s: ended by the reader", t->label);
	if (!t->ended)
		transfer_end(t, CURLE_WRITE_ERROR);
	t->outcome = HTTP_CUT;
}

static void
transfer_report(struct transfer *t)
{
	struct http_result res = {
		.outcome = t->outcome,
		.status = t->status,
		.body = t->got.data,
		.body_len = t->got.len,
		.content_type = t->content_type ? t->content_type : "",
		.retry_after = t->retry_after,
		.retry_after_ms = t->retry_after_ms,
		.should_retry = t->should_retry,
		.err = t->outcome == HTTP_ANSWERED ? NULL : &t->err,
		.elapsed = loop_now(t->http->loop) - t->started,
	};

	transfer_detach(t);
	op_finish(&t->op);
	t->done(t->arg, &res);
	transfer_free(t);
}

/* One transfer a turn; a caller's callback comes last, h may go with it. */
static void
http_deliver(void *arg)
{
	struct http *h = arg;
	struct transfer *t = TAILQ_FIRST(&h->ready);
	bool gone = false;

	h->deliver = NULL;
	REQUIRE(t);
	TAILQ_REMOVE(&h->ready, t, ready_link);
	t->ready = false;
	if (!TAILQ_EMPTY(&h->ready))
		h->deliver = loop_defer(h->loop, "http-deliver", http_deliver, h);
	if (t->stream.len) {
		size_t len = t->stream.len;
		char *data = buf_take(&t->stream);

		t->gone = &gone;
		bool more = t->on_data(t->data_arg, data, len);
		mem_free(data);
		if (gone)
			return;
		t->gone = NULL;
		if (!more)
			transfer_reader_left(t);
	}
	if (t->ended)
		transfer_report(t);
}

/* ---- start ---------------------------------------------------------------- */

/* Data from outside must not add header lines. */
static bool
headers_ok(const struct http_req *req)
{
	for (const char *const *p = req->headers; p && *p; p++)
		if (strpbrk(*p, "\r\n"))
			return false;
	return true;
}

struct op *
http_start(struct http *h, const struct http_req *req, http_done_cb *done,
	void *arg)
{
	struct transfer *t = mem_alloc(sizeof(*t));

	REQUIRE(req->label && req->url && req->total_ms > 0);
	op_init(&t->op, &transfer_type);
	t->owner.ended = transfer_ended;
	h->live++;
	t->http = h;
	t->label = mem_str(req->label);
	t->body = req->body_len ? mem_dup(req->body, req->body_len) : NULL;
	t->body_len = req->body_len;
	t->on_data = req->on_data;
	t->data_arg = req->data_arg;
	t->done = done;
	t->arg = arg;
	t->started = t->last_byte = loop_now(h->loop);
	t->idle_ms = req->idle_ms;
	t->max_body = req->max_body ? req->max_body : HTTP_MAX_BODY;
	buf_init(&t->got, t->max_body);
	buf_init(&t->stream, t->max_body);
	t->total = loop_after(h->loop, req->total_ms, "http-total", on_total, t);
	if (!headers_ok(req)) {
		err_set(&t->err, ERR_INVALID, "%s: a header holds a line break",
			t->label);
		t->outcome = HTTP_NOT_SENT;
		t->ended = true;
		transfer_ready(t);
		return &t->op;
	}
	t->easy = curl_easy_init();
	REQUIRE(t->easy);
	transfer_setup(t, req);
	curl_loop_add(&h->curl, t->easy);
	return &t->op;
}

struct http *
http_new(struct loop *loop, const struct http_opts *opts)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		log_error("http", NULL, "libcurl could not be initialised");
		return NULL;
	}
	if (!(curl_version_info(CURLVERSION_NOW)->features &
	    CURL_VERSION_ASYNCHDNS)) {
		log_error("http", NULL, "this libcurl looks names up while "
			"everything waits: use one built with AsynchDNS");
		curl_global_cleanup();
		return NULL;
	}
	struct http *h = mem_alloc(sizeof(*h));
	h->loop = loop;
	TAILQ_INIT(&h->ready);
	h->user_agent = mem_str(opts->user_agent);
	/* In a list "*" would only be a name, so it is handled here. */
	if (opts->proxy && opts->proxy[0] &&
	    !(opts->no_proxy && !strcmp(opts->no_proxy, "*")))
		h->proxy = mem_str(opts->proxy);
	h->no_proxy = mem_printf("localhost,127.0.0.0/8,::1%s%s",
		opts->no_proxy && opts->no_proxy[0] ? "," : "",
		opts->no_proxy ? opts->no_proxy : "");
	h->ca_file = mem_str(opts->ca_file);
	h->unix_socket = mem_str(opts->unix_socket);
	h->cert_file = mem_str(opts->cert_file);
	h->key_file = mem_str(opts->key_file);
	curl_loop_init(&h->curl, loop, opts->max_connects ?
		(long)opts->max_connects : HTTP_MAX_CONNECTS, on_curl_ended);
	return h;
}

void
http_free(struct http **hp)
{
	if (!hp || !*hp)
		return;
	struct http *h = STEAL(*hp);
	REQUIRE(h->live == 0);
	curl_loop_done(&h->curl);
	mem_free(h->user_agent);
	mem_free(h->proxy);
	mem_free(h->no_proxy);
	mem_free(h->ca_file);
	mem_free(h->unix_socket);
	mem_free(h->cert_file);
	mem_free(h->key_file);
	mem_free(h);
	curl_global_cleanup();
}
