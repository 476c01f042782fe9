/*
 * An instance a sandbox.  It is a daemon below the keeper of the call that
 * started it, so it ends when we say so, or when we or the launcher end.
 *
 *   WAIT -> SWEEP -> IMAGE -> START (again without limits) -> LOOK -> open
 */
#include "sandbox/singularity_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/native-init/far_proto.h"

#define WAIT_MS 50		/* until an earlier box of that id is gone */
#define WAIT_TRIES 200
#define MIB_SHIFT 20

enum open_step { OPEN_WAIT, OPEN_SWEEP, OPEN_IMAGE, OPEN_START, OPEN_LOOK };

struct open {
	struct op op;
	struct box *box;
	enum open_step step;
	struct op *waiting;
	struct timer *timer;
	unsigned tries;
	box_open_cb *cb;
	void *arg;
};

static void start(struct open *o);

static void
open_set(struct open *o, enum open_step step)
{
	static const char *const names[] = { "wait", "sweep", "image", "start",
		"look" };

	log_debug("singularity", NULL, "%s: %s", o->box->name, names[step]);
	o->step = step;
}

/* ---- the end of a box --------------------------------------------------------------- */

void
sgl_box_free(struct box *box)
{
	REQUIRE(TAILQ_EMPTY(&box->procs));
	TAILQ_REMOVE(&box->inst->boxes, box, entry);
	cli_forget(&box->instance);
	mem_free(box->id);
	mem_free(box->name);
	mem_free(box->workspace);
	mem_free(box->overlay);
	mem_free(box);
}

static void
on_abandoned(void *arg)
{
	sgl_box_free(arg);
}

/* Nobody waits for it; it is in the way of its id until it is gone. */
void
sgl_box_abandon(struct box *box)
{
	box->dead = true;
	box->gone = on_abandoned;
	box->gone_arg = box;
	if (box->instance)
		cli_kill(box->instance);
	else
		sgl_box_free(box);
}

static void
open_free(struct open *o)
{
	op_cancel(&o->waiting);
	loop_cancel(&o->timer);
	if (o->box)
		sgl_box_abandon(o->box);
	mem_free(o);
}

static void
open_cancel(struct op *op)
{
	open_free((struct open *)(void *)op);
}

static const struct op_type open_type = { "singularity open", open_cancel };

static void
open_end(struct open *o, const struct err *err)
{
	struct err copy = { ERR_NONE, "" };
	box_open_cb *cb = o->cb;
	void *arg = o->arg;
	struct box *box = err ? NULL : STEAL(o->box);

	if (err)
		copy = *err;
	op_finish(&o->op);
	if (box)
		box->gone_arg = NULL;
	open_free(o);
	cb(arg, box, copy.code ? &copy : NULL);
}

/* ---- LOOK: it runs our helper, and a shell ----------------------------------------- */

static const char look_script[] =
	"[ -w " SGL_WORKSPACE " ] && echo writable\n"
	"exec " SGL_HELPER " far-kill none";

static void
look_at(struct open *o, const struct cli_end *end, struct err *err)
{
	struct backend_inst *inst = o->box->inst;
	bool ran = !end->err && end->status == 0;

	if (!ran && !end->err && WIFEXITED(end->status) &&
	    WEXITSTATUS(end->status) == 255) {
		CLEANUP_FREE char *tried = mem_printf("the image %s has no /bin/sh "
		    "that can run here (another architecture?); choose another",
		    inst->image);
		cli_failed(err, end, tried);
	} else if (!ran || !strstr(end->out, FAR_KILL_DEAD)) {
		cli_failed(err, end, "our helper does not run in the instance");
	} else if (!strstr(end->out, "writable")) {
		err_set(err, ERR_UNAVAILABLE, "the workspace %s can't be written in "
		    "the instance", o->box->workspace);
	}
}

static void
on_looked(void *arg, const struct cli_end *end)
{
	struct open *o = arg;
	struct err err = { ERR_NONE, "" };

	o->waiting = NULL;
	look_at(o, end, &err);
	if (!err.code && o->box->dead)
		err_set(&err, ERR_UNAVAILABLE, "the instance ended at once");
	if (!err.code)
		o->box->inst->looked = true;
	open_end(o, err.code ? &err : NULL);
}

static void
look(struct open *o)
{
	CLEANUP_FREE char *name = mem_printf("instance://%s", o->box->name);
	const char *const argv[] = { NULL, "-q", "exec", name, "/bin/sh", "-c",
		look_script, NULL };
	struct cli_spec spec = { .argv = argv, .limit_ms = SGL_SHORT_MS };

	if (o->box->inst->looked) {
		open_end(o, NULL);
		return;
	}
	open_set(o, OPEN_LOOK);
	o->waiting = cli_run(o->box->inst, &spec, on_looked, o);
}

/* ---- START ------------------------------------------------------------------------------- */

