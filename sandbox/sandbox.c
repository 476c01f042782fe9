/*
 * All sandboxes of a process: options, backends, the registry by key, start
 * and end.  What happens inside one is cell.c and its neighbours.
 */
#include "sandbox/sandbox.h"

#include <string.h>

#include "base/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/env.h"
#include "sandbox/ledger.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/survey.h"

#define CLOSE_MS 10000

/* Somebody waits for probes, or for the end of all. */
struct wait_op {
	struct op op;
	TAILQ_ENTRY(wait_op) entry;
	struct sandboxes *sb;
	bool closing;
	struct timer *timer;	/* when closing: the bound; then the callback */
	bool finishing;
	sandboxes_done_cb *done;
	void *arg;
};

static void
copy_options(struct sandboxes *sb, const struct sandbox_opts *opts)
{
	struct sandbox_opts *o = &sb->opts;

	*o = *opts;
	o->messaging_backend = sb->messaging_backend = mem_str(opts->messaging_backend);
	o->console_backend = sb->console_backend = mem_str(opts->console_backend);
	o->image = sb->image = mem_str(opts->image);
	o->console_image = sb->console_image = mem_str(opts->console_image);
	o->state_dir = sb->state_dir = mem_str(opts->state_dir);
	o->instance_id = sb->instance_id = mem_str(opts->instance_id);
	o->timezone = sb->timezone = mem_str(opts->timezone);
	if (!o->output_max)
		o->output_max = 50000;
	if (!o->timeout_ms)
		o->timeout_ms = 180000;
	sb->spool_dir = mem_printf("%s/cache/terminal-output", opts->state_dir);
}

struct slot *
sandboxes_slot(struct sandboxes *sb, enum sandbox_owner owner)
{
	/* Both owners share one backend if its name is the same. */
	return owner == SANDBOX_CONSOLE && sb->slots[1].backend ?
	    &sb->slots[1] : &sb->slots[0];
}

struct slot *
sandboxes_slot_of(struct sandboxes *sb, const char *key_text)
{
	const char *owner = strchr(key_text, '/');
	bool console = owner && strncmp(owner, "/console/", 9) == 0;

	return sandboxes_slot(sb, console ? SANDBOX_CONSOLE : SANDBOX_MESSAGING);
}

static int
start_slots(struct sandboxes *sb, struct err *err)
{
	const struct sandbox_opts *o = &sb->opts;

	slot_start(&sb->slots[0], sb, o->messaging_backend, o->image);
	if (!sb->slots[0].backend)
		return err_set(err, ERR_CONFIG, "backend \"%s\" is not built in",
		    o->messaging_backend);
	if (strcmp(o->console_backend, o->messaging_backend) == 0)
		return 0;
	slot_start(&sb->slots[1], sb, o->console_backend, o->console_image);
	if (!sb->slots[1].backend)
		return err_set(err, ERR_CONFIG, "backend \"%s\" is not built in",
		    o->console_backend);
	return 0;
}

struct sandboxes *
sandboxes_new(struct loop *loop, struct launcher *launcher, struct store *store,
	const struct sandbox_opts *opts, struct err *err)
{
	struct sandboxes *sb = mem_alloc(sizeof(*sb));
	char *refused CLEANUP_FREE = NULL;

	sb->store = store;
	map_init(&sb->ledger_ids);
	sb->loop = loop;
	sb->launcher = launcher;
	map_init(&sb->cells);
	TAILQ_INIT(&sb->waits);
	copy_options(sb, opts);
	refused = env_passthrough_refused(opts->env_passthrough,
	    opts->env_refuse);
	if (refused)
		log_warn("sandbox", NULL, "terminal.env_passthrough: %s not passed: "
		    "credentials never enter a sandbox", refused);
	if (start_slots(sb, err) < 0) {
		sandboxes_free(&sb);
		return NULL;
	}
	/* Before a byte of the network is read. */
	if (launcher)
		launcher_seal(launcher);
	sb->ledger = ledger_clear_old(sb);
	prune_start(sb);
	return sb;
}

