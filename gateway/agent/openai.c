/*
 * The OpenAI chat-completions wire: builds one request, watches its limits,
 * and gives what the assembly made of the answer.  How an answer is read is
 * in assembly.c, how a failure is classed in fault.c; when to try again is the
 * run's business, except for two words of the request that a server may not
 * know: then the request goes out once more without them, and that is
 * remembered.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/assembly.h"
#include "gateway/agent/model.h"

#define CONNECT_MS 15000
#define FIRST_EVENT_MS 180000
#define IDLE_MS 120000
#define TOTAL_MS 1800000
#define FINISHING_MS 3000	/* from the finish mark to the end mark */
#define ENDED_MS 250		/* from the end mark to the end of the body */
#define BODY_MAX ((size_t)256 << 20)	/* of a request */
#define STREAM_MAX ((size_t)256 << 20)

struct openai {
	struct model model;
	struct loop *loop;
	struct http *http;
	char *url;
	char *api_key;		/* NULL: none */
	char *name;
	char *label;
	msec_t connect_ms, first_event_ms, idle_ms, total_ms;
	bool no_stream_options;	/* learnt: the server refuses them */
	bool no_temperature;	/* learnt: the same */
	bool completion_tokens;	/* learnt: it wants max_completion_tokens */
};

/* One request under way. */
struct completion {
	struct op op;
	struct openai *openai;
	char *messages;		/* JSON text */
	char *model;		/* NULL: the configured one */
	struct json *tools;	/* NULL: none */
	int64_t max_tokens;
	model_text_cb *on_text;
	model_done_cb *done;
	void *arg;

	struct op *request;
	struct assembly *answer;
	struct timer *limit;
	msec_t started;
	uint64_t useful;	/* events at useful_at */
	msec_t useful_at;
	size_t given;		/* bytes of text given to on_text */
	bool sent_options;	/* as it was sent last */
	bool sent_max_tokens;
	bool cold, sent_cold;
	bool giving;		/* inside on_text */
	bool cancelled;		/* during on_text: freed when it returns */
};

static void completion_send(struct completion *c);
static bool on_data(void *arg, const char *data, size_t len);
static void on_limit(void *arg);
static void on_answered(void *arg, const struct http_result *res);

/* ---- the request ---------------------------------------------------------- */

static void
add_json(struct buf *out, const struct json *node)
{
	CLEANUP_FREE char *text = json_text(node);

	buf_add_str(out, text);
}

static void
build_body(struct completion *c, struct buf *out)
{
	const struct openai *o = c->openai;
	CLEANUP_JSON struct json *name = json_string(c->model ? c->model : o->name);

	buf_add_str(out, "{\"model\":");
	add_json(out, name);
	buf_printf(out, ",\"messages\":%s", c->messages);
	if (c->tools) {
		buf_add_str(out, ",\"tools\":");
		add_json(out, c->tools);
	}
	c->sent_max_tokens = c->max_tokens > 0 && !o->completion_tokens;
	c->sent_options = !o->no_stream_options;
	if (c->max_tokens > 0)
		buf_printf(out, ",\"%s\":%lld", o->completion_tokens ?
		    "max_completion_tokens" : "max_tokens",
		    (long long)c->max_tokens);
	c->sent_cold = c->cold && !o->no_temperature;
	if (c->sent_cold)
		buf_add_str(out, ",\"temperature\":0");
	buf_add_str(out, ",\"stream\":true");
	if (c->sent_options)
		buf_add_str(out, ",\"stream_options\":{\"include_usage\":true}");
	buf_add_char(out, '}');
	REQUIRE(!out->over);	/* history.h bounds the messages */
}

static void
completion_send(struct completion *c)
{
	struct openai *o = c->openai;
	CLEANUP_BUF struct buf body;
	char *auth = o->api_key ?
	    mem_printf("Authorization: Bearer %s", o->api_key) : NULL;
	const char *const headers[] = {
		"Content-Type: application/json",
		"Accept: text/event-stream, application/json",
		auth, NULL,
	};

	buf_init(&body, BODY_MAX);
	build_body(c, &body);
	c->answer = assembly_new(c->tools, o->label);
	c->useful = 0;
	c->useful_at = loop_now(o->loop);
	c->limit = loop_after(o->loop, o->first_event_ms, "model limit",
	    on_limit, c);
	c->request = http_start(o->http, &(struct http_req){
		.label = "model",
		.url = o->url,
		.headers = headers,
		.body = body.data,
		.body_len = body.len,
		.connect_ms = o->connect_ms,
		.total_ms = o->total_ms,
		.max_body = STREAM_MAX,
		.on_data = on_data,
		.data_arg = c,
	}, on_answered, c);
	mem_free_secret(&auth);
}

