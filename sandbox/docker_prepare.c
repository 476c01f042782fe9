/*
 * Once an engine: the image is there (pulled if it must be) and so is the
 * helper, in a volume of its own that every container mounts read-only, so that
 * no command can change what ends it, and a read-only root is no hindrance.
 * The volume is named by the helper's hash: another version has another one.
 *
 *   IMAGE -> [PULL -> IMAGE] -> VOLUME -> [MAKE -> LOOK -> [PUT] -> CLEAN]
 *
 * One flow for all who wait. It goes on a minute after the last of them has
 * left: a new message ends a run, and the next run wants the same image.
 */
#include "sandbox/docker_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define PULL_MS (60 * 60 * 1000)
#define PULL_IDLE_MS (5 * 60 * 1000)
#define PULL_BYTES_MAX (256u << 20)	/* of progress messages */
#define PULL_SAY_MS 10000
#define GRACE_MS 60000
#define LINE_MAX (64 * 1024)

struct waiter {
	struct op op;
	TAILQ_ENTRY(waiter) entry;
	struct backend_inst *inst;
	struct timer *timer;	/* its answer is known: told from the loop */
	struct err err;
	char *box_id;
	void (*done)(void *arg, const struct err *err);
	void *arg;
};

struct prepare {
	struct backend_inst *inst;
	struct op *waiting;
	struct timer *grace, *say;
	bool pulled;
	struct buf line;		/* of the pull's progress */
	struct err pull_err;
	int64_t got, total;		/* bytes of layers */
	struct json *layers;		/* id: {current, total} */
	char *container;
};

static void on_image(void *arg, const struct engine_res *res);
static void on_ready(void *arg);

/* ---- who waits ------------------------------------------------------------------ */

static void
prepare_free(struct prepare *p)
{
	p->inst->preparing = NULL;
	op_cancel(&p->waiting);
	loop_cancel(&p->grace);
	loop_cancel(&p->say);
	buf_done(&p->line);
	json_free(&p->layers);
	mem_free(p->container);
	mem_free(p);
}

static void
prepare_end(struct prepare *p, const struct err *err)
{
	struct backend_inst *inst = p->inst;
	struct waiter *w;

	inst->prepared = !err;
	TAILQ_FOREACH(w, &inst->waiters, entry) {
		if (w->timer)
			continue;
		if (err)
			w->err = *err;
		w->timer = loop_defer(inst->loop, "docker prepare", on_ready, w);
	}
	prepare_free(p);
}

void
docker_prepare_stop(struct backend_inst *inst)
{
	if (inst->preparing)
		prepare_free(inst->preparing);
	REQUIRE(TAILQ_EMPTY(&inst->waiters));
}

static void
on_grace(void *arg)
{
	struct prepare *p = arg;

	p->grace = NULL;
	log_info("docker", NULL, "nobody waits for %s any more: the pull is ended",
	    p->inst->image);
	prepare_free(p);
}

static void
waiter_cancel(struct op *op)
{
	struct waiter *w = (struct waiter *)(void *)op;
	struct backend_inst *inst = w->inst;
	struct prepare *p = inst->preparing;

	loop_cancel(&w->timer);
	TAILQ_REMOVE(&inst->waiters, w, entry);
	mem_free(w->box_id);
	mem_free(w);
	if (p && TAILQ_EMPTY(&inst->waiters) && !p->grace)
		p->grace = loop_after(inst->loop, GRACE_MS, "pull", on_grace, p);
}

static const struct op_type waiter_type = { "docker prepare", waiter_cancel };

static void
prepare_say(struct prepare *p, const char *text, bool first)
{
	struct backend_inst *inst = p->inst;
	struct waiter *w;

	log_info("docker", NULL, "%s", text);
	if (!inst->say)
		return;
	TAILQ_FOREACH(w, &inst->waiters, entry)
		inst->say(inst->say_arg, w->box_id, text, first);
}

/* ---- the helper -------------------------------------------------------------------- */

static void
on_cleaned(void *arg, const struct engine_res *res)
{
	struct prepare *p = arg;

	p->waiting = NULL;
	/* Its container does nothing and has our labels: swept later. */
	if (res->err)
		log_warn("docker", NULL, "%s", res->err->text);
	struct err err = p->pull_err;
	prepare_end(p, err.code ? &err : NULL);
}

static void
helper_clean(struct prepare *p, const struct err *err)
{
	CLEANUP_FREE char *path = mem_printf("/containers/%s?force=1&v=0",
	    p->container);
	struct engine_req req = { .method = "DELETE", .path = path };

	if (err) {
		p->pull_err = *err;
		err_wrap(&p->pull_err, "the helper could not be brought to the "
		    "engine");
	}
	p->waiting = engine_call(p->inst->engine, &req, on_cleaned, p);
}

