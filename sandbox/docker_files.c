/*
 * A workspace's files, removed or added up: commands in containers have written
 * them as whoever they are there, so it is done in one, by our helper, which no
 * command of a sandbox ever shares.
 *
 *   HELLO -> PREPARE -> MAKE -> START -> WAIT -> READ -> (CLEAN) -> end
 *
 * Behind tcp they lie in volumes of the engine's, which are removed as a whole.
 */
#include "sandbox/docker_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

#define TEND_MS (10 * 60 * 1000)
#define SAID_MAX 400
#define PLACE "/tend"		/* the sandbox's directory, in that container */

struct files {
	struct op op;
	struct backend_inst *inst;
	bool measure, home;	/* home: goes with it */
	char *dir, *name;	/* the sandbox's; what of it */
	char *container;
	struct op *waiting;
	struct timer *timer;
	unsigned volume;	/* the next to be removed */
	struct box_usage usage;
	struct err err;
	box_usage_cb *cb;
	void *arg;
};

static void
files_free(struct files *f)
{
	op_cancel(&f->waiting);
	loop_cancel(&f->timer);
	mem_free(f->dir);
	mem_free(f->name);
	mem_free(f->container);
	mem_free(f);
}

/* A container that runs on ends by itself; the reaper finds it by its labels. */
static void
files_cancel(struct op *op)
{
	files_free((struct files *)(void *)op);
}

static const struct op_type files_type = { "docker files", files_cancel };

static void
files_end(void *arg)
{
	struct files *f = arg;
	struct box_usage usage = f->usage;
	struct err err = f->err;
	box_usage_cb *cb = f->cb;
	void *cb_arg = f->arg;

	f->timer = NULL;
	op_finish(&f->op);
	files_free(f);
	cb(cb_arg, &usage, err.code ? &err : NULL);
}

static void
request(struct files *f, const char *method, const char *what, msec_t ms,
	engine_cb *cb)
{
	CLEANUP_FREE char *path = mem_printf("/containers/%s%s", f->container, what);
	struct engine_req req = { .method = method, .path = path, .total_ms = ms };

	f->waiting = engine_call(f->inst->engine, &req, cb, f);
}

/* ---- in a container ---------------------------------------------------------------- */

static void
on_cleaned(void *arg, const struct engine_res *res)
{
	struct files *f = arg;

	f->waiting = NULL;
	if (res->err && res->err->code != ERR_NOT_FOUND)
		log_warn("docker", NULL, "%s", res->err->text);
	files_end(f);
}

static void
clean(struct files *f, const struct err *err)
{
	if (err)
		f->err = *err;
	request(f, "DELETE", "?force=1&v=0", 0, on_cleaned);
}

/* "done BYTES ENTRIES", or "failed BYTES ENTRIES WHY". */
static void
on_read(void *arg, const struct engine_res *res)
{
	struct files *f = arg;
	struct docker_frames frames = { .head_len = 0 };
	struct buf said CLEANUP_BUF, shown CLEANUP_BUF;
	const char *data = res->text, *piece;
	size_t len = res->len, n;
	char *rest;

	f->waiting = NULL;
	buf_init(&said, SAID_MAX);
	buf_init(&shown, 8 * SAID_MAX);
	if (res->err) {
		clean(f, res->err);
		return;
	}
	while (docker_frames_next(&frames, &data, &len, &piece, &n) > 0)
		buf_add(&said, piece, n);
	const char *space = strchr(said.data, ' ');
	if (space) {
		f->usage.bytes = strtoull(space, &rest, 10);
		f->usage.entries = strtoull(rest, &rest, 10);
		utf8_for_terminal(&shown, rest, strcspn(rest, "\n"), true);
	}
	if (!space || strncmp(said.data, "done ", 5) != 0)
		err_set(&f->err, ERR_IO, "%s the files of %s:%s",
		    f->measure ? "adding up" : "removing", f->name,
		    shown.len ? shown.data : " the helper said nothing");
	else if (f->home) {
		CLEANUP_FREE char *home = mem_printf("%s/home", f->dir);
		(void)rmdir(home);
	}
	clean(f, NULL);
}

static void
on_ended(void *arg, const struct engine_res *res)
{
	struct files *f = arg;

	f->waiting = NULL;
	if (res->err)
		clean(f, res->err);
	else
		request(f, "GET", "/logs?stdout=1&stderr=1", 0, on_read);
}

static void
on_started(void *arg, const struct engine_res *res)
{
	struct files *f = arg;

	f->waiting = NULL;
	if (res->err)
		clean(f, res->err);
	else
		request(f, "POST", "/wait", TEND_MS, on_ended);
}

