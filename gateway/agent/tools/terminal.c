/*
 * The tool `terminal`: one command in the session's sandbox.  Its flow is
 * GATE (may it run?), RECORD (row before the act), RUN.  It never chooses a
 * sandbox, a backend or a person: all that comes with the environment.
 */
#include "gateway/agent/tool.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/tool_call.h"
#include "gateway/agent/tools/foreground.h"
#include "gateway/gate/gate.h"
#include "gateway/notices.h"
#include "sandbox/cwd.h"
#include "sandbox/exec.h"
#include "sandbox/exit_meaning.h"
#include "sandbox/lookout.h"

#define TIMEOUT_MAX_S 600
#define ASKED_MAX 3		/* times, while what it was allowed in changes */

enum terminal_step { TERM_GATE, TERM_RECORD, TERM_RUN };

struct terminal {
	struct op op;
	struct tool_env env;
	enum terminal_step step;
	struct op *waiting;
	struct timer *refusal;		/* bad input is reported later, too */
	char *call_id;
	char *sandbox;
	struct json *args;
	struct permit *permit;
	char *approval;			/* who or what let it through; NULL: the rules */
	unsigned asked;			/* how often; more than once if the scene changed */
	struct sandbox_props props;
	bool background, notify, pty;
	const char *pty_note;		/* why there is none; NULL */
	/* Borrowed from args, NULL-terminated; none: not watched. */
	const char *watch[LOOKOUT_PATTERNS_MAX + 1];
	char *refused;			/* result text for `refusal` */
	tool_done_cb *done;
	void *arg;
};

static void terminal_ask(struct terminal *t, const char *changed);
static void terminal_run(struct terminal *t);
static void on_judged(void *arg, enum gate_outcome outcome,
    struct permit *permit, const char *reason);
static void on_recorded(void *arg, const struct err *err);
static void on_ran(void *arg, const struct sandbox_result *res);

static void
terminal_enter(struct terminal *t, enum terminal_step step)
{
	static const char *const names[] = { "gate", "record", "run" };

	log_debug("terminal", NULL, "call=%s step=%s was=%s", t->call_id,
	    names[step], names[t->step]);
	t->step = step;
}

static void
terminal_free(struct terminal *t)
{
	op_cancel(&t->waiting);
	loop_cancel(&t->refusal);
	permit_free(&t->permit);
	mem_free(t->approval);
	json_free(&t->args);
	mem_free(t->call_id);
	mem_free(t->sandbox);
	mem_free(t->refused);
	mem_free(t);
}

static void
terminal_cancel(struct op *op)
{
	terminal_free((struct terminal *)op);
}

static const struct op_type terminal_type = { "terminal", terminal_cancel };

/* The only exit of a call that was not cancelled. */
static void
terminal_finish(struct terminal *t, struct json *result, bool bad_input,
    bool unknown)
{
	CLEANUP_FREE char *text = json_text(result);
	struct tool_result res = {
		.result = text,
		.bad_input = bad_input,
		.unknown = unknown,
	};
	tool_done_cb *done = t->done;
	void *arg = t->arg;

	json_free(&result);
	op_finish(&t->op);
	terminal_free(t);
	done(arg, &res);
}

static struct json *
result_new(const char *output, int exit_code, const char *error)
{
	struct json *res = json_object();

	json_set_str(res, "output", output);
	json_set_int(res, "exit_code", exit_code);
	if (error)
		json_set_str(res, "error", error);
	else
		json_set_null(res, "error");
	return res;
}

static struct json *
result_refused(const char *status, const char *error)
{
	struct json *res = result_new("", SANDBOX_EXIT_REFUSED, error);

	json_set_str(res, "status", status);
	return res;
}

static void
on_bad_input(void *arg)
{
	struct terminal *t = arg;

	t->refusal = NULL;
	terminal_finish(t, result_refused("error", t->refused), true, false);
}

static char *
find_watch_fault(const struct json *list)
{
	if (json_len(list) > LOOKOUT_PATTERNS_MAX)
		return mem_printf("watch_patterns may hold %d strings",
		    LOOKOUT_PATTERNS_MAX);
	for (const struct json *p = json_first(list); p; p = json_next(p)) {
		const char *s = json_str(p);

		if (!s || !s[0] || strlen(s) > LOOKOUT_PATTERN_MAX ||
		    strchr(s, '\n'))
			return mem_printf("each of watch_patterns must be a "
			    "string of 1 to %d bytes without a line end",
			    LOOKOUT_PATTERN_MAX);
	}
	return NULL;
}

