/*
 * While anything runs, two things are looked at every 2 s (rules 5.8).  Free
 * space of the state's file system: when commands have eaten it up, they are
 * ended, so that the store can still write; who ate it is not known, so all
 * are.  And each workspace in which something ran since the last look: what
 * makes it larger while it is over its quota is ended; what makes it smaller,
 * or only reads, goes on.
 */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/disk.h"
#include "sandbox/sandbox_priv.h"

#define LOOK_MS 2000
#define FREE_MIN (1024ull * 1024 * 1024)
#define FREE_PART 20			/* or a 20th of it all */
/* Low from the start is somebody else's doing, and no reason to kill. */
#define EATEN_MIN (64ull * 1024 * 1024)

static bool
anything_runs(const struct sandboxes *sb)
{
	size_t it = 0;
	void *value;

	while (map_next(&sb->cells, &it, NULL, &value)) {
		const struct cell *cell = value;
		if (!TAILQ_EMPTY(&cell->trees) || cell->unmeasured)
			return true;
	}
	return false;
}

static void
end_all(struct sandboxes *sb, const struct disk_space *now)
{
	char *text CLEANUP_FREE = mem_printf("ended: the disk is nearly full (%"
	    PRIu64 " MiB free); remove files before going on", now->free >> 20);
	size_t it = 0;
	void *value;

	log_error("sandbox", NULL, "every command is %s", text);
	while (map_next(&sb->cells, &it, NULL, &value)) {
		struct cell *cell = value;
		struct task *task;
		for (task = TAILQ_FIRST(&cell->tasks); task; task = task_next(task))
			task_stop(task, text);
		cell_stop_processes(cell, text);
	}
}

/* ---- quota ---------------------------------------------------------------------- */

static void
end_cell(struct cell *cell, const char *why)
{
	char *text CLEANUP_FREE = mem_printf("ended: %s", why);
	struct task *task;

	log_warn("sandbox", NULL, "%s: %s", cell->id, why);
	for (task = TAILQ_FIRST(&cell->tasks); task; task = task_next(task))
		task_stop(task, text);
	cell_stop_processes(cell, text);
	/* A command shorter than a look: the next one's result says it. */
	if (TAILQ_EMPTY(&cell->trees) && !cell->notice)
		cell->notice = mem_str(why);
}

static void
on_measured(void *arg, const struct box_usage *usage, const struct err *err)
{
	struct cell *cell = arg;
	uint64_t max = cell_props(cell).workspace_max, before = cell->used_bytes;

	cell->measuring = NULL;
	if (err && err->code == ERR_LIMIT) {
		CLEANUP_FREE char *text = mem_printf("%s, so what the workspace holds "
		    "can't be measured; remove them", err->text);
		end_cell(cell, text);
		return;
	}
	if (err) {
		log_info("sandbox", NULL, "%s is not measured whole: %s", cell->id,
		    err->text);
		if (usage->bytes <= before)
			return;
	}
	cell->used_bytes = usage->bytes;
	if (usage->bytes <= max || usage->bytes <= before)
		return;
	CLEANUP_FREE char *text = mem_printf("the workspace holds %" PRIu64
	    " MiB, its quota is %" PRIu64 " MiB; remove files before going on",
	    usage->bytes >> 20, max >> 20);
	end_cell(cell, text);
}

/* What was there before the first command is nobody's doing. */
static void
weighed(struct cell *cell, uint64_t bytes)
{
	loop_cancel(&cell->weighing);
	cell->weighed = true;
	cell->used_bytes = bytes;
	cell_changed(cell);
}

static void
on_weighed(void *arg, const struct box_usage *usage, const struct err *err)
{
	struct cell *cell = arg;

	cell->measuring = NULL;
	weighed(cell, err ? UINT64_MAX : usage->bytes);
}

/* A look later: whatever it holds then counts as having been there. */
static void
on_long(void *arg)
{
	struct cell *cell = arg;

	cell->weighing = NULL;
	op_cancel(&cell->measuring);
	weighed(cell, UINT64_MAX);
}

bool
guard_ready(struct cell *cell)
{
	const struct slot *slot = cell->slot;

	if (cell->weighed || !slot->backend->measure ||
	    !cell_props(cell).workspace_max)
		return true;
	if (!cell->measuring) {
		cell->weighing = loop_after(cell->sb->loop, LOOK_MS,
		    "first look", on_long, cell);
		cell->measuring = slot->backend->measure(slot->inst,
		    cell->host_dir, on_weighed, cell);
	}
	return false;
}

static void
measure(struct cell *cell)
{
	const struct slot *slot = cell->slot;

	if (cell->measuring || !cell->unmeasured || !slot->backend->measure ||
	    !cell_props(cell).workspace_max)
		return;
	cell->unmeasured = !TAILQ_EMPTY(&cell->trees);
	cell->measuring = slot->backend->measure(slot->inst, cell->host_dir,
	    on_measured, cell);
}

/* ---- looks ---------------------------------------------------------------------- */

static void
on_look(void *arg)
{
	struct sandboxes *sb = arg;
	struct disk_space now;
	size_t it = 0;
	void *value;

	sb->guard = NULL;
	if (!anything_runs(sb))
		return;
	sb->guard = loop_after(sb->loop, LOOK_MS, "disk guard", on_look, sb);
	while (map_next(&sb->cells, &it, NULL, &value))
		measure(value);
	if (disk_space(sb->state_dir, &now) < 0)
		return;
	uint64_t min = now.total / FREE_PART > FREE_MIN ?
	    now.total / FREE_PART : FREE_MIN;
	if (now.free < min && sb->guard_free >= now.free + EATEN_MIN) {
		sb->guard_free = now.free;
		end_all(sb, &now);
	} else if (now.free > sb->guard_free) {
		sb->guard_free = now.free;
	}
}

void
guard_start(struct cell *cell)
{
	struct sandboxes *sb = cell->sb;
	struct disk_space now;

	cell->unmeasured = true;
	if (sb->guard)
		return;
	/* Not known: then nothing is ever said to have been eaten. */
	sb->guard_free = disk_space(sb->state_dir, &now) < 0 ? 0 : now.free;
	sb->guard = loop_after(sb->loop, LOOK_MS, "disk guard", on_look, sb);
}