void
sandboxes_free(struct sandboxes **sbp)
{
	bool alive = false;
	size_t it = 0;
	void *value;

	if (!sbp || !*sbp)
		return;
	struct sandboxes *sb = STEAL(*sbp);

	REQUIRE(TAILQ_EMPTY(&sb->waits));
	offload_free(&sb->offload);
	prune_stop(sb);
	while (map_next(&sb->cells, &it, NULL, &value)) {
		struct cell *cell = value;
		alive |= cell->state != CELL_CLOSED ||
		    !TAILQ_EMPTY(&cell->trees);
		cell_free(&cell);
	}
	map_done(&sb->cells);
	map_done(&sb->ledger_ids);
	op_cancel(&sb->ledger);
	loop_cancel(&sb->guard);
	loop_cancel(&sb->silence);
	for (size_t i = 0; i < ARRAY_LEN(sb->slots); i++) {
		alive |= sb->slots[i].survey != NULL;
		survey_orphan(&sb->slots[i].survey);
	}
	/* With a box open its backend stays: the process is ending anyway. */
	for (size_t i = 0; i < ARRAY_LEN(sb->slots) && !alive; i++)
		slot_stop(&sb->slots[i]);
	mem_free(sb->messaging_backend);
	mem_free(sb->console_backend);
	mem_free(sb->image);
	mem_free(sb->console_image);
	mem_free(sb->state_dir);
	mem_free(sb->instance_id);
	mem_free(sb->timezone);
	mem_free(sb->spool_dir);
	mem_free(sb);
}

/* ---- waiting for all ------------------------------------------------------------- */

static void
wait_free(struct wait_op *w)
{
	loop_cancel(&w->timer);
	TAILQ_REMOVE(&w->sb->waits, w, entry);
	mem_free(w);
}

static void
wait_cancel(struct op *op)
{
	wait_free((struct wait_op *)(void *)op);
}

static const struct op_type wait_type = { "sandboxes", wait_cancel };

static void
wait_finish(void *arg)
{
	struct wait_op *w = arg;
	sandboxes_done_cb *done = w->done;
	void *done_arg = w->arg;

	w->timer = NULL;
	if (w->closing && !w->finishing)
		log_error("sandbox", NULL, "not everything ended within %d s",
		    CLOSE_MS / 1000);
	op_finish(&w->op);
	wait_free(w);
	done(done_arg);
}

static bool
all_probed(const struct sandboxes *sb)
{
	for (size_t i = 0; i < ARRAY_LEN(sb->slots); i++) {
		if (sb->slots[i].backend && !sb->slots[i].probed)
			return false;
	}
	return true;
}

/* Takes the next step in closing every cell; true: all are closed. */
static bool
all_closed(struct sandboxes *sb)
{
	bool all = true;
	size_t it = 0;
	void *value;

	while (map_next(&sb->cells, &it, NULL, &value)) {
		struct cell *cell = value;
		cell_close(cell);
		all &= cell->state == CELL_CLOSED && cell->ntasks == 0 &&
		    TAILQ_EMPTY(&cell->trees);
	}
	for (size_t i = 0; i < ARRAY_LEN(sb->slots); i++) {
		slot_close(&sb->slots[i]);
		all &= !sb->slots[i].survey;
	}
	return all;
}

void
sandboxes_look(struct sandboxes *sb)
{
	size_t it = 0;
	void *value;

	while (map_next(&sb->cells, &it, NULL, &value))
		cell_changed(value);
}

void
sandboxes_changed(struct sandboxes *sb)
{
	struct wait_op *w;

	TAILQ_FOREACH(w, &sb->waits, entry) {
		if (w->finishing ||
		    !(w->closing ? all_closed(sb) : all_probed(sb)))
			continue;
		w->finishing = true;
		loop_cancel(&w->timer);
		w->timer = loop_defer(sb->loop, "sandboxes", wait_finish, w);
	}
}

void
sandboxes_probed(struct sandboxes *sb)
{
	sandboxes_look(sb);
	sandboxes_changed(sb);
}

static struct wait_op *
wait_start(struct sandboxes *sb, bool closing, sandboxes_done_cb *done, void *arg)
{
	struct wait_op *w = mem_alloc(sizeof(*w));

	op_init(&w->op, &wait_type);
	w->sb = sb;
	w->closing = closing;
	w->done = done;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&sb->waits, w, entry);
	return w;
}

