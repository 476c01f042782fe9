/*
 * One command in a container: an exec of our helper, whose request goes over
 * the exec's own stream, so that nothing of it is in the engine's records or in
 * anybody's arguments.
 */
#include "sandbox/docker_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/env.h"

#define SAID_MAX 1024

void
docker_proc_end(struct proc *p)
{
	struct box *box = p->box;
	const struct proc_events *events = p->events;
	void *arg = p->arg;
	struct err err = p->why;

	TAILQ_REMOVE(&box->procs, p, entry);
	if (p->gone)
		*p->gone = true;
	hunt_free(&p->hunt);
	far_free(&p->far);
	op_cancel(&p->call);
	http_stream_free(&p->stream);
	loop_cancel(&p->timer);
	buf_done(&p->said);
	mem_free(p);
	if (events)
		events->dead(arg, err.code ? &err : NULL);
}

void
docker_box_died(struct box *box, const char *why)
{
	struct err early = { ERR_NONE, "" };
	struct proc *p, *next;

	box->dead = true;
	box->dirty = true;
	if (!box->proved) {
		err_set(&early, ERR_NOT_FOUND, "the container of image %s ended at "
		    "once", box->inst->image);
		docker_box_broken(box, &early);
	}
	/* Their callbacks may start a close, which waits for all of them. */
	for (p = TAILQ_FIRST(&box->procs); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (early.code)
			p->why = early;
		else if (p->why.code == ERR_NONE || !far_started(p->far))
			err_set(&p->why, far_started(p->far) ? ERR_LOST : ERR_NOT_FOUND,
			    "%s", why);
		docker_proc_end(p);
	}
}

bool
docker_is_gone(const struct err *err)
{
	/* 409 is also the answer of a paused one, in which things live. */
	return err->code == ERR_NOT_FOUND ||
	    strstr(err->text, "is not running") ||
	    (strstr(err->text, "state improper") && !strstr(err->text, "paused"));
}

/* ---- the stream ------------------------------------------------------------------- */

static size_t
io_write(void *arg, const void *data, size_t len)
{
	struct proc *p = arg;

	return p->stream ? http_stream_write(p->stream, data, len) : 0;
}

/* Confirmed, or a case for the killing side. */
static void
io_end(void *arg, const struct err *err)
{
	struct proc *p = arg;

	if (!err) {
		docker_proc_end(p);
		return;
	}
	p->why = *err;
	if (err->code == ERR_UNAVAILABLE)	/* it says that nothing ran */
		docker_proc_end(p);
	else
		hunt_start(p, true);
}

static void
io_started(void *arg)
{
	struct proc *p = arg;

	p->box->proved = true;
	p->box->inst->broken_starts = 0;
}

static const struct far_io io = { io_write, io_end, io_started };

static void
on_open(void *arg)
{
	struct proc *p = arg;

	far_writable(p->far);
}

static void
on_writable(void *arg)
{
	struct proc *p = arg;

	far_writable(p->far);
}

static void
on_data(void *arg, const char *data, size_t len)
{
	struct proc *p = arg;
	const char *piece;
	size_t n;
	int rc;

	while ((rc = docker_frames_next(&p->frames, &data, &len, &piece,
	    &n)) != 0) {
		if (rc < 0) {
			far_lost(p->far, "not a stream of an exec");
			return;
		}
		if (rc == 2) {
			if (p->said.len < SAID_MAX)
				buf_add(&p->said, piece,
				    n < SAID_MAX - p->said.len ? n :
				    SAID_MAX - p->said.len);
			continue;
		}
		bool gone = false;
		p->gone = &gone;
		far_input(p->far, piece, n);
		if (gone)
			return;
		p->gone = NULL;
	}
}

static void
on_end(void *arg, const struct err *err, int status, const char *body, size_t len)
{
	struct proc *p = arg;
	struct err why = { ERR_NONE, "" };
	struct buf said CLEANUP_BUF;

	buf_init(&said, 8192);
	if (status) {
		engine_refusal(&why, status, body, len);
		if (docker_is_gone(&why)) {
			docker_box_died(p->box, "the container has ended");
			return;
		}
	}
	utf8_for_terminal(&said, p->said.data, p->said.len, true);
	far_lost(p->far, why.code ? why.text : err ? err->text : said.len ?
	    said.data : NULL);
}

static const struct http_stream_events stream_events = {
	on_open, on_data, on_writable, on_end,
};

