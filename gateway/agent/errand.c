#include "gateway/agent/errand.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gate/gate.h"
#include "sandbox/exec.h"
#include "sandbox/file_act.h"

#define TIMEOUT_MS 30000
#define STDERR_MAX (16 * 1024)

enum errand_step { ERRAND_GATE, ERRAND_RECORD, ERRAND_RUN };

struct errand {
	struct op op;
	struct tool_env env;
	enum errand_step step;
	struct op *waiting;
	char *call_id, *tool, *args;	/* for the row; args NULL: none */
	struct file_act act;
	bool has_act;
	struct buf command;
	char *input;
	size_t input_len;
	msec_t timeout_ms;
	struct permit *permit;
	struct buf out, err;
	errand_cb *cb;
	void *arg;
};

static void on_judged(void *arg, enum gate_outcome outcome,
    struct permit *permit, const char *reason);
static void on_recorded(void *arg, const struct err *err);
static void on_output(void *arg, int fd, const char *data, size_t len);
static void on_ran(void *arg, const struct sandbox_result *res);

static void
errand_enter(struct errand *e, enum errand_step step)
{
	static const char *const names[] = { "gate", "record", "run" };

	log_debug("errand", NULL, "call=%s step=%s was=%s", e->call_id,
	    names[step], names[e->step]);
	e->step = step;
}

static void
errand_free(struct errand *e)
{
	op_cancel(&e->waiting);
	permit_free(&e->permit);
	if (e->has_act)
		file_act_done(&e->act);
	buf_done(&e->command);
	buf_done(&e->out);
	buf_done(&e->err);
	mem_free(e->input);
	mem_free(e->call_id);
	mem_free(e->tool);
	mem_free(e->args);
	mem_free(e);
}

static void
errand_cancel(struct op *op)
{
	errand_free((struct errand *)(void *)op);
}

static const struct op_type errand_type = { "errand", errand_cancel };

/* The only exit of one that was not cancelled. */
static void
errand_finish(struct errand *e, const struct errand_result *res)
{
	op_finish(&e->op);
	e->cb(e->arg, res);
	errand_free(e);
}

static void
copy_req(struct errand *e, const struct errand_req *req)
{
	buf_init(&e->command, EXEC_COMMAND_MAX);
	e->call_id = mem_str(req->call_id);
	e->tool = mem_str(req->tool);
	/* A script's calls are part of the script's row. */
	if (req->effects && !e->env.nested)
		e->args = json_text(req->args);
	e->timeout_ms = req->timeout_ms ? req->timeout_ms : TIMEOUT_MS;
	if (req->act) {
		file_act_copy(&e->act, req->act);
		e->has_act = true;
		e->input = file_act_input(req->act, &e->input_len);
		if (!file_act_command(req->act, &e->command))
			buf_clear(&e->command);	/* refused as empty */
		return;
	}
	buf_add_str(&e->command, req->command);
	if (req->input) {
		e->input = mem_dup(req->input, req->input_len);
		e->input_len = req->input_len;
	}
}

struct op *
errand_start(const struct tool_env *env, const struct errand_req *req,
    errand_cb *cb, void *arg)
{
	struct errand *e = mem_alloc(sizeof(*e));
	CLEANUP_FREE char *sandbox = sandbox_key_text(&env->sandbox);

	op_init(&e->op, &errand_type);
	e->env = *env;
	e->cb = cb;
	e->arg = arg;
	copy_req(e, req);
	buf_init(&e->out, req->output_max);
	buf_init(&e->err, STDERR_MAX);
	struct gate_req ask = {
		.run = env->run,
		.asker = env->origin,
		.act = GATE_COMMAND,
		.command = e->command.data, .command_len = e->command.len,
		.input = e->input, .input_len = e->input_len,
		.workdir = "",
		.dir = sandbox_cwd(env->sandboxes, &env->sandbox),
		.sandbox = sandbox,
		.props = sandbox_props(env->sandboxes, env->sandbox.owner),
		.judged = req->judged, .shown = req->shown, .what = req->what,
	};

	e->waiting = gate_ask(env->gate, &ask, on_judged, e);
	return &e->op;
}

static void
errand_run(struct errand *e)
{
	struct sandbox_cmd cmd = {
		.command = e->command.data, .command_len = e->command.len,
		.input = e->input, .input_len = e->input_len,
		.timeout_ms = e->timeout_ms,
		.generation = e->env.run.generation,
		.split = true, .apart = true,
		.act = e->has_act ? &e->act : NULL,
	};

	errand_enter(e, ERRAND_RUN);
	if (e->args)
		*e->env.phase = TOOL_RUNNING;
	e->waiting = sandbox_run(e->env.sandboxes, &e->env.sandbox, &cmd,
	    &e->permit, on_output, on_ran, e);
}

static void
on_judged(void *arg, enum gate_outcome outcome, struct permit *permit,
    const char *reason)
{
	struct errand *e = arg;

	e->waiting = NULL;
	if (outcome != GATE_ALLOWED) {
		CLEANUP_FREE char *words = mem_printf("%s. Do not try it again "
		    "in another form; ask the person or go on without it.",
		    reason);

		errand_finish(e, &(struct errand_result){ .refused = words,
		    .blocked = true, .out = "", .err = "" });
		return;
	}
	e->permit = permit;
	if (!e->args || *e->env.phase != TOOL_WAITING) {
		errand_run(e);
		return;
	}
	errand_enter(e, ERRAND_RECORD);
	*e->env.phase = TOOL_RECORDED;
	e->waiting = store_tool_start(e->env.store, &e->env.run, e->call_id,
	    e->tool, e->args, false, loop_wall(e->env.loop), on_recorded, e);
}

static void
on_recorded(void *arg, const struct err *err)
{
	struct errand *e = arg;

	e->waiting = NULL;
	if (err) {
		CLEANUP_FREE char *words = mem_printf("not run: its start could "
		    "not be recorded (%s)", err->text);

		errand_finish(e, &(struct errand_result){ .refused = words,
		    .out = "", .err = "" });
		return;
	}
	errand_run(e);
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct errand *e = arg;
	struct buf *b = fd == 2 ? &e->err : &e->out;
	size_t room = b->max - b->len;

	if (len > room)
		b->over = true;
	buf_add(b, data, len < room ? len : room);
}

static void
on_ran(void *arg, const struct sandbox_result *res)
{
	struct errand *e = arg;
	struct errand_result out = {
		.exit_code = res->exit_code, .lost = res->lost,
		.out = e->out.data, .len = e->out.len, .cut = e->out.over,
		.err = e->err.data,
	};
	CLEANUP_FREE char *words = NULL;

	e->waiting = NULL;
	if (!res->started) {
		words = mem_str(res->error ? res->error : "it was not run");
		out.refused = words;
	}
	errand_finish(e, &out);
}

struct json *
errand_refusal(const struct errand_result *res)
{
	struct json *j = json_object();

	json_set_str(j, "error", res->refused);
	return json_set_str(j, "status", res->blocked ? "blocked" : "error");
}
