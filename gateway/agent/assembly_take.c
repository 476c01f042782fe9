/* What one chunk or message holds: text, reasoning, calls, finish, usage. */
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/assembly_priv.h"

void
assembly_fail(struct assembly *a, enum model_error error, enum err_code code,
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
		assembly_fail(a, MODEL_ERR_REQUEST, ERR_LIMIT, "the answer is too long");
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
		assembly_fail(a, MODEL_ERR_REQUEST, ERR_LIMIT,
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
		assembly_fail(a, MODEL_ERR_RETRY, ERR_UNAVAILABLE,
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

void
assembly_take_chunk(struct assembly *a, const struct json *chunk)
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
