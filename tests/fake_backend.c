#include "tests/fake_backend.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

struct backend_inst {
	struct loop *loop;
	struct map workspaces;	/* of open boxes */
};

struct box {
	struct backend_inst *inst;
	char *workspace;
	unsigned procs, dying;
};

struct proc {
	struct proc *next;
	struct box *box;
	const struct proc_events *events;
	void *arg;
	struct fake_plan plan;
	struct timer *timer;
	bool started, killed, feed;
};

struct fake fake;
static struct proc *procs;

void
fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.plan = (struct fake_plan){ .probe_ms = 3, .open_ms = 5,
		.close_ms = 2, .start_ms = 1, .run_ms = 4, .dead_ms = 1,
		.kill_ms = 10, .output = "out\n" };
	fake.props = (struct sandbox_props){ .backend = "fake", .level = "full",
		.image = "", .network = "none", .isolation = SANDBOX_ISOLATED,
		.available = true, .why = "", .limits = "",
		.workspace = "/workspace" };
}

static bool
fails(void)
{
	return ++fake.calls == fake.plan.fail_at;
}

static struct backend_inst *
fake_start(const struct backend_env *env, struct err *err)
{
	if (fails()) {
		err_set(err, ERR_CONFIG, "fake start failed");
		return NULL;
	}
	struct backend_inst *inst = mem_alloc(sizeof(*inst));
	inst->loop = env->loop;
	map_init(&inst->workspaces);
	return inst;
}

static void
fake_stop(struct backend_inst **instp)
{
	struct backend_inst *inst = STEAL(*instp);

	assert_int_equal(fake.boxes, 0);
	map_done(&inst->workspaces);
	mem_free(inst);
}

struct call {
	struct op op;
	struct timer *timer;
	struct backend_inst *inst;
	struct box *box;
	bool failed;
	backend_probe_cb *probed;
	box_open_cb *opened;
	box_close_cb *closed;
	box_usage_cb *emptied, *measured;
	void *arg;
};

static void
box_free(struct box *box)
{
	assert_int_equal(box->procs, 0);
	map_remove(&box->inst->workspaces, box->workspace);
	mem_free(box->workspace);
	mem_free(box);
	fake.boxes--;
}

static void
call_cancel(struct op *op)
{
	struct call *c = (struct call *)(void *)op;

	loop_cancel(&c->timer);
	if (c->box)
		box_free(c->box);
	mem_free(c);
}

static const struct op_type call_type = { "fake", call_cancel };

static void
on_call(void *arg)
{
	struct call *c = arg;
	struct err err = { ERR_NONE, "" };

	err_set(&err, ERR_UNAVAILABLE, "%s", fake.plan.probe_err && c->probed ?
	    fake.plan.probe_err : "fake call failed");
	c->timer = NULL;
	op_finish(&c->op);
	if (c->measured) {
		err_set(&err, ERR_LIMIT, "directories are nested deeper than 512");
		c->measured(c->arg, &fake.usage, fake.too_deep ? &err : NULL);
	} else if (c->emptied) {
		const struct box_usage usage = { 0, 1 };
		c->emptied(c->arg, &usage, c->failed || fake.plan.empty_fails ?
		    &err : NULL);
	} else if (c->probed) {
		c->probed(c->arg, c->failed || fake.plan.probe_err ? &err : NULL);
	} else if (c->opened && c->failed) {
		box_free(c->box);
		c->opened(c->arg, NULL, &err);
	} else if (c->opened) {
		c->opened(c->arg, c->box, NULL);
	} else {
		box_free(c->box);
		c->closed(c->arg, c->failed ? &err : NULL);
	}
	mem_free(c);
}

static struct call *
call_new(struct backend_inst *inst, msec_t ms, void *arg)
{
	struct call *c = mem_alloc(sizeof(*c));

	op_init(&c->op, &call_type);
	c->inst = inst;
	c->failed = fails();
	c->arg = arg;
	c->timer = loop_after(inst->loop, ms, "fake call", on_call, c);
	return c;
}

