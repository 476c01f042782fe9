/* The way of a command up to its shell: see run.c. */
#include <string.h>

#include "base/mem.h"
#include "sandbox/cwd.h"
#include "sandbox/exec.h"
#include "sandbox/output.h"
#include "sandbox/run_priv.h"

#define SCRIPT_MAX (8 * 1024 * 1024)
#define INPUT_MAX (16 * 1024 * 1024)
#define NOTE_MAX 4096

static bool
wrap(const struct run *run, struct buf *script)
{
	struct cell *cell = run->cell;
	/*
	 * The gate judges words as programs.  Where its verdict decides, a word
	 * must not mean a function or alias of the login shell (rules 4.2).
	 */
	bool own_words = (slot_props(cell->slot).isolation &
	    SANDBOX_ISOLATED) == SANDBOX_ISOLATED;
	struct exec_text text = {
		.command = run->command,
		.command_len = run->command_len,
		.dir = run->dir,
		.fallback = run->workdir[0] ? NULL :
		    slot_props(cell->slot).workspace,
		.functions = own_words ? cell->functions : NULL,
		.aliases = own_words ? cell->aliases : NULL,
		.bash = cell->bash,
		.give_back = !run->background,
	};

	return exec_wrap(script, &text);
}

static void
run_spawn(struct run *run)
{
	struct cell *cell = run->cell;
	struct sandbox_props props = slot_props(cell->slot);
	struct output_opts out = {
		.max = cell->sb->opts.output_max,
		.spool_max = cell->sb->opts.spool_max,
		.spool_dir = cell->sb->spool_dir, .loop = cell->sb->loop,
	};
	struct buf script CLEANUP_BUF;
	struct spawn_req req = { 0 };
	struct vars vars;
	struct err err;

	buf_init(&script, SCRIPT_MAX);
	run->dir = cwd_resolve(cell_cwd(cell),
	    props.home ? props.home : props.workspace, run->workdir);
	if (!wrap(run, &script)) {
		run_refuse(run, ERR_LIMIT, "the command is too long");
		return;
	}
	cell_env(cell, &vars);
	char **env = vars_env(&vars);
	vars_done(&vars);
	req = (struct spawn_req){
		.script = script.data, .script_len = script.len,
		.env = (const char *const *)env,
		.input = run->input, .input_len = run->input_len,
		.split = run->split, .keep_children = run->background,
	};
	run->tree = tree_spawn(cell, &req, &run_events, run, &err);
	vars_env_free(&env);
	if (!run->tree) {
		run_refuse(run, err.code, err.text);
		return;
	}
	run->output = output_new(&out);
	job_enter(run, RUN_RUN);
	if (run->background)
		return;
	run->writes_back = cell->writer == NULL;
	if (run->writes_back)
		cell->writer = run;
	run->timer = loop_after(cell->sb->loop, run->timeout_ms, "command",
	    run_timed_out, run);
}

/* Whether the sandbox is ready; starts what is missing. */
static bool
cell_ready(struct run *run)
{
	struct cell *cell = run->cell;

	if (cell->dying)
		return false;
	if (cell->state == CELL_OPENING || cell->state == CELL_CLOSING) {
		run->saw_opening |= cell->state == CELL_OPENING;
		return false;
	}
	if (run->saw_opening && cell->open_err.code) {
		run_refuse(run, cell->open_err.code, cell->open_err.text);
		return false;
	}
	if (cell->stale || cell_expired(cell)) {
		if (cell->state == CELL_OPEN) {
			cell_close(cell);
			return false;
		}
		cell->stale = false;
	}
	if (cell->state == CELL_CLOSED) {
		run->saw_opening = true;
		cell_open(cell);
		return false;
	}
	if (!cell->snapshot_tried) {
		run->saw_opening = true;	/* its failure is told the same way */
		cell_snapshot(cell);
		return false;
	}
	return !cell->snapshot;
}

