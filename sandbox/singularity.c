/*
 * Backend singularity (or apptainer): see singularity_priv.h for the files; this
 * one starts it, proves it and says what it is.
 *
 *   VERSION -> SWEEP -> TRIAL, if the image is there: an instance and its end
 */
#include "sandbox/singularity.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/singularity_priv.h"

#define MAJOR_MIN_SINGULARITY 3
#define TRIAL_ID "trial"

static int
bind_check(const char *bind, struct err *err)
{
	const char *target = strchr(bind, ':');
	const char *mode = target ? strchr(target + 1, ':') : NULL;

	if (*bind != '/' || !target || target[1] != '/' || strchr(bind, ',') ||
	    (mode && strcmp(mode, ":ro") != 0 && strcmp(mode, ":rw") != 0))
		return err_set(err, ERR_CONFIG, "the bind \"%s\": expected "
		    "/SOURCE:/TARGET[:ro|rw], and no comma in it", bind);
	return 0;
}

/* ---- start and stop ------------------------------------------------------------------ */

static void
sgl_stop(struct backend_inst **instp)
{
	struct backend_inst *inst = STEAL(*instp);
	struct box *box;

	while ((box = TAILQ_FIRST(&inst->boxes)))
		sgl_box_free(box);
	cli_free_all(inst);
	mem_free(inst->state_dir);
	mem_free((char *)(uintptr_t)inst->opts.scratch);
	mem_free(inst->image);
	mem_free(inst->prefix);
	mem_free(inst->program);
	mem_free(inst->version);
	mem_free(inst->image_path);
	mem_free(inst->no_limits);
	mem_free(inst->why);
	mem_free(inst->limits);
	mem_free(inst);
}

static int
check(const struct backend_env *env, const char *name, struct err *err)
{
	const struct singularity_opts *o = env->opts;

	if (!env->launcher)
		return err_set(err, ERR_UNAVAILABLE, "backend %s: the launcher is not "
		    "running", name);
	if (geteuid() == 0)
		return err_set(err, ERR_CONFIG, "backend %s is for ordinary users: run "
		    "gatehouse as one (containers that root starts would hold "
		    "root's rights)", name);
	if (strpbrk(o->helper, ":,\\") || strpbrk(env->state_dir, ":,\\"))
		return err_set(err, ERR_CONFIG, "backend %s: a path that is to be bound "
		    "holds one of : , \\ (%s, %s)", name, o->helper,
		    env->state_dir);
	for (size_t i = 0; o->binds && o->binds[i]; i++)
		if (bind_check(o->binds[i], err) < 0)
			return -1;
	if (env->image && singularity_image_check(env->image, err) < 0)
		return -1;
	return launcher_allow_local(env->launcher, NULL, err);
}

static struct backend_inst *
inst_new(const char *name, const struct backend_env *env, struct err *err)
{
	char hex[ID_HEX_MAX];

	if (check(env, name, err) < 0)
		return NULL;
	struct backend_inst *inst = mem_alloc(sizeof(*inst));
	TAILQ_INIT(&inst->boxes);
	TAILQ_INIT(&inst->calls);
	inst->loop = env->loop;
	inst->launcher = env->launcher;
	inst->name = name;
	inst->opts = *(const struct singularity_opts *)env->opts;
	inst->state_dir = mem_str(env->state_dir);
	inst->opts.scratch = inst->opts.scratch ? mem_str(inst->opts.scratch) :
	    mem_printf("%s/singularity", env->state_dir);
	inst->image = mem_str(env->image ? env->image : SINGULARITY_IMAGE);
	ids_sha256_hex(env->instance_id, strlen(env->instance_id), hex);
	inst->prefix = mem_printf("gatehouse-%.8s-", hex);
	owner_self(inst->owner);
	inst->unswept = true;
	inst->why = mem_str("not tried yet");
	inst->say = env->say;
	inst->say_arg = env->say_arg;
	return inst;
}

static struct backend_inst *
singularity_start(const struct backend_env *env, struct err *err)
{
	return inst_new("singularity", env, err);
}

static struct backend_inst *
apptainer_start(const struct backend_env *env, struct err *err)
{
	return inst_new("apptainer", env, err);
}

static struct sandbox_props
sgl_props(struct backend_inst *inst)
{
	return inst->props;
}

/* ---- the probe --------------------------------------------------------------------------- */

struct probe {
	struct op op;
	struct backend_inst *inst;
	struct op *waiting;
	struct timer *timer;
	char *dir;		/* the trial's workspace; NULL */
	backend_probe_cb *cb;
	void *arg;
};

static void
probe_free(struct probe *p)
{
	op_cancel(&p->waiting);
	loop_cancel(&p->timer);
	if (p->dir)
		(void)rmdir(p->dir);
	mem_free(p->dir);
	mem_free(p);
}

static void
probe_cancel(struct op *op)
{
	probe_free((struct probe *)(void *)op);
}

static const struct op_type probe_type = { "singularity probe", probe_cancel };

static void
probe_end(struct probe *p, const struct err *err)
{
	struct backend_inst *inst = p->inst;
	struct err copy = { ERR_NONE, "" };
	backend_probe_cb *cb = p->cb;
	void *arg = p->arg;

	if (err) {
		copy = *err;
		mem_free(inst->why);
		inst->props.why = inst->why = mem_str(err->text);
	} else {
		inst->props.available = true;
		inst->props.why = "";
		log_info("singularity", NULL, "%s", inst->limits);
	}
	op_finish(&p->op);
	probe_free(p);
	cb(arg, copy.code ? &copy : NULL);
}

