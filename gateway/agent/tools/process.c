/*
 * The tool `process`: looks after background processes that `terminal` started
 * in this session.  It reaches no other session's, starts nothing, and may be
 * repeated: a second kill finds the process ended.
 */
#include "gateway/agent/tool.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/procs.h"

#define WAIT_DEFAULT_S 60
#define WAIT_MAX_S 180
#define LOG_LINES 200
#define LOOK_FIRST_MS 20
#define LOOK_MAX_MS 500

struct process_call {
	struct op op;
	struct tool_env env;
	struct json *args;
	char *id;
	struct timer *timer;		/* the next look, or the answer */
	msec_t look_ms, until;
	struct json *answer;
	bool bad_input;
	tool_done_cb *done;
	void *arg;
};

static void
call_free(struct process_call *c)
{
	loop_cancel(&c->timer);
	json_free(&c->args);
	json_free(&c->answer);
	mem_free(c->id);
	mem_free(c);
}

static void
call_cancel(struct op *op)
{
	call_free((struct process_call *)(void *)op);
}

static const struct op_type call_type = { "process", call_cancel };

/* The only exit of a call that was not cancelled. */
static void
on_answer(void *arg)
{
	struct process_call *c = arg;
	CLEANUP_FREE char *text = json_text(c->answer);
	struct tool_result res = { .result = text, .bad_input = c->bad_input };
	tool_done_cb *done = c->done;
	void *done_arg = c->arg;

	c->timer = NULL;
	op_finish(&c->op);
	call_free(c);
	done(done_arg, &res);
}

/* Takes answer. */
static void
answer(struct process_call *c, struct json *answer)
{
	c->answer = answer;
	loop_cancel(&c->timer);
	c->timer = loop_defer(c->env.loop, "process answer", on_answer, c);
}

static struct json *
failure(const char *status, const char *error)
{
	struct json *j = json_object();

	json_set_str(j, "status", status);
	return json_set_str(j, "error", error);
}

static struct json *
not_found(const char *id)
{
	CLEANUP_FREE char *error = mem_printf("there is no process \"%.40s\" in "
	    "this session; use action list", id);

	return failure("not_found", error);
}

static bool
ended(const struct json *state)
{
	return strcmp(json_get_str(state, "status", ""), "running") != 0;
}

static void
on_look(void *arg)
{
	struct process_call *c = arg;
	struct json *state = procs_poll(c->env.sandboxes, &c->env.sandbox, c->id);

	c->timer = NULL;
	if (!state) {
		answer(c, not_found(c->id));
	} else if (ended(state)) {
		answer(c, state);
	} else if (loop_now(c->env.loop) >= c->until) {
		json_set_str(state, "status", "timeout");
		json_set_str(state, "note", "it still runs");
		answer(c, state);
	} else {
		json_free(&state);
		c->timer = loop_after(c->env.loop, c->look_ms, "process wait",
		    on_look, c);
		c->look_ms = c->look_ms * 3 / 2 > LOOK_MAX_MS ? LOOK_MAX_MS :
		    c->look_ms * 3 / 2;
	}
}

static void
start_wait(struct process_call *c)
{
	int64_t s = json_get_int(c->args, "timeout", WAIT_DEFAULT_S);

	if (s < 1)
		s = 1;
	if (s > WAIT_MAX_S)
		s = WAIT_MAX_S;
	c->until = loop_now(c->env.loop) + s * 1000;
	c->look_ms = LOOK_FIRST_MS;
	c->timer = loop_defer(c->env.loop, "process wait", on_look, c);
}

static struct json *
kill_it(struct process_call *c)
{
	struct err err = { ERR_NONE, "" };

	if (procs_kill(c->env.sandboxes, &c->env.sandbox, c->id, &err) == 0)
		return json_set_str(json_object(), "status", "killed");
	if (err.code == ERR_EXISTS)
		return failure("already_exited", err.text);
	return not_found(c->id);
}

static void
act(struct process_call *c, const char *action)
{
	struct json *j;

	if (strcmp(action, "list") == 0) {
		j = json_object();
		json_set_take(j, "processes", sandbox_processes(
		    c->env.sandboxes, &c->env.sandbox));
		answer(c, j);
	} else if (strcmp(action, "poll") == 0) {
		j = procs_poll(c->env.sandboxes, &c->env.sandbox, c->id);
		answer(c, j ? j : not_found(c->id));
	} else if (strcmp(action, "log") == 0) {
		j = procs_log(c->env.sandboxes, &c->env.sandbox, c->id,
		    (long)json_get_int(c->args, "offset", -1),
		    (long)json_get_int(c->args, "limit", LOG_LINES));
		answer(c, j ? j : not_found(c->id));
	} else if (strcmp(action, "wait") == 0) {
		start_wait(c);
	} else if (strcmp(action, "kill") == 0) {
		answer(c, kill_it(c));
	} else {
		c->bad_input = true;
		answer(c, failure("error",
		    "action must be list, poll, log, wait or kill"));
	}
}

static struct op *
process_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct process_call *c = mem_alloc(sizeof(*c));

	(void)call_id;
	op_init(&c->op, &call_type);
	c->env = *env;
	c->args = json_clone(args);
	c->id = mem_str(json_get_str(args, "session_id", ""));
	c->done = done;
	c->arg = arg;
	act(c, json_get_str(args, "action", ""));
	return &c->op;
}

const struct tool tool_process = {
	.name = "process",
	.description = "Look after background processes that terminal started "
	    "with background: true. list: all of this session; poll: state and "
	    "newest output; log: lines of the output; wait: until it ends; "
	    "kill: end it and all it started.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"action\":{\"type\":\"string\",\"enum\":[\"list\",\"poll\","
	    "\"log\",\"wait\",\"kill\"]},"
	    "\"session_id\":{\"type\":\"string\",\"description\":\"The id that "
	    "terminal gave (proc_...); for all but list.\"},"
	    "\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"wait: seconds, at most 180 (60).\"},"
	    "\"offset\":{\"type\":\"integer\",\"description\":\"log: first line "
	    "to show; without it the last lines.\"},"
	    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"log: how many lines (200).\"}},"
	    "\"required\":[\"action\"]}",
	.read_only = true,
	.call = process_call,
};
