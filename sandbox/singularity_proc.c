/*
 * One command in an instance: an exec of our helper, whose request goes over its
 * standard input.  Killing the program that entered the instance ends nothing
 * inside, so a tree ends by its helper: by a word over the stream, else by a
 * second exec, else with the whole instance.
 */
#include "sandbox/singularity_priv.h"

#include <string.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/native-init/far_proto.h"

#define DEAF_MS 500		/* for the word over the stream */
#define HUNT_MS 2500		/* of which 1 s is the killing side's own */
#define LEAVE_MS 1000		/* for the program, when its command is over */
#define ID_LEN 20
#define SPARE_MAX 40

struct proc {
	TAILQ_ENTRY(proc) entry;
	struct box *box;
	char id[ID_LEN + 1];	/* of its tree, inside */
	struct cli *cli;	/* NULL: the near end is dead */
	struct far *far;
	bool far_ended;		/* it has had its last word */
	bool over;		/* the tree is dead, or never was */
	bool killed;
	struct op *hunt;
	struct timer *timer;
	struct err why;		/* what dead is told with */
	const struct proc_events *events;
	void *arg;
};

static void hunt(struct proc *p, bool sweep);

static void
proc_end(struct proc *p)
{
	const struct proc_events *events = p->events;
	void *arg = p->arg;
	struct err err = p->why;

	TAILQ_REMOVE(&p->box->procs, p, entry);
	far_free(&p->far);
	op_cancel(&p->hunt);
	loop_cancel(&p->timer);
	mem_free(p);
	events->dead(arg, err.code ? &err : NULL);
}

static void
on_lingers(void *arg)
{
	struct proc *p = arg;

	p->timer = NULL;
	if (p->cli)
		cli_kill(p->cli);
	else
		proc_end(p);
}

/* The tree is dead; told when the near end is, too. */
static void
proc_over(struct proc *p, msec_t patience_ms)
{
	p->over = true;
	op_cancel(&p->hunt);
	loop_cancel(&p->timer);
	p->timer = loop_after(p->box->inst->loop, patience_ms, "container call",
	    on_lingers, p);
}

/* Why it ended, now that nothing of it is left. */
static void
settle(struct proc *p)
{
	if (p->killed)		/* that is what was wanted */
		p->why.code = ERR_NONE;
	else if (p->why.code)
		p->why.code = far_started(p->far) ? ERR_LOST : ERR_UNAVAILABLE;
}

/* ---- the killing side ------------------------------------------------------------------ */

static void
stop_instance(struct box *box)
{
	if (!box->instance)
		return;
	log_warn("singularity", NULL, "%s: a tree survives its kill, the instance "
	    "is ended", box->name);
	box->dead = true;
	cli_kill(box->instance);
}

void
sgl_box_gone(struct box *box, const struct err *err)
{
	struct proc *p, *next;

	for (p = TAILQ_FIRST(&box->procs); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (p->over)
			continue;
		if (err) {
			p->why = *err;
			p->why.code = ERR_LOST;
		} else if (p->killed) {
			p->why.code = ERR_NONE;
		} else {
			err_set(&p->why, far_started(p->far) ? ERR_LOST :
			    ERR_NOT_FOUND, "the instance of this sandbox has ended; "
			    "what ran in it is lost");
		}
		p->far_ended = true;
		proc_over(p, 0);
	}
}

/* Nobody may have been found because its helper was not there yet. */
static void
on_hunted(void *arg, const struct cli_end *end)
{
	struct proc *p = arg;
	bool dead = !end->err && end->status == 0 &&
	    strstr(end->out, FAR_KILL_DEAD);

	p->hunt = NULL;
	if (!dead) {
		stop_instance(p->box);
		return;
	}
	if (p->cli) {
		cli_kill(p->cli);	/* its end starts the last look */
		return;
	}
	settle(p);
	proc_end(p);
}

static void
hunt(struct proc *p, bool sweep)
{
	struct box *box = p->box;
	CLEANUP_FREE char *name = mem_printf("instance://%s", box->name);
	const char *argv[SGL_ARGS_MAX + 1] = { NULL, "-q", "exec", name, SGL_HELPER,
		"far-kill", p->id };
	struct cli_spec spec = { .argv = argv, .limit_ms = HUNT_MS };
	struct proc *other;
	size_t n = 7, spared = 0;

	if (p->hunt || p->over)
		return;
	loop_cancel(&p->timer);
	if (sweep)
		argv[n++] = "--sweep";
	TAILQ_FOREACH(other, &box->procs, entry)
		if (sweep && other != p && !other->over && spared++ < SPARE_MAX)
			argv[n++] = other->id;
	if (box->dead || spared > SPARE_MAX)
		stop_instance(box);	/* its end is told by sgl_box_gone() */
	else
		p->hunt = cli_run(box->inst, &spec, on_hunted, p);
}

