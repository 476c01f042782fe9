/*
 * Backend native: boxes (one sandbox each, kept by an init in namespaces of
 * its own).  The privileged half is the helper (native-init/); here are
 * requests to it and the life of a box.  Commands are in native_proc.c.
 */
#include "sandbox/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/native_priv.h"
#include "sandbox/proxy.h"

#define OPEN_MS 10000
#define CLOSE_MS 5000

/* An open or a close under way. */
struct box_op {
	struct op op;
	struct box *box;
	struct timer *timer;
	struct err err;
	union {
		box_open_cb *open;
		box_close_cb *close;
	} cb;
	void *arg;
};

static void
request_kill(struct box *box)
{
	struct wire_out out;

	/* If the launcher is gone, so is every init, by its death signal. */
	wire_out_init(&out, LAUNCHER_KILL);
	wire_put_u32(&out, box->id);
	(void)launcher_request(box->inst->launcher, &out, NULL, 0, NULL);
}

static void
box_free(struct box *box)
{
	*box->prev = box->next;
	if (box->next)
		box->next->prev = box->prev;
	chan_free(&box->chan);
	loop_unwatch(&box->watch);
	if (box->pidfd >= 0)
		close(box->pidfd);
	proxy_close(&box->port);
	mem_free(box->limits);
	mem_free(box->name);
	mem_free(box);
}

static void
op_end(struct box_op *o)
{
	loop_cancel(&o->timer);
	op_finish(&o->op);
}

static void
open_finish(struct box_op *o, struct box *box, const struct err *err)
{
	o->box->opening = NULL;
	op_end(o);
	o->cb.open(o->arg, box, err);
	mem_free(o);
}

static void
close_finish(struct box_op *o, const struct err *err)
{
	o->box->closing = NULL;
	op_end(o);
	o->cb.close(o->arg, err);
	mem_free(o);
}

void
native_box_settle(struct box *box)
{
	if (!box->dead || box->procs || !box->closed)
		return;
	struct box_op *o = box->closing;
	if (o)
		box->closing = NULL;
	box_free(box);
	if (!o)
		return;
	op_end(o);
	o->cb.close(o->arg, NULL);
	mem_free(o);
}

/* Its init is dead, and with it, says the kernel, all that lived there. */
static void
box_died(struct box *box)
{
	loop_unwatch(&box->watch);
	chan_free(&box->chan);
	proxy_close(&box->port);
	/* Their callbacks may close the box: it is settled only after them. */
	native_procs_lost(box);
	box->dead = true;
	native_box_settle(box);
}

static void
on_init_dead(void *arg, unsigned events)
{
	(void)events;
	box_died(arg);
}

/* Setup failed: nobody knows the box yet. */
static void
open_failed(struct box *box, const struct err *err)
{
	struct box_op *o = box->opening;

	/* Its setup ends with its failure, and nothing else lives there. */
	box->closed = true;
	box->dead = true;
	if (o) {
		struct err copy = *err;
		open_finish(o, NULL, &copy);
	}
	native_box_settle(box);
}

/* As many as there must be, and such that taking from them never blocks. */
static bool
listeners_are(const struct box *box, const int *fds, size_t nfds)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (!box->inst->proxy || box->inst->level == BOX_BARE)
		return nfds == 0;
	for (size_t i = 0; i < nfds && i < BOX_LISTENERS_MAX; i++)
		if (getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 ||
		    !listens)
			return false;
	return nfds >= 1 && nfds <= BOX_LISTENERS_MAX;
}

static void
box_ready(struct box *box, struct wire_in *in, const int *fds, size_t nfds)
{
	box->landlock_abi = (int)wire_get_u32(in);
	const char *limits = wire_get_str(in);
	for (size_t i = 0; i < BOX_NNAMESPACES; i++)
		box->namespaces[i] = wire_get_u64(in);
	if (!wire_in_end(in) || box->pidfd >= 0 ||
	    !listeners_are(box, fds + 1, nfds - 1)) {
		for (size_t i = 0; i < nfds; i++)
			close(fds[i]);
		log_warn("native", NULL, "box %u: bad frame", box->id);
		return;
	}
	box->limits = mem_str(limits);
	box->pidfd = fds[0];
	if (nfds > 1)
		box->port = proxy_open(box->inst->proxy, box->name, fds + 1, nfds - 1);
	box->watch = loop_watch(box->inst->loop, fds[0], LOOP_READ, "native box",
		on_init_dead, box);
	if (!box->opening)
		return;		/* cancelled: its kill is on its way */
	open_finish(box->opening, box, NULL);
}

