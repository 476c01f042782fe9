/*
 * One container: found again or made, and started.
 *
 *   PREPARE -> FIND -> (REMOVE)* -> MAKE | ADOPT -> START -> LOOK
 */
#include "sandbox/docker_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define OPEN_MS 120000		/* beside the pull */
#define BROKEN_MAX 3		/* containers that end at once */
#define BROKEN_MS (10 * 60 * 1000)

struct box_op {
	struct op op;
	struct box *box;
	struct op *waiting;
	struct timer *timer;
	struct json *found;	/* containers of an earlier box, by the engine */
	bool retried, same_name;
	box_open_cb *cb;
	void *arg;
};

static struct json *
mutable(const struct json *node)
{
	return (struct json *)(uintptr_t)(const void *)node;
}

static void open_prepare(struct box_op *o);
static void open_next(struct box_op *o);

void
docker_box_free(struct box *box)
{
	struct proc *p;

	while ((p = TAILQ_FIRST(&box->procs))) {
		p->events = NULL;
		docker_proc_end(p);
	}
	TAILQ_REMOVE(&box->inst->boxes, box, entry);
	mem_free(box->id);
	mem_free(box->container);
	mem_free(box->name);
	mem_free(box->workspace);
	mem_free(box->home);
	mem_free(box->digest);
	mem_free(box);
}

static void
op_end(struct box_op *o)
{
	loop_cancel(&o->timer);
	op_cancel(&o->waiting);
	json_free(&o->found);
	o->box->busy = false;
}

static struct op *
request(struct box_op *o, const char *method, const char *path, engine_cb *cb)
{
	struct engine_req req = { .method = method, .path = path };

	return engine_call(o->box->inst->engine, &req, cb, o);
}

/* ---- open -------------------------------------------------------------------------- */

static void
open_finish(struct box_op *o, const struct err *err)
{
	struct box *box = o->box;
	box_open_cb *cb = o->cb;
	void *arg = o->arg;
	struct err copy = { ERR_NONE, "" };

	if (err)
		copy = *err;
	op_end(o);
	op_finish(&o->op);
	mem_free(o);
	if (err)
		docker_box_free(box);
	cb(arg, err ? NULL : box, err ? &copy : NULL);
}

static void
open_failed(struct box_op *o, enum err_code code, const char *text)
{
	struct err err = { ERR_NONE, "" };

	err_set(&err, code, "%s", text);
	open_finish(o, &err);
}

/* It may have been made: the next open, or the reaper, finds it by its labels. */
static void
open_cancel(struct op *op)
{
	struct box_op *o = (struct box_op *)(void *)op;
	struct box *box = o->box;

	op_end(o);
	mem_free(o);
	docker_box_free(box);
}

static const struct op_type open_type = { "docker open", open_cancel };

static void
open_late(void *arg)
{
	struct box_op *o = arg;

	o->timer = NULL;
	open_failed(o, ERR_TIMEOUT, "the container was not ready in time: the "
	    "engine is slow or stuck");
}

/* A container whose program ends at once would else be made again and again. */
void
docker_box_broken(struct box *box, struct err *err)
{
	struct backend_inst *inst = box->inst;

	box->dirty = true;
	inst->broken_starts++;
	inst->broken_at = loop_now(inst->loop);
	inst->broken_err = *err;
}

static void
on_running(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;
	struct backend_inst *inst = o->box->inst;
	const struct json *state = json_get(res->json, "State");
	struct err err = { ERR_NONE, "" };

	o->waiting = NULL;
	if (!res->err && json_get_bool(state, "Running", false)) {
		open_finish(o, NULL);
		return;
	}
	if (res->err)
		err = *res->err;
	else
		err_set(&err, ERR_UNAVAILABLE, "the container of image %s ended at "
		    "once (code %lld%s%s): its files may be of another kind of "
		    "machine, or damaged", inst->image,
		    (long long)json_get_int(state, "ExitCode", 0),
		    *json_get_str(state, "Error", "") ? ", " : "",
		    json_get_str(state, "Error", ""));
	docker_box_broken(o->box, &err);
	open_finish(o, &err);
}

