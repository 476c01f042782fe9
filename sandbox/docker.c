/*
 * Backends docker and podman: a container a sandbox.  See docker_priv.h for the
 * files; this one starts the backend, proves it and says what it is.
 */
#include "sandbox/docker_priv.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

static void
docker_stop(struct backend_inst **instp)
{
	struct backend_inst *inst = STEAL(*instp);
	struct box *box;

	docker_prepare_stop(inst);
	while ((box = TAILQ_FIRST(&inst->boxes)))
		docker_box_free(box);
	engine_free(&inst->engine);
	docker_plan_done(&inst->plan);
	mem_free(inst->instance_id);
	mem_free(inst->image);
	mem_free(inst->own_container);
	mem_free(inst->image_id);
	mem_free(inst->image_user);
	mem_free(inst->image_home);
	mem_free(inst->helper);
	mem_free(inst->helper_volume);
	mem_free(inst->why);
	mem_free(inst->limits);
	mem_free(inst);
}

static struct backend_inst *
inst_new(const struct backend *backend, const struct backend_env *env,
	struct err *err)
{
	struct backend_inst *inst = mem_alloc(sizeof(*inst));

	TAILQ_INIT(&inst->boxes);
	TAILQ_INIT(&inst->waiters);
	inst->loop = env->loop;
	inst->backend = backend;
	inst->opts = *(const struct docker_opts *)env->opts;
	inst->instance_id = mem_str(env->instance_id);
	inst->image = mem_str(env->image ? env->image : DOCKER_IMAGE);
	inst->why = mem_str("not tried yet");
	inst->limits = mem_str("");
	inst->say = env->say;
	inst->say_arg = env->say_arg;
	if (access("/.dockerenv", F_OK) == 0 ||
	    access("/run/.containerenv", F_OK) == 0)
		inst->own_container = docker_own_container("/proc/self");
	struct engine_opts engine = { .hosts = inst->opts.hosts,
		.tls = inst->opts.tls, .cert_dir = inst->opts.cert_dir };
	if (docker_plan_make(&inst->plan, &inst->opts, err) == 0)
		inst->engine = engine_new(env->loop, &engine, err);
	if (!inst->engine) {
		docker_stop(&inst);
		return NULL;
	}
	owner_self(inst->owner);
	return inst;
}

static struct backend_inst *
docker_start(const struct backend_env *env, struct err *err)
{
	return inst_new(&backend_docker, env, err);
}

static struct backend_inst *
podman_start(const struct backend_env *env, struct err *err)
{
	return inst_new(&backend_podman, env, err);
}

static struct sandbox_props
docker_props(struct backend_inst *inst)
{
	/* The image may have been pulled only now. */
	inst->props.user = inst->image_user && *inst->image_user ?
	    inst->image_user : "root";
	return inst->props;
}

/* ---- probe: hello, what it can, whether the image is there --------------------- */

struct probe {
	struct op op;
	struct backend_inst *inst;
	struct op *waiting;
	backend_probe_cb *cb;
	void *arg;
};

static void
probe_cancel(struct op *op)
{
	struct probe *p = (struct probe *)(void *)op;

	op_cancel(&p->waiting);
	mem_free(p);
}

static const struct op_type probe_type = { "docker probe", probe_cancel };

static void
probe_finish(struct probe *p, const struct err *err)
{
	op_finish(&p->op);
	p->cb(p->arg, err);
	mem_free(p);
}

