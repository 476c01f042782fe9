/*
 * The end of one container: stopped if it is to be taken over later, else
 * removed.  It has a bound of its own; what is left then is found again by its
 * labels, at the next open and by the reaper.
 */
#include "sandbox/docker_priv.h"

#include "base/mem.h"

#define AGAIN_MS 200		/* another removal of it is under way */

struct close_op {
	struct op op;
	struct box *box;
	struct op *waiting;
	struct timer *timer, *again;
	box_close_cb *cb;
	void *arg;
};

static void close_start(void *arg);

static void
close_end(struct close_op *o)
{
	loop_cancel(&o->timer);
	loop_cancel(&o->again);
	op_cancel(&o->waiting);
	o->box->busy = false;
}

static void
close_finish(struct close_op *o, const struct err *err)
{
	box_close_cb *cb = o->cb;
	void *arg = o->arg;
	struct box *box = o->box;
	struct err copy = { ERR_NONE, "" };

	if (err)
		copy = *err;
	close_end(o);
	op_finish(&o->op);
	mem_free(o);
	docker_box_free(box);
	cb(arg, err ? &copy : NULL);
}

static void
close_cancel(struct op *op)
{
	struct close_op *o = (struct close_op *)(void *)op;
	struct box *box = o->box;

	close_end(o);
	mem_free(o);
	docker_box_free(box);
}

static const struct op_type close_type = { "docker close", close_cancel };

static void
close_late(void *arg)
{
	struct close_op *o = arg;
	struct err err = { ERR_NONE, "" };

	o->timer = NULL;
	err_set(&err, ERR_TIMEOUT, "container %s could not be ended within %d s; it "
	    "is tried again every minute", o->box->name, DOCKER_CLOSE_MS / 1000);
	close_finish(o, &err);
}

static void
on_ended(void *arg, const struct engine_res *res)
{
	struct close_op *o = arg;

	o->waiting = NULL;
	if (!res->err || res->err->code == ERR_NOT_FOUND) {
		close_finish(o, NULL);
	} else if (res->err->code == ERR_EXISTS) {
		/* "removal is already in progress": it must be seen to be gone. */
		o->again = loop_after(o->box->inst->loop, AGAIN_MS,
		    "docker close", close_start, o);
	} else {
		struct err err = *res->err;
		err_wrap(&err, "container %s could not be ended", o->box->name);
		close_finish(o, &err);
	}
}

static void
close_start(void *arg)
{
	struct close_op *o = arg;
	const struct docker_opts *opts = &o->box->inst->opts;
	bool keep = opts->persist_across && opts->persistent && !o->box->dirty;
	CLEANUP_FREE char *path = mem_printf(keep ? "/containers/%s/stop?t=0" :
	    "/containers/%s?force=1&v=1", o->box->container);

	o->again = NULL;
	struct engine_req req = { .method = keep ? "POST" : "DELETE",
		.path = path, .total_ms = DOCKER_CLOSE_MS };
	o->waiting = engine_call(o->box->inst->engine, &req, on_ended, o);
}

struct op *
docker_close(struct box *box, box_close_cb *cb, void *arg)
{
	struct close_op *o = mem_alloc(sizeof(*o));

	REQUIRE(!box->busy);
	op_init(&o->op, &close_type);
	o->box = box;
	o->cb = cb;
	o->arg = arg;
	box->busy = true;
	o->timer = loop_after(box->inst->loop, DOCKER_CLOSE_MS, "docker close",
	    close_late, o);
	close_start(o);
	return &o->op;
}
