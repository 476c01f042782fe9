/*
 * A process tree until it is confirmed dead.  Killing never waits: who cancels
 * abandons the tree, which stays here with its cell's `dying` count and so
 * keeps other commands out (rules 1.11).
 */
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox_priv.h"

#define TURN_BYTES (512 * 1024)	/* of output, then other work gets a turn */

static void
on_started(void *arg, int pid)
{
	struct tree *t = arg;

	t->started = true;
	if (t->events)
		t->events->started(t->arg, pid);
}

static void
on_resume(void *arg)
{
	struct tree *t = arg;

	t->resume = NULL;
	t->turn_bytes = 0;
	t->backend->flow(t->proc, true);
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct tree *t = arg;

	if (!t->events || !t->cell)
		return;
	t->turn_bytes += len;
	if (t->turn_bytes > TURN_BYTES && !t->resume) {
		t->backend->flow(t->proc, false);
		t->resume = loop_defer(t->cell->sb->loop, "output turn",
		    on_resume, t);
	}
	t->events->output(t->arg, fd, data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct tree *t = arg;

	if (t->events)
		t->events->giveback(t->arg, data, len);
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct tree *t = arg;

	t->exited = true;
	if (t->events)
		t->events->exited(t->arg, wait_status, leftovers);
}

static void
on_dead(void *arg, const struct err *err)
{
	struct tree *t = arg;
	struct cell *cell = t->cell;

	loop_cancel(&t->timer);
	loop_cancel(&t->resume);
	t->proc = NULL;
	if (cell) {
		TAILQ_REMOVE(&cell->trees, t, entry);
		if (t->dying)
			cell->dying--;
		if (err && (err->code == ERR_LOST || err->code == ERR_NOT_FOUND))
			cell->stale = true;
		if (t->survived)
			cell_leave_quarantine(cell);
		cell_touch(cell);
		cell_changed(cell);
	}
	if (t->events)
		t->events->dead(t->arg, err);
	mem_free(t);
}

static const struct proc_events tree_events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

struct tree *
tree_spawn(struct cell *cell, struct spawn_req *req,
	const struct proc_events *events, void *arg, struct err *err)
{
	struct tree *t = mem_alloc(sizeof(*t));

	t->cell = cell;
	t->backend = cell->slot->backend;
	t->events = events;
	t->arg = arg;
	req->events = &tree_events;
	req->arg = t;
	t->proc = t->backend->spawn(cell->box, req, err);
	if (!t->proc) {
		mem_free(t);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&cell->trees, t, entry);
	guard_start(cell);
	return t;
}

/* A far side has a way to go (rules 1.11). */
static msec_t
dead_ms(const struct tree *t)
{
	return t->backend->flags & BACKEND_SURVIVES ? DEAD_FAR_MS : DEAD_MS;
}

static void
on_survived(void *arg)
{
	struct tree *t = arg;
	struct cell *cell = t->cell;

	t->timer = loop_after(cell->sb->loop, RETRY_MS, "kill again",
	    on_survived, t);
	if (!t->survived) {
		char *why CLEANUP_FREE = mem_printf("a process could not be ended "
		    "within %d s after its command was stopped; nothing else runs "
		    "there until it is gone (tried again every minute)",
		    (int)(dead_ms(t) / 1000));
		t->survived = true;
		cell_quarantine(cell, why);
	} else {
		log_info("sandbox", NULL, "%s: killing again what survived",
		    cell->id);
	}
	t->backend->kill(t->proc);
}

void
tree_kill(struct tree *t)
{
	if (t->dying || !t->proc)
		return;
	t->dying = true;
	t->cell->dying++;
	t->killed_wall = loop_wall(t->cell->sb->loop);
	t->timer = loop_after(t->cell->sb->loop, dead_ms(t), "tree must be dead",
	    on_survived, t);
	t->backend->kill(t->proc);
}

int
tree_write(struct tree *t, const void *data, size_t len, struct err *err)
{
	if (!t->backend->write)
		return err_set(err, ERR_UNAVAILABLE, "backend %s can't write to "
		    "a running program", t->backend->name);
	if (!t->proc || !t->started || t->dying)
		return err_set(err, ERR_UNAVAILABLE, "it does not run");
	return t->backend->write(t->proc, data, len, err);
}

void
tree_close_input(struct tree *t)
{
	if (t->backend->close_input && t->proc && t->started && !t->dying)
		t->backend->close_input(t->proc);
}

void
tree_abandon(struct tree **tp)
{
	if (!*tp)
		return;
	struct tree *t = STEAL(*tp);

	t->events = NULL;
	tree_kill(t);
}

void
tree_orphan(struct tree *t)
{
	loop_cancel(&t->timer);
	loop_cancel(&t->resume);
	t->events = NULL;
	if (!t->dying)
		t->backend->kill(t->proc);
	t->cell = NULL;
}