static void
on_put(void *arg, const struct engine_res *res)
{
	struct prepare *p = arg;

	p->waiting = NULL;
	helper_clean(p, res->err);
}

static void
on_looked(void *arg, const struct engine_res *res)
{
	struct prepare *p = arg;
	struct backend_inst *inst = p->inst;
	CLEANUP_FREE char *path = mem_printf("/containers/%s/archive?path="
	    PLAN_HELPER_DIR, p->container);
	size_t len;

	p->waiting = NULL;
	if (!res->err && memmem(res->text, res->len, inst->helper,
	    inst->helper_len)) {
		helper_clean(p, NULL);
		return;
	}
	CLEANUP_FREE char *tar = docker_helper_tar(inst, &len);
	struct engine_req req = { .method = "PUT", .path = path, .body = tar,
		.body_len = len, .type = "application/x-tar" };
	p->waiting = engine_call(inst->engine, &req, on_put, p);
}

static void
on_made(void *arg, const struct engine_res *res)
{
	struct prepare *p = arg;

	p->waiting = NULL;
	if (res->err) {
		struct err err = *res->err;
		prepare_end(p, &err);
		return;
	}
	p->container = mem_str(json_get_str(res->json, "Id", ""));
	CLEANUP_FREE char *path = mem_printf("/containers/%s/archive?path="
	    PLAN_HELPER, p->container);
	struct engine_req req = { .method = "GET", .path = path,
		.max_body = DOCKER_HELPER_MAX + 65536 };
	p->waiting = engine_call(p->inst->engine, &req, on_looked, p);
}

/* A container that is never started: only the way into the volume. */
static void
helper_start(struct prepare *p)
{
	struct backend_inst *inst = p->inst;
	CLEANUP_JSON struct json *body = json_object();
	struct json *host = json_object(), *mounts = json_array();
	struct json *mount = json_object(), *cmd = json_array();
	CLEANUP_FREE char *name = docker_name(inst, "helper");
	CLEANUP_FREE char *path = mem_printf("/containers/create?name=%s", name);
	struct err err = { ERR_NONE, "" };

	if (docker_helper_read(inst, &err) < 0) {
		json_free(&host);
		json_free(&mounts);
		json_free(&mount);
		json_free(&cmd);
		prepare_end(p, &err);
		return;
	}
	json_set_str(mount, "Type", "volume");
	json_set_str(mount, "Source", inst->helper_volume);
	json_set_str(mount, "Target", PLAN_HELPER_DIR);
	json_add_take(mounts, mount);
	json_set_take(host, "Mounts", mounts);
	json_set_str(host, "NetworkMode", "none");
	json_add_take(cmd, json_string("none"));
	json_set_str(body, "Image", inst->image);
	json_set_take(body, "Cmd", cmd);
	json_set_take(body, "HostConfig", host);
	json_set_take(body, "Labels", docker_labels(inst, "helper", ""));
	struct engine_req req = { .method = "POST", .path = path, .json = body };
	p->waiting = engine_call(inst->engine, &req, on_made, p);
}

/* ---- the pull -------------------------------------------------------------------- */

static void
image_ask(struct prepare *p)
{
	CLEANUP_FREE char *path = docker_image_path(p->inst);
	struct engine_req req = { .method = "GET", .path = path };

	p->waiting = engine_call(p->inst->engine, &req, on_image, p);
}

static void
on_pulled(void *arg, const struct engine_res *res)
{
	struct prepare *p = arg;
	struct err err = p->pull_err;

	p->waiting = NULL;
	loop_cancel(&p->say);
	if (res->err && !err.code)
		err = *res->err;
	if (err.code) {
		err_wrap(&err, "the image %s is not there and can't be pulled "
		    "(check its name, terminal.docker_image or "
		    "gateway.sandbox_image, or pull it yourself)", p->inst->image);
		prepare_end(p, &err);
		return;
	}
	p->pulled = true;
	CLEANUP_FREE char *text = mem_printf("image %s is here now",
	    p->inst->image);
	prepare_say(p, text, false);
	image_ask(p);
}