/* ---- start ------------------------------------------------------------------------- */

static void
on_exec(void *arg, const struct engine_res *res)
{
	struct proc *p = arg;
	struct box *box = p->box;

	p->call = NULL;
	/* Paused by somebody it is of no use: it ends with its box. */
	if (res->err && strstr(res->err->text, "paused")) {
		docker_box_died(box, "the container of this sandbox was paused by "
		    "somebody");
		return;
	}
	if (res->err && docker_is_gone(res->err)) {
		docker_box_died(box, "the container of this sandbox has ended or "
		    "was removed");
		return;
	}
	if (res->err) {
		p->why = *res->err;
		docker_proc_end(p);
		return;
	}
	if (p->killed) {	/* it was never started */
		docker_proc_end(p);
		return;
	}
	CLEANUP_FREE char *path = mem_printf("/exec/%s/start",
	    json_get_str(res->json, "Id", ""));
	p->stream = engine_stream(box->inst->engine, path,
	    "{\"Detach\":false,\"Tty\":false}", &stream_events, p);
}

struct json *
docker_exec_body(const char *const *args, bool input)
{
	struct json *body = json_object(), *cmd = json_array();

	json_add_take(cmd, json_string(PLAN_HELPER));
	for (; *args; args++)
		json_add_take(cmd, json_string(*args));
	json_set_bool(body, "AttachStdin", input);
	json_set_bool(body, "AttachStdout", true);
	json_set_bool(body, "AttachStderr", true);
	json_set_bool(body, "Tty", false);
	json_set_take(body, "Cmd", cmd);
	return body;
}

/* What the operator passes, and over it what the sandbox keeps. */
static char **
environment(const struct box *box, const char *const *env)
{
	struct vars all;

	vars_init(&all, ENV_MAX);
	vars_copy(&all, &box->inst->plan.env);
	for (; env && *env; env++) {
		const char *eq = strchr(*env, '=');
		CLEANUP_FREE char *name = eq ? mem_strn(*env, (size_t)(eq - *env)) :
		    NULL;
		if (name)
			(void)vars_set(&all, name, eq + 1);
	}
	char **list = vars_env(&all);
	vars_done(&all);
	return list;
}

struct proc *
docker_spawn(struct box *box, const struct spawn_req *req, struct err *err)
{
	CLEANUP_FREE char *path = mem_printf("/containers/%s/exec", box->container);
	struct spawn_req own = *req;
	struct proc *p;

	if (box->dead || box->busy) {
		err_set(err, ERR_LOST, "the sandbox has ended");
		return NULL;
	}
	p = mem_alloc(sizeof(*p));
	TAILQ_INSERT_TAIL(&box->procs, p, entry);
	p->box = box;
	ids_hex(p->id, sizeof(p->id) - 1);
	p->events = req->events;
	p->arg = req->arg;
	buf_init(&p->said, SAID_MAX);
	char **env = environment(box, req->env);
	own.env = (const char *const *)env;
	struct far_spec spec = { .req = &own, .dir = PLAN_WORKSPACE,
		.seconds = req->seconds, .no_userns = !box->inst->plan.rights,
		.io = &io, .arg = p };
	p->far = far_new(&spec);
	vars_env_free(&env);
	const char *const args[] = { "far", p->id, NULL };
	CLEANUP_JSON struct json *body = docker_exec_body(args, true);
	struct engine_req call = { .method = "POST", .path = path, .json = body };
	p->call = engine_call(box->inst->engine, &call, on_exec, p);
	return p;
}

#define KILL_MS 500	/* for the word over the stream */

static void
on_deaf(void *arg)
{
	struct proc *p = arg;

	p->timer = NULL;
	hunt_start(p, false);
}

void
docker_kill(struct proc *p)
{
	struct backend_inst *inst = p->box->inst;

	p->killed = true;
	far_kill(p->far);
	if (!p->timer && !p->hunt)
		p->timer = loop_after(inst->loop, KILL_MS, "docker kill", on_deaf,
		    p);
}

int
docker_write(struct proc *p, const void *data, size_t len, struct err *err)
{
	return far_feed(p->far, data, len, err);
}

void
docker_close_input(struct proc *p)
{
	far_feed_end(p->far);
}

void
docker_flow(struct proc *p, bool reading)
{
	if (p->stream)
		http_stream_flow(p->stream, reading);
}