static void
on_started(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;
	CLEANUP_FREE char *path = mem_printf("/containers/%s/json",
	    o->box->container);

	o->waiting = NULL;
	if (res->err) {
		struct err err = *res->err;
		err_wrap(&err, "the container could not be started");
		docker_box_broken(o->box, &err);
		open_finish(o, &err);
		return;
	}
	o->waiting = request(o, "GET", path, on_running);
}

static void
box_start(struct box_op *o)
{
	CLEANUP_FREE char *path = mem_printf("/containers/%s/start",
	    o->box->container);

	o->waiting = request(o, "POST", path, on_started);
}

static void
on_made(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;
	struct err err;

	o->waiting = NULL;
	if (!res->err) {
		o->box->container = mem_str(json_get_str(res->json, "Id", ""));
		box_start(o);
		return;
	}
	err = *res->err;
	/* The image has gone since it was seen: once more from the start. */
	if (err.code == ERR_NOT_FOUND && !o->retried) {
		o->retried = true;
		o->box->inst->prepared = false;
		open_prepare(o);
		return;
	}
	err_wrap(&err, "the container could not be made");
	open_finish(o, &err);
}

static void
box_make(struct box_op *o)
{
	struct box *box = o->box;
	CLEANUP_JSON struct json *config = docker_box_config(box);
	const struct json *extra = json_get(config, "Labels");
	struct json *labels = docker_labels(box->inst, box->id, box->digest);
	CLEANUP_FREE char *path = mem_printf("/containers/create?name=%s",
	    box->name);

	for (const struct json *l = json_first(extra); l; l = json_next(l))
		json_set_str(labels, json_key(l), json_str(l));
	json_set_take(config, "Labels", labels);
	struct engine_req req = { .method = "POST", .path = path, .json = config,
		.total_ms = OPEN_MS };
	o->waiting = engine_call(box->inst->engine, &req, on_made, o);
}

/* ---- an earlier container of this sandbox ---------------------------------------- */

static bool
may_adopt(const struct box *box, const struct json *c)
{
	const struct backend_inst *inst = box->inst;
	const struct json *labels = json_get(c, "Labels");
	long long deadline = strtoll(json_get_str(labels, "gatehouse.deadline",
	    "0"), NULL, 10);

	return inst->opts.persist_across && inst->opts.persistent &&
	    !box->dirty && strcmp(json_get_str(labels, "gatehouse.digest", ""), box->digest) == 0 &&
	    deadline - DOCKER_DEADLINE_S / 10 > loop_wall(inst->loop) / 1000;
}

static void
on_renamed(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;

	o->waiting = NULL;
	if (res->err) {
		struct err err = *res->err;
		open_finish(o, &err);
		return;
	}
	box_start(o);
}

static void
on_stopped_first(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;
	CLEANUP_FREE char *path = mem_printf("/containers/%s/rename?name=%s",
	    o->box->container, o->box->name);

	o->waiting = NULL;
	if (res->err) {
		struct err err = *res->err;
		err_wrap(&err, "an earlier container of this sandbox could not be "
		    "stopped");
		open_finish(o, &err);
		return;
	}
	if (o->same_name)
		box_start(o);
	else
		o->waiting = request(o, "POST", path, on_renamed);
}

/* Whatever still runs there ends first: it belonged to a process that is gone. */
static void
box_adopt(struct box_op *o, const struct json *c)
{
	struct box *box = o->box;
	CLEANUP_FREE char *path = mem_printf("/containers/%s/stop?t=0",
	    json_get_str(c, "Id", ""));

	box->container = mem_str(json_get_str(c, "Id", ""));
	o->same_name = strcmp(docker_entry_name(c), box->name) == 0;
	log_info("docker", NULL, "taking over container %s", docker_entry_name(c));
	o->waiting = request(o, "POST", path, on_stopped_first);
}

