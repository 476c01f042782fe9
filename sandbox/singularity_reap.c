/*
 * Instances that no living process of ours holds.  Normally there are none: an
 * instance's keeper ends it with the gateway.  One is left when the keeper itself
 * was killed.
 *
 *   LIST -> STOP each
 */
#include "sandbox/singularity_priv.h"

#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

#define REAP_MAX 500

struct reap {
	struct op op;
	struct backend_inst *inst;
	struct op *waiting;
	struct json *found;
	const struct json *at;
	unsigned n;
	struct err err;
	sgl_done_cb *cb;
	void *arg;
};

static void
reap_free(struct reap *r)
{
	op_cancel(&r->waiting);
	json_free(&r->found);
	mem_free(r);
}

static void
reap_cancel(struct op *op)
{
	reap_free((struct reap *)(void *)op);
}

static const struct op_type reap_type = { "instances left", reap_cancel };

static void
reap_end(struct reap *r)
{
	struct err err = r->err;
	sgl_done_cb *cb = r->cb;
	void *arg = r->arg;

	r->inst->unswept = err.code != ERR_NONE;
	op_finish(&r->op);
	reap_free(r);
	cb(arg, err.code ? &err : NULL);
}

/* Names hold the hash of our instance: another boot of it is over. */
static bool
is_left(const struct backend_inst *inst, const char *name)
{
	const char *owner;
	const struct box *box;

	if (strncmp(name, inst->prefix, strlen(inst->prefix)) != 0)
		return false;
	TAILQ_FOREACH(box, &inst->boxes, entry)
		if (strcmp(box->name, name) == 0)
			return false;
	enum owner_is is = owner_judge(name, &owner);
	return is != OWNER_LIVING && is != OWNER_NONE;
}

static void reap_next(struct reap *r);

static void
on_stopped(void *arg, const struct cli_end *end)
{
	struct reap *r = arg;

	r->waiting = NULL;
	if (end->err || end->status != 0) {
		cli_failed(&r->err, end, "an instance that was left behind can't be "
		    "stopped (apptainer instance list shows it)");
		log_warn("singularity", NULL, "%s", r->err.text);
	}
	reap_next(r);
}

static void
reap_next(struct reap *r)
{
	while (r->at && r->n < REAP_MAX) {
		const char *name = json_get_str(r->at, "instance", "");

		r->at = json_next(r->at);
		if (!is_left(r->inst, name))
			continue;
		const char *const argv[] = { NULL, "instance", "stop", "-F", name,
			NULL };
		struct cli_spec spec = { .argv = argv, .limit_ms = SGL_SHORT_MS };
		r->n++;
		log_info("singularity", NULL, "stopping %s: its process has ended",
		    name);
		r->waiting = cli_run(r->inst, &spec, on_stopped, r);
		return;
	}
	reap_end(r);
}

static void
on_listed(void *arg, const struct cli_end *end)
{
	struct reap *r = arg;

	r->waiting = NULL;
	if (end->err || end->status != 0) {
		cli_failed(&r->err, end, "listing instances failed");
	} else {
		r->found = json_parse(end->out, end->out_len, &r->err);
		if (!r->found)
			err_wrap(&r->err, "%s instance list --json",
			    r->inst->program);
		r->at = json_first(json_get(r->found, "instances"));
	}
	reap_next(r);
}

struct op *
sgl_reap(struct backend_inst *inst, sgl_done_cb *cb, void *arg)
{
	static const char *const argv[] = { NULL, "instance", "list", "--json",
		NULL };
	struct cli_spec spec = { .argv = argv, .limit_ms = SGL_SHORT_MS };
	struct reap *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &reap_type);
	r->inst = inst;
	r->cb = cb;
	r->arg = arg;
	r->waiting = cli_run(inst, &spec, on_listed, r);
	return &r->op;
}