void
sgl_limits_say(struct backend_inst *inst)
{
	const struct singularity_opts *o = &inst->opts;
	struct buf b;

	buf_init(&b, 2048);
	buf_printf(&b, "%s; ", inst->version ? inst->version : "");
	if (!inst->limited)
		buf_printf(&b, "memory, processors and processes are NOT LIMITED: %s; "
		    "limits need cgroup v2 and a systemd session of this user "
		    "(XDG_RUNTIME_DIR and DBUS_SESSION_BUS_ADDRESS)",
		    inst->no_limits ? inst->no_limits : "not tried yet");
	else
		buf_printf(&b, "%d processes", SGL_PIDS);
	if (inst->limited && o->memory)
		buf_printf(&b, "; memory %llu MiB",
		    (unsigned long long)(o->memory >> MIB_SHIFT));
	if (inst->limited && o->cpu_milli)
		buf_printf(&b, "; %u.%u processors", o->cpu_milli / 1000,
		    o->cpu_milli % 1000 / 100);
	buf_printf(&b, "; disk is not limited; the network is this machine's%s",
	    o->binds && *o->binds ? "; NOT ISOLATED: directories of this machine "
	    "are bound (terminal.singularity_binds)" : "");
	mem_free(inst->limits);
	inst->limits = buf_take(&b);
	inst->props.limits = inst->limits;
}

/* Limits are a wish on such a machine, and it is said that they don't hold. */
static bool
limits_refused(struct open *o, const struct cli_end *end)
{
	struct backend_inst *inst = o->box->inst;

	if (end->err || inst->no_limits || (!strstr(end->said, "cgroup") &&
	    !strstr(end->said, "systemd") && !strstr(end->said, "dbus")))
		return false;
	inst->no_limits = mem_printf("refused (%.300s)", end->said);
	inst->limited = false;
	sgl_limits_say(inst);
	log_warn("singularity", NULL, "%s", inst->limits);
	return true;
}

static void
start_failed(struct open *o, const struct cli_end *end)
{
	struct err err = { ERR_NONE, "" };
	const char *cure = "";

	if (strstr(end->said, "namespace") || strstr(end->said, "setuid"))
		cure = " (ordinary users may make no user namespaces here: "
		    "sysctl kernel.unprivileged_userns_clone=1 or "
		    "kernel.apparmor_restrict_unprivileged_userns=0, or install "
		    "apptainer-suid)";
	else if (strstr(end->said, "overlay"))
		cure = " (the overlay can't be mounted: install fuse-overlayfs, or "
		    "set terminal.container_persistent: false)";
	CLEANUP_FREE char *tried = mem_printf("an instance of %s can't be started%s",
	    o->box->inst->image, cure);
	cli_failed(&err, end, tried);
	open_end(o, &err);
}

/* gone_arg is the open op until the box is open, then who waits for its end. */
static void
on_start_exited(void *arg, const struct cli_end *end)
{
	struct box *box = arg;
	struct open *o = box->gone_arg;

	if (box->dead || !o)
		return;
	if (!end->err && end->status == 0) {
		if (!box->inst->no_limits && !box->inst->limited) {
			box->inst->limited = true;
			sgl_limits_say(box->inst);
		}
		look(o);
		return;
	}
	bool again = limits_refused(o, end);
	cli_forget(&box->instance);
	if (again)
		start(o);
	else
		start_failed(o, end);
}

static void
on_instance_dead(void *arg, const struct err *err)
{
	struct box *box = arg;

	box->instance = NULL;
	box->dead = true;
	if (err)
		box->inst->unswept = true;	/* its keeper is gone, maybe it is not */
	sgl_box_gone(box, err);
	if (box->gone)
		box->gone(box->gone_arg);
}

struct words {
	const char *argv[SGL_ARGS_MAX + 1];
	char *own[SGL_ARGS_MAX];
	size_t n, nown;
};

static void
word(struct words *w, const char *text)
{
	REQUIRE(w->n < SGL_ARGS_MAX);
	w->argv[w->n++] = text;
}

static void
own_word(struct words *w, char *text)
{
	word(w, w->own[w->nown++] = text);
}

static void
add_limits(struct words *w, const struct singularity_opts *o)
{
	if (o->memory) {
		word(w, "--memory");
		own_word(w, mem_printf("%lluM",
		    (unsigned long long)(o->memory >> MIB_SHIFT)));
	}
	if (o->cpu_milli) {
		word(w, "--cpus");
		own_word(w, mem_printf("%u.%03u", o->cpu_milli / 1000,
		    o->cpu_milli % 1000));
	}
	word(w, "--pids-limit");
	own_word(w, mem_printf("%d", SGL_PIDS));
}