static void
on_removed_first(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;

	o->waiting = NULL;
	if (res->err && res->err->code != ERR_NOT_FOUND &&
	    res->err->code != ERR_EXISTS) {
		struct err err = *res->err;
		err_wrap(&err, "an earlier container of this sandbox could not be "
		    "removed");
		open_finish(o, &err);
		return;
	}
	open_next(o);
}

/* The next of those that were found, then a new one. */
static void
open_next(struct box_op *o)
{
	struct box *box = o->box;
	const struct json *c;

	for (c = json_first(o->found); c; c = json_next(c)) {
		const char *id = json_get_str(c, "Id", "");
		enum docker_whose whose = docker_whose(box->inst, c);
		CLEANUP_FREE char *path = mem_printf("/containers/%s?force=1&v=1",
		    id);

		if (json_get_bool(c, "seen", false) || whose == WHOSE_LIVING ||
		    whose == WHOSE_UNKNOWN)
			continue;
		json_set_bool(mutable(c), "seen", true);
		if (may_adopt(box, c)) {
			box_adopt(o, c);
			return;
		}
		log_info("docker", NULL, "removing container %s, left by an "
		    "earlier process", docker_entry_name(c));
		o->waiting = request(o, "DELETE", path, on_removed_first);
		return;
	}
	box_make(o);
}

static void
on_found(void *arg, const struct engine_res *res)
{
	struct box_op *o = arg;

	o->waiting = NULL;
	if (res->err) {
		struct err err = *res->err;
		open_finish(o, &err);
		return;
	}
	json_free(&o->found);
	o->found = res->json ? json_clone(res->json) : json_array();
	open_next(o);
}

static void
on_prepared(void *arg, const struct err *err)
{
	struct box_op *o = arg;
	struct box *box = o->box;
	CLEANUP_FREE char *instance = mem_printf("gatehouse.instance=%s",
	    box->inst->instance_id);
	CLEANUP_FREE char *session = mem_printf("gatehouse.session=%s", box->id);
	const char *const labels[] = { instance, session, NULL };
	CLEANUP_FREE char *path = docker_list_path(labels);
	struct err failed = { ERR_NONE, "" };

	o->waiting = NULL;
	if (err)
		failed = *err;
	if (failed.code || docker_box_home(box, &failed) < 0) {
		open_finish(o, &failed);
		return;
	}
	docker_box_digest(box);
	loop_cancel(&o->timer);
	o->timer = loop_after(box->inst->loop, OPEN_MS, "docker open", open_late, o);
	o->waiting = request(o, "GET", path, on_found);
}

static void
open_prepare(struct box_op *o)
{
	o->waiting = docker_prepare(o->box->inst, o->box->id, on_prepared, o);
}

static void
open_refused(void *arg)
{
	struct box_op *o = arg;
	struct err err = o->box->inst->broken_err;

	o->timer = NULL;
	err_wrap(&err, "no further container is made for some minutes, as %d ended "
	    "in a row", BROKEN_MAX);
	open_finish(o, &err);
}

struct op *
docker_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg)
{
	struct box_op *o = mem_alloc(sizeof(*o));
	struct box *box = mem_alloc(sizeof(*box));
	const char *slash = strrchr(spec->workspace, '/');

	TAILQ_INIT(&box->procs);
	TAILQ_INSERT_TAIL(&inst->boxes, box, entry);
	box->inst = inst;
	box->id = mem_str(spec->id);
	box->name = docker_name(inst, spec->id);
	box->workspace = mem_str(spec->workspace);
	box->home = mem_printf("%.*s/home", (int)(slash - spec->workspace),
	    spec->workspace);
	box->busy = true;
	box->dirty = !spec->keep;
	op_init(&o->op, &open_type);
	o->box = box;
	o->cb = cb;
	o->arg = arg;
	if (inst->broken_starts >= BROKEN_MAX &&
	    loop_now(inst->loop) - inst->broken_at < BROKEN_MS)
		o->timer = loop_defer(inst->loop, "docker open", open_refused, o);
	else
		open_prepare(o);
	return &o->op;
}
