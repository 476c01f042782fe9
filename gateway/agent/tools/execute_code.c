/*
 * The tool `execute_code`: a script in the session's sandbox that can call
 * tools.  GATE (the script, as one thing) > RECORD > RUN > CLOSE.  A cancel
 * ends the script, the call it waits for, and all their children; what the
 * script printed until its end or its time limit is kept.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/code_text.h"
#include "gateway/agent/rpc.h"
#include "gateway/agent/rpc_link.h"
#include "gateway/agent/tool_call.h"
#include "gateway/gate/gate.h"
#include "sandbox/exec.h"
#include "sandbox/output.h"
#include "sandbox/spooled.h"

#define TIMEOUT_MS 300000
#define MAX_CALLS 50
#define STDOUT_MAX 50000
#define STDERR_MAX 10000
#define CODE_MAX (96 * 1024)	/* the gate judges no more */
#define CLOSE_MS 5000

enum code_step { CODE_GATE, CODE_RECORD, CODE_RUN, CODE_CLOSE };

struct code_call {
	struct tool_call c;		/* timer: the link's end */
	enum code_step step;
	char *sandbox;
	enum code_language language;
	const char *code;		/* into args */
	struct rpc *rpc;
	struct rpc_link *link;
	struct buf input;
	struct permit *permit;
	struct output *out, *err;
	msec_t started;
	char *broken;			/* why calls can't work any more */
	/* of the end */
	int exit_code;
	bool lost;
	char *error, *note;
};

static void on_judged(void *arg, enum gate_outcome outcome,
    struct permit *permit, const char *reason);
static void on_recorded(void *arg, const struct err *err);
static void on_output(void *arg, int fd, const char *data, size_t len);
static void on_ran(void *arg, const struct sandbox_result *res);
static void on_late(void *arg);
static void on_closed(struct code_call *c);

static void
code_enter(struct code_call *c, enum code_step step)
{
	static const char *const names[] = { "gate", "record", "run", "close" };

	log_debug("execute_code", NULL, "call=%s step=%s was=%s", c->c.call_id,
	    names[step], names[c->step]);
	c->step = step;
}

/* What is waited for is cancelled by then: the script, or its judging. */
static void
release(void *call)
{
	struct code_call *c = call;

	rpc_free(&c->rpc);
	rpc_link_free(&c->link);
	permit_free(&c->permit);
	output_free(&c->out);
	output_free(&c->err);
	buf_done(&c->input);
	mem_free(c->sandbox);
	mem_free(c->broken);
	mem_free(c->error);
	mem_free(c->note);
}

static const struct op_type call_type = { "execute_code", tool_call_cancel };

static struct json *
result_new(struct code_call *c, const char *status, const char *output,
    const char *error)
{
	struct json *j = json_object();
	msec_t ms = c->started ? loop_now(c->c.env.loop) - c->started : 0;
	CLEANUP_FREE char *seconds = mem_printf("%lld.%02lld",
	    (long long)(ms / 1000), (long long)(ms % 1000 / 10));

	json_set_str(j, "status", status);
	json_set_str(j, "output", output);
	json_set_int(j, "tool_calls_made", c->rpc ? rpc_calls(c->rpc) : 0);
	json_set_take(j, "duration_seconds", json_parse(seconds,
	    strlen(seconds), NULL));
	return error ? json_set_str(j, "error", error) : j;
}

static struct op *
refuse(struct code_call *c, bool bad_input, const char *why)
{
	return tool_call_refuse(&c->c, bad_input, result_new(c, "error", "", why));
}

/* ---- the link -------------------------------------------------------------------------- */

static void
send_answer(void *arg, const char *line, size_t len)
{
	struct code_call *c = arg;

	rpc_link_send(c->link, line, len);
}

static bool
feed_bytes(void *arg, const char *data, size_t len)
{
	struct code_call *c = arg;

	return rpc_feed(c->rpc, data, len);
}

static void
on_broken(void *arg, const char *why)
{
	struct code_call *c = arg;

	if (!c->broken)
		c->broken = mem_str(why);
	if (c->step == CODE_CLOSE && !rpc_link_busy(c->link))
		on_closed(c);
}

static void
on_link_ended(void *arg)
{
	struct code_call *c = arg;

	if (c->step == CODE_CLOSE)
		on_closed(c);
}

static int
open_link(struct code_call *c, struct err *err)
{
	char hex[2 * RPC_TOKEN_LEN + 1];
	struct rpc_opts rpc = { .arg = c, .send = send_answer,
		.max_calls = c->c.env.code.max_calls ? c->c.env.code.max_calls :
		MAX_CALLS };
	struct rpc_link_opts link = {
		.files = c->c.env.code.files, .call_id = c->c.call_id,
		.timeout_ms = c->c.env.code.timeout_ms ?
		    c->c.env.code.timeout_ms : TIMEOUT_MS,
		.arg = c, .feed = feed_bytes, .broken = on_broken,
		.ended = on_link_ended,
	};

	c->rpc = rpc_new(&c->c.env, c->c.call_id, &rpc);
	c->link = rpc_link_new(&c->c.env, &link, err);
	if (!c->link)
		return -1;
	CLEANUP_FREE char *where = rpc_link_where(c->link);
	CLEANUP_FREE char *settings = NULL;
	const unsigned char *token = rpc_token(c->rpc);

	for (size_t i = 0; i < RPC_TOKEN_LEN; i++)
		if (mem_format(hex + 2 * i, 3, "%02x", token[i]) < 0)
			return -1;
	settings = mem_printf("%s token=%s", where, hex);
	code_input(&c->input, c->language, settings, c->code);
	return 0;
}