static struct op *
fake_probe(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct call *c = call_new(inst, fake.plan.probe_ms, arg);

	c->probed = cb;
	return &c->op;
}

static struct sandbox_props
fake_props(struct backend_inst *inst)
{
	(void)inst;
	return fake.props;
}

static struct op *
fake_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg)
{
	struct call *c = call_new(inst, fake.plan.open_ms, arg);
	struct box *box = mem_alloc(sizeof(*box));

	assert_null(map_get(&inst->workspaces, spec->workspace));
	box->inst = inst;
	box->workspace = mem_str(spec->workspace);
	map_set(&inst->workspaces, spec->workspace, box);
	fake.boxes++;
	assert_true(!fake.props.boxes_max || fake.boxes <= fake.props.boxes_max);
	fake.opens++;
	c->box = box;
	c->opened = cb;
	return &c->op;
}

static struct op *
fake_close(struct box *box, box_close_cb *cb, void *arg)
{
	struct call *c = call_new(box->inst, fake.plan.close_ms, arg);

	assert_int_equal(box->procs, 0);
	fake.closes++;
	c->box = box;
	c->closed = cb;
	return &c->op;
}

static struct op *
fake_empty(struct backend_inst *inst, const char *workspace, box_usage_cb *cb,
	void *arg)
{
	struct call *c = call_new(inst, fake.plan.close_ms, arg);

	assert_null(map_get(&inst->workspaces, workspace));
	assert_int_equal(access(workspace, F_OK), 0);
	fake.emptied++;
	c->emptied = cb;
	return &c->op;
}

static struct op *
fake_measure(struct backend_inst *inst, const char *workspace, box_usage_cb *cb,
	void *arg)
{
	struct call *c = call_new(inst, fake.plan.close_ms, arg);

	assert_int_equal(access(workspace, F_OK), 0);
	fake.measured++;
	c->measured = cb;
	return &c->op;
}

/* ---- processes --------------------------------------------------------------- */

static void
proc_die(struct proc *proc, enum err_code code)
{
	const struct proc_events *events = proc->events;
	void *arg = proc->arg;
	struct err err = { ERR_NONE, "" };
	struct proc **p = &procs;

	loop_cancel(&proc->timer);
	while (*p != proc)
		p = &(*p)->next;
	*p = proc->next;
	proc->box->procs--;
	proc->box->dying -= proc->killed;
	fake.procs--;
	mem_free(proc);
	err_set(&err, code, "fake proc died badly");
	events->dead(arg, code ? &err : NULL);
}

static void
on_dead(void *arg)
{
	struct proc *proc = arg;

	proc->timer = NULL;
	proc_die(proc, proc->plan.dead_code);
}

static void
on_exit(void *arg)
{
	struct proc *proc = arg;
	const struct fake_plan *plan = &proc->plan;

	proc->timer = NULL;
	if (plan->giveback)
		proc->events->giveback(proc->arg, plan->giveback,
		    plan->giveback_len);
	proc->events->exited(proc->arg, plan->status, plan->leftovers);
	if (plan->dead_ms >= 0 && !proc->timer && !proc->killed)
		proc->timer = loop_after(proc->box->inst->loop, plan->dead_ms,
		    "fake dead", on_dead, proc);
}

static void
on_start(void *arg)
{
	struct proc *proc = arg;
	struct loop *loop = proc->box->inst->loop;

	proc->timer = NULL;
	proc->started = true;
	if (proc->plan.run_ms >= 0)
		proc->timer = loop_after(loop, proc->plan.run_ms, "fake exit",
		    proc->plan.dead_code ? on_dead : on_exit, proc);
	proc->events->started(proc->arg, 4711);
	if (proc->plan.output)
		proc->events->output(proc->arg, 1, proc->plan.output,
		    strlen(proc->plan.output));
}

