/* The way of a command up to its shell: see task.c. */
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/cwd.h"
#include "sandbox/exec.h"
#include "sandbox/output.h"
#include "sandbox/scene.h"
#include "sandbox/spooled.h"
#include "sandbox/task_priv.h"

#define SCRIPT_MAX (8 * 1024 * 1024)
#define INPUT_MAX (16 * 1024 * 1024)
#define NOTE_MAX 4096
#define FAR_GRACE_S 60		/* rules 3.2 */

static bool
wrap(const struct task *task, struct buf *script)
{
	struct cell *cell = task->cell;
	/*
	 * The gate judges words as programs.  Where its verdict decides, a word
	 * must not mean a function or alias of the login shell (rules 4.2).
	 */
	bool own_words = !task->apart && !cell->sb->opts.plain_words &&
	    (slot_props(cell->slot).isolation & SANDBOX_ISOLATED) ==
	    SANDBOX_ISOLATED;
	struct exec_text text = {
		.command = task->command,
		.command_len = task->command_len,
		.dir = task->dir,
		.fallback = task->workdir[0] ? NULL :
		    cell_props(cell).workspace,
		.functions = own_words ? cell->functions : NULL,
		.aliases = own_words ? cell->aliases : NULL,
		.bash = cell->bash,
		.give_back = !task->background && !task->apart,
	};

	return exec_wrap(script, &text);
}

static void
task_spawn(struct task *task)
{
	struct cell *cell = task->cell;
	struct sandbox_props props = cell_props(cell);
	struct buf script CLEANUP_BUF;
	struct spawn_req req = { 0 };
	struct vars vars;
	struct err err;

	buf_init(&script, SCRIPT_MAX);
	task->dir = task->has_act ? mem_str("/") : cwd_resolve(cell_cwd(cell),
	    props.home ? props.home : props.workspace, task->workdir);
	if (!wrap(task, &script)) {
		task_refuse(task, ERR_LIMIT, "the command is too long");
		return;
	}
	cell_env(cell, &vars);
	if (task->pty)
		(void)vars_set(&vars, "TERM", "xterm");
	char **env = vars_env(&vars);
	vars_done(&vars);
	req = (struct spawn_req){
		.script = script.data, .script_len = script.len,
		.env = (const char *const *)env,
		.input = task->input, .input_len = task->input_len,
		.split = task->split, .keep_children = task->background,
		.pty = task->pty, .rpc = task->rpc,
		.feed = task->background && !task->input &&
		    cell->slot->backend->write,
		.seconds = task->background ? 0 :
		    (uint32_t)(task->timeout_ms / 1000) + FAR_GRACE_S,
	};
	task->tree = tree_spawn(cell, &req, &task_events, task, &err);
	vars_env_free(&env);
	if (!task->tree) {
		if (!task_again(task, &err))
			task_refuse(task, err.code, err.text);
		return;
	}
	task->output = spooled_output(cell->sb, cell->sb->opts.output_max);
	task_enter(task, TASK_RUN);
	if (task->background)
		return;
	task->writes_back = cell->writer == NULL && !task->apart;
	if (task->writes_back)
		cell->writer = task;
	task->timer = loop_after(cell->sb->loop, task->timeout_ms, "command",
	    task_timed_out, task);
}

/* Whether the sandbox is ready; starts what is missing. */
static bool
cell_ready(struct task *task)
{
	struct cell *cell = task->cell;

	if (cell->dying || cell->wipe)
		return false;
	if (cell->state == CELL_OPENING || cell->state == CELL_CLOSING) {
		task->saw_opening |= cell->state == CELL_OPENING;
		return false;
	}
	if (task->saw_opening && cell->open_err.code) {
		task_refuse(task, cell->open_err.code, cell->open_err.text);
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
		task->saw_opening = true;
		cell_open(cell);
		return false;
	}
	if (!guard_ready(cell))
		return false;
	if (!cell->snapshot_tried) {
		task->saw_opening = true;	/* its failure is told the same way */
		cell_snapshot(cell);
		return false;
	}
	return !cell->snapshot;
}

void
task_look(struct task *task)
{
	struct cell *cell = task->cell;

	if (task->step != TASK_WAIT)
		return;
	if (!cell->slot->probed) {
		slot_probe(cell->slot);
		return;
	}
	struct sandbox_props props = slot_props(cell->slot);
	if (cell->sb->closing)
		task_refuse(task, ERR_UNAVAILABLE, "not run: gatehouse is stopping");
	else if (!props.available && !task->probed_again &&
	    slot_probe_again(cell->slot))
		task->probed_again = true;
	else if (!props.available)
		task_refuse(task, ERR_UNAVAILABLE, props.why);
	else if (task->isolation & ~props.isolation)
		task_refuse(task, ERR_DENIED, "not run: the sandbox isolates less "
		    "than when this was permitted; ask again");
	else if (cell->quarantined)
		task_refuse(task, ERR_UNAVAILABLE, cell->why);
	else if (!task_files(task) && cell_ready(task) && !task_check(task))
		task_spawn(task);
	task->checked = false;	/* what must wait on is looked at anew */
}