/* ---- the story --------------------------------------------------------------------------- */

static const char *
command_of(const struct code_call *c)
{
	const char *fixed = code_command(c->language);

	return fixed ? fixed : c->code;
}

/* What the gate judges: the same script, as a shell would be told to run it. */
static void
judged_text(const struct code_call *c, struct buf *out)
{
	if (c->language == CODE_SHELL) {
		buf_add_str(out, c->code);
		return;
	}
	buf_add_str(out, c->language == CODE_PYTHON ? "python3 -c " : "node -e ");
	exec_quote(out, c->code, strlen(c->code));
}

static const char *
find_fault(struct code_call *c)
{
	const char *language = json_get_str(c->c.args, "language", "python");

	c->code = json_get_str(c->c.args, "code", "");
	if (strcmp(language, "python") == 0)
		c->language = CODE_PYTHON;
	else if (strcmp(language, "node") == 0)
		c->language = CODE_NODE;
	else
		c->language = CODE_SHELL;
	if (!c->code[strspn(c->code, " \t\r\n")])
		return "code is empty";
	if (strlen(c->code) > CODE_MAX)
		return "the code is over 96 KiB: write it to a file with write_file "
		    "and run that with terminal";
	return NULL;
}

static struct op *
execute_code_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct code_call *c = mem_alloc(sizeof(*c));
	struct sandbox_props props = sandbox_props(env->sandboxes,
	    env->sandbox.owner);
	CLEANUP_BUF struct buf judged, shown;
	struct err err;

	buf_init(&judged, 5 * CODE_MAX);
	buf_init(&shown, 2 * CODE_MAX);
	tool_call_init(&c->c, &call_type, env, call_id, args, done, arg);
	c->c.release = release;
	c->sandbox = sandbox_key_text(&env->sandbox);
	buf_init(&c->input, 1 << 20);
	const char *fault = find_fault(c);

	if (fault)
		return refuse(c, true, fault);
	if (c->language != CODE_SHELL && open_link(c, &err) < 0)
		return refuse(c, false, err.text);
	judged_text(c, &judged);
	buf_printf(&shown, "a %s script:\n%s", c->language == CODE_PYTHON ?
	    "Python" : c->language == CODE_NODE ? "Node" : "shell", c->code);
	c->c.waiting = gate_ask(env->gate, &(struct gate_req){
		.run = env->run, .asker = env->origin, .act = GATE_COMMAND,
		.command = command_of(c), .command_len = strlen(command_of(c)),
		.input = c->input.len ? c->input.data : NULL,
		.input_len = c->input.len,
		.workdir = "",
		.dir = sandbox_cwd(env->sandboxes, &env->sandbox),
		.sandbox = c->sandbox, .props = props,
		.judged = judged.data, .shown = shown.data, .what = "this script",
	}, on_judged, c);
	return &c->c.op;
}

static void
on_judged(void *arg, enum gate_outcome outcome, struct permit *permit,
    const char *reason)
{
	struct code_call *c = arg;

	c->c.waiting = NULL;
	if (outcome != GATE_ALLOWED) {
		CLEANUP_FREE char *why = mem_printf("not run: %s. Do not try it "
		    "again in another form; ask the person or go on without "
		    "it.", reason);

		tool_call_finish(&c->c, result_new(c, "error", "", why),
		    false);
		return;
	}
	c->permit = permit;
	code_enter(c, CODE_RECORD);
	CLEANUP_FREE char *text = json_text(c->c.args);

	*c->c.env.phase = TOOL_RECORDED;
	c->c.waiting = store_tool_start(c->c.env.store, &c->c.env.run, c->c.call_id,
	    "execute_code", text, false, loop_wall(c->c.env.loop), on_recorded, c);
}

static void
on_recorded(void *arg, const struct err *err)
{
	struct code_call *c = arg;
	struct sandbox_cmd cmd = {
		.command = command_of(c), .command_len = strlen(command_of(c)),
		.input = c->input.len ? c->input.data : NULL,
		.input_len = c->input.len,
		.timeout_ms = c->c.env.code.timeout_ms ?
		    c->c.env.code.timeout_ms : TIMEOUT_MS,
		.generation = c->c.env.run.generation,
		.split = true, .apart = true,
		.rpc = c->link ? rpc_link_fd(c->link) : 0,
	};
	struct output_opts errs = { .max = STDERR_MAX, .head_only = true,
		.loop = c->c.env.loop };

	c->c.waiting = NULL;
	if (err) {
		CLEANUP_FREE char *why = mem_printf("not run: its start could not "
		    "be recorded (%s)", err->text);

		tool_call_finish(&c->c, result_new(c, "error", "", why),
		    false);
		return;
	}
	code_enter(c, CODE_RUN);
	*c->c.env.phase = TOOL_RUNNING;
	c->started = loop_now(c->c.env.loop);
	c->out = spooled_output(c->c.env.sandboxes, STDOUT_MAX);
	c->err = output_new(&errs);
	c->c.waiting = sandbox_run(c->c.env.sandboxes, &c->c.env.sandbox, &cmd,
	    &c->permit, on_output, on_ran, c);
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct code_call *c = arg;

	output_add(fd == 2 ? c->err : c->out, 1, data, len);
}