static void
remember(const struct spawn_req *req)
{
	size_t n = req->script_len < sizeof(fake.last_script) - 1 ?
	    req->script_len : sizeof(fake.last_script) - 1;
	struct buf env;

	memcpy(fake.last_script, req->script, n);
	fake.last_script[n] = 0;
	buf_init(&env, sizeof(fake.last_env) - 1);
	for (const char *const *e = req->env; *e; e++)
		buf_printf(&env, "%s\n", *e);
	memcpy(fake.last_env, env.data, env.len + 1);
	buf_done(&env);
}

static struct proc *
fake_spawn(struct box *box, const struct spawn_req *req, struct err *err)
{
	struct proc *proc;

	assert_int_equal(box->dying, 0);	/* rules 1.11 */
	fake.spawns++;
	if (fails()) {
		err_set(err, ERR_IO, "fake spawn failed");
		return NULL;
	}
	remember(req);
	proc = mem_alloc(sizeof(*proc));
	proc->box = box;
	proc->events = req->events;
	proc->arg = req->arg;
	proc->plan = fake.plan;
	proc->feed = req->feed;
	assert_false(req->feed && req->input);
	proc->next = procs;
	procs = proc;
	box->procs++;
	fake.procs++;
	proc->timer = loop_after(box->inst->loop, fake.plan.start_ms,
	    "fake start", fake.plan.never_starts ? on_dead : on_start, proc);
	return proc;
}

static void
fake_kill(struct proc *proc)
{
	fake.kills++;
	if (!proc->killed)
		proc->box->dying++;
	proc->killed = true;
	proc->plan.dead_code = ERR_NONE;
	loop_cancel(&proc->timer);
	if (proc->plan.kill_ms >= 0)
		proc->timer = loop_after(proc->box->inst->loop,
		    proc->plan.kill_ms, "fake killed", on_dead, proc);
}

void
fake_let_die(void)
{
	struct proc *p, *next;

	for (p = procs; p; p = next) {
		next = p->next;
		if (p->killed)
			proc_die(p, ERR_NONE);
	}
}

static void
fake_flow(struct proc *proc, bool reading)
{
	(void)proc;
	fake.pauses += !reading;
}

static int
fake_write(struct proc *proc, const void *data, size_t len, struct err *err)
{
	size_t has = strlen(fake.input);

	assert_true(proc->feed && proc->started && !proc->killed);
	if (fake.input_max && has + len > fake.input_max)
		return err_set(err, ERR_LIMIT, "it does not read its input");
	assert_true(has + len < sizeof(fake.input));
	memcpy(fake.input + has, data, len);
	return 0;
}

static void
fake_close_input(struct proc *proc)
{
	assert_int_equal(fake_write(proc, "\004", 1, NULL), 0);
}

void
fake_print(const char *text)
{
	assert_non_null(procs);
	procs->events->output(procs->arg, 1, text, strlen(text));
}

static struct op *
fake_reap(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct call *c = call_new(inst, fake.plan.probe_ms, arg);

	fake.reaped++;
	c->probed = cb;
	return &c->op;
}

static struct backend backend_fake = {
	.name = "fake",
	.start = fake_start, .stop = fake_stop, .probe = fake_probe,
	.props = fake_props, .open = fake_open, .close = fake_close,
	.empty = fake_empty, .measure = fake_measure,
	.spawn = fake_spawn, .kill = fake_kill, .flow = fake_flow,
	.write = fake_write, .close_input = fake_close_input,
};

/* In place of sandbox/disk.c. */
int
disk_space(const char *path, struct disk_space *ret)
{
	assert_non_null(path);
	*ret = fake.disk;
	return fake.disk.total ? 0 : -1;
}

/* In place of sandbox/backend.c. */
const struct backend *
backend_find(const char *name)
{
	backend_fake.reap = fake.reaps ? fake_reap : NULL;
	return strcmp(name, "fake") == 0 ? &backend_fake : NULL;
}

const void *
backend_opts(const struct backend *backend, const struct sandbox_opts *opts)
{
	(void)backend, (void)opts;
	return NULL;
}