/* What is wrong with the call itself. */
static int
check(struct cell *cell, const struct task *cmd, const char *workdir,
	struct err *err)
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
	if (workdir && cwd_check(workdir, err) < 0)
		return -1;
	for (size_t i = 0; cmd->watch && cmd->watch[i]; i++) {
		size_t len = strlen(cmd->watch[i]);
		if (len == 0 || len > LOOKOUT_PATTERN_MAX ||
		    i >= LOOKOUT_PATTERNS_MAX)
			return err_set(err, ERR_LIMIT, "at most %d patterns of "
			    "1 to %d bytes can be watched for",
			    LOOKOUT_PATTERNS_MAX, LOOKOUT_PATTERN_MAX);
	}
	if (cell->ntasks > CELL_RUNS_MAX)
		return err_set(err, ERR_LIMIT,
		    "%d commands wait or run in this sandbox already",
		    CELL_RUNS_MAX);
	if (cmd->rpc < 0 || (cmd->rpc && !(cell->slot->backend->flags & BACKEND_RPC)))
		return err_set(err, ERR_INVALID,
		    "a command cannot inherit a socket in this sandbox");
	if (cmd->background && cell_running(cell) >= CELL_PROCESSES_MAX)
		return err_set(err, ERR_LIMIT, "%d background processes run in "
		    "this sandbox already; end one first", CELL_PROCESSES_MAX);
	return 0;
}

static char **
copy_strings(const char *const *from)
{
	char **to = NULL;
	size_t n = 0;

	while (from && from[n])
		n++;
	if (n > 0)
		to = mem_array(n + 1, sizeof(*to));
	for (size_t i = 0; i < n; i++)
		to[i] = mem_str(from[i]);
	return to;
}

static msec_t
timeout_of(const struct sandbox_opts *opts, msec_t asked)
{
	msec_t ms = asked > 0 ? asked : opts->timeout_ms;

	return opts->timeout_max_ms > 0 && ms > opts->timeout_max_ms ?
	    opts->timeout_max_ms : ms;
}

/* The command's bytes and input; of an act, those that it stands for. */
static void
copy_command(struct task *task, const struct sandbox_cmd *cmd)
{
	if (!cmd->act) {
		task->command = mem_strn(cmd->command, cmd->command_len);
		task->command_len = cmd->command_len;
		task->apart = cmd->apart;
		if (cmd->input) {
			task->input = mem_dup(cmd->input, cmd->input_len);
			task->input_len = cmd->input_len;
		}
		return;
	}
	struct buf text;

	/* Over the bound it is cut to nothing, and refused as an empty command. */
	buf_init(&text, EXEC_COMMAND_MAX);
	if (!file_act_command(cmd->act, &text))
		buf_clear(&text);
	task->command_len = text.len;
	task->command = buf_take(&text);
	file_act_copy(&task->act, cmd->act);
	task->has_act = task->apart = true;
	task->input = file_act_input(cmd->act, &task->input_len);
}

static struct task *
task_new(struct cell *cell, const struct sandbox_cmd *cmd)
{
	struct task *task = mem_alloc(sizeof(*task));

	op_init(&task->op, &task_type);
	task->cell = cell;
	TAILQ_INSERT_TAIL(&cell->tasks, task, entry);
	cell->ntasks++;
	copy_command(task, cmd);
	task->workdir = mem_str(cmd->workdir ? cmd->workdir : "");
	task->timeout_ms = timeout_of(&cell->sb->opts, cmd->timeout_ms);
	task->isolation = slot_props(cell->slot).isolation;
	task->background = cmd->background;
	task->notify = cmd->notify;
	task->pty = cmd->background && cmd->pty && !cmd->input &&
	    cell->slot->backend->flags & BACKEND_PTY;
	task->watch = copy_strings(cmd->watch);
	task->split = cmd->split;
	if (cmd->rpc > 0)	/* it may wait for long: a descriptor of its own */
		task->rpc = fcntl(cmd->rpc, F_DUPFD_CLOEXEC, 3);
	buf_init(&task->note, NOTE_MAX);
	return task;
}

struct op *
sandbox_run(struct sandboxes *sb, const struct sandbox_key *key,
	const struct sandbox_cmd *cmd, struct permit **permit,
	sandbox_output_cb *on_bytes, sandbox_done_cb *done, void *arg)
{
	struct cell *cell = cell_make(sb, key);
	struct task *task = task_new(cell, cmd);
	struct permit_terms now = {
		.command = task->command, .command_len = task->command_len,
		.input = task->input, .input_len = task->input_len,
		.sandbox = cell->key, .workdir = cmd->workdir,
		.generation = cmd->generation,
		.isolation = task->isolation,
		.background = cmd->background,
	};
	struct err err;

	task->on_output = on_bytes;
	task->done = done;
	task->arg = arg;
	task->scene = permit_take_scene(*permit);
	if (permit_consume(permit, &now, &err) < 0 ||
	    check(cell, task, cmd->workdir, &err) < 0)
		task_refuse(task, err.code, err.text);
	else
		cell_changed(cell);
	return &task->op;
}