static void
on_trial_closed(void *arg, const struct err *err)
{
	struct probe *p = arg;

	p->waiting = NULL;
	probe_end(p, err);
}

static void
on_trial_open(void *arg, struct box *box, const struct err *err)
{
	struct probe *p = arg;

	p->waiting = NULL;
	if (err)
		probe_end(p, err);
	else
		p->waiting = sgl_close(box, on_trial_closed, p);
}

static void
on_swept(void *arg, const struct err *err)
{
	struct probe *p = arg;
	struct backend_inst *inst = p->inst;
	struct err own = { ERR_NONE, "" };

	p->waiting = NULL;
	if (err || (!sgl_image_look(inst, &own) && own.code)) {
		probe_end(p, err ? err : &own);
		return;
	}
	sgl_limits_say(inst);
	if (!inst->image_path) {	/* pulled when it is first wanted */
		probe_end(p, NULL);
		return;
	}
	p->dir = mem_printf("%s/" TRIAL_ID "-XXXXXX", inst->state_dir);
	if (!mkdtemp(p->dir)) {
		err_set(&own, ERR_IO, "a directory in %s can't be made",
		    inst->state_dir);
		mem_free(STEAL(p->dir));
		probe_end(p, &own);
		return;
	}
	struct box_spec spec = { .id = TRIAL_ID, .workspace = p->dir };
	p->waiting = sgl_open(inst, &spec, on_trial_open, p);
}

/* "apptainer version 1.4.5", "singularity-ce version 4.1.0-bookworm". */
static int
check_version(struct backend_inst *inst, const struct cli_end *end,
	struct err *err)
{
	static const char mark[] = " version ";
	const char *at = strstr(end->out, mark);
	char *rest;

	if (end->err || end->status != 0) {
		CLEANUP_FREE char *tried = mem_printf("%s does not tell its version",
		    inst->program);
		return cli_failed(err, end, tried);
	}
	long major = at ? strtol(at + strlen(mark), &rest, 10) : 0;
	bool apptainer = strncmp(end->out, "apptainer", 9) == 0;
	mem_free(inst->version);
	inst->version = mem_strn(end->out, strcspn(end->out, "\r\n"));
	if (major < (apptainer ? 1 : MAJOR_MIN_SINGULARITY))
		return err_set(err, ERR_UNAVAILABLE, "%s says \"%.60s\": apptainer 1.0, "
		    "singularity 3 or later is needed", inst->program,
		    inst->version);
	return 0;
}

static void
on_version(void *arg, const struct cli_end *end)
{
	struct probe *p = arg;
	struct err err = { ERR_NONE, "" };

	p->waiting = NULL;
	if (check_version(p->inst, end, &err) < 0)
		probe_end(p, &err);
	else
		p->waiting = sgl_reap(p->inst, on_swept, p);
}

static void
probe_begin(void *arg)
{
	static const char *const argv[] = { NULL, "--version", NULL };
	struct cli_spec spec = { .argv = argv, .limit_ms = SGL_SHORT_MS };
	struct probe *p = arg;
	struct err err = { ERR_NONE, "" };

	p->timer = NULL;
	mem_free(p->inst->program);
	p->inst->program = cli_find(p->inst->opts.environ);
	if (p->inst->program) {
		p->waiting = cli_run(p->inst, &spec, on_version, p);
		return;
	}
	err_set(&err, ERR_NOT_FOUND, "neither apptainer nor singularity is in PATH: "
	    "install one (https://apptainer.org), or choose another backend");
	probe_end(p, &err);
}

static struct op *
sgl_probe(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct probe *p = mem_alloc(sizeof(*p));
	bool binds = inst->opts.binds && inst->opts.binds[0];

	inst->props = (struct sandbox_props){
		.backend = inst->name, .level = "", .image = inst->image,
		.network = "host", .isolation = binds ? 0 : SANDBOX_NO_HOST_FILES |
		    SANDBOX_NO_HOST_PROCS | SANDBOX_NO_CREDENTIALS,
		.why = inst->why, .limits = "", .workspace = SGL_WORKSPACE,
		.home = SGL_WORKSPACE, .user = NULL,
	};
	op_init(&p->op, &probe_type);
	p->inst = inst;
	p->cb = cb;
	p->arg = arg;
	p->timer = loop_defer(inst->loop, "singularity probe", probe_begin, p);
	return &p->op;
}

#define SINGULARITY_BACKEND(text, begin) { \
	.name = text, \
	.flags = BACKEND_TREE_KILL | BACKEND_STDIN | BACKEND_WORKSPACE, \
	.start = begin, \
	.stop = sgl_stop, \
	.probe = sgl_probe, \
	.props = sgl_props, \
	.open = sgl_open, \
	.close = sgl_close, \
	.empty = sgl_empty, \
	.measure = sgl_measure, \
	.spawn = sgl_spawn, \
	.kill = sgl_kill, \
	.flow = sgl_flow, \
	.write = sgl_write, \
	.close_input = sgl_close_input, \
	.reap = sgl_reap, \
}
const struct backend backend_singularity =
	SINGULARITY_BACKEND("singularity", singularity_start);
const struct backend backend_apptainer =
	SINGULARITY_BACKEND("apptainer", apptainer_start);