static void
on_deaf(void *arg)
{
	struct proc *p = arg;

	p->timer = NULL;
	hunt(p, false);
}

void
sgl_kill(struct proc *p)
{
	p->killed = true;
	if (p->over)
		return;
	if (!p->far_ended)
		far_kill(p->far);
	if (!p->timer && !p->hunt)
		p->timer = loop_after(p->box->inst->loop, DEAF_MS,
		    "singularity kill", on_deaf, p);
}

/* ---- events of the helper ------------------------------------------------------------------- */

static size_t
io_write(void *arg, const void *data, size_t len)
{
	struct proc *p = arg;

	return p->cli ? cli_write(p->cli, data, len) : 0;
}

/* Confirmed, or a case for the killing side, when the near end is dead. */
static void
io_end(void *arg, const struct err *err)
{
	struct proc *p = arg;

	p->far_ended = true;
	if (err)
		p->why = *err;
	if (!err || err->code == ERR_UNAVAILABLE)
		proc_over(p, LEAVE_MS);
	else if (p->cli)
		cli_kill(p->cli);
}

static const struct far_io io = { io_write, io_end, NULL };

/* ---- the near end ------------------------------------------------------------------------------ */

static void
on_output(void *arg, const char *data, size_t len)
{
	struct proc *p = arg;

	if (!p->far_ended)
		far_input(p->far, data, len);
}

static void
on_writable(void *arg)
{
	struct proc *p = arg;

	if (!p->far_ended)
		far_writable(p->far);
}

static void
on_exited(void *arg, const struct cli_end *end)
{
	struct proc *p = arg;

	if (!p->far_ended)
		far_lost(p->far, end->err ? end->err->text :
		    *end->said ? end->said : NULL);
}

/* err: the launcher or the keeper is gone, and the instance's with it. */
static void
on_dead(void *arg, const struct err *err)
{
	struct proc *p = arg;

	p->cli = NULL;
	if (p->over) {
		proc_end(p);
	} else if (err) {
		p->why = *err;
		p->why.code = ERR_LOST;
		stop_instance(p->box);
		proc_end(p);
	} else if (!p->box->instance) {
		settle(p);
		proc_end(p);
	} else {
		op_cancel(&p->hunt);
		hunt(p, true);
	}
}

struct proc *
sgl_spawn(struct box *box, const struct spawn_req *req, struct err *err)
{
	static const struct cli_events events = {
		on_output, on_writable, on_exited, on_dead,
	};
	CLEANUP_FREE char *name = mem_printf("instance://%s", box->name);
	struct proc *p;

	if (box->dead) {
		err_set(err, ERR_NOT_FOUND, "the instance of this sandbox has ended");
		return NULL;
	}
	p = mem_alloc(sizeof(*p));
	p->box = box;
	ids_hex(p->id, ID_LEN);
	p->events = req->events;
	p->arg = req->arg;
	struct far_spec spec = { .req = req, .dir = SGL_WORKSPACE,
		.seconds = req->seconds, .io = &io, .arg = p };
	const char *const argv[] = { NULL, "-q", "exec", name, SGL_HELPER, "far",
		p->id, NULL };
	struct cli_spec call = { .argv = argv };
	p->far = far_new(&spec);
	p->cli = cli_start(box->inst, &call, &events, p, err);
	if (!p->cli) {
		far_free(&p->far);
		mem_free(p);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&box->procs, p, entry);
	return p;
}

int
sgl_write(struct proc *p, const void *data, size_t len, struct err *err)
{
	if (p->far_ended)
		return err_set(err, ERR_UNAVAILABLE, "the process takes no input "
		    "any more");
	return far_feed(p->far, data, len, err);
}

void
sgl_close_input(struct proc *p)
{
	if (!p->far_ended)
		far_feed_end(p->far);
}

void
sgl_flow(struct proc *p, bool reading)
{
	if (p->cli)
		cli_flow(p->cli, reading);
}