static void
on_ran(void *arg, const struct sandbox_result *res)
{
	struct code_call *c = arg;

	c->c.waiting = NULL;
	c->exit_code = res->exit_code;
	c->lost = res->lost;
	c->error = mem_str(res->error);
	c->note = mem_str(res->note);
	code_enter(c, CODE_CLOSE);
	if (c->link && rpc_link_busy(c->link))
		c->c.timer = loop_after(c->c.env.loop, CLOSE_MS, "script's link",
		    on_late, c);
	else
		on_closed(c);
}

/* "exit code 1: ValueError: x": its last words, if there are any. */
static char *
last_words(const struct code_call *c, const char *errors)
{
	size_t len = strlen(errors);

	while (len > 0 && errors[len - 1] == '\n')
		len--;
	const char *line = len ? memrchr(errors, '\n', len) : NULL;

	line = line ? line + 1 : errors;
	return mem_printf("exit code %d%s%.*s", c->exit_code, len ? ": " : "",
	    (int)(len - (size_t)(line - errors) > 500 ? 500 :
	    len - (size_t)(line - errors)), line);
}

/* text: what it printed; gets what it wrote to stderr if it failed. */
static struct json *
result_of(struct code_call *c, struct buf *text, const struct buf *errors)
{
	CLEANUP_FREE char *words = NULL;
	long long limit = (c->c.env.code.timeout_ms ? c->c.env.code.timeout_ms :
	    TIMEOUT_MS) / 1000;

	if (c->exit_code == 0 && !c->error)
		return result_new(c, "success", text->data, NULL);
	if (errors->len > 0)
		buf_printf(text, "%s--- stderr ---\n%s", text->len &&
		    text->data[text->len - 1] != '\n' ? "\n" : "",
		    errors->data);
	if (c->exit_code == SANDBOX_EXIT_TIMEOUT) {
		buf_printf(text, "%s[Script timed out after %llds; what it had "
		    "printed until then is above. Do the rest in smaller "
		    "steps.]", text->len && text->data[text->len - 1] != '\n' ?
		    "\n" : "", limit);
		words = mem_printf("timed out after %lld s", limit);
		return result_new(c, "timeout", text->data, words);
	}
	words = c->error ? mem_str(c->error) : last_words(c, errors->data);
	return result_new(c, "error", text->data, words);
}

/* The script never opened its end, or something of it holds on. */
static void
on_late(void *arg)
{
	struct code_call *c = arg;

	c->c.timer = NULL;
	on_closed(c);
}

static void
on_closed(struct code_call *c)
{
	CLEANUP_BUF struct buf text, errors;
	CLEANUP_FREE char *no_spool = NULL, *none = NULL;
	const char *spool, *no_path;

	loop_cancel(&c->c.timer);
	buf_init(&text, 8 * STDOUT_MAX);
	buf_init(&errors, 8 * STDERR_MAX);
	output_end(c->out, &text, &spool, &no_spool);
	output_end(c->err, &errors, &no_path, &none);
	struct json *j = result_of(c, &text, &errors);

	if (spool)
		tool_call_spooled(j, spooled_keep(c->c.env.sandboxes,
		    &c->c.env.sandbox, spool), output_total(c->out));
	if (c->broken || no_spool)
		json_set_str(j, "_warning", c->broken ? c->broken : no_spool);
	if (c->note)
		json_set_str(j, "note", c->note);
	tool_call_finish(&c->c, j, c->lost);
}

const struct tool tool_execute_code = {
	.name = "execute_code",
	.description = "Run a script in this conversation's sandbox that can call "
	    "tools, for work of several steps, loops and filtering: only what "
	    "it prints comes back. Python: from hermes_tools import terminal, "
	    "read_file, write_file, search_files, patch, json_parse, "
	    "shell_quote, retry; each returns the tool's result as a dict "
	    "(terminal: output, exit_code, error). At most 300 s, 50 tool calls "
	    "and 50,000 bytes of output.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"code\":{\"type\":\"string\",\"description\":\"The script.\"},"
	    "\"language\":{\"type\":\"string\",\"enum\":[\"python\",\"node\","
	    "\"sh\"],\"description\":\"python (default); node: "
	    "require('hermes_tools'); sh has no tools.\"}},"
	    "\"required\":[\"code\"]}",
	.needs = SANDBOX_COMMANDS | SANDBOX_SCRIPTS,
	.read_only = false,
	.call = execute_code_call,
};
