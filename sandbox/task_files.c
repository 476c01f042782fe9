/*
 * A file act done beneath a workspace of ours by the thread beside the loop,
 * in place of a shell: same waiting, same answer.  What it can't do so, the
 * shell does afterwards.
 */
#include "base/mem.h"
#include "sandbox/file_fast.h"
#include "sandbox/task_priv.h"

struct file_work {
	struct file_act act;
	char *workspace, *host_dir;
	struct buf out;
	bool done;
	struct cell *dying;	/* a cancelled one that may still write there */
};

static void
work_run(void *data)
{
	struct file_work *w = data;

	w->done = file_fast_do(&w->act, w->workspace, w->host_dir, &w->out);
}

static void
work_drop(void *data)
{
	struct file_work *w = data;

	if (w->dying) {
		w->dying->dying--;
		cell_changed(w->dying);
	}
	file_act_done(&w->act);
	mem_free(w->workspace);
	mem_free(w->host_dir);
	buf_done(&w->out);
	mem_free(w);
}

static void
work_done(void *arg, void *data)
{
	struct task *task = arg;
	struct file_work *w = data;

	task->files = NULL;
	task->work = NULL;
	if (!w->done || w->out.over) {
		task->by_shell = true;
		task_enter(task, TASK_WAIT);
		cell_changed(task->cell);
		return;
	}
	task->started = true;
	task_enter(task, TASK_END);
	if (task->on_output)
		task->on_output(task->arg, 1, w->out.data, w->out.len);
	task_finish(task);
}

bool
task_files(struct task *task)
{
	static const struct offload_work work = { work_run, work_done, work_drop };
	struct cell *cell = task->cell;
	const char *workspace = cell_props(cell).workspace;

	if (!task->has_act || task->by_shell || cell->dying ||
	    !(cell->slot->backend->flags & BACKEND_WORKSPACE) ||
	    !file_fast_covers(&task->act, workspace) ||
	    !sandboxes_offload(cell->sb))
		return false;
	struct file_work *w = mem_alloc(sizeof(*w));

	file_act_copy(&w->act, &task->act);
	w->workspace = mem_str(workspace);
	w->host_dir = mem_str(cell->host_dir);
	buf_init(&w->out, FILE_DATA_MAX + FILE_WINDOW_MAX + 64 * FILE_PATH_MAX);
	task->work = w;
	task_enter(task, TASK_FILES);
	task->files = offload_start(cell->sb->offload, &work, w, task);
	return true;
}

/* What was begun goes on to its end: until then nothing else starts here. */
void
task_files_cancel(struct task *task)
{
	if (!task->files)
		return;
	task->work->dying = task->cell;
	task->cell->dying++;
	op_cancel(&task->files);
}
