/*
 * One sandbox: its box on the backend, made at the first command and torn down
 * when idle, and what outlives the box: snapshot, exports, directory, files.
 */
#include <string.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/env.h"
#include "sandbox/ledger.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/workspace.h"

static const char *
state_name(enum cell_state state)
{
	switch (state) {
	case CELL_CLOSED: return "closed";
	case CELL_OPENING: return "opening";
	case CELL_OPEN: return "open";
	case CELL_CLOSING: return "closing";
	}
	return "?";
}

/* The only place that writes the state. */
static void
cell_enter(struct cell *cell, enum cell_state state)
{
	log_debug("sandbox", NULL, "%s %s -> %s", cell->id,
	    state_name(cell->state), state_name(state));
	cell->state = state;
	cell_changed(cell);
}

char *
sandbox_key_text(const struct sandbox_key *key)
{
	return mem_printf("%s/%s/%s", key->profile,
	    key->owner == SANDBOX_CONSOLE ? "console" : "messaging", key->scope);
}

struct cell *
cell_get(struct sandboxes *sb, const struct sandbox_key *key)
{
	char *text CLEANUP_FREE = sandbox_key_text(key);

	return map_get(&sb->cells, text);
}

static bool
is_memory(const struct cell *cell)
{
	return cell->state == CELL_CLOSED && cell->ntasks == 0 &&
	    TAILQ_EMPTY(&cell->trees) && !cell->op && !cell->removing &&
	    !cell->wipe && !cell->quarantined;
}

/* The one used longest ago is forgotten: its files stay, its directory and
 * exports don't. */
static void
make_room(struct sandboxes *sb)
{
	struct cell *oldest = NULL;
	size_t it = 0;
	void *value;

	if (sb->cells.used < CELLS_MAX)
		return;
	while (map_next(&sb->cells, &it, NULL, &value)) {
		struct cell *cell = value;
		if (is_memory(cell) &&
		    (!oldest || cell->used_boot < oldest->used_boot))
			oldest = cell;
	}
	if (!oldest)
		return;
	map_remove(&sb->cells, oldest->key);
	cell_free(&oldest);
}

struct cell *
cell_make(struct sandboxes *sb, const struct sandbox_key *key)
{
	struct cell *cell = cell_get(sb, key);
	char hex[ID_HEX_MAX];

	if (cell)
		return cell;
	make_room(sb);
	cell = mem_alloc(sizeof(*cell));
	cell->sb = sb;
	cell->slot = sandboxes_slot(sb, key->owner);
	cell->key = sandbox_key_text(key);
	ids_sha256_hex(cell->key, strlen(cell->key), hex);
	cell->id = mem_printf("s%.20s", hex);
	cell->host_dir = mem_printf("%s/sandboxes/%s/workspace",
	    sb->opts.state_dir, cell->id);
	cell->bash = true;
	vars_init(&cell->login, VARS_MAX);
	vars_init(&cell->exports, VARS_MAX);
	TAILQ_INIT(&cell->tasks);
	TAILQ_INIT(&cell->trees);
	TAILQ_INIT(&cell->processes);
	cell->used_boot = loop_boottime(sb->loop);
	map_set(&sb->cells, cell->key, cell);
	return cell;
}

void
cell_free(struct cell **cp)
{
	struct cell *cell = STEAL(*cp);
	struct process *p;
	struct tree *t;

	REQUIRE(TAILQ_EMPTY(&cell->tasks));
	while ((p = TAILQ_FIRST(&cell->processes)))
		process_free(&p);
	while ((t = TAILQ_FIRST(&cell->trees))) {
		TAILQ_REMOVE(&cell->trees, t, entry);
		tree_orphan(t);
	}
	op_cancel(&cell->op);
	op_cancel(&cell->removing);
	op_cancel(&cell->measuring);
	loop_cancel(&cell->weighing);
	loop_cancel(&cell->kick);
	loop_cancel(&cell->idle);
	loop_cancel(&cell->retry);
	loop_cancel(&cell->snapshot_timer);
	spooled_forget(cell);
	vars_done(&cell->login);
	vars_done(&cell->exports);
	mem_free(cell->functions);
	mem_free(cell->aliases);
	mem_free(cell->notice);
	mem_free(cell->why);
	mem_free(cell->cwd);
	mem_free(cell->key);
	mem_free(cell->id);
	mem_free(cell->host_dir);
	mem_free(cell);
}

