/*
 * Backend `local`: commands on the host itself, as children of the launcher's
 * keepers.  It isolates nothing; what it promises is that a tree can be killed.
 */
#include "sandbox/local.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "sandbox/local_priv.h"

#define PROBE_MS 10000

/* ---- start and stop ------------------------------------------------------------ */

static int
find_user(struct backend_inst *inst, struct err *err)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	int errnum = inst->as ?
	    getpwnam_r(inst->as, &pw, buf, sizeof(buf), &found) :
	    getpwuid_r(geteuid(), &pw, buf, sizeof(buf), &found);

	if (!found && inst->as)
		return err_set(err, ERR_CONFIG, "local.user: there is no user "
		    "\"%s\" (%s)", inst->as,
		    errnum ? strerror(errnum) : "not in passwd");
	inst->user = mem_str(found ? pw.pw_name : "unknown");
	inst->home = mem_str(found ? pw.pw_dir : "/");
	return 0;
}

static void
local_stop(struct backend_inst **instp)
{
	struct backend_inst *inst = STEAL(*instp);

	mem_free(inst->as);
	mem_free(inst->user);
	mem_free(inst->home);
	mem_free(inst->cwd);
	mem_free(inst);
}

static struct backend_inst *
local_start(const struct backend_env *env, struct err *err)
{
	const struct local_opts *opts = env->opts;
	const char *as = opts ? opts->user : NULL;
	char cwd[4096];

	if (!env->launcher) {
		err_set(err, ERR_UNAVAILABLE,
		    "backend local: the launcher is not running");
		return NULL;
	}
	if (geteuid() == 0 && !as) {
		err_set(err, ERR_CONFIG, "backend local will not run commands as "
		    "root: write local.user: NAME (an ordinary user), or use "
		    "backend native");
		return NULL;
	}
	if (!launcher_is_root(env->launcher))
		as = NULL;	/* it can't change to anybody */
	if (launcher_allow_local(env->launcher, as, err) < 0)
		return NULL;
	struct backend_inst *inst = mem_alloc(sizeof(*inst));
	inst->loop = env->loop;
	inst->launcher = env->launcher;
	inst->as = mem_str(as);
	inst->bash = access(SHELL_PATH, X_OK) == 0;
	if (find_user(inst, err) < 0) {
		local_stop(&inst);
		return NULL;
	}
	if (opts && opts->cwd && strcmp(opts->cwd, "~") == 0)
		inst->cwd = mem_str(access(inst->home, X_OK) == 0 ?
		    inst->home : "/");	/* "nobody" has none */
	else if (opts && opts->cwd)
		inst->cwd = mem_str(opts->cwd);
	else
		inst->cwd = mem_str(getcwd(cwd, sizeof(cwd)) ? cwd : inst->home);
	return inst;
}

static struct sandbox_props
local_props(struct backend_inst *inst)
{
	return (struct sandbox_props){
		.backend = "local", .level = "", .image = "", .network = "host",
		.isolation = 0, .available = true, .why = "",
		.limits = "none: this backend isolates nothing",
		.workspace = inst->cwd, .home = inst->home, .user = inst->user,
	};
}

/* ---- probe: a shell that does nothing --------------------------------------------- */

struct probe {
	struct op op;
	struct child *child;	/* NULL: dead */
	struct timer *timer;	/* deadline, or the failure to be told */
	bool ok, forgotten;
	struct err err;
	backend_probe_cb *cb;
	void *arg;
};

/* The child's events come as long as it lives; the memory must, too. */
static void
probe_cancel(struct op *op)
{
	struct probe *p = (struct probe *)(void *)op;

	loop_cancel(&p->timer);
	p->forgotten = true;
	if (p->child)
		child_kill(p->child);
	else
		mem_free(p);
}

static const struct op_type probe_type = { "local probe", probe_cancel };

static void
probe_told(void *arg)
{
	struct probe *p = arg;

	p->timer = NULL;
	op_finish(&p->op);
	p->cb(p->arg, p->ok ? NULL : &p->err);
	p->forgotten = true;
	if (!p->child)
		mem_free(p);
}

