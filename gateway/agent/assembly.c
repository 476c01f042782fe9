#include "gateway/agent/assembly.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "gateway/agent/calls.h"
#include "gateway/agent/sse.h"
#include "gateway/agent/surrogate.h"
#include "gateway/agent/think.h"

#define EVENT_MAX ((size_t)8 << 20)
#define WHOLE_MAX ((size_t)16 << 20)
#define TEXT_MAX ((size_t)4 << 20)
#define REASONING_MAX ((size_t)1 << 20)	/* what is over is dropped */

enum form { FORM_UNKNOWN, FORM_EVENTS, FORM_WHOLE };

struct assembly {
	char *whom;
	enum form form;
	struct buf body;		/* unknown and whole: the bytes so far */
	struct sse sse;
	struct think think;
	struct surrogate text_half, reasoning_half;
	struct buf text, reasoning;
	struct calls calls;
	bool role_seen;
	bool finish_seen;
	bool done_seen;
	enum model_finish finish;
	int64_t prompt_tokens, completion_tokens;
	uint64_t useful;
	struct fault fault;
};

struct assembly *
assembly_new(const struct json *tools, const char *whom)
{
	struct assembly *a = mem_alloc(sizeof(*a));

	a->whom = mem_str(whom);
	a->prompt_tokens = a->completion_tokens = -1;
	buf_init(&a->body, WHOLE_MAX);
	buf_init(&a->text, TEXT_MAX);
	buf_init(&a->reasoning, REASONING_MAX);
	sse_init(&a->sse, EVENT_MAX);
	think_init(&a->think);
	calls_init(&a->calls, tools);
	return a;
}

void
assembly_free(struct assembly **ap)
{
	struct assembly *a = *ap;

	if (!a)
		return;
	*ap = NULL;
	mem_free(a->whom);
	buf_done(&a->body);
	buf_done(&a->text);
	buf_done(&a->reasoning);
	sse_done(&a->sse);
	think_done(&a->think);
	calls_done(&a->calls);
	mem_free(a);
}

static void
fail(struct assembly *a, enum model_error error, enum err_code code,
	const char *what)
{
	if (a->fault.error == MODEL_ERR_NONE)
		fault_set(&a->fault, error, code, a->whom, "%s", what);
}

/* ---- what a delta or a message holds -------------------------------------- */

static void
take_text(struct assembly *a, const char *s)
{
	if (!s || !*s)
		return;
	a->useful++;

	CLEANUP_BUF struct buf joined;

	buf_init(&joined, EVENT_MAX);
	surrogate_join(&a->text_half, s, strlen(s), &joined);
	think_feed(&a->think, joined.data, joined.len, &a->text, &a->reasoning);
	if (a->text.over)
		fail(a, MODEL_ERR_REQUEST, ERR_LIMIT, "the answer is too long");
}

static void
take_reasoning(struct assembly *a, const char *s)
{
	if (!s || !*s)
		return;
	a->useful++;
	surrogate_join(&a->reasoning_half, s, strlen(s), &a->reasoning);
}

/* A text, or a list of parts (Mistral: of type text and thinking). */
static void
take_content(struct assembly *a, const struct json *content)
{
	take_text(a, json_str(content));
	if (!json_is_array(content))
		return;
	for (const struct json *p = json_first(content); p; p = json_next(p)) {
		const struct json *t = json_get(p, "thinking");

		take_text(a, json_get_str(p, "text", NULL));
		take_reasoning(a, json_str(t));
		for (t = json_first(t); t; t = json_next(t))
			take_reasoning(a, json_get_str(t, "text", NULL));
	}
}

/* Two names of one thing; a server that sends both sends the same twice. */
static void
take_reasoning_fields(struct assembly *a, const struct json *m)
{
	const char *s = json_get_str(m, "reasoning_content", NULL);

	if (!s || !*s)
		s = json_get_str(m, "reasoning", NULL);
	take_reasoning(a, s);
	if (s && *s)
		return;
	const struct json *list = json_get(m, "reasoning_details");

	for (const struct json *d = json_first(list); d; d = json_next(d))
		take_reasoning(a, json_get_str(d, "text", NULL));
}

static void
take_calls(struct assembly *a, const struct json *m,
	int (*take)(struct calls *, const struct json *))
{
	const struct json *list = json_get(m, "tool_calls");
	const struct json *old = json_get(m, "function_call");

	if (json_len(list) > 0 || json_is_object(old))
		a->useful++;
	if (take(&a->calls, list) < 0 || calls_function(&a->calls, old) < 0)
		fail(a, MODEL_ERR_REQUEST, ERR_LIMIT,
		    "too many or too long tool calls");
}

