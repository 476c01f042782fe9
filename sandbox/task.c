/*
 * One command: permit, then wait until the sandbox is proven, quiet, open and
 * has its snapshot; then a shell, until it has ended or time is up.
 *
 *   WAIT -> RUN -> END -> (callback)
 *
 * Failures before the shell end in WAIT -> END.  Cancelling hands the tree to
 * the reaper (tree.c) and forgets it.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/output.h"
#include "sandbox/scene.h"
#include "sandbox/task_priv.h"

static const char *
step_name(enum task_step step)
{
	switch (step) {
	case TASK_WAIT: return "wait";
	case TASK_CHECK: return "check";
	case TASK_FILES: return "files";
	case TASK_RUN: return "run";
	case TASK_END: return "end";
	}
	return "?";
}

/* The only place that writes the step. */
void
task_enter(struct task *task, enum task_step step)
{
	log_debug("sandbox", NULL, "%s: command %s -> %s", task->cell->id,
	    step_name(task->step), step_name(step));
	task->step = step;
	loop_cancel(&task->timer);
}

struct task *
task_next(struct task *task)
{
	return TAILQ_NEXT(task, entry);
}

/* Nothing of the cell is touched afterwards. */
static void
task_leave(struct task *task)
{
	struct cell *cell = task->cell;

	loop_cancel(&task->timer);
	op_cancel(&task->looking);
	task_files_cancel(task);
	tree_abandon(&task->tree);
	if (cell->writer == task)
		cell->writer = NULL;
	TAILQ_REMOVE(&cell->tasks, task, entry);
	cell->ntasks--;
	cell_touch(cell);
	cell_changed(cell);
}

static void
task_free(struct task *task)
{
	output_free(&task->output);
	giveback_done(&task->gb);
	buf_done(&task->note);
	mem_free(task->command);
	mem_free(task->workdir);
	mem_free(task->dir);
	mem_free(task->input);
	mem_free(task->changed);
	scene_free(&task->scene);
	if (task->rpc > 0)
		close(task->rpc);
	if (task->has_act)
		file_act_done(&task->act);
	for (char **w = task->watch; w && *w; w++)
		mem_free(*w);
	mem_free(task->watch);
	mem_free(task);
}

static void
task_cancel(struct op *op)
{
	struct task *task = (struct task *)(void *)op;

	task_leave(task);
	task_free(task);
}

const struct op_type task_type = { "sandbox_run", task_cancel };

static void
note(struct task *task, const char *text)
{
	if (!text)
		return;
	if (task->note.len)
		buf_add_str(&task->note, "\n");
	buf_add_str(&task->note, text);
}

/* ---- the end -------------------------------------------------------------------- */

void
task_refuse(struct task *task, enum err_code code, const char *text)
{
	if (task->step != TASK_WAIT)
		return;
	err_set(&task->err, code, "%s", text);
	task->exit_code = SANDBOX_EXIT_REFUSED;
	task_enter(task, TASK_END);
	task->timer = loop_defer(task->cell->sb->loop, "command refused",
	    task_finish, task);
}

static void
keep_given(struct task *task)
{
	struct cell *cell = task->cell;

	if (task->gb.dir_gone && task->exit_code != SANDBOX_EXIT_DIR) {
		char *text CLEANUP_FREE = mem_printf("the directory %s no longer "
		    "exists; the command ran in %s", task->dir,
		    cell_props(cell).workspace);
		note(task, text);
	}
	note(task, task->gb.note);
	if (!task->gb.whole)
		return;
	if (cell->writer != task) {
		if (!task->writes_back && !task->apart)
			note(task, "another command was running: exports and "
			    "directory of this one were not kept");
		return;
	}
	if (task->gb.has_exports) {
		cell->has_exports = true;
		vars_copy(&cell->exports, &task->gb.exports);
	}
	/* A workdir is for one call; only the tracked directory moves on. */
	if (task->gb.dir && !task->workdir[0]) {
		mem_free(cell->cwd);
		cell->cwd = mem_str(task->gb.dir);
	}
}

static void
decide_code(struct task *task)
{
	if (task->timed_out) {
		task->exit_code = SANDBOX_EXIT_TIMEOUT;
	} else if (task->stopped) {
		task->exit_code = 128 + SIGKILL;
	} else if (task->exited && task->gb.dir_refused) {
		task->exit_code = SANDBOX_EXIT_DIR;
		err_set(&task->err, ERR_NOT_FOUND,
		    "could not enter the directory %s; the command was not run",
		    task->dir);
		task->started = false;
	} else if (task->exited && WIFEXITED(task->wait_status)) {
		task->exit_code = WEXITSTATUS(task->wait_status);
	} else if (task->exited) {
		char *text CLEANUP_FREE = mem_printf("the shell was ended by "
		    "signal %d", WTERMSIG(task->wait_status));
		task->exit_code = 128 + WTERMSIG(task->wait_status);
		note(task, text);
	} else if (!task->process_id) {
		task->exit_code = SANDBOX_EXIT_REFUSED;
	}
}