static void
box_frame(void *arg, struct wire_in *in, unsigned type, const int *fds,
	size_t nfds)
{
	struct box *box = arg;

	if (type == BOX_READY) {
		box_ready(box, in, fds, nfds);
	} else if (type == BOX_FAILED && box->pidfd < 0) {
		struct err err = { ERR_NONE, "" };
		uint32_t step = wire_get_u32(in), errnum = wire_get_u32(in);
		const char *detail = wire_get_str(in);
		native_why(&err, wire_in_end(in) ? (enum box_step)step :
			BOX_STEP_REQUEST, (int)errnum, detail);
		open_failed(box, &err);
	} else {
		native_proc_frame(box, type, in, fds, nfds);
	}
}

static void
box_end(void *arg)
{
	struct box *box = arg;
	struct err err = { ERR_NONE, "" };

	if (box->pidfd >= 0)
		return;		/* the pidfd tells when all is dead */
	err_set(&err, ERR_LOST, "the native sandbox's setup ended without a word");
	open_failed(box, &err);
}

static const struct chan_events box_events = { box_frame, box_end };

static void
open_cancel(struct op *op)
{
	struct box_op *o = (struct box_op *)op;
	struct box *box = o->box;

	loop_cancel(&o->timer);
	box->opening = NULL;
	/* Not awaited: freed when it is dead, or when its channel ends. */
	box->closed = true;
	mem_free(o);
	if (box->chan) {
		request_kill(box);
	} else {
		box->dead = true;	/* it never came to a request */
		native_box_settle(box);
	}
}

static void
open_late(void *arg)
{
	struct box_op *o = arg;

	o->timer = NULL;
	if (!o->box->chan || o->err.code != ERR_NONE) {
		struct err err = o->err;
		open_failed(o->box, &err);
		return;
	}
	struct box *box = o->box;
	struct err err = { ERR_NONE, "" };
	err_set(&err, ERR_TIMEOUT, "the native sandbox was not ready after %d s",
		OPEN_MS / 1000);
	request_kill(box);
	box->closed = true;
	open_finish(o, NULL, &err);
}

static const struct op_type open_type = { "native open", open_cancel };

char *
native_below(const struct backend_inst *inst, const char *path)
{
	char *real = realpath(path, NULL);
	size_t n = strlen(inst->state_dir);
	char *below = real && strncmp(real, inst->state_dir, n) == 0 &&
		real[n] == '/' ? mem_str(real + n + 1) : NULL;

	free(real);
	return below;
}

static void
open_send(struct box_op *o, const char *workspace)
{
	struct box *box = o->box;
	struct wire_out out;
	int pair[2];
	CLEANUP_FREE char *below = native_below(box->inst, workspace);

	if (!below) {
		err_set(&o->err, ERR_INVALID, "the workspace %s is not a directory "
			"below %s", workspace, box->inst->state_dir);
	} else if (chan_pair(pair) < 0) {
		err_set_errno(&o->err, errno, "a socket for a sandbox");
	} else {
		box->chan = chan_new(box->inst->loop, pair[0], "native channel",
			&box_events, box);
		wire_out_init(&out, LAUNCHER_OPEN);
		wire_put_u32(&out, box->id);
		wire_put_str(&out, below);
		wire_put_u32(&out, box->inst->level);
		(void)launcher_request(box->inst->launcher, &out, &pair[1], 1, &o->err);
		close(pair[1]);
	}
}

struct op *
native_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg)
{
	struct box *box = mem_alloc(sizeof(*box));
	struct box_op *o = mem_alloc(sizeof(*o));

	box->inst = inst;
	box->id = ++inst->next_box;
	box->name = mem_str(spec->id);
	box->pidfd = -1;
	box->next = inst->boxes;
	box->prev = &inst->boxes;
	if (box->next)
		box->next->prev = &box->next;
	inst->boxes = box;
	box->opening = o;
	op_init(&o->op, &open_type);
	o->box = box;
	o->cb.open = cb;
	o->arg = arg;
	open_send(o, spec->workspace);
	o->timer = loop_after(inst->loop, o->err.code == ERR_NONE ? OPEN_MS : 0,
		"native open", open_late, o);
	return &o->op;
}

static void
close_cancel(struct op *op)
{
	struct box_op *o = (struct box_op *)op;

	loop_cancel(&o->timer);
	o->box->closing = NULL;
	mem_free(o);
}