static void
take_message(struct assembly *a, const struct json *m,
	int (*take)(struct calls *, const struct json *))
{
	if (json_get(m, "role") && !a->role_seen) {
		a->role_seen = true;
		a->useful++;
	}
	take_reasoning_fields(a, m);
	take_content(a, json_get(m, "content"));
	take_text(a, json_get_str(m, "refusal", NULL));
	take_calls(a, m, take);
}

static void
take_finish(struct assembly *a, const char *reason)
{
	if (!reason || !*reason)
		return;
	if (strcmp(reason, "error") == 0) {
		fail(a, MODEL_ERR_RETRY, ERR_UNAVAILABLE,
		    "the answer ended with an error, no reason given");
		return;
	}
	a->useful++;
	a->finish_seen = true;
	if (strcmp(reason, "length") == 0 || strcmp(reason, "max_tokens") == 0)
		a->finish = FINISH_LENGTH;
	else if (strcmp(reason, "content_filter") == 0)
		a->finish = FINISH_FILTER;
	else
		a->finish = FINISH_STOP;	/* or calls: they tell themselves */
}

static void
take_usage(struct assembly *a, const struct json *usage)
{
	if (!json_is_object(usage))
		return;
	a->useful++;
	a->prompt_tokens = json_get_int(usage, "prompt_tokens",
	    a->prompt_tokens);
	a->completion_tokens = json_get_int(usage, "completion_tokens",
	    a->completion_tokens);
}

/* Another choice than the first was not asked for. */
static const struct json *
first_choice(const struct json *body)
{
	const struct json *c = json_first(json_get(body, "choices"));

	while (c && json_get_int(c, "index", 0) != 0)
		c = json_next(c);
	return c;
}

static void
take_chunk(struct assembly *a, const struct json *chunk)
{
	const struct json *choice = first_choice(chunk);
	const struct json *delta = json_get(choice, "delta");

	if (json_is_object(delta))
		take_message(a, delta, calls_delta);
	else if (json_is_object(json_get(choice, "message")) &&
	    a->text.len == 0 && a->calls.n == 0)
		take_message(a, json_get(choice, "message"), calls_whole);
	if (fault_in(chunk)) {
		if (a->fault.error == MODEL_ERR_NONE)
			fault_from_json(&a->fault, a->whom, 0, chunk);
		return;
	}
	take_finish(a, json_get_str(choice, "finish_reason", NULL));
	take_usage(a, json_get(chunk, "usage"));
}

/* ---- event streams -------------------------------------------------------- */

static struct json *
parse_marked(const char *text, size_t len)
{
	CLEANUP_BUF struct buf marked;

	buf_init(&marked, 2 * WHOLE_MAX + 64);
	if (surrogate_mark(&marked, text, len))
		return json_parse(marked.data, marked.len, NULL);
	return json_parse(text, len, NULL);
}

static bool
is_end_mark(const char *s, size_t len)
{
	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\n'))
		len--;
	return len == 6 && memcmp(s, "[DONE]", 6) == 0;
}

/* `event: error` may hold bare text. */
static void
take_error_event(struct assembly *a, const struct json *body, const char *text)
{
	struct json *made = NULL;

	if (!json_is_object(body))
		made = json_set_str(json_object(), "error", text);
	if (a->fault.error == MODEL_ERR_NONE)
		fault_from_json(&a->fault, a->whom, 0, made ? made : body);
	json_free(&made);
}

static bool
on_event(void *arg, const struct sse_event *event)
{
	struct assembly *a = arg;
	CLEANUP_JSON struct json *body = NULL;

	if (event->len == 0)
		return true;
	if (is_end_mark(event->data, event->len)) {
		a->done_seen = true;
		return false;
	}
	body = parse_marked(event->data, event->len);
	if (strcmp(event->name, "error") == 0)
		take_error_event(a, body, event->data);
	else if (json_is_object(body))
		take_chunk(a, body);
	else if (event->name[0] == '\0')
		fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
		    "a part of the answer is cut or damaged");
	return a->fault.error == MODEL_ERR_NONE;
}

static bool
feed_events(struct assembly *a, const char *bytes, size_t len)
{
	switch (sse_feed(&a->sse, bytes, len, on_event, a)) {
	case SSE_MORE:
		return true;
	case SSE_TOO_LONG:
		fail(a, MODEL_ERR_REQUEST, ERR_LIMIT,
		    "a part of the answer is too long");
		return false;
	case SSE_STOPPED:
		break;
	}
	return false;
}

/* ---- which form the body has ---------------------------------------------- */

