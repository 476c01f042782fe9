/*
 * The proof at the start: a child that has left its session and its parent
 * must be dead when its tree is reported dead.
 *
 *   OPEN -> START -> KILL -> LOOK
 */
#include "sandbox/ssh_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static const char script[] =
	"(setsid sh -c 'echo \"pid=$$=\"; exec sleep 600' &)\n"
	"exec sleep 600\n";

struct trial {
	struct op op;
	struct backend_inst *inst;
	struct box box;
	struct op *waiting;
	struct timer *timer;
	struct proc *proc;
	struct buf out;
	long pid;
	bool forgotten;
	struct err err;
	backend_probe_cb *cb;
	void *arg;
};

static void
trial_free(struct trial *t)
{
	op_cancel(&t->waiting);
	loop_cancel(&t->timer);
	buf_done(&t->out);
	mem_free(t->box.prefix);
	mem_free(t);
}

/* The proc's events come as long as it lives; the memory must, too. */
static void
trial_cancel(struct op *op)
{
	struct trial *t = (struct trial *)(void *)op;

	t->forgotten = true;
	op_cancel(&t->waiting);
	loop_cancel(&t->timer);
	if (t->proc)
		ssh_kill(t->proc);
	else
		trial_free(t);
}

static const struct op_type trial_type = { "ssh trial", trial_cancel };

static void
trial_end(struct trial *t, const struct err *err)
{
	op_finish(&t->op);
	t->cb(t->arg, err);
	trial_free(t);
}

static void
on_looked(void *arg, int status, const char *out, size_t len,
	const struct err *err)
{
	struct trial *t = arg;
	struct err failed = { ERR_NONE, "" };

	(void)status;
	t->waiting = NULL;
	if (err)
		failed = *err;
	else if (!memmem(out, len, "gone", 4))
		err_set(&failed, ERR_UNAVAILABLE, "%s: a process that had left its "
		    "parent survived the end of its command", t->inst->name);
	trial_end(t, failed.code ? &failed : NULL);
}

static void
on_started(void *arg, int pid)
{
	(void)arg, (void)pid;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct trial *t = arg;
	const char *at;

	(void)fd;
	buf_add(&t->out, data, len);
	at = strstr(t->out.data, "pid=");
	if (t->pid || !at || !strchr(at + 4, '='))
		return;
	t->pid = strtol(at + 4, NULL, 10);
	ssh_kill(t->proc);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	(void)arg, (void)data, (void)len;
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	(void)arg, (void)wait_status, (void)leftovers;
}

static void
on_dead(void *arg, const struct err *err)
{
	struct trial *t = arg;
	struct err failed = { ERR_NONE, "" };

	t->proc = NULL;
	if (t->forgotten) {
		trial_free(t);
		return;
	}
	loop_cancel(&t->timer);
	if (err)
		failed = *err;
	else if (t->pid <= 1)
		err_set(&failed, ERR_UNAVAILABLE, "%s: a shell did not do as it "
		    "was told; it said: %.200s", t->inst->name, t->out.data);
	if (failed.code) {
		trial_end(t, &failed);
		return;
	}
	CLEANUP_FREE char *command = mem_printf("kill -0 %ld 2>/dev/null && echo "
	    "alive || echo gone", t->pid);
	t->waiting = ssh_run(t->inst->link, t->inst->loop, "exec sh", command,
	    strlen(command), false, SSH_SHORT_MS, on_looked, t);
}

static void
on_late(void *arg)
{
	struct trial *t = arg;

	t->timer = NULL;
	ssh_kill(t->proc);
}

static void
on_clean(void *arg, const struct err *err)
{
	static const struct proc_events events = {
		on_started, on_output, on_giveback, on_exited, on_dead,
	};
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
		NULL };
	struct spawn_req req = { .script = script, .script_len = strlen(script),
		.env = env, .events = &events };
	struct trial *t = arg;

	t->waiting = NULL;
	t->err = err ? *err : t->err;
	req.arg = t;
	if (!err)
		t->proc = ssh_spawn(&t->box, &req, &t->err);
	if (!t->proc) {
		struct err failed = t->err;
		trial_end(t, &failed);
		return;
	}
	t->timer = loop_after(t->inst->loop, SSH_SHORT_MS, "ssh trial", on_late, t);
}

struct op *
ssh_trial(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct trial *t = mem_alloc(sizeof(*t));

	op_init(&t->op, &trial_type);
	t->inst = inst;
	t->cb = cb;
	t->arg = arg;
	buf_init(&t->out, 4096);
	TAILQ_INIT(&t->box.procs);
	t->box.inst = inst;
	t->box.prefix = mem_printf("%strial.", inst->prefix);
	t->waiting = ssh_reap(inst, t->box.prefix, false, on_clean, t);
	return &t->op;
}