static void
close_late(void *arg)
{
	struct box_op *o = arg;
	struct box *box = o->box;
	struct err err = { ERR_NONE, "" };

	o->timer = NULL;
	if (box->dead && !box->procs) {
		native_box_settle(box);
		return;
	}
	err_set(&err, ERR_TIMEOUT, "a process of the sandbox survives its kill "
		"(stuck in the kernel); waited %d s", CLOSE_MS / 1000);
	close_finish(o, &err);
}

static const struct op_type close_type = { "native close", close_cancel };

struct op *
native_close(struct box *box, box_close_cb *cb, void *arg)
{
	struct box_op *o = mem_alloc(sizeof(*o));

	REQUIRE(!box->closing);
	op_init(&o->op, &close_type);
	o->box = box;
	o->cb.close = cb;
	o->arg = arg;
	box->closing = o;
	box->closed = true;
	if (!box->dead)
		request_kill(box);
	o->timer = loop_after(box->inst->loop,
		box->dead && !box->procs ? 0 : CLOSE_MS, "native close", close_late, o);
	return &o->op;
}

static struct sandbox_props
native_props(struct backend_inst *inst)
{
	return inst->props;
}

static void
native_stop(struct backend_inst **instp)
{
	struct backend_inst *inst = STEAL(*instp);

	/* Only boxes that nobody waits for any more are left. */
	while (inst->boxes) {
		request_kill(inst->boxes);
		native_procs_drop(inst->boxes);
		box_free(inst->boxes);
	}
	proxy_free(&inst->proxy);
	mem_free(inst->state_dir);
	mem_free(inst->image);
	mem_free(inst->why);
	mem_free(inst->limits);
	mem_free(inst->caution);
	mem_free(inst);
}

#define PROXY_URL "http://127.0.0.1:3128"	/* BOX_PROXY_PORT */

/*
 * What programs look for.  ALL_PROXY, too, is HTTP: many can't do SOCKS without
 * a library more; who wants it finds socks5h at the same port.  Loopback is
 * the sandbox's own.
 */
static const char *const proxy_env[] = {
	"HTTP_PROXY=" PROXY_URL, "http_proxy=" PROXY_URL,
	"HTTPS_PROXY=" PROXY_URL, "https_proxy=" PROXY_URL,
	"ALL_PROXY=" PROXY_URL, "all_proxy=" PROXY_URL,
	"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
	NULL,
};

static struct backend_inst *
native_start(const struct backend_env *env, struct err *err)
{
	struct backend_inst *inst = mem_alloc(sizeof(*inst));
	char *real = realpath(env->state_dir, NULL);
	size_t len = 0;

	inst->loop = env->loop;
	inst->launcher = env->launcher;
	inst->state_dir = mem_str(real);
	free(real);
	if (!inst->state_dir) {
		err_set_errno(err, errno, "the state directory %s", env->state_dir);
		native_stop(&inst);
		return NULL;
	}
	CLEANUP_FREE void *terms = native_seal_build(env, inst, &len, err);
	const struct native_opts *opts = env->opts;
	enum box_network network = native_network(opts);
	bool filtered = network == BOX_NETWORK_FILTERED;
	if (terms && filtered)
		inst->proxy = proxy_new(inst->loop, &opts->egress, err);
	if (!terms || (filtered && !inst->proxy) || launcher_allow_native(env->launcher, terms, len, err) < 0) {
		native_stop(&inst);
		return NULL;
	}
	inst->why = mem_str("not tried yet");
	inst->props = (struct sandbox_props){
		.backend = "native", .level = "", .image = inst->image,
		.network = network == BOX_NETWORK_FULL ? "full" : filtered ?
			"filtered" : "none", .why = inst->why,
		.limits = "", .env = filtered ? proxy_env : NULL,
		.workspace = "/workspace", .boxes_max = inst->boxes_max,
		.workspace_max = opts->workspace_max ? opts->workspace_max :
			10240ull * 1024 * 1024,
	};
	return inst;
}

const struct backend backend_native = {
	.name = "native",
	.flags = BACKEND_TREE_KILL | BACKEND_STDIN | BACKEND_PTY |
	    BACKEND_RPC |
	    BACKEND_WORKSPACE,
	.start = native_start,
	.stop = native_stop,
	.probe = native_probe,
	.props = native_props,
	.open = native_open,
	.close = native_close,
	.empty = native_empty,
	.measure = native_measure,
	.spawn = native_spawn,
	.kill = native_kill,
	.flow = native_flow,
	.write = native_write,
	.close_input = native_close_input,
};
