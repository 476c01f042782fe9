#include "sandbox/docker_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/native-init/far_proto.h"

#define HUNT_MS 2500	/* of which 1 s is the killing side's own */
#define SAID_MAX 256
#define SPARE_MAX 128

struct hunt {
	struct proc *proc;
	struct op *call;
	struct http_stream *stream;
	struct docker_frames frames;
	struct buf said;
	struct timer *timer;
	bool stopping;		/* the container itself is being killed */
	bool over;		/* nothing worked: until the next try */
};

void
hunt_free(struct hunt **hp)
{
	if (!*hp)
		return;
	struct hunt *h = STEAL(*hp);

	op_cancel(&h->call);
	http_stream_free(&h->stream);
	loop_cancel(&h->timer);
	buf_done(&h->said);
	mem_free(h);
}

/* The tree is dead, for certain. */
static void
hunt_won(struct hunt *h)
{
	struct proc *p = h->proc;

	if (p->killed)		/* that is what was wanted */
		p->why.code = ERR_NONE;
	else if (p->why.code == ERR_IO || p->why.code == ERR_PROTOCOL)
		p->why.code = far_started(p->far) ? ERR_LOST : ERR_UNAVAILABLE;
	docker_proc_end(p);
}

static void
on_container_killed(void *arg, const struct engine_res *res)
{
	struct hunt *h = arg;

	h->call = NULL;
	if (res->err && !docker_is_gone(res->err)) {
		log_error("docker", NULL, "container %s can't be stopped: %s",
		    h->proc->box->name, res->err->text);
		h->over = true;
		return;
	}
	docker_box_died(h->proc->box, "the container was stopped, because "
	    "processes of a command could not be ended otherwise; what ran in the "
	    "background there is lost");
}

static void
stop_container(struct hunt *h)
{
	struct box *box = h->proc->box;
	CLEANUP_FREE char *path = mem_printf("/containers/%s/kill?signal=SIGKILL",
	    box->container);
	struct engine_req req = { .method = "POST", .path = path,
		.total_ms = DOCKER_CLOSE_MS };

	if (h->stopping)
		return;
	h->stopping = true;
	loop_cancel(&h->timer);
	op_cancel(&h->call);
	http_stream_free(&h->stream);
	log_warn("docker", NULL, "%s: a tree survives its kill, the container is "
	    "stopped", box->name);
	h->call = engine_call(box->inst->engine, &req, on_container_killed, h);
}

static void
on_late(void *arg)
{
	struct hunt *h = arg;

	h->timer = NULL;
	stop_container(h);
}

/* ---- the killing side ------------------------------------------------------------ */

static void
on_open(void *arg)
{
	(void)arg;
}

static void
on_data(void *arg, const char *data, size_t len)
{
	struct hunt *h = arg;
	const char *piece;
	size_t n;

	while (docker_frames_next(&h->frames, &data, &len, &piece, &n) > 0)
		buf_add(&h->said, piece, n);
	if (strstr(h->said.data, FAR_KILL_DEAD))
		hunt_won(h);
	else if (strstr(h->said.data, FAR_KILL_ALIVE))
		stop_container(h);
}

static void
on_end(void *arg, const struct err *err, int status, const char *body, size_t len)
{
	struct hunt *h = arg;

	(void)err, (void)status, (void)body, (void)len;
	stop_container(h);
}

static const struct http_stream_events events = {
	on_open, on_data, on_open, on_end,
};

static void
on_exec(void *arg, const struct engine_res *res)
{
	struct hunt *h = arg;
	struct box *box = h->proc->box;

	h->call = NULL;
	if (res->err && docker_is_gone(res->err)) {
		docker_box_died(box, "the container of this sandbox has ended or "
		    "was removed");
		return;
	}
	if (res->err) {
		stop_container(h);
		return;
	}
	CLEANUP_FREE char *path = mem_printf("/exec/%s/start",
	    json_get_str(res->json, "Id", ""));
	h->stream = engine_stream(box->inst->engine, path,
	    "{\"Detach\":false,\"Tty\":false}", &events, h);
}

void
hunt_start(struct proc *proc, bool sweep)
{
	struct box *box = proc->box;
	const char *args[SPARE_MAX + 4] = { "far-kill", proc->id };
	size_t n = 2;
	struct proc *other;

	if (proc->hunt && !proc->hunt->over)
		return;
	hunt_free(&proc->hunt);
	loop_cancel(&proc->timer);
	struct hunt *h = proc->hunt = mem_alloc(sizeof(*h));
	h->proc = proc;
	buf_init(&h->said, SAID_MAX);
	if (sweep)
		args[n++] = "--sweep";
	TAILQ_FOREACH(other, &box->procs, entry)
		if (sweep && other != proc && !other->killed && n < SPARE_MAX)
			args[n++] = other->id;
	CLEANUP_FREE char *path = mem_printf("/containers/%s/exec", box->container);
	CLEANUP_JSON struct json *body = docker_exec_body(args, false);
	struct engine_req req = { .method = "POST", .path = path, .json = body,
		.total_ms = HUNT_MS };
	h->timer = loop_after(box->inst->loop, HUNT_MS, "docker hunt", on_late, h);
	h->call = engine_call(box->inst->engine, &req, on_exec, h);
}