/* ---- who waits --------------------------------------------------------------- */

static void
on_kick(void *arg)
{
	struct cell *cell = arg;
	struct task *task, *next;

	cell->kick = NULL;
	/* A look starts things and fails later: it frees no task. */
	for (task = TAILQ_FIRST(&cell->tasks); task; task = next) {
		next = task_next(task);
		task_look(task);
	}
	wipe_look(cell);
	sandboxes_changed(cell->sb);
}

void
cell_changed(struct cell *cell)
{
	if (!cell->kick)
		cell->kick = loop_defer(cell->sb->loop, "sandbox changed",
		    on_kick, cell);
}

/* ---- opening and closing ------------------------------------------------------- */

/* A backend whose boxes survive ends the old one when it opens another. */
static void
on_retry(void *arg)
{
	struct cell *cell = arg;

	cell->retry = NULL;
	if (cell->state == CELL_CLOSED && !cell->op && !cell->sb->closing)
		cell_open(cell);
}

static void
retry_later(struct cell *cell)
{
	if (!cell->retry && cell->slot->backend->flags & BACKEND_SURVIVES)
		cell->retry = loop_after(cell->sb->loop, RETRY_MS,
		    "end a sandbox again", on_retry, cell);
}

static void
on_opened(void *arg, struct box *box, const struct err *err)
{
	struct cell *cell = arg;

	cell->op = NULL;
	if (err && cell->quarantined)
		retry_later(cell);
	if (err) {
		cell->open_err = *err;
		log_warn("sandbox", NULL, "%s could not be opened: %s", cell->id,
		    err->text);
		cell_enter(cell, CELL_CLOSED);
		return;
	}
	cell->box = box;
	cell->stale = false;
	cell->open_err.code = ERR_NONE;
	cell_touch(cell);
	ledger_opened(cell);
	cell_enter(cell, CELL_OPEN);
	if (cell->quarantined)
		cell_leave_quarantine(cell);
}

static bool
busy(const struct cell *cell)
{
	return cell->ntasks > 0 || !TAILQ_EMPTY(&cell->trees) || cell->op;
}

/*
 * A backend may hold so many boxes and no more: the one idle longest is torn
 * down for another.  False: it must wait for that, or fails with open_err.
 */
static bool
make_way(struct cell *cell)
{
	unsigned max = cell_props(cell).boxes_max, n = 0;
	struct cell *idle = NULL;
	bool closing = false;
	size_t it = 0;
	void *value;

	while (max && map_next(&cell->sb->cells, &it, NULL, &value)) {
		struct cell *other = value;
		if (other->slot != cell->slot || other->state == CELL_CLOSED)
			continue;
		n++;
		closing |= other->state == CELL_CLOSING;
		if (other->state == CELL_OPEN && !busy(other) &&
		    (!idle || other->used_boot < idle->used_boot))
			idle = other;
	}
	if (!max || n < max)
		return true;
	if (!closing && idle) {
		log_info("sandbox", NULL, "%s makes way for %s", idle->id, cell->id);
		cell_close(idle);
	} else if (!closing) {
		err_set(&cell->open_err, ERR_LIMIT, "all of the %u sandboxes that may "
		    "be open at a time are at work; try again when one is done",
		    max);
	}
	return false;
}

void
cell_open(struct cell *cell)
{
	struct box_spec spec = { .id = cell->id, .workspace = cell->host_dir,
		.keep = true };

	REQUIRE(cell->state == CELL_CLOSED && !cell->op);
	cell->open_err.code = ERR_NONE;
	if (!make_way(cell)) {
		if (cell->open_err.code)
			cell_changed(cell);
		return;
	}
	if (workspace_make(cell, &cell->open_err) < 0) {
		cell_changed(cell);
		return;
	}
	(void)guard_ready(cell);	/* while it opens */
	cell->op = cell->slot->backend->open(cell->slot->inst, &spec, on_opened,
	    cell);
	cell_enter(cell, CELL_OPENING);
}

