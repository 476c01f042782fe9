/* What is in a workspace: removed or measured by the helper, see tend.c there. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "sandbox/native_priv.h"

struct tend {
	struct op op;
	struct chan *chan;
	struct timer *failing;
	struct box_usage usage;
	struct err err;
	box_usage_cb *cb;
	void *arg;
};

static void
tend_free(struct tend *t)
{
	chan_free(&t->chan);
	loop_cancel(&t->failing);
	mem_free(t);
}

static void
tend_cancel(struct op *op)
{
	tend_free((struct tend *)(void *)op);
}

static const struct op_type tend_type = { "native tend", tend_cancel };

static void
tend_finish(struct tend *t)
{
	struct box_usage usage = t->usage;
	struct err err = t->err;
	box_usage_cb *cb = t->cb;
	void *arg = t->arg;

	op_finish(&t->op);
	tend_free(t);
	cb(arg, &usage, err.code ? &err : NULL);
}

static void
on_frame(void *arg, struct wire_in *in, unsigned type, const int *fds,
	size_t nfds)
{
	struct tend *t = arg;

	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	t->usage.bytes = wire_get_u64(in);
	t->usage.entries = wire_get_u64(in);
	uint32_t errnum = wire_get_u32(in);
	const char *where = wire_get_str(in);
	if (type != TEND_DONE || !wire_in_end(in))
		err_set(&t->err, ERR_INTERNAL, "the helper answered with a bad frame");
	else if (errnum == ENAMETOOLONG)
		err_set(&t->err, ERR_LIMIT, "directories are nested deeper than %d",
			TEND_DEPTH_MAX);
	else if (errnum)
		err_set_errno(&t->err, (int)errnum, "\"%s\" in the workspace", where);
	tend_finish(t);
}

static void
on_end(void *arg)
{
	struct tend *t = arg;

	err_set(&t->err, ERR_UNAVAILABLE, "the helper ended before the work on a "
		"workspace did");
	tend_finish(t);
}

static void
on_failing(void *arg)
{
	struct tend *t = arg;

	t->failing = NULL;
	tend_finish(t);
}

static int
send_request(struct tend *t, struct backend_inst *inst, enum tend_verb verb,
	const char *workspace)
{
	static const struct chan_events events = { on_frame, on_end };
	CLEANUP_FREE char *below = native_below(inst, workspace);
	struct wire_out out;
	int pair[2];

	if (!below)
		return err_set(&t->err, ERR_NOT_FOUND, "the workspace %s is not a "
			"directory below %s", workspace, inst->state_dir);
	if (chan_pair(pair) < 0)
		return err_set_errno(&t->err, errno, "a socket for the helper");
	t->chan = chan_new(inst->loop, pair[0], "native tend", &events, t);
	wire_out_init(&out, LAUNCHER_TEND);
	wire_put_u32(&out, verb);
	wire_put_str(&out, below);
	int result = launcher_request(inst->launcher, &out, &pair[1], 1, &t->err);
	close(pair[1]);
	return result;
}

static struct op *
tend_start(struct backend_inst *inst, enum tend_verb verb,
	const char *workspace, box_usage_cb *cb, void *arg)
{
	struct tend *t = mem_alloc(sizeof(*t));

	op_init(&t->op, &tend_type);
	t->cb = cb;
	t->arg = arg;
	if (send_request(t, inst, verb, workspace) < 0) {
		chan_free(&t->chan);
		t->failing = loop_defer(inst->loop, "native tend", on_failing, t);
	}
	return &t->op;
}

struct op *
native_empty(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg)
{
	return tend_start(inst, TEND_EMPTY, workspace, cb, arg);
}

struct op *
native_measure(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg)
{
	return tend_start(inst, TEND_MEASURE, workspace, cb, arg);
}