static void
probe_started(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
}

static void
probe_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct probe *p = arg;

	(void)leftovers;
	p->ok = wait_status == 0;
}

static void
probe_dead(void *arg, const struct err *err)
{
	struct probe *p = arg;

	p->child = NULL;
	if (p->forgotten) {
		mem_free(p);
		return;
	}
	loop_cancel(&p->timer);
	if (err)
		p->err = *err;
	err_wrap(&p->err, "backend local");
	probe_told(p);
}

static void
probe_late(void *arg)
{
	struct probe *p = arg;

	err_set(&p->err, ERR_TIMEOUT, "backend local: a shell did not end "
	    "within %d s", PROBE_MS / 1000);
	child_kill(p->child);
	probe_told(p);
}

static struct op *
local_probe(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	static const struct child_events events = {
		probe_started, probe_exited, probe_dead,
	};
	const char *const argv[] = {
		inst->bash ? SHELL_PATH : "/bin/sh", "-c", ":", NULL,
	};
	const char *const env[] = { NULL };
	static const int fds[] = { -1, -1, -1 };
	struct child_spec spec = {
		.argv = argv, .env = env, .cwd = "/", .fds = fds, .nfds = 3,
		.user = inst->as,
	};
	struct probe *p = mem_alloc(sizeof(*p));

	op_init(&p->op, &probe_type);
	p->cb = cb;
	p->arg = arg;
	err_set(&p->err, ERR_UNAVAILABLE, "%s failed at once", argv[0]);
	p->child = child_spawn(inst->launcher, &spec, &events, p, &p->err);
	p->timer = p->child ?
	    loop_after(inst->loop, PROBE_MS, "local probe", probe_late, p) :
	    loop_defer(inst->loop, "local probe", probe_told, p);
	return &p->op;
}

/* ---- boxes: there is nothing to open ------------------------------------------------- */

struct box_op {
	struct op op;
	struct timer *timer;
	struct box *box;
	box_open_cb *opened;
	box_close_cb *closed;
	void *arg;
};

static void
box_cancel(struct op *op)
{
	struct box_op *b = (struct box_op *)(void *)op;

	loop_cancel(&b->timer);
	mem_free(b->box);
	mem_free(b);
}

static const struct op_type box_type = { "local box", box_cancel };

static void
box_told(void *arg)
{
	struct box_op *b = arg;

	b->timer = NULL;
	op_finish(&b->op);
	if (b->opened) {
		b->opened(b->arg, b->box, NULL);
	} else {
		mem_free(b->box);
		b->closed(b->arg, NULL);
	}
	mem_free(b);
}

static struct op *
box_op(struct box *box, box_open_cb *opened, box_close_cb *closed, void *arg)
{
	struct box_op *b = mem_alloc(sizeof(*b));

	op_init(&b->op, &box_type);
	b->box = box;
	b->opened = opened;
	b->closed = closed;
	b->arg = arg;
	b->timer = loop_defer(box->inst->loop, "local box", box_told, b);
	return &b->op;
}

static struct op *
local_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg)
{
	struct box *box = mem_alloc(sizeof(*box));

	(void)spec;	/* commands live in the user's own directories */
	box->inst = inst;
	return box_op(box, cb, NULL, arg);
}

static struct op *
local_close(struct box *box, box_close_cb *cb, void *arg)
{
	return box_op(box, NULL, cb, arg);
}

const struct backend backend_local = {
	.name = "local",
	.flags = BACKEND_TREE_KILL | BACKEND_STDIN | BACKEND_PTY |
	    BACKEND_RPC | BACKEND_HOST_FILES,
	.start = local_start,
	.stop = local_stop,
	.probe = local_probe,
	.props = local_props,
	.open = local_open,
	.close = local_close,
	.spawn = local_spawn,
	.kill = local_kill,
	.flow = local_flow,
	.write = local_write,
	.close_input = local_close_input,
};
