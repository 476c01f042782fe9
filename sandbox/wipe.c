/*
 * /new --wipe: what runs in the sandbox is ended, the box closed, then its
 * workspace moved away and removed.  Commands that come meanwhile wait for the
 * first three.
 */
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/workspace.h"

static void
on_removed(void *arg, const struct box_usage *usage, const struct err *err)
{
	struct cell *cell = arg;
	struct sandboxes *sb = cell->sb;

	cell->removing = NULL;
	if (!err) {
		log_info("sandbox", NULL, "%s: %llu files were removed", cell->id,
		    (unsigned long long)usage->entries);
		return;
	}
	log_error("sandbox", NULL, "%s: its files could not all be removed: %s",
	    cell->id, err->text);
	char *text CLEANUP_FREE = mem_printf("its files could not all be "
	    "removed: %s", err->text);
	if (sb->alarm)
		sb->alarm(sb->alarm_arg, cell->key, text);
}

void
wipe_look(struct cell *cell)
{
	if (!cell->wipe || cell->removing)
		return;
	if (cell->state == CELL_OPEN)
		cell_close(cell);
	/* A survivor could still write there: it is waited for. */
	if (cell->state != CELL_CLOSED || !TAILQ_EMPTY(&cell->trees) ||
	    cell->quarantined)
		return;
	char *dir CLEANUP_FREE = mem_printf("%s/sandboxes/%s",
	    cell->sb->opts.state_dir, cell->id);
	cell->wipe = false;
	cell->removing = workspace_remove(cell->sb, cell->slot, dir, NULL,
	    on_removed, cell);
	cell_changed(cell);
}

void
sandbox_wipe(struct sandboxes *sb, const struct sandbox_key *key)
{
	static const char why[] = "ended: the workspace is being removed";
	struct cell *cell = cell_make(sb, key);
	struct task *task;

	for (task = TAILQ_FIRST(&cell->tasks); task; task = task_next(task))
		task_stop(task, why);
	cell_stop_processes(cell, why);
	sandbox_reset(sb, key);
	cell->wipe = true;
	cell_changed(cell);
}
