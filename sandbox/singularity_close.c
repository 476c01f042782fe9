/* The end of a box: its instance is killed, and that is waited for. */
#include "base/mem.h"
#include "sandbox/singularity_priv.h"

#define CLOSE_MS 5000

struct closing {
	struct op op;
	struct box *box;	/* NULL: gone */
	struct timer *timer;
	box_close_cb *cb;
	void *arg;
};

static void
close_end(struct closing *c, const struct err *err)
{
	box_close_cb *cb = c->cb;
	void *arg = c->arg;

	op_finish(&c->op);
	loop_cancel(&c->timer);
	mem_free(c);
	cb(arg, err);
}

static void
close_cancel(struct op *op)
{
	struct closing *c = (struct closing *)(void *)op;

	loop_cancel(&c->timer);
	sgl_box_abandon(c->box);
	mem_free(c);
}

static const struct op_type close_type = { "singularity close", close_cancel };

static void
on_closed(void *arg)
{
	struct closing *c = arg;

	sgl_box_free(STEAL(c->box));
	close_end(c, NULL);
}

static void
on_close_late(void *arg)
{
	struct closing *c = arg;
	struct box *box = c->box;
	struct err err = { ERR_NONE, "" };

	c->timer = NULL;
	if (!box->instance) {
		on_closed(c);
		return;
	}
	err_set(&err, ERR_UNAVAILABLE, "instance %s can't be ended", box->name);
	sgl_box_abandon(box);
	close_end(c, &err);
}

struct op *
sgl_close(struct box *box, box_close_cb *cb, void *arg)
{
	struct closing *c = mem_alloc(sizeof(*c));

	op_init(&c->op, &close_type);
	c->box = box;
	c->cb = cb;
	c->arg = arg;
	box->dead = true;
	box->gone = on_closed;
	box->gone_arg = c;
	if (box->instance)
		cli_kill(box->instance);
	c->timer = loop_after(box->inst->loop, box->instance ? CLOSE_MS : 0,
	    "singularity close", on_close_late, c);
	return &c->op;
}
