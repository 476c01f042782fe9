/*
 * The tool `process`: looks after background processes that `terminal` started
 * in this session.  It reaches no other session's.  What is written to a
 * process goes the way of a command: GATE, RECORD (row before the act), WRITE;
 * all else changes nothing but what a second call finds changed.
 */
#include "gateway/agent/tool.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/gate/gate.h"
#include "gateway/notices.h"
#include "sandbox/procs.h"
#include "sandbox/spooled.h"

#define WAIT_MAX_S 180
#define LOG_LINES 200
#define LOOK_FIRST_MS 20
#define LOOK_MAX_MS 500
#define DATA_MAX (64 * 1024)

struct process_call {
	struct op op;
	struct tool_env env;
	char *call_id;
	struct json *args;
	char *id;
	struct timer *timer;		/* the next look, or the answer */
	msec_t look_ms, until;
	bool clamped;			/* it wanted to wait for longer */
	char *sandbox;			/* of a write: for the gate */
	char *data;
	struct op *waiting;
	struct permit *permit;
	struct json *answer;
	bool bad_input;
	tool_done_cb *done;
	void *arg;
};

static void on_judged(void *arg, enum gate_outcome outcome,
    struct permit *permit, const char *reason);
static void on_recorded(void *arg, const struct err *err);

static void
call_free(struct process_call *c)
{
	op_cancel(&c->waiting);
	loop_cancel(&c->timer);
	permit_free(&c->permit);
	json_free(&c->args);
	json_free(&c->answer);
	mem_free(c->call_id);
	mem_free(c->sandbox);
	mem_free(c->data);
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

static struct json *
failed(const struct process_call *c, const struct err *err)
{
	if (err->code == ERR_NOT_FOUND)
		return not_found(c->id);
	return failure(err->code == ERR_EXISTS ? "already_exited" : "error",
	    err->text);
}

static bool
ended(const struct json *state)
{
	return strcmp(json_get_str(state, "status", ""), "running") != 0;
}

/* ---- looking at it ------------------------------------------------------------ */

/* The model learns its end from this answer: it is not told once more. */
static struct json *
seen(struct process_call *c, struct json *state)
{
	if (state && ended(state))
		notices_consume(c->env.notices, c->env.run.session_key, c->id);
	return state;
}

static void
answer_wait(struct process_call *c, struct json *state)
{
	if (c->clamped) {
		CLEANUP_FREE char *note = mem_printf("%s%swaiting is limited to "
		    "%d s at a time", json_get_str(state, "note", ""),
		    json_get(state, "note") ? "; " : "", WAIT_MAX_S);
		json_set_str(state, "note", note);
	}
	answer(c, seen(c, state));
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
		answer_wait(c, state);
	} else if (loop_now(c->env.loop) >= c->until) {
		answer_wait(c, json_set_str(json_set_str(state, "status",
		    "timeout"), "note", "it still runs"));
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
	int64_t s = json_get_int(c->args, "timeout", WAIT_MAX_S);

	c->clamped = s > WAIT_MAX_S;
	if (s < 1)
		s = 1;
	if (c->clamped)
		s = WAIT_MAX_S;
	c->until = loop_now(c->env.loop) + s * 1000;
	c->look_ms = LOOK_FIRST_MS;
	c->timer = loop_defer(c->env.loop, "process wait", on_look, c);
}

/* Lines are counted from 1; 0 or less: the last ones. */
static struct json *
log_of(struct process_call *c)
{
	struct json *j = procs_log(c->env.sandboxes, &c->env.sandbox, c->id,
	    (long)json_get_int(c->args, "offset", 0) - 1,
	    (long)json_get_int(c->args, "limit", LOG_LINES));

	return j ? seen(c, j) : not_found(c->id);
}

static void
on_spooled(void *arg, const struct json *lines)
{
	struct process_call *c = arg;

	c->waiting = NULL;
	answer(c, lines ? json_clone(lines) : failure("error",
	    "that output is not kept any more"));
}

static void
start_log(struct process_call *c)
{
	if (!spooled_is_id(c->id)) {
		answer(c, log_of(c));
		return;
	}
	c->waiting = spooled_read(c->env.sandboxes, &c->env.sandbox, c->id,
	    (long)json_get_int(c->args, "offset", 0) - 1,
	    (long)json_get_int(c->args, "limit", LOG_LINES), on_spooled, c);
	if (!c->waiting)
		answer(c, not_found(c->id));
}

static struct json *
kill_it(struct process_call *c)
{
	struct err err = { ERR_NONE, "" };

	if (procs_kill(c->env.sandboxes, &c->env.sandbox, c->id, &err) < 0)
		return failed(c, &err);
	notices_consume(c->env.notices, c->env.run.session_key, c->id);
	return json_set_str(json_set_str(json_object(), "status", "killed"),
	    "session_id", c->id);
}

static struct json *
close_it(struct process_call *c)
{
	struct err err = { ERR_NONE, "" };

	if (procs_close(c->env.sandboxes, &c->env.sandbox, c->id, &err) < 0)
		return failed(c, &err);
	return json_set_str(json_set_str(json_object(), "status", "ok"),
	    "note", "it meets the end of its input now");
}

/* ---- writing to it ----------------------------------------------------------------- */

/* What a person is asked about. */
static char *
what_words(const struct process_call *c, const struct json *state)
{
	const char *command = json_get_str(state, "command", "");
	CLEANUP_BUF struct buf line;

	buf_init(&line, 4096);
	(void)utf8_for_terminal(&line, command, strlen(command), true);
	return mem_printf("this input for the running process %s (%s)", c->id,
	    line.data);
}

static void
start_write(struct process_call *c, bool submit)
{
	const char *data = json_get_str(c->args, "data", "");
	CLEANUP_JSON struct json *state = procs_poll(c->env.sandboxes,
	    &c->env.sandbox, c->id);

	c->data = mem_printf("%s%s", data, submit ? "\n" : "");
	if (!state) {
		answer(c, not_found(c->id));
		return;
	}
	if (!c->data[0] || strlen(c->data) > DATA_MAX) {
		c->bad_input = true;
		answer(c, failure("error", c->data[0] ? "data is longer than "
		    "64 KiB: write it in pieces" : "data is missing: what is "
		    "to be written?"));
		return;
	}
	c->sandbox = sandbox_key_text(&c->env.sandbox);
	CLEANUP_FREE char *what = what_words(c, state);
	struct gate_req req = {
		.run = c->env.run,
		.asker = c->env.origin,
		.command = c->data,
		.command_len = strlen(c->data),
		.act = GATE_INPUT,
		.workdir = c->id,
		.program = procs_program(c->env.sandboxes, &c->env.sandbox,
		    c->id),
		.dir = json_get_str(state, "cwd", ""),
		.sandbox = c->sandbox,
		.props = sandbox_props_of(c->env.sandboxes, &c->env.sandbox),
		.what = what,
	};

	c->waiting = gate_ask(c->env.gate, &req, on_judged, c);
}

static void
on_judged(void *arg, enum gate_outcome outcome, struct permit *permit,
    const char *reason)
{
	struct process_call *c = arg;

	c->waiting = NULL;
	if (outcome != GATE_ALLOWED) {
		CLEANUP_FREE char *error = mem_printf("%s. Do not try it "
		    "again in another form; ask the person or go on without "
		    "it.", reason);

		answer(c, failure("blocked", error));
		return;
	}
	c->permit = permit;
	CLEANUP_FREE char *text = json_text(c->args);

	*c->env.phase = TOOL_RECORDED;
	c->waiting = store_tool_start(c->env.store, &c->env.run, c->call_id,
	    "process", text, false, loop_wall(c->env.loop), on_recorded, c);
}

static void
on_recorded(void *arg, const struct err *err)
{
	struct process_call *c = arg;
	struct err why = { ERR_NONE, "" };

	c->waiting = NULL;
	if (err) {
		CLEANUP_FREE char *error = mem_printf("not written: its start "
		    "could not be recorded (%s)", err->text);

		answer(c, failure("error", error));
		return;
	}
	*c->env.phase = TOOL_RUNNING;
	if (procs_write(c->env.sandboxes, &c->env.sandbox, c->id, c->data,
	    strlen(c->data), c->env.run.generation, &c->permit, &why) < 0) {
		answer(c, failed(c, &why));
		return;
	}
	struct json *res = json_object();

	json_set_str(res, "status", "ok");
	answer(c, json_set_int(res, "bytes_written", (int64_t)strlen(c->data)));
}

/* ---- the call ------------------------------------------------------------------------- */

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
		start_log(c);
	} else if (strcmp(action, "wait") == 0) {
		start_wait(c);
	} else if (strcmp(action, "kill") == 0) {
		answer(c, kill_it(c));
	} else if (strcmp(action, "close") == 0) {
		answer(c, close_it(c));
	} else if (strcmp(action, "write") == 0 ||
	    strcmp(action, "submit") == 0) {
		start_write(c, action[0] == 's');
	} else {
		c->bad_input = true;
		answer(c, failure("error", "action must be list, poll, log, "
		    "wait, kill, write, submit or close"));
	}
}

