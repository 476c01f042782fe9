/* The killing side: a second command over the connection, by ids. */
#include "sandbox/ssh_priv.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/native-init/far_proto.h"

struct reap {
	struct op op;
	struct backend_inst *inst;
	struct op *waiting;
	char *id;
	bool whole;
	ssh_ready_cb *cb;
	void *arg;
};

static void
reap_free(struct reap *r)
{
	op_cancel(&r->waiting);
	mem_free(r->id);
	mem_free(r);
}

static void
reap_cancel(struct op *op)
{
	reap_free((struct reap *)(void *)op);
}

static const struct op_type reap_type = { "ssh reap", reap_cancel };

static void
reap_end(struct reap *r, const struct err *err)
{
	op_finish(&r->op);
	r->cb(r->arg, err);
	reap_free(r);
}

static void
on_run(void *arg, int status, const char *out, size_t len, const struct err *err)
{
	struct reap *r = arg;
	struct err failed = { ERR_NONE, "" };
	bool dead = memmem(out, len, FAR_KILL_DEAD, strlen(FAR_KILL_DEAD)) != NULL;

	r->waiting = NULL;
	if (!err && dead && status == 0) {
		reap_end(r, NULL);
		return;
	}
	if (err)
		failed = *err;
	else
		err_set(&failed, ERR_UNAVAILABLE, "%s: processes of a stopped "
		    "command could not be ended", r->inst->name);
	reap_end(r, &failed);
}

static void
on_ready(void *arg, const struct err *err)
{
	struct reap *r = arg;

	r->waiting = NULL;
	if (err) {
		struct err failed = *err;
		reap_end(r, &failed);
		return;
	}
	CLEANUP_FREE char *command = mem_printf("exec '%s' far-kill %s%s",
	    r->inst->host.helper, r->id, r->whole ? "" : " --prefix");
	r->waiting = ssh_run(r->inst->link, r->inst->loop, command, NULL, 0, true,
	    SSH_SHORT_MS, on_run, r);
}

struct op *
ssh_reap(struct backend_inst *inst, const char *id, bool whole, ssh_ready_cb *cb,
	void *arg)
{
	struct reap *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &reap_type);
	r->inst = inst;
	r->id = mem_str(id);
	r->whole = whole;
	r->cb = cb;
	r->arg = arg;
	r->waiting = ssh_host_ready(inst, on_ready, r);
	return &r->op;
}