void
task_finish(void *arg)
{
	struct task *task = arg;
	struct cell *cell = task->cell;
	struct buf text CLEANUP_BUF;
	char *spool_note CLEANUP_FREE = NULL;
	struct sandbox_result res = { 0 };

	task->timer = NULL;
	buf_init(&text, 4 * cell->sb->opts.output_max + 4096);
	if (task->step == TASK_RUN || task->output) {
		keep_given(task);
		decide_code(task);
	}
	if (task->output) {
		res.output_total = output_total(task->output);
		output_end(task->output, &text, &res.spool_path, &spool_note);
		note(task, spool_note);
		if (res.spool_path)
			res.spool_id = spooled_add(cell, res.spool_path);
	}
	if (task->timed_out)
		buf_printf(&text, "%s[Command timed out after %llds]",
		    text.len && text.data[text.len - 1] != '\n' ? "\n" : "",
		    (long long)(task->timeout_ms / 1000));
	if (cell->notice) {
		note(task, cell->notice);
		mem_free(cell->notice);
		cell->notice = NULL;
	}
	if (task->process_id)
		buf_add_str(&text, "Background process started");
	res.exit_code = task->exit_code;
	res.output = text.data;
	res.output_len = text.len;
	res.error = task->err.code ? task->err.text : NULL;
	res.note = task->note.len ? task->note.data : NULL;
	res.cwd = task->gb.dir ? task->gb.dir : cell_cwd(cell);
	res.process_id = task->process_id;
	res.pid = task->pid;
	res.pty = task->pty;
	res.changed = task->changed;
	res.lost = task->lost;
	res.started = task->started;
	task_leave(task);
	op_finish(&task->op);
	task->done(task->arg, &res);
	task_free(task);
}

/* ---- events of the tree ----------------------------------------------------------- */

static void
on_started(void *arg, int pid)
{
	struct task *task = arg;

	task->started = true;
	if (!task->background)
		return;
	struct process_spec spec = {
		.command = task->command, .len = task->command_len,
		.cwd = task->dir, .pid = pid, .notify = task->notify,
		.watch = (const char *const *)task->watch,
	};
	struct process *p = process_new(task->cell, task->tree, &spec);
	task->tree = NULL;	/* it is the session's from here on */
	task->process_id = process_id(p);
	task->pid = pid;
	task_enter(task, TASK_END);
	task_finish(task);
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct task *task = arg;

	if (!task->apart)
		output_add(task->output, fd, data, len);
	if (task->on_output)
		task->on_output(task->arg, fd, data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct task *task = arg;

	giveback_done(&task->gb);
	giveback_parse(&task->gb, data, len, false);
}

/* Something holds the pipes, or does not die at once: no reason to wait. */
static void
on_drained(void *arg)
{
	struct task *task = arg;

	task->timer = NULL;
	tree_abandon(&task->tree);
	task_finish(task);
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct task *task = arg;

	task->exited = true;
	task->wait_status = wait_status;
	task->leftovers = leftovers;
	if (leftovers && !task->timed_out && !task->stopped) {
		char *text CLEANUP_FREE = mem_printf("%u process%s that the "
		    "command left behind %s ended with it; start what must keep "
		    "running with background: true", leftovers,
		    leftovers == 1 ? "" : "es", leftovers == 1 ? "was" : "were");
		note(task, text);
	}
	if (task->step != TASK_RUN)
		return;
	task_enter(task, TASK_END);
	task->timer = loop_after(task->cell->sb->loop, DRAIN_MS, "drain",
	    on_drained, task);
}

/* Its box had gone by itself and nothing ran: it waits for another, once. */
bool
task_again(struct task *task, const struct err *err)
{
	struct cell *cell = task->cell;

	if (err->code != ERR_NOT_FOUND || task->again || task->exited ||
	    task->stopped || task->timed_out)
		return false;
	task->again = true;
	task->saw_opening = false;
	cell->stale = true;
	if (cell->writer == task)
		cell->writer = NULL;
	output_free(&task->output);
	mem_free(task->dir);
	task->dir = NULL;
	log_info("sandbox", NULL, "%s: opened again: %s", cell->id, err->text);
	/* A line that was closed and opened again is no news. */
	if (!(cell->slot->backend->flags & BACKEND_REMOTE))
		note(task, "the sandbox had been removed by somebody; this ran in "
		    "a new one");
	task_enter(task, TASK_WAIT);
	cell_changed(cell);
	return true;
}

static void
on_dead(void *arg, const struct err *err)
{
	struct task *task = arg;

	task->tree = NULL;
	if (err && task_again(task, err))
		return;
	if (err && !task->stopped) {
		task->err = *err;
		/* Its word of the start may have been lost with it. */
		task->lost = err->code == ERR_LOST && !task->exited &&
		    !task->timed_out;
		task->started = task->exited || err->code == ERR_LOST;
	}
	if (task->step != TASK_END)
		task_enter(task, TASK_END);
	loop_cancel(&task->timer);
	task_finish(task);
}

const struct proc_events task_events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

/* Its end is told when the tree is dead, or soon if that takes longer. */
static void
end_by_force(struct task *task)
{
	tree_kill(task->tree);
	task_enter(task, TASK_END);
	task->timer = loop_after(task->cell->sb->loop, DRAIN_MS, "drain",
	    on_drained, task);
}

void
task_timed_out(void *arg)
{
	struct task *task = arg;

	task->timer = NULL;
	task->timed_out = true;
	end_by_force(task);
}

void
task_stop(struct task *task, const char *text)
{
	if (task->step != TASK_RUN)
		return;
	task->stopped = true;
	err_set(&task->err, ERR_LIMIT, "%s", text);
	end_by_force(task);
}