static struct op *
process_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct process_call *c = mem_alloc(sizeof(*c));

	op_init(&c->op, &call_type);
	c->env = *env;
	c->call_id = mem_str(call_id);
	c->args = json_clone(args);
	c->id = mem_str(json_get_str(args, "session_id", ""));
	c->done = done;
	c->arg = arg;
	act(c, json_get_str(args, "action", ""));
	return &c->op;
}

/* A new message ends a wait; the process runs on. */
static struct json *
process_cancelled(const struct json *args, const char *why)
{
	if (strcmp(json_get_str(args, "action", ""), "wait") != 0)
		return NULL;
	CLEANUP_FREE char *note = mem_printf("%s: the process was not touched",
	    why);

	return json_set_str(json_set_str(json_object(), "status",
	    "interrupted"), "note", note);
}

const struct tool tool_process = {
	.name = "process",
	.description = "Look after background processes that terminal started "
	    "with background: true. list: all of this session; poll: state and "
	    "newest output; log: lines of the output; wait: until it ends; "
	    "kill: end it and all it started; write: data to its standard "
	    "input as it is; submit: data and a line end; close: the end of "
	    "its input.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"action\":{\"type\":\"string\",\"enum\":[\"list\",\"poll\","
	    "\"log\",\"wait\",\"kill\",\"write\",\"submit\",\"close\"]},"
	    "\"session_id\":{\"type\":\"string\",\"description\":\"The id that "
	    "terminal gave (proc_..., or out_... for log); for all but list.\"},"
	    "\"data\":{\"type\":\"string\",\"description\":\"write, submit: "
	    "what the process is to read.\"},"
	    "\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"wait: seconds, at most 180 (180).\"},"
	    "\"offset\":{\"type\":\"integer\",\"description\":\"log: first line "
	    "to show, counted from 1; 0: the last lines (0).\"},"
	    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"log: how many lines (200).\"}},"
	    "\"required\":[\"action\"]}",
	.needs = SANDBOX_COMMANDS,
	.read_only = false,
	.cancelled = process_cancelled,
	.call = process_call,
};
