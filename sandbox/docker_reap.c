/*
 * Containers that dead processes of ours left: found by our labels, judged by
 * docker_owner.c, each named in the log before it is removed.
 */
#include "sandbox/docker_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define REAP_MAX 200	/* in one go */

struct reap {
	struct op op;
	struct backend_inst *inst;
	struct op *waiting;
	struct timer *timer;
	struct json *found;
	const struct json *at;
	unsigned n;
	struct err err;
	backend_probe_cb *cb;
	void *arg;
};

static void reap_next(struct reap *r);

static void
reap_cancel(struct op *op)
{
	struct reap *r = (struct reap *)(void *)op;

	op_cancel(&r->waiting);
	loop_cancel(&r->timer);
	json_free(&r->found);
	mem_free(r);
}

static const struct op_type reap_type = { "docker reap", reap_cancel };

static void
reap_finish(struct reap *r)
{
	struct err err = r->err;
	backend_probe_cb *cb = r->cb;
	void *arg = r->arg;

	json_free(&r->found);
	op_finish(&r->op);
	mem_free(r);
	cb(arg, err.code ? &err : NULL);
}

static void
on_gone(void *arg, const struct engine_res *res)
{
	struct reap *r = arg;

	r->waiting = NULL;
	if (res->err && res->err->code != ERR_NOT_FOUND &&
	    res->err->code != ERR_EXISTS) {
		log_warn("docker", NULL, "a container that was left behind can't be "
		    "removed: %s", res->err->text);
		r->err = *res->err;
	}
	reap_next(r);
}

static bool
is_open(const struct backend_inst *inst, const struct json *c)
{
	const char *id = json_get_str(c, "Id", "");
	const char *name = docker_entry_name(c);
	const struct box *box;

	TAILQ_FOREACH(box, &inst->boxes, entry)
		if (strcmp(box->name, name) == 0 ||
		    (box->container && strcmp(box->container, id) == 0))
			return true;
	return false;
}

/* To be taken over at the next command of that sandbox: only stopped. */
static bool
is_kept(const struct backend_inst *inst, const struct json *c)
{
	const struct json *labels = json_get(c, "Labels");
	long long deadline = strtoll(json_get_str(labels, "gatehouse.deadline",
	    "0"), NULL, 10);

	return inst->opts.persist_across && inst->opts.persistent &&
	    *json_get_str(labels, "gatehouse.digest", "") &&
	    strcmp(json_get_str(labels, "gatehouse.instance", ""),
		inst->instance_id) == 0 &&
	    loop_wall(inst->loop) / 1000 < deadline;
}

static void
reap_next(struct reap *r)
{
	struct backend_inst *inst = r->inst;

	while (r->at && r->n < REAP_MAX) {
		const struct json *c = r->at;
		const char *id = json_get_str(c, "Id", "");
		bool running = strcmp(json_get_str(c, "State", ""), "running") == 0;
		enum docker_whose whose = docker_whose(inst, c);
		bool kept = is_kept(inst, c);

		r->at = json_next(c);
		/* What this process itself left is ended by the next open. */
		if (is_open(inst, c) || whose != WHOSE_DEAD || (kept && !running))
			continue;
		r->n++;
		log_info("docker", NULL, "%s container %s: its process has ended",
		    kept ? "stopping" : "removing", docker_entry_name(c));
		CLEANUP_FREE char *path = mem_printf(kept ?
		    "/containers/%s/stop?t=0" : "/containers/%s?force=1&v=1", id);
		struct engine_req req = { .method = kept ? "POST" : "DELETE",
			.path = path };
		r->waiting = engine_call(inst->engine, &req, on_gone, r);
		return;
	}
	reap_finish(r);
}

static void
on_listed(void *arg, const struct engine_res *res)
{
	struct reap *r = arg;

	r->waiting = NULL;
	if (res->err) {
		r->err = *res->err;
		reap_finish(r);
		return;
	}
	r->found = res->json ? json_clone(res->json) : json_array();
	r->at = json_first(r->found);
	reap_next(r);
}

static void
reap_begin(void *arg)
{
	struct reap *r = arg;
	static const char *const labels[] = { "gatehouse=1", NULL };
	CLEANUP_FREE char *path = docker_list_path(labels);
	struct engine_req req = { .method = "GET", .path = path,
		.max_body = 16u << 20 };

	r->timer = NULL;
	if (r->inst->opts.reap)
		r->waiting = engine_call(r->inst->engine, &req, on_listed, r);
	else
		reap_finish(r);
}

struct op *
docker_reap(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct reap *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &reap_type);
	r->inst = inst;
	r->cb = cb;
	r->arg = arg;
	r->timer = loop_defer(inst->loop, "docker reap", reap_begin, r);
	return &r->op;
}