/* What is in force, and what is not: an engine may have no right to limit. */
static void
say_limits(struct backend_inst *inst)
{
	const struct docker_opts *o = &inst->opts;
	struct buf b;

	buf_init(&b, 1024);
	buf_printf(&b, "%s", engine_about(inst->engine));
	if (inst->can_memory && o->memory)
		buf_printf(&b, "; memory %llu MiB",
		    (unsigned long long)(o->memory >> 20));
	if (inst->can_pids)
		buf_printf(&b, "; %d processes", PLAN_PIDS);
	if (inst->can_cpu && o->cpu_milli)
		buf_printf(&b, "; %u.%u processors", o->cpu_milli / 1000,
		    o->cpu_milli % 1000 / 100);
	if (!inst->can_memory || !inst->can_pids || !inst->can_cpu)
		buf_printf(&b, "; this engine can't limit%s%s%s",
		    inst->can_memory ? "" : " memory",
		    inst->can_pids ? "" : " processes",
		    inst->can_cpu ? "" : " processors");
	if (o->disk)
		buf_add_str(&b, "; disk is not limited");
	mem_free(inst->limits);
	inst->limits = buf_take(&b);
}

static void
on_image(void *arg, const struct engine_res *res)
{
	struct probe *p = arg;
	struct backend_inst *inst = p->inst;
	struct err err = { ERR_NONE, "" };

	p->waiting = NULL;
	/* One that is absent is pulled when it is first wanted. */
	if (res->err && res->err->code != ERR_NOT_FOUND)
		err = *res->err;
	else if (!res->err)
		(void)docker_image_seen(inst, res->json, &err);
	if (!err.code) {
		inst->props.available = true;
		inst->props.limits = inst->limits;
		inst->props.risks = inst->plan.risks;
		inst->props.why = "";
	}
	probe_finish(p, err.code ? &err : NULL);
}

static void
on_info(void *arg, const struct engine_res *res)
{
	struct probe *p = arg;
	struct backend_inst *inst = p->inst;

	p->waiting = NULL;
	if (res->err) {
		struct err err = *res->err;
		probe_finish(p, &err);
		return;
	}
	inst->can_memory = json_get_bool(res->json, "MemoryLimit", false);
	inst->can_pids = json_get_bool(res->json, "PidsLimit", true);
	inst->can_cpu = json_get_bool(res->json, "CpuCfsQuota", false);
	say_limits(inst);
	log_info("docker", NULL, "%s", inst->limits);
	CLEANUP_FREE char *path = docker_image_path(inst);
	struct engine_req req = { .method = "GET", .path = path };
	p->waiting = engine_call(inst->engine, &req, on_image, p);
}

static void
on_hello(void *arg, const struct err *err)
{
	struct probe *p = arg;
	struct engine_req req = { .method = "GET", .path = "/info" };

	p->waiting = NULL;
	if (err) {
		struct err copy = *err;
		probe_finish(p, &copy);
		return;
	}
	p->waiting = engine_call(p->inst->engine, &req, on_info, p);
}

static struct op *
docker_probe(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct probe *p = mem_alloc(sizeof(*p));

	inst->props = (struct sandbox_props){
		.backend = inst->backend->name, .level = "container",
		.image = inst->image,
		.network = inst->plan.network, .isolation = inst->plan.isolation,
		.why = inst->why, .limits = "", .workspace = PLAN_WORKSPACE,
		.home = PLAN_HOME, .user = "root",
	};
	op_init(&p->op, &probe_type);
	p->inst = inst;
	p->cb = cb;
	p->arg = arg;
	p->waiting = engine_hello(inst->engine, on_hello, p);
	return &p->op;
}

#define DOCKER_BACKEND(text, begin) { \
	.name = text, \
	.flags = BACKEND_TREE_KILL | BACKEND_STDIN | BACKEND_SURVIVES, \
	.start = begin, \
	.stop = docker_stop, \
	.probe = docker_probe, \
	.props = docker_props, \
	.open = docker_open, \
	.close = docker_close, \
	.empty = docker_empty, \
	.measure = docker_measure, \
	.spawn = docker_spawn, \
	.kill = docker_kill, \
	.flow = docker_flow, \
	.write = docker_write, \
	.close_input = docker_close_input, \
	.reap = docker_reap, \
}
const struct backend backend_docker = DOCKER_BACKEND("docker", docker_start);
const struct backend backend_podman = DOCKER_BACKEND("podman", podman_start);
