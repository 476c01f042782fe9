/*
 * One command on the other machine: our helper in a channel of its own, whose
 * request goes over the channel, so that nothing of it is in anybody's
 * arguments.  When the connection is lost the helper there ends its tree by
 * itself; that is confirmed when the sandbox is opened again.
 */
#include "sandbox/ssh_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define DEAF_MS 1500		/* for the word over the channel */

struct proc {
	TAILQ_ENTRY(proc) entry;
	struct box *box;
	char *id;
	struct ssh_chan *chan;	/* NULL: closed */
	struct far *far;	/* NULL: it has had its last word */
	struct op *reap;
	struct timer *timer;
	bool opened, started, killed;
	struct err why;
	const struct proc_events *events;
	void *arg;
};

static void
proc_end(struct proc *p)
{
	const struct proc_events *events = p->events;
	void *arg = p->arg;
	struct err err = p->why;

	TAILQ_REMOVE(&p->box->procs, p, entry);
	far_free(&p->far);
	ssh_chan_free(&p->chan);
	op_cancel(&p->reap);
	loop_cancel(&p->timer);
	mem_free(p->id);
	mem_free(p);
	events->dead(arg, err.code ? &err : NULL);
}

/* ---- the killing side ----------------------------------------------------------- */

static void
on_reaped(void *arg, const struct err *err)
{
	struct proc *p = arg;

	p->reap = NULL;
	if (err) {
		log_warn("ssh", NULL, "%s", err->text);
		return;		/* the reaper of sandboxes kills again */
	}
	if (p->killed)		/* that is what was wanted */
		p->why.code = ERR_NONE;
	proc_end(p);
}

static void
on_deaf(void *arg)
{
	struct proc *p = arg;

	p->timer = NULL;
	if (!p->reap)
		p->reap = ssh_reap(p->box->inst, p->id, true, on_reaped, p);
}

void
ssh_kill(struct proc *p)
{
	struct loop *loop = p->box->inst->loop;

	p->killed = true;
	if (!p->opened && p->chan) {	/* it has not got its request */
		ssh_chan_free(&p->chan);
		far_free(&p->far);
	}
	if (p->far)
		far_kill(p->far);
	if (!p->timer && !p->reap)
		p->timer = loop_after(loop, p->far ? DEAF_MS : 0, "ssh kill",
		    on_deaf, p);
}

/* ---- events of the helper ------------------------------------------------------------ */

static size_t
io_write(void *arg, const void *data, size_t len)
{
	struct proc *p = arg;

	return p->chan && p->opened && ssh_chan_send(p->chan, data, len) ? len : 0;
}

/*
 * Confirmed dead, or never started; else the connection or the helper is gone.
 * The first is the next open's business, the second ours.
 */
static void
io_end(void *arg, const struct err *err)
{
	struct proc *p = arg;

	if (!err || err->code == ERR_UNAVAILABLE) {
		if (err)
			p->why = *err;
		proc_end(p);
		return;
	}
	p->why = *err;
	p->why.code = p->opened ? ERR_LOST : ERR_NOT_FOUND;
	if (!ssh_link_is_up(p->box->inst->link)) {
		proc_end(p);
		return;
	}
	far_free(&p->far);
	ssh_chan_free(&p->chan);
	if (!p->timer && !p->reap)
		p->timer = loop_after(p->box->inst->loop, 0, "ssh kill", on_deaf, p);
}

static void
io_started(void *arg)
{
	struct proc *p = arg;

	p->started = true;
}

static const struct far_io io = { io_write, io_end, io_started };

/* ---- the channel ------------------------------------------------------------------------ */

static void
on_opened(void *arg)
{
	struct proc *p = arg;

	p->opened = true;
	far_writable(p->far);
}

static void
on_data(void *arg, int fd, const char *data, size_t len)
{
	struct proc *p = arg;

	/* Before the helper's first word both are an error's text. */
	if (p->far && (fd == 1 || !p->started))
		far_input(p->far, data, len);
}

static void
on_closed(void *arg, int status, const char *signal, const struct err *err)
{
	struct proc *p = arg;

	(void)status, (void)signal;
	p->chan = NULL;
	if (!p->far)
		return;
	if (err && err->code != ERR_LOST) {
		p->why = *err;
		proc_end(p);
		return;
	}
	far_lost(p->far, err ? err->text : NULL);
}

static const struct ssh_chan_events chan_events = {
	on_opened, on_data, on_closed,
};

struct proc *
ssh_spawn(struct box *box, const struct spawn_req *req, struct err *err)
{
	struct backend_inst *inst = box->inst;

	if (!ssh_host_is_ready(inst)) {
		err_set(err, ERR_NOT_FOUND, "the connection to %s was closed",
		    inst->name);
		return NULL;
	}
	struct proc *p = mem_alloc(sizeof(*p));
	TAILQ_INSERT_TAIL(&box->procs, p, entry);
	p->box = box;
	p->id = mem_printf("%s%u", box->prefix, ++box->serial);
	p->events = req->events;
	p->arg = req->arg;
	struct far_spec spec = { .req = req, .dir = "", .seconds = req->seconds, .io = &io,
		.arg = p };
	p->far = far_new(&spec);
	CLEANUP_FREE char *command = mem_printf("exec '%s' far %s",
	    inst->host.helper, p->id);
	p->chan = ssh_chan_exec(inst->link, command, false, &chan_events, p);
	return p;
}

int
ssh_write(struct proc *p, const void *data, size_t len, struct err *err)
{
	if (!p->far)
		return err_set(err, ERR_UNAVAILABLE, "the process takes no input "
		    "any more");
	return far_feed(p->far, data, len, err);
}

void
ssh_close_input(struct proc *p)
{
	if (p->far)
		far_feed_end(p->far);
}

void
ssh_flow(struct proc *p, bool reading)
{
	if (p->chan)
		ssh_chan_flow(p->chan, reading);
}