/* ---- the end -------------------------------------------------------------- */

static void
completion_release(struct completion *c)
{
	op_cancel(&c->request);
	loop_cancel(&c->limit);
	assembly_free(&c->answer);
}

static void
completion_free(struct completion *c)
{
	completion_release(c);
	mem_free(c->messages);
	mem_free(c->model);
	json_free(&c->tools);
	mem_free(c);
}

static void
completion_cancel(struct op *op)
{
	struct completion *c = (struct completion *)op;

	completion_release(c);
	c->cancelled = true;
	if (!c->giving)
		completion_free(c);
}

static const struct op_type completion_type = {
	.name = "openai", .cancel = completion_cancel,
};

/* Servers like to repeat the key they refuse. */
static void
hide_key(const struct openai *o, struct err *err)
{
	size_t len = o->api_key ? strlen(o->api_key) : 0;
	char *at;

	while (len >= 4 && (at = strstr(err->text, o->api_key)) != NULL)
		memset(at, '*', len);
}

/* fault: NULL if the assembly knows all. The only exit but cancel. */
static void
completion_finish(struct completion *c, struct fault *fault)
{
	struct model_result res;
	struct err err;

	assembly_result(c->answer, &res);
	if (fault) {
		res.error = fault->error;
		res.err = &fault->err;
		res.retry_after_ms = fault->retry_after_ms;
	}
	if (res.err) {
		err = *res.err;
		hide_key(c->openai, &err);
		res.err = &err;
	}
	res.retryable_before_text = c->given == 0;
	log_debug("model", NULL, "class=%s calls=%zu text=%zu tokens=%lld/%lld "
	    "ms=%lld", model_error_name(res.error), res.ncalls, strlen(res.text),
	    (long long)res.prompt_tokens, (long long)res.completion_tokens,
	    (long long)(loop_now(c->openai->loop) - c->started));
	op_finish(&c->op);
	c->done(c->arg, &res);
	completion_free(c);
}

/* False if the owner cancelled from inside. */
static bool
give_text(struct completion *c)
{
	size_t len, from = c->given;
	const char *text = assembly_text(c->answer, &len);

	if (!c->on_text || len <= from)
		return true;
	c->given = len;
	c->giving = true;
	c->on_text(c->arg, text + from, len - from);
	c->giving = false;
	if (!c->cancelled)
		return true;
	completion_free(c);
	return false;
}

static void
completion_end(struct completion *c, const struct err *cut)
{
	assembly_end(c->answer, cut);
	if (give_text(c))
		completion_finish(c, NULL);
}

/* ---- limits --------------------------------------------------------------- */

static msec_t
limit_of(const struct completion *c)
{
	if (assembly_ended(c->answer))
		return ENDED_MS;
	if (assembly_finishing(c->answer))
		return FINISHING_MS;
	return c->useful > 0 ? c->openai->idle_ms : c->openai->first_event_ms;
}

static void
on_limit(void *arg)
{
	struct completion *c = arg;
	msec_t quiet = loop_now(c->openai->loop) - c->useful_at;
	msec_t limit = limit_of(c);
	struct fault fault;

	c->limit = NULL;
	if (quiet < limit) {
		c->limit = loop_after(c->openai->loop, limit - quiet,
		    "model limit", on_limit, c);
		return;
	}
	op_cancel(&c->request);
	if (assembly_finishing(c->answer) || assembly_ended(c->answer)) {
		completion_end(c, NULL);
		return;
	}
	fault_set(&fault, MODEL_ERR_RETRY, ERR_TIMEOUT, c->openai->label,
	    c->useful > 0 ? "the answer stopped for %lld s" :
	    "no answer within %lld s", (long long)(limit / 1000));
	completion_finish(c, &fault);
}

/* The timer of a long limit is not moved for each event, only for a new limit. */
static void
watch_limit(struct completion *c, msec_t before)
{
	uint64_t useful = assembly_useful(c->answer) +
	    assembly_ended(c->answer);

	if (useful != c->useful) {
		c->useful = useful;
		c->useful_at = loop_now(c->openai->loop);
	}
	if (limit_of(c) == before)
		return;
	loop_cancel(&c->limit);
	c->limit = loop_after(c->openai->loop, limit_of(c), "model limit",
	    on_limit, c);
}

/* ---- the answer ----------------------------------------------------------- */