/* NULL, or what the model must correct. Caller frees. */
static char *
find_fault(const struct json *args)
{
	const char *command = json_get_str(args, "command", "");
	int64_t timeout = json_get_int(args, "timeout", 1);
	bool background = json_get_bool(args, "background", false);

	if (!command[strspn(command, " \t\r\n")])
		return mem_str("command is empty: give the shell command to run");
	if (strlen(command) > EXEC_COMMAND_MAX)	/* what is long goes to the gate */
		return mem_printf("command has %zu bytes; %d are the most: "
		    "write a script file first and run it", strlen(command),
		    EXEC_COMMAND_MAX);
	if (timeout < 1)
		return mem_str("timeout must be 1 or more seconds");
	if (timeout > TIMEOUT_MAX_S && !background)
		return mem_printf("timeout may be %d seconds at most in the "
		    "foreground; use background: true for longer work",
		    TIMEOUT_MAX_S);
	const char *fault = background ? NULL : foreground_fault(command);

	return fault ? mem_printf("not run: %s", fault) :
	    find_watch_fault(json_get(args, "watch_patterns"));
}

static void
take_pty(struct terminal *t)
{
	const char *command = json_get_str(t->args, "command", "");

	if (!json_get_bool(t->args, "pty", false))
		return;
	if (!t->background)
		t->pty_note = "pty needs background: true; this ran without a "
		    "terminal";
	else if (strstr(command, "gh auth login") &&
	    strstr(command, "--with-token"))
		t->pty_note = "gh auth login --with-token reads the token from a "
		    "pipe: it was started without a terminal";
	else
		t->pty = true;
}

/* What of the background's options counts in this call. */
static void
take_options(struct terminal *t)
{
	const struct json *list = json_get(t->args, "watch_patterns");
	size_t n = 0;

	t->background = json_get_bool(t->args, "background", false);
	take_pty(t);
	t->notify = t->background && !t->env.stateless &&
	    json_get_bool(t->args, "notify_on_complete", false);
	if (!t->background || t->env.stateless || t->notify)
		return;
	for (const struct json *p = json_first(list); p; p = json_next(p))
		t->watch[n++] = json_str(p);
}

static struct op *
terminal_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct terminal *t = mem_alloc(sizeof(*t));

	op_init(&t->op, &terminal_type);
	t->env = *env;
	t->call_id = mem_str(call_id);
	t->args = json_clone(args);
	t->sandbox = sandbox_key_text(&env->sandbox);
	t->props = sandbox_props_of(env->sandboxes, &env->sandbox);
	t->done = done;
	t->arg = arg;
	t->refused = find_fault(args);
	if (t->refused) {
		t->refusal = loop_defer(env->loop, "terminal refusal",
		    on_bad_input, t);
		return &t->op;
	}
	take_options(t);
	terminal_ask(t, NULL);
	return &t->op;
}

/* changed: it was allowed, and since then this is different; or NULL. */
static void
terminal_ask(struct terminal *t, const char *changed)
{
	const struct tool_env *env = &t->env;
	const char *command = json_get_str(t->args, "command", "");
	CLEANUP_FREE char *dir = cwd_resolve(
	    sandbox_cwd(env->sandboxes, &env->sandbox),
	    t->props.home ? t->props.home : t->props.workspace,
	    json_get_str(t->args, "workdir", ""));
	struct gate_req req = {
		.run = env->run,
		.asker = env->origin,
		.command = command,
		.command_len = strlen(command),
		.workdir = json_get_str(t->args, "workdir", ""),
		.dir = dir,
		.sandbox = t->sandbox,
		.props = t->props,
		.background = t->background,
		.changed = changed,
	};

	t->asked++;
	t->waiting = gate_ask(env->gate, &req, on_judged, t);
}

static void
on_judged(void *arg, enum gate_outcome outcome, struct permit *permit,
    const char *reason)
{
	struct terminal *t = arg;

	t->waiting = NULL;
	if (outcome != GATE_ALLOWED) {
		CLEANUP_FREE char *error = mem_printf("%s. Do not try it "
		    "again in another form; ask the person or go on without "
		    "it.", reason);

		terminal_finish(t, result_refused("blocked", error), false,
		    false);
		return;
	}
	t->permit = permit;
	mem_free(t->approval);
	t->approval = reason[0] ? mem_str(reason) : NULL;
	/* its row stands already, or is the script's */
	if (t->env.nested || *t->env.phase != TOOL_WAITING) {
		terminal_run(t);
		return;
	}
	terminal_enter(t, TERM_RECORD);
	CLEANUP_FREE char *text = json_text(t->args);

	*t->env.phase = TOOL_RECORDED;
	t->waiting = store_tool_start(t->env.store, &t->env.run, t->call_id,
	    "terminal", text, false, loop_wall(t->env.loop), on_recorded, t);
}

static void
terminal_run(struct terminal *t)
{
	const char *command = json_get_str(t->args, "command", "");
	struct sandbox_cmd cmd = {
		.command = command,
		.command_len = strlen(command),
		.workdir = json_get_str(t->args, "workdir", ""),
		.timeout_ms = json_get_int(t->args, "timeout", 0) * 1000,
		.generation = t->env.run.generation,
		.background = t->background,
		.notify = t->notify,
		.pty = t->pty,
		.watch = t->watch,
	};

	terminal_enter(t, TERM_RUN);
	*t->env.phase = TOOL_RUNNING;
	t->waiting = sandbox_run(t->env.sandboxes, &t->env.sandbox, &cmd,
	    &t->permit, NULL, on_ran, t);
}