struct op *
sandboxes_probe(struct sandboxes *sb, sandboxes_done_cb *done, void *arg)
{
	struct wait_op *w = wait_start(sb, false, done, arg);

	for (size_t i = 0; i < ARRAY_LEN(sb->slots); i++) {
		if (sb->slots[i].backend)
			slot_probe(&sb->slots[i]);
	}
	sandboxes_changed(sb);
	return &w->op;
}

struct op *
sandboxes_close(struct sandboxes *sb, sandboxes_done_cb *done, void *arg)
{
	struct wait_op *w = wait_start(sb, true, done, arg);

	sb->closing = true;
	w->timer = loop_after(sb->loop, CLOSE_MS, "sandboxes must be closed",
	    wait_finish, w);
	sandboxes_look(sb);
	sandboxes_changed(sb);
	return &w->op;
}

/* ---- what others may know ------------------------------------------------------------ */

struct sandbox_props
sandbox_props(struct sandboxes *sb, enum sandbox_owner owner)
{
	return slot_props(sandboxes_slot(sb, owner));
}

bool
sandbox_can_rpc(struct sandboxes *sb, enum sandbox_owner owner)
{
	return sandboxes_slot(sb, owner)->backend->flags & BACKEND_RPC;
}

unsigned
sandbox_abilities(struct sandboxes *sb, enum sandbox_owner owner)
{
	return slot_abilities(sandboxes_slot(sb, owner));
}

struct sandbox_props
sandbox_props_of(struct sandboxes *sb, const struct sandbox_key *key)
{
	return cell_props(cell_make(sb, key));
}

const char *
sandbox_cwd(struct sandboxes *sb, const struct sandbox_key *key)
{
	return cell_cwd(cell_make(sb, key));
}

void
sandboxes_warm(struct sandboxes *sb)
{
	for (size_t i = 0; i < ARRAY_LEN(sb->slots); i++)
		if (sb->slots[i].backend)
			slot_warm(&sb->slots[i]);
}

const char *
sandbox_describe(struct sandboxes *sb, enum sandbox_owner owner)
{
	const struct slot *slot = sandboxes_slot(sb, owner);

	return slot->about ? slot->about :
	    "Commands run in a sandbox of their own, not in the chat program.";
}

void
sandbox_reset(struct sandboxes *sb, const struct sandbox_key *key)
{
	struct cell *cell = cell_get(sb, key);

	if (!cell)
		return;
	cell->has_exports = false;
	vars_done(&cell->exports);
	mem_free(cell->cwd);
	cell->cwd = NULL;
	cell->writer = NULL;	/* a command still running brings nothing back */
}

struct offload *
sandboxes_offload(struct sandboxes *sb)
{
	struct err err;

	if (!sb->offload)
		sb->offload = offload_new(sb->loop, &err);
	if (!sb->offload)
		log_error("sandbox", NULL, "%s", err.text);
	return sb->offload;
}

struct json *
sandboxes_status(struct sandboxes *sb)
{
	struct json *list = json_array();
	size_t it = 0;
	void *value;

	while (map_next(&sb->cells, &it, NULL, &value)) {
		const struct cell *cell = value;
		const struct tree *t;
		msec_t since = 0;
		if (!cell->dying && !cell->quarantined)
			continue;
		TAILQ_FOREACH(t, &cell->trees, entry) {
			if (t->dying && (!since || t->killed_wall < since))
				since = t->killed_wall;
		}
		struct json *j = json_object();
		json_set_str(j, "sandbox", cell->key);
		json_set_int(j, "since", since / 1000);
		json_set_str(j, "why", cell->quarantined ? cell->why :
		    "a stopped command is being ended");
		json_add_take(list, j);
	}
	return list;
}

void
sandboxes_on_alarm(struct sandboxes *sb, sandbox_alarm_cb *cb, void *arg)
{
	sb->alarm = cb;
	sb->alarm_arg = arg;
}

void
sandboxes_on_process(struct sandboxes *sb, process_event_cb *cb, void *arg)
{
	sb->on_process = cb;
	sb->on_process_arg = arg;
}

void
sandboxes_on_news(struct sandboxes *sb, sandbox_news_cb *cb, void *arg)
{
	sb->news = cb;
	sb->news_arg = arg;
}
