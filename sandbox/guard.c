/*
 * While anything runs, the free space of the state's file system is looked at
 * every 2 s (rules 5.8).  When commands have eaten it up, they are ended, so
 * that the store can still write.  Who ate it is not known: all are ended.
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
		if (!TAILQ_EMPTY(&cell->trees))
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

static void
on_look(void *arg)
{
	struct sandboxes *sb = arg;
	struct disk_space now;

	sb->guard = NULL;
	if (!anything_runs(sb))
		return;
	sb->guard = loop_after(sb->loop, LOOK_MS, "disk guard", on_look, sb);
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
guard_start(struct sandboxes *sb)
{
	struct disk_space now;

	if (sb->guard || disk_space(sb->state_dir, &now) < 0)
		return;
	sb->guard_free = now.free;
	sb->guard = loop_after(sb->loop, LOOK_MS, "disk guard", on_look, sb);
}
