#include "gateway/agent/assembly.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/assembly_priv.h"

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
		assembly_take_chunk(a, body);
	else if (event->name[0] == '\0')
		assembly_fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
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
		assembly_fail(a, MODEL_ERR_REQUEST, ERR_LIMIT,
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
		assembly_fail(a, MODEL_ERR_REQUEST, ERR_PROTOCOL, *s == '<' ?
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
		assembly_fail(a, MODEL_ERR_REQUEST, ERR_LIMIT, "the answer is too long");
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

	if (!body && cut) {
		fail_cut(a, cut);
	} else if (!body) {
		assembly_fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
		    "the answer is no valid JSON");
	} else if (fault_in(body)) {
		fault_from_json(&a->fault, a->whom, 0, body);
	} else if (!json_is_object(json_path(body, "choices.0"))) {
		assembly_fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
		    "the answer holds no message");
	} else {
		assembly_take_chunk(a, body);
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

/*
 * Some templates open the reasoning in the prompt, so that only its closing
 * tag comes, on a line of its own.  What stood before it has been shown as it
 * came; the answer is what stands behind it.
 */
static void
drop_unopened(struct assembly *a)
{
	static const char tag[] = "</think>";
	const char *at = strstr(a->text.data, tag);
	const char *rest = at ? at + sizeof(tag) - 1 : NULL;

	if (a->think.blocks > 0 || !at || (at > a->text.data && at[-1] != '\n') ||
	    rest[strspn(rest, " \t\r")] != '\n' || strstr(rest, tag) ||
	    strstr(a->text.data, "<think>"))
		return;
	buf_add(&a->reasoning, a->text.data, (size_t)(at - a->text.data));
	rest += strspn(rest, " \t\r\n");
	buf_drain(&a->text, (size_t)(rest - a->text.data));
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
			assembly_fail(a, MODEL_ERR_RETRY, ERR_PROTOCOL,
			    "the answer is empty");
	}
	CLEANUP_BUF struct buf rest;

	buf_init(&rest, 8);
	surrogate_end(&a->text_half, &rest);
	think_feed(&a->think, rest.data, rest.len, &a->text, &a->reasoning);
	think_end(&a->think, &a->text, &a->reasoning);
	surrogate_end(&a->reasoning_half, &a->reasoning);
	drop_unopened(a);
	if (a->finish == FINISH_FILTER && a->text.len == 0)
		assembly_fail(a, MODEL_ERR_POLICY, ERR_DENIED,
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