/* {"status", "id", "progressDetail": {"current", "total"}}, or an error. */
static void
pull_line(struct prepare *p, const char *line, size_t len)
{
	CLEANUP_JSON struct json *j = json_parse(line, len, NULL);
	const struct json *detail = json_get(j, "progressDetail");
	const char *id = json_get_str(j, "id", NULL);
	const char *said = json_get_str(json_get(j, "errorDetail"), "message",
	    json_get_str(j, "error", NULL));

	if (said)
		err_set(&p->pull_err, ERR_UNAVAILABLE, "%.300s", said);
	if (!id || strcmp(json_get_str(j, "status", ""), "Downloading") != 0)
		return;
	struct json *layer = json_object();
	json_set_int(layer, "current", json_get_int(detail, "current", 0));
	json_set_int(layer, "total", json_get_int(detail, "total", 0));
	if (json_len(p->layers) < 500)
		json_set_take(p->layers, id, layer);
	else
		json_free(&layer);
}

static bool
on_progress(void *arg, const char *data, size_t len)
{
	struct prepare *p = arg;

	while (len > 0) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) : len;

		buf_add(&p->line, data, n);
		data += n + (nl != NULL);
		len -= n + (nl != NULL);
		if (!nl)
			break;
		if (!p->line.over)
			pull_line(p, p->line.data, p->line.len);
		buf_clear(&p->line);
	}
	/* An answer without line ends is one object at a time, whole. */
	if (p->line.len && p->line.data[p->line.len - 1] == '}') {
		pull_line(p, p->line.data, p->line.len);
		buf_clear(&p->line);
	}
	return true;
}

static void
on_say(void *arg)
{
	struct prepare *p = arg;
	int64_t got = 0, total = 0;

	p->say = loop_after(p->inst->loop, PULL_SAY_MS, "pull", on_say, p);
	for (const struct json *l = json_first(p->layers); l; l = json_next(l)) {
		got += json_get_int(l, "current", 0);
		total += json_get_int(l, "total", 0);
	}
	if (got == p->got)
		return;
	p->got = got;
	CLEANUP_FREE char *text = mem_printf("pulling image %s: %lld of %lld MiB",
	    p->inst->image, (long long)(got >> 20), (long long)(total >> 20));
	prepare_say(p, text, false);
}

static void
pull_start(struct prepare *p)
{
	const char *image = p->inst->image, *slash = strrchr(image, '/');
	const char *tag = strrchr(image, ':');
	bool digest = strchr(image, '@') != NULL;

	if (digest || (tag && slash && tag < slash))
		tag = NULL;
	CLEANUP_FREE char *path = mem_printf("/images/create?fromImage=%.*s%s%s",
	    tag ? (int)(tag - image) : (int)strlen(image), image,
	    digest ? "" : "&tag=", digest ? "" : tag ? tag + 1 : "latest");
	struct engine_req req = { .method = "POST", .path = path,
		.total_ms = PULL_MS, .idle_ms = PULL_IDLE_MS,
		.max_body = PULL_BYTES_MAX, .on_data = on_progress, .data_arg = p };
	CLEANUP_FREE char *text = mem_printf("pulling image %s; the first time "
	    "this may take minutes", image);

	prepare_say(p, text, true);
	p->say = loop_after(p->inst->loop, PULL_SAY_MS, "pull", on_say, p);
	p->waiting = engine_call(p->inst->engine, &req, on_pulled, p);
}

static void
on_image(void *arg, const struct engine_res *res)
{
	struct prepare *p = arg;
	struct err err = { ERR_NONE, "" };

	p->waiting = NULL;
	if (res->err && res->err->code == ERR_NOT_FOUND && !p->pulled) {
		pull_start(p);
		return;
	}
	if (res->err)
		err = *res->err;
	else if (docker_image_seen(p->inst, res->json, &err) == 0) {
		helper_start(p);
		return;
	}
	prepare_end(p, &err);
}

/* ---- start ----------------------------------------------------------------------------- */

static void
on_ready(void *arg)
{
	struct waiter *w = arg;

	w->timer = NULL;
	TAILQ_REMOVE(&w->inst->waiters, w, entry);
	op_finish(&w->op);
	w->done(w->arg, w->err.code ? &w->err : NULL);
	mem_free(w->box_id);
	mem_free(w);
}

struct op *
docker_prepare(struct backend_inst *inst, const char *box_id,
	void (*done)(void *arg, const struct err *err), void *arg)
{
	struct waiter *w = mem_alloc(sizeof(*w));

	op_init(&w->op, &waiter_type);
	w->inst = inst;
	w->box_id = mem_str(box_id);
	w->done = done;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&inst->waiters, w, entry);
	if (inst->prepared) {
		w->timer = loop_defer(inst->loop, "docker prepare", on_ready, w);
		return &w->op;
	}
	if (!inst->preparing) {
		struct prepare *p = mem_alloc(sizeof(*p));
		p->inst = inst;
		p->layers = json_object();
		buf_init(&p->line, LINE_MAX);
		inst->preparing = p;
		image_ask(p);
	}
	loop_cancel(&inst->preparing->grace);
	return &w->op;
}
