#include "tests/fake_http.h"

#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"

struct http {
	struct loop *loop;
	fake_http_cb *cb;
	void *arg;
	unsigned calls;
	size_t open;
	LIST_HEAD(, fake_op) ops;
};

struct fake_op {
	struct op op;
	LIST_ENTRY(fake_op) link;
	struct http *http;
	struct timer *end;
	struct timer *chunk;
	struct timer *total;
	struct timer *idle;
	struct fake_answer answer;
	char *body;
	char *type;
	char *retry_after;
	char *label;
	size_t next_chunk;
	msec_t started;
	msec_t idle_ms;
	http_data_cb *on_data;
	void *data_arg;
	http_done_cb *done;
	void *arg;
	bool *gone;
};

static void
fake_release(struct fake_op *f)
{
	loop_cancel(&f->end);
	loop_cancel(&f->chunk);
	loop_cancel(&f->total);
	loop_cancel(&f->idle);
	LIST_REMOVE(f, link);
	f->http->open--;
}

static void
fake_free(struct fake_op *f)
{
	mem_free(f->body);
	mem_free(f->type);
	mem_free(f->retry_after);
	mem_free(f->label);
	mem_free(f);
}

static void
fake_cancel(struct op *op)
{
	struct fake_op *f = (struct fake_op *)(void *)op;

	if (f->gone)
		*f->gone = true;
	fake_release(f);
	fake_free(f);
}

static const struct op_type fake_type = { "fake-http", fake_cancel };

static void
fake_finish(struct fake_op *f, enum http_outcome outcome, int status,
	enum err_code code, const char *what)
{
	struct err err = { .code = ERR_NONE };
	struct http_result res = { .outcome = outcome, .status = status,
		.body = f->body && !f->next_chunk ? f->body : "",
		.content_type = f->type, .retry_after = f->retry_after,
		.elapsed = loop_now(f->http->loop) - f->started };

	res.body_len = strlen(res.body);
	if (outcome != HTTP_ANSWERED) {
		err_set(&err, code, "%s: %s", f->label, what);
		res.err = &err;
	}
	fake_release(f);
	op_finish(&f->op);
	f->done(f->arg, &res);
	fake_free(f);
}

static void
on_end(void *arg)
{
	struct fake_op *f = arg;

	f->end = NULL;
	fake_finish(f, f->answer.outcome, f->answer.status,
		f->answer.outcome == HTTP_NOT_SENT ? ERR_UNAVAILABLE : ERR_LOST,
		"scripted trouble");
}

static void
on_deadline(void *arg)
{
	struct fake_op *f = arg;
	bool seen = f->next_chunk > 0;

	fake_finish(f, f->answer.outcome == HTTP_NOT_SENT ? HTTP_NOT_SENT :
		seen ? HTTP_CUT : HTTP_UNKNOWN, seen ? f->answer.status : 0,
		ERR_TIMEOUT, "no answer within its deadline");
}

static void
on_total(void *arg)
{
	((struct fake_op *)arg)->total = NULL;
	on_deadline(arg);
}

static void
on_idle(void *arg)
{
	((struct fake_op *)arg)->idle = NULL;
	on_deadline(arg);
}

static void on_chunk(void *arg);

static void
arm(struct fake_op *f)
{
	msec_t now = loop_now(f->http->loop) - f->started;

	loop_cancel(&f->idle);
	if (f->idle_ms)
		f->idle = loop_after(f->http->loop, f->idle_ms, "fake-idle",
			on_idle, f);
	if (f->next_chunk < f->answer.nchunks) {
		msec_t at = f->answer.chunks[f->next_chunk].at;

		f->chunk = loop_after(f->http->loop, at > now ? at - now : 0,
			"fake-chunk", on_chunk, f);
	} else if (!f->answer.hang) {
		f->end = loop_after(f->http->loop, f->answer.latency > now ?
			f->answer.latency - now : 0, "fake-end", on_end, f);
	}
}

static void
on_chunk(void *arg)
{
	struct fake_op *f = arg;
	const char *data = f->answer.chunks[f->next_chunk++].data;
	bool gone = false;

	f->chunk = NULL;
	f->gone = &gone;
	bool more = f->on_data(f->data_arg, data, strlen(data));
	if (gone)
		return;
	f->gone = NULL;
	if (more)
		arm(f);
	else
		fake_finish(f, HTTP_CUT, f->answer.status, ERR_LOST,
			"ended by the reader");
}

static size_t
count_label(const struct http *http, const char *label)
{
	const struct fake_op *f;
	size_t n = 0;

	LIST_FOREACH(f, &http->ops, link)
		n += !strcmp(f->label, label);
	return n;
}

struct op *
http_start(struct http *http, const struct http_req *req, http_done_cb *done,
	void *arg)
{
	struct fake_op *f = mem_alloc(sizeof(*f));
	char *body = mem_strn(req->body_len ? req->body : "", req->body_len);

	REQUIRE(http->cb && req->label && req->url && req->total_ms > 0);
	op_init(&f->op, &fake_type);
	f->http = http;
	f->label = mem_str(req->label);
	f->started = loop_now(http->loop);
	f->idle_ms = req->idle_ms;
	f->on_data = req->on_data;
	f->data_arg = req->data_arg;
	f->done = done;
	f->arg = arg;
	http->cb(http->arg, &(struct fake_call){ .n = http->calls++,
		.label = req->label, .method = req->method ? req->method :
		req->body ? "POST" : "GET", .url = req->url, .body = body,
		.headers = req->headers, .fresh = req->fresh,
		.stream = req->on_data != NULL, .at = f->started,
		.same = count_label(http, req->label) }, &f->answer);
	mem_free(body);
	http->open++;
	LIST_INSERT_HEAD(&http->ops, f, link);
	if (!f->answer.status && f->answer.outcome == HTTP_ANSWERED)
		f->answer.status = 200;
	if (!req->on_data || f->answer.status / 100 != 2)
		f->answer.nchunks = 0;
	f->body = mem_str(f->answer.body);
	f->type = mem_str(f->answer.content_type ? f->answer.content_type :
		f->answer.status ? "application/json" : "");
	f->retry_after = mem_str(f->answer.retry_after);
	f->total = loop_after(http->loop, req->total_ms, "fake-total", on_total, f);
	arm(f);
	return &f->op;
}

struct http *
http_new(struct loop *loop, const struct http_opts *opts)
{
	struct http *http = mem_alloc(sizeof(*http));

	(void)opts;
	http->loop = loop;
	LIST_INIT(&http->ops);
	return http;
}

void
http_free(struct http **hp)
{
	if (!hp || !*hp)
		return;
	struct http *http = STEAL(*hp);
	REQUIRE(http->open == 0);
	mem_free(http);
}

void
fake_http_script(struct http *http, fake_http_cb *cb, void *arg)
{
	http->cb = cb;
	http->arg = arg;
}

unsigned
fake_http_calls(const struct http *http)
{
	return http->calls;
}

size_t
fake_http_open(const struct http *http)
{
	return http->open;
}
