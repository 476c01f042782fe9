/*
 * Workspaces that nobody has used for long are removed: by command, and daily
 * if a retention is configured.  Also what an earlier removal left half done.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/workspace.h"

#define SLICE 64		/* directories looked at in one turn */
#define FIRST_MS 600000		/* the clocks must agree for so long (rules 3.9) */
#define AGAIN_MS 86400000
#define DRIFT_MS 2000

struct prune {
	struct op op;
	struct sandboxes *sb;
	msec_t before;		/* last use; wall clock */
	DIR *list;		/* of sandboxes/ */
	struct timer *timer;
	struct op *removing;
	char *id;		/* of what is being removed */
	size_t removed, failed, kept;
	struct err err;		/* of the first failure */
	sandboxes_prune_cb *cb;
	void *arg;
};

static void on_turn(void *arg);

static void
prune_free(struct prune *p)
{
	op_cancel(&p->removing);
	loop_cancel(&p->timer);
	if (p->list)
		closedir(p->list);
	mem_free(p->id);
	mem_free(p);
}

static void
prune_cancel(struct op *op)
{
	prune_free((struct prune *)(void *)op);
}

static const struct op_type prune_type = { "sandboxes prune", prune_cancel };

static void
prune_finish(struct prune *p)
{
	struct sandboxes_pruned res = { p->removed, p->kept, p->failed };
	struct err err = p->err;
	sandboxes_prune_cb *cb = p->cb;
	void *arg = p->arg;

	op_finish(&p->op);
	prune_free(p);
	cb(arg, &res, err.code ? &err : NULL);
}

/* A sandbox of this process that is more than a memory. */
static bool
in_use(const struct sandboxes *sb, const char *id)
{
	size_t it = 0;
	void *value;

	while (map_next(&sb->cells, &it, NULL, &value)) {
		const struct cell *cell = value;
		if (strcmp(cell->id, id) == 0)
			return cell->state != CELL_CLOSED || cell->ntasks > 0 ||
			    !TAILQ_EMPTY(&cell->trees) || cell->quarantined;
	}
	return false;
}

static void
on_removed(void *arg, const struct box_usage *usage, const struct err *err)
{
	struct prune *p = arg;

	p->removing = NULL;
	if (err) {
		log_warn("sandbox", NULL, "%s could not be removed: %s", p->id,
		    err->text);
		p->failed++;
		if (!p->err.code)
			p->err = *err;
	} else {
		log_info("sandbox", NULL, "%s was removed, %llu files", p->id,
		    (unsigned long long)usage->entries);
		p->removed++;
	}
	p->timer = loop_defer(p->sb->loop, "prune", on_turn, p);
}

/* The name of something half removed in dir; caller frees. */
static char *
find_trash(const char *dir)
{
	DIR *list = opendir(dir);
	char *found = NULL;
	struct dirent *e;

	while (list && !found && (e = readdir(list)))
		if (strncmp(e->d_name, WORKSPACE_TRASH,
		    strlen(WORKSPACE_TRASH)) == 0)
			found = mem_str(e->d_name);
	if (list)
		closedir(list);
	return found;
}

/* True: a removal is under way. */
static bool
consider(struct prune *p, const char *id)
{
	struct sandboxes *sb = p->sb;
	char *dir CLEANUP_FREE = mem_printf("%s/sandboxes/%s",
	    sb->opts.state_dir, id);

	if (in_use(sb, id)) {
		p->kept++;
		return false;
	}
	char *trash CLEANUP_FREE = find_trash(dir);
	msec_t used = workspace_last_used(dir);
	if (!trash && (!used || used >= p->before)) {
		p->kept++;
		return false;
	}
	mem_free(p->id);
	p->id = mem_str(id);
	p->removing = workspace_remove(sb, workspace_slot(sb, dir), dir, trash,
	    on_removed, p);
	return true;
}

static void
on_turn(void *arg)
{
	struct prune *p = arg;

	p->timer = NULL;
	for (int i = 0; i < SLICE; i++) {
		struct dirent *e = p->list ? readdir(p->list) : NULL;
		if (!e) {
			prune_finish(p);
			return;
		}
		if (e->d_name[0] == 's' && consider(p, e->d_name))
			return;
	}
	p->timer = loop_defer(p->sb->loop, "prune", on_turn, p);
}

struct op *
sandboxes_prune(struct sandboxes *sb, msec_t before, sandboxes_prune_cb *cb,
	void *arg)
{
	struct prune *p = mem_alloc(sizeof(*p));
	char *dir CLEANUP_FREE = mem_printf("%s/sandboxes", sb->opts.state_dir);

	op_init(&p->op, &prune_type);
	p->sb = sb;
	p->before = before;
	p->cb = cb;
	p->arg = arg;
	p->list = opendir(dir);
	if (!p->list && errno != ENOENT)
		err_set_errno(&p->err, errno, "%s", dir);
	p->timer = loop_defer(sb->loop, "prune", on_turn, p);
	return &p->op;
}

/* ---- by itself --------------------------------------------------------------- */

static void
on_pruned(void *arg, const struct sandboxes_pruned *res, const struct err *err)
{
	struct sandboxes *sb = arg;

	(void)err;		/* each failure was logged */
	sb->pruning = NULL;
	if (res->removed)
		log_info("sandbox", NULL, "%zu workspaces were not used for %lld "
		    "days and are removed", res->removed,
		    (long long)(sb->opts.retention_ms / 86400000));
}

static void
on_due(void *arg)
{
	struct sandboxes *sb = arg;
	msec_t wall = loop_wall(sb->loop);
	msec_t offset = wall - loop_boottime(sb->loop);
	msec_t drift = offset - sb->clock_offset;
	bool agree = drift > -DRIFT_MS && drift < DRIFT_MS;

	sb->clock_offset = offset;
	sb->prune_timer = loop_after(sb->loop, agree ? AGAIN_MS : FIRST_MS,
	    "workspace retention", on_due, sb);
	/* A clock that was set back only keeps things for longer. */
	if (agree && !sb->pruning && !sb->closing)
		sb->pruning = sandboxes_prune(sb, sb->opts.retention_ms > 0 ?
		    wall - sb->opts.retention_ms : 0, on_pruned, sb);
}

void
prune_start(struct sandboxes *sb)
{
	sb->clock_offset = loop_wall(sb->loop) - loop_boottime(sb->loop);
	sb->prune_timer = loop_after(sb->loop, FIRST_MS, "workspace retention",
	    on_due, sb);
}

void
prune_stop(struct sandboxes *sb)
{
	op_cancel(&sb->pruning);
	loop_cancel(&sb->prune_timer);
}