static void
on_closed(void *arg, const struct err *err)
{
	struct cell *cell = arg;

	cell->op = NULL;
	cell->box = NULL;
	if (err) {
		cell_quarantine(cell, err->text);
		retry_later(cell);
	} else {
		ledger_closed(cell);
	}
	workspace_used(cell);
	cell_enter(cell, CELL_CLOSED);
	if (cell_props(cell).boxes_max)
		sandboxes_look(cell->sb);	/* one may have waited for its place */
}

/* Trees first: a box is closed when nothing runs in it. */
void
cell_close(struct cell *cell)
{
	struct tree *t;

	if (cell->state != CELL_OPEN)
		return;
	TAILQ_FOREACH(t, &cell->trees, entry)
		tree_kill(t);
	if (!TAILQ_EMPTY(&cell->trees))
		return;		/* stays stale or expired: looked at again */
	loop_cancel(&cell->idle);
	cell->op = cell->slot->backend->close(cell->box, on_closed, cell);
	cell_enter(cell, CELL_CLOSING);
}

/* ---- idle ------------------------------------------------------------------------ */

bool
cell_expired(const struct cell *cell)
{
	msec_t life = cell->sb->opts.lifetime_ms;

	return life > 0 && cell->state == CELL_OPEN &&
	    TAILQ_EMPTY(&cell->trees) &&
	    loop_boottime(cell->sb->loop) - cell->used_boot >= life;
}

static void
on_idle(void *arg)
{
	struct cell *cell = arg;

	cell->idle = NULL;
	if (cell_expired(cell) && !busy(cell)) {
		log_info("sandbox", NULL, "%s was idle: torn down, files kept",
		    cell->id);
		cell_close(cell);
	} else if (cell->state == CELL_OPEN) {
		msec_t left = cell->sb->opts.lifetime_ms -
		    (loop_boottime(cell->sb->loop) - cell->used_boot);
		if (busy(cell) || left < 1)
			left = cell->sb->opts.lifetime_ms;
		cell->idle = loop_after(cell->sb->loop, left, "sandbox idle",
		    on_idle, cell);
	}
}

void
cell_touch(struct cell *cell)
{
	cell->used_boot = loop_boottime(cell->sb->loop);
	if (!cell->idle && cell->state != CELL_CLOSED &&
	    cell->sb->opts.lifetime_ms > 0)
		cell->idle = loop_after(cell->sb->loop,
		    cell->sb->opts.lifetime_ms, "sandbox idle", on_idle, cell);
}

/* ---- quarantine -------------------------------------------------------------------- */

void
cell_quarantine(struct cell *cell, const char *why)
{
	bool news = !cell->quarantined;

	cell->quarantined = true;
	mem_free(cell->why);
	cell->why = mem_str(why);
	log_error("sandbox", NULL, "%s is closed to commands: %s", cell->id, why);
	if (news && cell->sb->alarm)
		cell->sb->alarm(cell->sb->alarm_arg, cell->key, why);
	cell_changed(cell);
}

void
cell_leave_quarantine(struct cell *cell)
{
	struct tree *t;

	TAILQ_FOREACH(t, &cell->trees, entry) {
		if (t->survived)
			return;
	}
	cell->quarantined = false;
	log_info("sandbox", NULL, "%s is open to commands again", cell->id);
	cell_changed(cell);
}

/* ---- environment ---------------------------------------------------------------------- */

void
cell_env(const struct cell *cell, struct vars *ret)
{
	const struct sandbox_opts *opts = &cell->sb->opts;
	struct sandbox_props props = cell_props(cell);
	const char *path = vars_get(&cell->login, "PATH");
	struct env_spec spec = {
		.home = props.home ? props.home : props.workspace,
		.user = props.user ? props.user : "sandbox",
		.passthrough = opts->env_passthrough,
		.environ = opts->environ,
		.timezone = opts->timezone,
		.backend = props.env,
		.refuse = opts->env_refuse,
		.login = cell->has_exports ? NULL : &cell->login,
		.exports = cell->has_exports ? &cell->exports : NULL,
	};

	env_build(ret, &spec);
	if (path)
		(void)vars_set(ret, "PATH", path);
}

struct sandbox_props
cell_props(const struct cell *cell)
{
	struct sandbox_props props = slot_props(cell->slot);

	if (props.host_paths)
		props.workspace = cell->host_dir;
	return props;
}

const char *
cell_cwd(const struct cell *cell)
{
	return cell->cwd ? cell->cwd : cell_props(cell).workspace;
}