void
run_look(struct run *run)
{
	struct cell *cell = run->cell;

	if (run->step != RUN_WAIT)
		return;
	if (!cell->slot->probed) {
		slot_probe(cell->slot);
		return;
	}
	struct sandbox_props props = slot_props(cell->slot);
	if (cell->sb->closing)
		run_refuse(run, ERR_UNAVAILABLE, "not run: gatehouse is stopping");
	else if (!props.available)
		run_refuse(run, ERR_UNAVAILABLE, props.why);
	else if (run->isolation & ~props.isolation)
		run_refuse(run, ERR_DENIED, "not run: the sandbox isolates less "
		    "than when this was permitted; ask again");
	else if (cell->quarantined)
		run_refuse(run, ERR_UNAVAILABLE, cell->why);
	else if (cell_ready(run))
		run_spawn(run);
}

/* What is wrong with the call itself. */
static int
check(struct cell *cell, const struct sandbox_cmd *cmd, struct err *err)
{
	if (!cmd->command_len)
		return err_set(err, ERR_INVALID, "the command is empty");
	if (memchr(cmd->command, 0, cmd->command_len))
		return err_set(err, ERR_INVALID,
		    "a command cannot hold a NUL byte; write it as \\0 for printf");
	if (cmd->command_len > EXEC_COMMAND_MAX)
		return err_set(err, ERR_LIMIT, "the command is over %d bytes; "
		    "write a file and run that", EXEC_COMMAND_MAX);
	if (cmd->input_len > INPUT_MAX)
		return err_set(err, ERR_LIMIT, "the input is over %d bytes",
		    INPUT_MAX);
	if (cmd->workdir && cwd_check(cmd->workdir, err) < 0)
		return -1;
	if (cell->nruns > CELL_RUNS_MAX)
		return err_set(err, ERR_LIMIT,
		    "%d commands wait or run in this sandbox already",
		    CELL_RUNS_MAX);
	if (cmd->background && cell_running(cell) >= CELL_PROCESSES_MAX)
		return err_set(err, ERR_LIMIT, "%d background processes run in "
		    "this sandbox already; end one first", CELL_PROCESSES_MAX);
	return 0;
}

static msec_t
timeout_of(const struct sandbox_opts *opts, msec_t asked)
{
	msec_t ms = asked > 0 ? asked : opts->timeout_ms;

	return opts->timeout_max_ms > 0 && ms > opts->timeout_max_ms ?
	    opts->timeout_max_ms : ms;
}

struct op *
sandbox_run(struct sandboxes *sb, const struct sandbox_key *key,
	const struct sandbox_cmd *cmd, struct permit **permit,
	sandbox_output_cb *on_bytes, sandbox_done_cb *done, void *arg)
{
	struct cell *cell = cell_make(sb, key);
	struct run *run = mem_alloc(sizeof(*run));
	struct permit_terms now = {
		.command = cmd->command, .command_len = cmd->command_len,
		.sandbox = cell->key, .workdir = cmd->workdir,
		.generation = cmd->generation,
		.isolation = slot_props(cell->slot).isolation,
		.background = cmd->background,
	};
	struct err err;

	op_init(&run->op, &run_type);
	run->cell = cell;
	TAILQ_INSERT_TAIL(&cell->runs, run, entry);
	cell->nruns++;
	run->command = mem_strn(cmd->command, cmd->command_len);
	run->command_len = cmd->command_len;
	run->workdir = mem_str(cmd->workdir ? cmd->workdir : "");
	run->timeout_ms = timeout_of(&sb->opts, cmd->timeout_ms);
	run->isolation = now.isolation;
	run->background = cmd->background;
	run->split = cmd->split;
	run->on_output = on_bytes;
	run->done = done;
	run->arg = arg;
	buf_init(&run->note, NOTE_MAX);
	if (permit_consume(permit, &now, &err) < 0 || check(cell, cmd, &err) < 0) {
		run_refuse(run, err.code, err.text);
		return &run->op;
	}
	if (cmd->input) {
		run->input = mem_dup(cmd->input, cmd->input_len);
		run->input_len = cmd->input_len;
	}
	cell_changed(cell);
	return &run->op;
}
