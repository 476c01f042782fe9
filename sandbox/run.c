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

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/output.h"
#include "sandbox/run_priv.h"

static const char *
step_name(enum run_step step)
{
	switch (step) {
	case RUN_WAIT: return "wait";
	case RUN_RUN: return "run";
	case RUN_END: return "end";
	}
	return "?";
}

/* The only place that writes the step. */
void
job_enter(struct run *run, enum run_step step)
{
	log_debug("sandbox", NULL, "%s: command %s -> %s", run->cell->id,
	    step_name(run->step), step_name(step));
	run->step = step;
	loop_cancel(&run->timer);
}

struct run *
run_next(struct run *run)
{
	return TAILQ_NEXT(run, entry);
}

/* Nothing of the cell is touched afterwards. */
static void
run_leave(struct run *run)
{
	struct cell *cell = run->cell;

	loop_cancel(&run->timer);
	tree_abandon(&run->tree);
	if (cell->writer == run)
		cell->writer = NULL;
	TAILQ_REMOVE(&cell->runs, run, entry);
	cell->nruns--;
	cell_touch(cell);
	cell_changed(cell);
}

static void
run_free(struct run *run)
{
	output_free(&run->output);
	giveback_done(&run->gb);
	buf_done(&run->note);
	mem_free(run->command);
	mem_free(run->workdir);
	mem_free(run->dir);
	mem_free(run->input);
	mem_free(run);
}

static void
run_cancel(struct op *op)
{
	struct run *run = (struct run *)(void *)op;

	run_leave(run);
	run_free(run);
}

const struct op_type run_type = { "sandbox_run", run_cancel };

static void
note(struct run *run, const char *text)
{
	if (!text)
		return;
	if (run->note.len)
		buf_add_str(&run->note, "\n");
	buf_add_str(&run->note, text);
}

/* ---- the end -------------------------------------------------------------------- */

static void run_finish(void *arg);

void
run_refuse(struct run *run, enum err_code code, const char *text)
{
	if (run->step != RUN_WAIT)
		return;
	err_set(&run->err, code, "%s", text);
	run->exit_code = SANDBOX_EXIT_REFUSED;
	job_enter(run, RUN_END);
	run->timer = loop_defer(run->cell->sb->loop, "command refused",
	    run_finish, run);
}

static void
keep_given(struct run *run)
{
	struct cell *cell = run->cell;

	if (run->gb.dir_gone && run->exit_code != SANDBOX_EXIT_DIR) {
		char *text CLEANUP_FREE = mem_printf("the directory %s no longer "
		    "exists; the command ran in %s", run->dir,
		    slot_props(cell->slot).workspace);
		note(run, text);
	}
	note(run, run->gb.note);
	if (!run->gb.whole)
		return;
	if (cell->writer != run) {
		if (!run->writes_back)
			note(run, "another command was running: exports and "
			    "directory of this one were not kept");
		return;
	}
	if (run->gb.has_exports) {
		cell->has_exports = true;
		vars_copy(&cell->exports, &run->gb.exports);
	}
	/* A workdir is for one call; only the tracked directory moves on. */
	if (run->gb.dir && !run->workdir[0]) {
		mem_free(cell->cwd);
		cell->cwd = mem_str(run->gb.dir);
	}
}

static void
decide_code(struct run *run)
{
	if (run->timed_out) {
		run->exit_code = SANDBOX_EXIT_TIMEOUT;
	} else if (run->stopped) {
		run->exit_code = 128 + SIGKILL;
	} else if (run->exited && run->gb.dir_refused) {
		run->exit_code = SANDBOX_EXIT_DIR;
		err_set(&run->err, ERR_NOT_FOUND,
		    "could not enter the directory %s; the command was not run",
		    run->dir);
		run->started = false;
	} else if (run->exited && WIFEXITED(run->wait_status)) {
		run->exit_code = WEXITSTATUS(run->wait_status);
	} else if (run->exited) {
		char *text CLEANUP_FREE = mem_printf("the shell was ended by "
		    "signal %d", WTERMSIG(run->wait_status));
		run->exit_code = 128 + WTERMSIG(run->wait_status);
		note(run, text);
	} else if (!run->process_id) {
		run->exit_code = SANDBOX_EXIT_REFUSED;
	}
}

