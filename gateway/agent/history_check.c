/* The rules that the strictest servers hold requests to. */
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/history.h"

struct check {
	const struct json *at;	/* the next message */
	size_t i;		/* its place */
	struct err *err;
};

static const char *
role_of(const struct json *message)
{
	return message ? json_get_str(message, "role", "") : "end";
}

static int
bad(struct check *c, const char *what)
{
	return err_set(c->err, ERR_INVALID, "message %zu (%s): %s", c->i,
	    role_of(c->at), what);
}

static void
step(struct check *c)
{
	c->at = json_next(c->at);
	c->i++;
}

static bool
has_text(const struct json *message)
{
	return json_get_str(message, "content", "")[0] != '\0';
}

static bool
legal_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return len > 0 && len <= 64 && name[len] == '\0';
}

static int
check_call(struct check *c, const struct json *calls, const struct json *call)
{
	const struct json *function = json_get(call, "function");
	const char *id = json_get_str(call, "id", "");
	const char *text = json_get_str(function, "arguments", "");
	CLEANUP_JSON struct json *arguments =
	    json_parse(text, strlen(text), NULL);

	if (!*id)
		return bad(c, "a call without id");
	for (const struct json *o = json_first(calls); o != call;
	    o = json_next(o)) {
		if (strcmp(json_get_str(o, "id", ""), id) == 0)
			return bad(c, "two calls with one id");
	}
	if (strcmp(json_get_str(call, "type", ""), "function") != 0)
		return bad(c, "a call that is no function");
	if (!legal_name(json_get_str(function, "name", "")))
		return bad(c, "a call with an illegal name");
	if (!json_is_object(arguments))
		return bad(c, "arguments that are no JSON object");
	return 0;
}

/* The assistant message with calls at c, and its results. */
static int
check_exchange(struct check *c)
{
	const struct json *calls = json_get(c->at, "tool_calls");

	for (const struct json *k = json_first(calls); k; k = json_next(k)) {
		if (check_call(c, calls, k) < 0)
			return -1;
	}
	for (const struct json *k = json_first(calls); k; k = json_next(k)) {
		step(c);
		if (strcmp(role_of(c->at), "tool") != 0)
			return bad(c, "a call has no result here");
		if (strcmp(json_get_str(c->at, "tool_call_id", ""),
		    json_get_str(k, "id", "")) != 0)
			return bad(c, "the result is of another call");
		if (!has_text(c->at))
			return bad(c, "an empty result");
	}
	step(c);
	if (c->at && strcmp(role_of(c->at), "assistant") != 0)
		return bad(c, "results are not followed by the assistant");
	return 0;
}

static int
check_assistant(struct check *c)
{
	const struct json *calls = json_get(c->at, "tool_calls");

	if (calls) {
		if (!json_is_array(calls) || json_len(calls) == 0)
			return bad(c, "tool_calls without a call");
		return check_exchange(c);
	}
	if (!has_text(c->at))
		return bad(c, "an empty assistant message");
	step(c);
	if (!c->at)
		return bad(c, "nothing to answer");
	if (strcmp(role_of(c->at), "user") != 0)
		return bad(c, "an answer is not followed by the user");
	return 0;
}

int
history_check(const struct json *messages, struct err *err)
{
	struct check c = { .at = json_first(messages), .err = err };

	if (strcmp(role_of(c.at), "system") != 0 || !has_text(c.at))
		return bad(&c, "a system prompt must come first");
	step(&c);
	if (strcmp(role_of(c.at), "user") != 0)
		return bad(&c, "a user message must come after the system prompt");
	while (c.at) {
		if (strcmp(role_of(c.at), "user") == 0) {
			if (!has_text(c.at))
				return bad(&c, "an empty user message");
			step(&c);
			if (c.at && strcmp(role_of(c.at), "assistant") != 0)
				return bad(&c, "the user is not followed by "
				    "the assistant");
		} else if (check_assistant(&c) < 0) {
			return -1;
		}
	}
	return 0;
}