static void
on_made(void *arg, const struct engine_res *res)
{
	struct files *f = arg;

	f->waiting = NULL;
	if (res->err) {
		f->err = *res->err;
		files_end(f);
		return;
	}
	f->container = mem_str(json_get_str(res->json, "Id", ""));
	request(f, "POST", "/start", 0, on_started);
}

static bool
is_open(const struct files *f)
{
	size_t n = strlen(f->dir);
	const struct box *box;

	TAILQ_FOREACH(box, &f->inst->boxes, entry)
		if (strncmp(box->workspace, f->dir, n) == 0 && box->workspace[n] == '/')
			return true;
	return false;
}

/* Root there, whoever the image's user is, with the right to any file. */
static void
make(struct files *f)
{
	struct backend_inst *inst = f->inst;
	CLEANUP_JSON struct json *body = json_object();
	char hex[ID_HEX_MAX];

	ids_hex(hex, 12);
	CLEANUP_FREE char *id = mem_printf("tend%s", hex);
	CLEANUP_FREE char *name = docker_name(inst, id);
	CLEANUP_FREE char *path = mem_printf("/containers/create?name=%s", name);
	CLEANUP_FREE char *target = mem_printf(PLACE "/%s", f->name);
	f->home = !f->measure && !is_open(f);
	docker_tend_config(inst, body, f->dir, PLACE);
	struct json *cmd = json_array();
	json_add_take(cmd, json_string("far-tend"));
	json_add_take(cmd, json_string(f->measure ? "measure" : "empty"));
	json_add_take(cmd, json_string(target));
	if (f->home)
		json_add_take(cmd, json_string(PLACE "/home"));
	json_set_take(body, "Cmd", cmd);
	json_set_take(body, "Labels", docker_labels(inst, id, ""));
	struct engine_req req = { .method = "POST", .path = path, .json = body };
	f->waiting = engine_call(inst->engine, &req, on_made, f);
}

static void
on_prepared(void *arg, const struct err *err)
{
	struct files *f = arg;

	f->waiting = NULL;
	if (!err) {
		make(f);
		return;
	}
	f->err = *err;
	files_end(f);
}

/* ---- volumes ------------------------------------------------------------------------ */

static void volume_next(struct files *f);

static void
on_volume(void *arg, const struct engine_res *res)
{
	struct files *f = arg;

	f->waiting = NULL;
	if (res->err && res->err->code != ERR_NOT_FOUND)
		f->err = *res->err;
	volume_next(f);
}

static void
volume_next(struct files *f)
{
	static const char *const whats[] = { "workspace", "home" };

	if (f->volume == ARRAY_LEN(whats)) {
		files_end(f);
		return;
	}
	CLEANUP_FREE char *name = docker_volume_name(f->inst,
	    strrchr(f->dir, '/') + 1, whats[f->volume++]);
	CLEANUP_FREE char *path = mem_printf("/volumes/%s", name);
	struct engine_req req = { .method = "DELETE", .path = path };
	f->waiting = engine_call(f->inst->engine, &req, on_volume, f);
}

/* ---- start ----------------------------------------------------------------------------- */

/* One-shot processes have not asked the engine anything before. */
static void
on_hello(void *arg, const struct err *err)
{
	struct files *f = arg;
	bool local = engine_is_local(f->inst->engine);

	f->waiting = NULL;
	if (err)
		f->err = *err;
	/* A volume that nobody adds up: nothing that we could say. */
	if (err || (f->measure && !local))
		files_end(f);
	else if (local)
		f->waiting = docker_prepare(f->inst, f->name, on_prepared, f);
	else
		volume_next(f);
}

static struct op *
files_start(struct backend_inst *inst, const char *workspace, bool measure,
	box_usage_cb *cb, void *arg)
{
	struct files *f = mem_alloc(sizeof(*f));
	const char *slash = strrchr(workspace, '/');

	op_init(&f->op, &files_type);
	f->inst = inst;
	f->measure = measure;
	f->dir = mem_strn(workspace, (size_t)(slash - workspace));
	f->name = mem_str(slash + 1);
	f->cb = cb;
	f->arg = arg;
	/* In memory of a container they have ended with it. */
	if (inst->opts.persistent)
		f->waiting = engine_hello(inst->engine, on_hello, f);
	else
		f->timer = loop_defer(inst->loop, "docker files", files_end, f);
	return &f->op;
}

struct op *
docker_empty(struct backend_inst *inst, const char *workspace, box_usage_cb *cb,
	void *arg)
{
	return files_start(inst, workspace, false, cb, arg);
}

struct op *
docker_measure(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg)
{
	return files_start(inst, workspace, true, cb, arg);
}