/* By its first byte: content types lie, and come too late. */
static bool
decide_form(struct assembly *a)
{
	const char *s = a->body.data;
	struct buf body;
	bool more;

	s += strspn(s, "\xEF\xBB\xBF \t\r\n");
	if (*s == '\0' && s == a->body.data + a->body.len)
		return true;
	if (*s == '{' || *s == '[') {
		a->form = FORM_WHOLE;
		return true;
	}
	if (*s == '<' || *s == '\x1F') {
		fail(a, MODEL_ERR_REQUEST, ERR_PROTOCOL, *s == '<' ?
		    "a web page instead of an answer. Check model.base_url" :
		    "the answer is compressed, which was not asked for");
		return false;
	}
	a->form = FORM_EVENTS;
	body = a->body;
	buf_init(&a->body, WHOLE_MAX);
	more = feed_events(a, body.data, body.len);
	buf_done(&body);
	return more;
}

bool
assembly_feed(struct assembly *a, const char *bytes, size_t len)
{
	if (a->done_seen || a->fault.error != MODEL_ERR_NONE)
		return false;
	if (a->form == FORM_EVENTS)
		return feed_events(a, bytes, len);
	if (!buf_add(&a->body, bytes, len)) {
		fail(a, MODEL_ERR_REQUEST, ERR_LIMIT, "the answer is too long");
		return false;
	}
	if (len > 0)
		a->useful += a->form == FORM_WHOLE;
	return a->form == FORM_WHOLE || decide_form(a);
}

/* ---- the end -------------------------------------------------------------- */

static void
fail_cut(struct assembly *a, const struct err *cut)
{
	if (a->fault.error == MODEL_ERR_NONE)
		fault_set(&a->fault, MODEL_ERR_RETRY,
		    cut ? cut->code : ERR_PROTOCOL, a->whom,
		    "the answer broke off in the middle%s%s", cut ? ": " : "",
		    cut ? cut->text : "");
}

static void
end_whole(struct assembly *a, const struct err *cut)
{
	CLEANUP_JSON struct json *body = parse_marked(a->body.data, a->body.len);
	const struct json *message = json_get(first_choice(body), "message");

	if (!body && cut) {
		fail_cut(a, cut);
	} else if (!body) {
		fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
		    "the answer is no valid JSON");
	} else if (fault_in(body)) {
		fault_from_json(&a->fault, a->whom, 0, body);
	} else if (!json_is_object(message)) {
		fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
		    "the answer holds no message");
	} else {
		take_message(a, message, calls_whole);
		take_finish(a, json_get_str(first_choice(body), "finish_reason",
		    NULL));
		take_usage(a, json_get(body, "usage"));
	}
}

static void
end_events(struct assembly *a, const struct err *cut)
{
	if (!a->done_seen && a->fault.error == MODEL_ERR_NONE)
		sse_end(&a->sse, on_event, a);
	/* without a finish the calls may lack their end, and nobody says so */
	if (!a->finish_seen && !(a->done_seen && calls_complete(&a->calls)))
		fail_cut(a, cut);
}

void
assembly_end(struct assembly *a, const struct err *cut)
{
	if (a->fault.error == MODEL_ERR_NONE) {
		if (a->form == FORM_EVENTS)
			end_events(a, cut);
		else if (a->form == FORM_WHOLE)
			end_whole(a, cut);
		else
			fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
			    "the answer is empty");
	}
	CLEANUP_BUF struct buf rest;

	buf_init(&rest, 8);
	surrogate_end(&a->text_half, &rest);
	think_feed(&a->think, rest.data, rest.len, &a->text, &a->reasoning);
	think_end(&a->think, &a->text, &a->reasoning);
	surrogate_end(&a->reasoning_half, &a->reasoning);
	if (a->finish == FINISH_FILTER && a->text.len == 0)
		fail(a, MODEL_ERR_POLICY, ERR_DENIED,
		    "the provider's filter held the answer back");
}

/* ---- what came of it ------------------------------------------------------ */

const char *
assembly_text(const struct assembly *a, size_t *ret_len)
{
	*ret_len = a->text.len;
	return a->text.data;
}

uint64_t
assembly_useful(const struct assembly *a)
{
	return a->useful;
}

bool
assembly_finishing(const struct assembly *a)
{
	return a->finish_seen;
}

bool
assembly_ended(const struct assembly *a)
{
	return a->done_seen;
}

void
assembly_result(struct assembly *a, struct model_result *ret_result)
{
	enum model_finish finish = a->finish;

	if (finish == FINISH_STOP && a->calls.n > 0)
		finish = FINISH_TOOLS;
	*ret_result = (struct model_result){
		.error = a->fault.error,
		.err = a->fault.error == MODEL_ERR_NONE ? NULL : &a->fault.err,
		.retry_after_ms = a->fault.retry_after_ms,
		.text = a->text.data,
		.reasoning = a->reasoning.data,
		.calls = calls_finish(&a->calls),
		.ncalls = a->calls.n,
		.finish = finish,
		.prompt_tokens = a->prompt_tokens,
		.completion_tokens = a->completion_tokens,
	};
}