static void
run_finish(void *arg)
{
	struct run *run = arg;
	struct cell *cell = run->cell;
	struct buf text CLEANUP_BUF;
	char *spool_note CLEANUP_FREE = NULL;
	struct sandbox_result res = { 0 };

	run->timer = NULL;
	buf_init(&text, 4 * cell->sb->opts.output_max + 4096);
	if (run->step == RUN_RUN || run->output) {
		keep_given(run);
		decide_code(run);
	}
	if (run->output) {
		res.output_total = output_total(run->output);
		output_end(run->output, &text, &res.spool_path, &spool_note);
		note(run, spool_note);
	}
	if (run->timed_out)
		buf_printf(&text, "%s[Command timed out after %llds]",
		    text.len && text.data[text.len - 1] != '\n' ? "\n" : "",
		    (long long)(run->timeout_ms / 1000));
	if (cell->notice) {
		note(run, cell->notice);
		mem_free(cell->notice);
		cell->notice = NULL;
	}
	if (run->process_id)
		buf_add_str(&text, "Background process started");
	res.exit_code = run->exit_code;
	res.output = text.data;
	res.output_len = text.len;
	res.error = run->err.code ? run->err.text : NULL;
	res.note = run->note.len ? run->note.data : NULL;
	res.cwd = run->gb.dir ? run->gb.dir : cell_cwd(cell);
	res.process_id = run->process_id;
	res.pid = run->pid;
	res.lost = run->lost;
	res.started = run->started;
	run_leave(run);
	op_finish(&run->op);
	run->done(run->arg, &res);
	run_free(run);
}

/* ---- events of the tree ----------------------------------------------------------- */

static void
on_started(void *arg, int pid)
{
	struct run *run = arg;

	run->started = true;
	if (!run->background)
		return;
	struct process *p = process_new(run->cell, run->tree, run->command,
	    run->command_len, run->dir, pid);
	run->tree = NULL;	/* it is the session's from here on */
	run->process_id = process_id(p);
	run->pid = pid;
	job_enter(run, RUN_END);
	run_finish(run);
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct run *run = arg;

	output_add(run->output, fd, data, len);
	if (run->on_output)
		run->on_output(run->arg, fd, data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct run *run = arg;

	giveback_done(&run->gb);
	giveback_parse(&run->gb, data, len, false);
}

/* Something holds the pipes, or does not die at once: no reason to wait. */
static void
on_drained(void *arg)
{
	struct run *run = arg;

	run->timer = NULL;
	tree_abandon(&run->tree);
	run_finish(run);
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct run *run = arg;

	run->exited = true;
	run->wait_status = wait_status;
	run->leftovers = leftovers;
	if (leftovers && !run->timed_out && !run->stopped) {
		char *text CLEANUP_FREE = mem_printf("%u process%s that the "
		    "command left behind %s ended with it; start what must keep "
		    "running with background: true", leftovers,
		    leftovers == 1 ? "" : "es", leftovers == 1 ? "was" : "were");
		note(run, text);
	}
	if (run->step != RUN_RUN)
		return;
	job_enter(run, RUN_END);
	run->timer = loop_after(run->cell->sb->loop, DRAIN_MS, "drain",
	    on_drained, run);
}

static void
on_dead(void *arg, const struct err *err)
{
	struct run *run = arg;

	run->tree = NULL;
	if (err && !run->stopped) {
		run->err = *err;
		run->lost = err->code == ERR_LOST && run->started &&
		    !run->exited && !run->timed_out;
		if (err->code != ERR_LOST && !run->exited)
			run->started = false;
	}
	if (run->step != RUN_END)
		job_enter(run, RUN_END);
	loop_cancel(&run->timer);
	run_finish(run);
}

const struct proc_events run_events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

/* Its end is told when the tree is dead, or soon if that takes longer. */
static void
end_by_force(struct run *run)
{
	tree_kill(run->tree);
	job_enter(run, RUN_END);
	run->timer = loop_after(run->cell->sb->loop, DRAIN_MS, "drain",
	    on_drained, run);
}

void
run_timed_out(void *arg)
{
	struct run *run = arg;

	run->timer = NULL;
	run->timed_out = true;
	end_by_force(run);
}

void
run_stop(struct run *run, const char *text)
{
	if (run->step != RUN_RUN)
		return;
	run->stopped = true;
	err_set(&run->err, ERR_LIMIT, "%s", text);
	end_by_force(run);
}