static void
start_words(struct words *w, const struct box *box, bool limited)
{
	const struct backend_inst *inst = box->inst;
	const struct singularity_opts *o = &inst->opts;

	*w = (struct words){ .n = 1 };
	word(w, "-q");
	word(w, "instance");
	word(w, "start");
	word(w, "--containall");
	word(w, "--no-home");
	if (o->persistent) {
		word(w, "--overlay");
		word(w, box->overlay);
	} else {
		word(w, "--writable-tmpfs");
	}
	word(w, "--bind");
	own_word(w, mem_printf("%s:" SGL_HELPER ":ro", o->helper));
	word(w, "--bind");
	own_word(w, mem_printf("%s:" SGL_WORKSPACE, box->workspace));
	for (size_t i = 0; o->binds && o->binds[i]; i++) {
		word(w, "--bind");
		word(w, o->binds[i]);
	}
	if (limited)
		add_limits(w, o);
	word(w, inst->image_path);
	word(w, box->name);
}

static void
start(struct open *o)
{
	static const struct cli_events events = {
		.exited = on_start_exited, .dead = on_instance_dead,
	};
	struct box *box = o->box;
	bool limited = !box->inst->no_limits;
	struct err err = { ERR_NONE, "" };
	struct words w;

	open_set(o, OPEN_START);
	if (box->inst->opts.persistent && mkdir(box->overlay, 0700) < 0 &&
	    errno != EEXIST) {
		err_set_errno(&err, errno, "the overlay %s", box->overlay);
		open_end(o, &err);
		return;
	}
	start_words(&w, box, limited);
	struct cli_spec spec = { .argv = w.argv, .keep = true, .session = limited,
		.limit_ms = SGL_START_MS };
	box->gone_arg = o;
	box->instance = cli_start(box->inst, &spec, &events, box, &err);
	for (size_t i = 0; i < w.nown; i++)
		mem_free(w.own[i]);
	if (!box->instance)
		open_end(o, &err);
}

/* ---- before it ------------------------------------------------------------------------------ */

static void
on_image(void *arg, const struct err *err)
{
	struct open *o = arg;

	o->waiting = NULL;
	if (err)
		open_end(o, err);
	else
		start(o);
}

static void
on_swept(void *arg, const struct err *err)
{
	struct open *o = arg;

	o->waiting = NULL;
	if (err) {
		open_end(o, err);
		return;
	}
	open_set(o, OPEN_IMAGE);
	o->waiting = sgl_image_get(o->box->inst, o->box->id, on_image, o);
}

static bool
is_in_the_way(const struct box *box)
{
	const struct box *other;

	TAILQ_FOREACH(other, &box->inst->boxes, entry)
		if (other != box && strcmp(other->id, box->id) == 0)
			return true;
	return false;
}

static void
open_begin(void *arg)
{
	struct open *o = arg;
	struct backend_inst *inst = o->box->inst;
	struct err err = { ERR_NONE, "" };

	o->timer = NULL;
	if (strpbrk(o->box->workspace, ":,\\")) {
		err_set(&err, ERR_CONFIG, "the path %s holds a character that can't be "
		    "bound (: , \\); move the state directory", o->box->workspace);
		open_end(o, &err);
	} else if (is_in_the_way(o->box) && o->tries++ < WAIT_TRIES) {
		o->timer = loop_after(inst->loop, WAIT_MS, "singularity open",
		    open_begin, o);
	} else if (is_in_the_way(o->box)) {
		err_set(&err, ERR_UNAVAILABLE, "an earlier instance of this sandbox "
		    "does not end");
		open_end(o, &err);
	} else if (inst->unswept) {
		open_set(o, OPEN_SWEEP);
		o->waiting = sgl_reap(inst, on_swept, o);
	} else {
		on_swept(o, NULL);
	}
}

/* Beside the images; its name is the sandbox's directory. Caller frees. */
char *
sgl_overlay(const struct backend_inst *inst, const char *workspace)
{
	const char *end = strrchr(workspace, '/'), *begin = end;

	while (begin && begin > workspace && begin[-1] != '/')
		begin--;
	return mem_printf("%s/overlays/%.*s", inst->opts.scratch,
	    (int)(end - begin), begin);
}

struct op *
sgl_open(struct backend_inst *inst, const struct box_spec *spec, box_open_cb *cb,
	void *arg)
{
	static unsigned serial;
	struct open *o = mem_alloc(sizeof(*o));
	struct box *box = o->box = mem_alloc(sizeof(*box));

	box->inst = inst;
	TAILQ_INIT(&box->procs);
	TAILQ_INSERT_TAIL(&inst->boxes, box, entry);
	box->id = mem_str(spec->id);
	box->name = mem_printf("%s%s-%u-%s", inst->prefix, spec->id, ++serial,
	    inst->owner);
	box->workspace = mem_str(spec->workspace);
	box->overlay = sgl_overlay(inst, spec->workspace);
	op_init(&o->op, &open_type);
	o->cb = cb;
	o->arg = arg;
	o->timer = loop_defer(inst->loop, "singularity open", open_begin, o);
	return &o->op;
}