static bool
on_data(void *arg, const char *data, size_t len)
{
	struct completion *c = arg;
	msec_t before = limit_of(c);
	bool more = assembly_feed(c->answer, data, len);

	/* the end mark: the body's end comes soon, and keeps the connection */
	more = more || assembly_ended(c->answer);
	watch_limit(c, before);
	return give_text(c) && more;
}

/*
 * Learns what the server refused; false if it was something else.  Other
 * requests under way may learn the same again.
 */
static bool
learn_refused(struct completion *c, const struct http_result *res)
{
	struct openai *o = c->openai;
	const char *what;

	if (res->status != 400 && res->status != 422)
		return false;
	if (c->sent_options && (strstr(res->body, "stream_options") ||
	    strstr(res->body, "include_usage"))) {
		o->no_stream_options = true;
		what = "stream_options";
	} else if (c->sent_max_tokens &&
	    strstr(res->body, "max_completion_tokens")) {
		o->completion_tokens = true;
		what = "max_tokens";
	} else if (c->sent_cold && strstr(res->body, "temperature")) {
		o->no_temperature = true;
		what = "temperature";
	} else {
		return false;
	}
	log_info("model", NULL, "%s refuses %s: not sent any more", o->label,
	    what);
	return true;
}

static void
on_answered(void *arg, const struct http_result *res)
{
	struct completion *c = arg;
	struct fault fault;

	c->request = NULL;
	if (res->status / 100 == 2) {
		completion_end(c,
		    res->outcome == HTTP_ANSWERED ? NULL : res->err);
		return;
	}
	if (learn_refused(c, res)) {
		completion_release(c);
		completion_send(c);
		return;
	}
	fault_from_http(&fault, c->openai->label, res,
	    loop_wall(c->openai->loop));
	completion_finish(c, &fault);
}

/* ---- the model ------------------------------------------------------------ */

static struct op *
openai_call(struct model *model, const struct model_req *req,
	model_done_cb *done, void *arg)
{
	struct completion *c = mem_alloc(sizeof(*c));

	op_init(&c->op, &completion_type);
	c->openai = (struct openai *)model;
	c->started = loop_now(c->openai->loop);
	c->messages = json_text(req->messages);
	c->tools = json_len(req->tools) > 0 ? json_clone(req->tools) : NULL;
	c->max_tokens = req->max_tokens;
	c->cold = req->cold;
	if (req->model && req->model[0])
		c->model = mem_str(req->model);
	c->on_text = req->on_text;
	c->done = done;
	c->arg = arg;
	completion_send(c);
	return &c->op;
}

static void
openai_free(struct model *model)
{
	struct openai *o = (struct openai *)model;

	mem_free(o->url);
	mem_free_secret(&o->api_key);
	mem_free(o->name);
	mem_free(o->label);
	mem_free(o);
}

static const struct model_type openai_type = {
	.name = "openai", .call = openai_call, .free = openai_free,
};

/* Without user:password, path and query: it is shown to people. */
static char *
host_of(const char *url)
{
	const char *s = strstr(url, "://");
	size_t len;

	s = s ? s + 3 : url;
	len = strcspn(s, "/?#");

	const char *at = memrchr(s, '@', len);

	return at ? mem_strn(at + 1, len - (size_t)(at + 1 - s)) :
	    mem_strn(s, len);
}

static char *
completions_url(const char *base)
{
	static const char path[] = "/chat/completions";
	size_t len = strlen(base), n = sizeof(path) - 1;

	while (len > 0 && base[len - 1] == '/')
		len--;
	if (len >= n && memcmp(base + len - n, path, n) == 0)
		return mem_strn(base, len);
	return mem_printf("%.*s%s", (int)len, base, path);
}

struct model *
openai_new(struct loop *loop, struct http *http, const struct openai_opts *opts)
{
	struct openai *o = mem_alloc(sizeof(*o));
	CLEANUP_FREE char *host = host_of(opts->base_url);

	o->model.type = &openai_type;
	o->loop = loop;
	o->http = http;
	o->url = completions_url(opts->base_url);
	o->api_key = opts->api_key && *opts->api_key ?
	    mem_str(opts->api_key) : NULL;
	o->name = mem_str(opts->model);
	o->label = mem_printf("%s at %s", opts->model, host);
	o->model.label = o->label;
	o->connect_ms = opts->connect_ms ? opts->connect_ms : CONNECT_MS;
	o->first_event_ms = opts->first_event_ms ? opts->first_event_ms :
	    FIRST_EVENT_MS;
	o->idle_ms = opts->idle_ms ? opts->idle_ms : IDLE_MS;
	o->total_ms = opts->total_ms ? opts->total_ms : TOTAL_MS;
	return &o->model;
}
