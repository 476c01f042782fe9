#include "gateway/agent/tool_call.h"

#include "base/mem.h"

void
tool_call_init(struct tool_call *c, const struct op_type *type,
    const struct tool_env *env, const char *call_id, const struct json *args,
    tool_done_cb *done, void *arg)
{
	op_init(&c->op, type);
	c->env = *env;
	c->call_id = mem_str(call_id);
	c->args = json_clone(args);
	c->done = done;
	c->arg = arg;
}

static void
call_free(struct tool_call *c)
{
	op_cancel(&c->waiting);
	loop_cancel(&c->timer);
	if (c->release)
		c->release(c);
	json_free(&c->answer);
	json_free(&c->args);
	mem_free(c->call_id);
	mem_free(c);
}

void
tool_call_cancel(struct op *op)
{
	call_free((struct tool_call *)(void *)op);
}

void
tool_call_finish(struct tool_call *c, struct json *answer, bool unknown)
{
	CLEANUP_JSON struct json *taken = answer;
	CLEANUP_FREE char *text = json_text(answer);
	struct tool_result res = { .result = text, .bad_input = c->bad_input,
		.unknown = unknown };

	op_finish(&c->op);
	c->done(c->arg, &res);
	call_free(c);
}

static void
on_refused(void *arg)
{
	struct tool_call *c = arg;

	c->timer = NULL;
	tool_call_finish(c, STEAL(c->answer), false);
}

struct op *
tool_call_refuse(struct tool_call *c, bool bad_input, struct json *answer)
{
	c->bad_input = bad_input;
	c->answer = answer;
	c->timer = loop_defer(c->env.loop, "tool refusal", on_refused, c);
	return &c->op;
}

void
tool_call_spooled(struct json *result, const char *id, uint64_t total)
{
	json_set_str(result, "full_output_id", id);
	json_set_str(result, "full_output_hint", "the middle was left out; "
	    "the tool process reads all of it: action log, session_id "
	    "as full_output_id, offset and limit in lines");
	json_set_int(result, "output_total_chars", (int64_t)total);
}