static void
on_recorded(void *arg, const struct err *err)
{
	struct terminal *t = arg;

	t->waiting = NULL;
	if (err) {
		CLEANUP_FREE char *error = mem_printf("not run: its start could "
		    "not be recorded (%s)", err->text);

		terminal_finish(t, result_refused("error", error), false, false);
		return;
	}
	terminal_run(t);
}

/* How the model will hear of it, and what of its wishes can't be met. */
static void
add_wishes(const struct terminal *t, struct json *out)
{
	const struct json *patterns = json_get(t->args, "watch_patterns");
	bool wants_notify = json_get_bool(t->args, "notify_on_complete", false);

	if (t->notify)
		json_set_bool(out, "notify_on_complete", true);
	if (t->watch[0])
		json_set_take(out, "watch_patterns", json_clone(patterns));
	if (t->notify && json_len(patterns) > 0)
		json_set_str(out, "watch_patterns_ignored", "notify_on_complete "
		    "is set: you are told of its end only");
	if (t->env.stateless && (wants_notify || json_len(patterns) > 0))
		json_set_str(out, "notify_unsupported", "this conversation ends "
		    "with your answer, nothing can be told later: use the tool "
		    "process with wait before you answer");
	else if (!t->notify && !t->watch[0])
		json_set_str(out, "hint", "it was started silently: you will not "
		    "be told of its end. Use the tool process (poll, wait), or "
		    "start such with notify_on_complete or watch_patterns.");
}

/* A background process began; it is the session's now. */
static void
started(struct terminal *t, const struct sandbox_result *res, struct json *out)
{
	struct notice_process p = {
		.id = res->process_id,
		.session_key = t->env.run.session_key,
		.origin = t->env.origin,
		.command = json_get_str(t->args, "command", ""),
		.notify = t->notify,
		.watch = t->watch[0] != NULL,
		.depth = t->env.depth + 1,
	};

	json_set_str(out, "session_id", res->process_id);
	json_set_int(out, "pid", res->pid);
	if (t->pty && !res->pty)
		t->pty_note = "this backend has no terminals: it was started "
		    "with pipes";
	add_wishes(t, out);
	if (!t->env.stateless)
		notices_started(t->env.notices, &p);
}

static void
on_ran(void *arg, const struct sandbox_result *res)
{
	struct terminal *t = arg;
	const char *command = json_get_str(t->args, "command", "");

	t->waiting = NULL;
	if (res->changed && t->asked < ASKED_MAX) {
		terminal_enter(t, TERM_GATE);
		*t->env.phase = TOOL_RECORDED;
		terminal_ask(t, res->changed);
		return;
	}
	struct json *out = result_new(res->output, res->exit_code, res->error);
	const char *meaning = exit_meaning(command, strlen(command),
	    res->exit_code);

	if (meaning)
		json_set_str(out, "exit_code_meaning", meaning);
	if (sudo_failed(res->output, res->output_len)) {
		json_set_bool(out, "sudo_auth_failed", true);
		json_set_str(out, "hint", "sudo wants a password, and nobody can "
		    "type one here: do without sudo, or ask the person to do "
		    "this step");
	}
	if (res->exit_code == SANDBOX_EXIT_REFUSED)
		json_set_str(out, "status", "error");
	if (res->note)
		json_set_str(out, "note", res->note);
	if (t->approval)
		json_set_str(out, "approval", t->approval);
	if (res->cwd && res->cwd[0])
		json_set_str(out, "cwd", res->cwd);
	if (res->spool_id)
		tool_call_spooled(out, res->spool_id, res->output_total);
	if (res->process_id && res->process_id[0])
		started(t, res, out);
	if (t->pty_note)
		json_set_str(out, "pty_note", t->pty_note);
	terminal_finish(t, out, false, res->lost);
}

const struct tool tool_terminal = {
	.name = "terminal",
	.description = "Run a shell command in this conversation's sandbox. "
	    "Exported variables and the current directory persist between "
	    "calls; background jobs do not: use background for those. The "
	    "command is one bash script; its output is cut in the middle "
	    "when it is very long.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"command\":{\"type\":\"string\",\"description\":\"The command.\"},"
	    "\"background\":{\"type\":\"boolean\",\"description\":\"Start it "
	    "and return at once; it goes on after this call.\"},"
	    "\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"Seconds until the command is ended (foreground: at most 600).\"},"
	    "\"workdir\":{\"type\":\"string\",\"description\":\"Directory for "
	    "this command only.\"},"
	    "\"pty\":{\"type\":\"boolean\",\"description\":\"background: in a "
	    "terminal of 30 by 120; type into it with the tool process.\"},"
	    "\"notify_on_complete\":{\"type\":\"boolean\",\"description\":"
	    "\"background: a message comes when it has ended.\"},"
	    "\"watch_patterns\":{\"type\":\"array\",\"items\":{\"type\":"
	    "\"string\"},\"description\":\"background: a message comes when a "
	    "line of its output contains one of these words.\"}},"
	    "\"required\":[\"command\"]}",
	.needs = SANDBOX_COMMANDS,
	.read_only = false,
	.call = terminal_call,
};
