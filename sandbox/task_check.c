/*
 * Before a command starts: is everything as it was when it was permitted?
 * (rules 4.3).  Looked at once, just before the start.
 */
#include "base/mem.h"
#include "sandbox/cwd.h"
#include "sandbox/scene.h"
#include "sandbox/task_priv.h"

static void
refuse(struct task *task, const char *what)
{
	CLEANUP_FREE char *text = mem_printf("not run: %s; ask again", what);

	task->changed = mem_str(what);
	task_refuse(task, ERR_DENIED, text);
}

static void
on_looked(void *arg, struct scene *now)
{
	struct task *task = arg;
	CLEANUP_FREE char *what = scene_difference(task->scene, now);

	task->looking = NULL;
	scene_free(&now);
	task_enter(task, TASK_WAIT);
	task->checked = what == NULL;
	if (what)
		refuse(task, what);
	else
		task_look(task);
}

bool
task_check(struct task *task)
{
	struct cell *cell = task->cell;
	struct sandbox_props props = slot_props(cell->slot);
	const char *files[SCENE_FILES_MAX];

	if (task->has_act)	/* those name the version of each file */
		scene_free(&task->scene);
	if (!task->scene || task->checked)
		return false;
	CLEANUP_FREE char *dir = cwd_resolve(cell_cwd(cell),
	    props.home ? props.home : props.workspace, task->workdir);

	for (size_t i = 0; i < task->scene->nfiles; i++)
		files[i] = task->scene->files[i].path;
	task_enter(task, TASK_CHECK);
	task->looking = sandbox_look(cell->sb, cell->key, dir, files,
	    task->scene->nfiles, on_looked, task);
	return true;
}
