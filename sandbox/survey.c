#include "sandbox/survey.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/env.h"

#define LIMIT_MS 10000
#define OUTPUT_MAX 8192

/*
 * For any POSIX shell.  Each line is a name, a tab, a value; the versions are
 * the programs' own words.  "end" says that nothing is missing.
 */
static const char script[] =
    "exec 2>/dev/null 3>&- 4<&- </dev/null; umask 077\n"
    "say() { printf '%s\\t%s\\n' \"$1\" \"$2\"; }\n"
    "os=$(. /etc/os-release && printf %s \"$PRETTY_NAME\"); "
    "say os \"${os:-$(uname -s)}\"; say machine \"$(uname -m)\"\n"
    "say shell \"${BASH_VERSION:+bash }${BASH_VERSION:-sh}\"\n"
    "say user \"$(id -un || id -u)\"; say home \"$HOME\"\n"
    "for t in python3 node git; do\n"
    "command -v $t >/dev/null && say \"$t\" \"$($t --version | head -n 1)\"\n"
    "done\n"
    "python3 -m pip --version >/dev/null && say has pip\n"
    "for f in /usr/lib/python3*/EXTERNALLY-MANAGED; do\n"
    "[ -e \"$f\" ] && say managed python3; done\n"
    "for t in uv npm gcc make go cargo curl wget jq rg ssh tmux; do\n"
    "command -v $t >/dev/null && say has $t\n"
    "done\n"
    "say end .\n";

enum survey_step { SURVEY_OPEN, SURVEY_RUN, SURVEY_CLOSE };

struct survey {
	struct slot *slot;
	enum survey_step step;
	struct op *op;		/* opening or closing */
	struct box *box;
	struct proc *proc;
	struct timer *timer;	/* the limit; or the end, from a safe place */
	char *workspace;
	struct buf output;
	bool stopped;
	survey_cb *done;
	void *arg;
};

static void on_opened(void *arg, struct box *box, const struct err *err);
static void on_closed(void *arg, const struct err *err);

/* ---- words --------------------------------------------------------------------- */

/* ---- the story ------------------------------------------------------------------- */

static void
survey_enter(struct survey *s, enum survey_step step)
{
	static const char *const names[] = { "open", "run", "close" };

	log_debug("sandbox", NULL, "survey of %s: %s -> %s",
	    s->slot->backend->name, names[s->step], names[step]);
	s->step = step;
}

static void
survey_free(struct survey *s)
{
	loop_cancel(&s->timer);
	(void)rmdir(s->workspace);
	buf_done(&s->output);
	mem_free(s->workspace);
	mem_free(s);
}

static void
survey_done(void *arg)
{
	struct survey *s = arg;
	char *found CLEANUP_FREE = s->stopped ? NULL :
	    survey_words(s->output.data, s->output.len);
	bool scripts = survey_has(s->output.data, s->output.len, "python3") ||
	    survey_has(s->output.data, s->output.len, "node");
	survey_cb *done = s->done;
	void *done_arg = s->arg;

	s->timer = NULL;
	survey_free(s);
	done(done_arg, found, scripts);
}

static void
finish(struct survey *s)
{
	loop_cancel(&s->timer);
	s->timer = loop_defer(s->slot->sb->loop, "survey", survey_done, s);
}

static void
close_box(struct survey *s)
{
	survey_enter(s, SURVEY_CLOSE);
	s->op = s->slot->backend->close(s->box, on_closed, s);
}

static void
on_closed(void *arg, const struct err *err)
{
	struct survey *s = arg;

	s->op = NULL;
	if (err)
		log_warn("sandbox", NULL, "the survey's sandbox could not be "
		    "closed: %s", err->text);
	finish(s);
}

static void
on_started(void *arg, int pid)
{
	(void)arg, (void)pid;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct survey *s = arg;

	(void)fd;
	buf_add(&s->output, data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	(void)arg, (void)data, (void)len;
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	(void)arg, (void)wait_status, (void)leftovers;
}

static void
on_dead(void *arg, const struct err *err)
{
	struct survey *s = arg;

	s->proc = NULL;
	if (!s->slot) {
		survey_free(s);
		return;
	}
	if (err)
		log_info("sandbox", NULL, "survey of %s: %s",
		    s->slot->backend->name, err->text);
	close_box(s);
}

static void
run(struct survey *s)
{
	static const struct proc_events events = {
		on_started, on_output, on_giveback, on_exited, on_dead,
	};
	struct sandbox_props props = slot_props(s->slot);
	struct env_spec spec = {
		.home = props.home ? props.home : props.workspace,
		.user = props.user ? props.user : "sandbox",
	};
	struct err err = { ERR_NONE, "" };
	struct vars vars;

	env_build(&vars, &spec);
	char **env = vars_env(&vars);
	struct spawn_req req = {
		.script = script, .script_len = sizeof(script) - 1,
		.env = (const char *const *)env, .events = &events, .arg = s,
	};

	survey_enter(s, SURVEY_RUN);
	s->proc = s->slot->backend->spawn(s->box, &req, &err);
	vars_env_free(&env);
	vars_done(&vars);
	if (!s->proc) {
		log_info("sandbox", NULL, "survey of %s: %s",
		    s->slot->backend->name, err.text);
		close_box(s);
	}
}

static void
on_opened(void *arg, struct box *box, const struct err *err)
{
	struct survey *s = arg;

	s->op = NULL;
	s->box = box;
	if (err) {
		log_info("sandbox", NULL, "survey of %s: %s",
		    s->slot->backend->name, err->text);
		finish(s);
	} else if (s->stopped) {
		close_box(s);
	} else {
		run(s);
	}
}

void
survey_stop(struct survey *s)
{
	s->stopped = true;
	if (s->step == SURVEY_RUN && s->proc)
		s->slot->backend->kill(s->proc);
}

void
survey_orphan(struct survey **sp)
{
	if (!*sp)
		return;
	struct survey *s = STEAL(*sp);
	struct proc *proc = s->proc;
	const struct backend *backend = s->slot->backend;

	loop_cancel(&s->timer);
	op_cancel(&s->op);
	s->slot = NULL;
	if (proc)
		backend->kill(proc);
	else
		survey_free(s);
}

static void
on_limit(void *arg)
{
	struct survey *s = arg;

	s->timer = NULL;
	log_info("sandbox", NULL, "survey of %s: not done within %d s",
	    s->slot->backend->name, LIMIT_MS / 1000);
	survey_stop(s);
}

struct survey *
survey_start(struct slot *slot, survey_cb *done, void *arg)
{
	struct survey *s = mem_alloc(sizeof(*s));
	struct sandboxes *sb = slot->sb;
	struct box_spec spec = { .id = "survey" };

	s->slot = slot;
	s->done = done;
	s->arg = arg;
	buf_init(&s->output, OUTPUT_MAX);
	s->workspace = mem_printf("%s/.survey%d", sb->opts.state_dir,
	    slot == &sb->slots[0] ? 0 : 1);
	spec.workspace = s->workspace;
	if (mkdir(s->workspace, 0700) < 0 && errno != EEXIST) {
		finish(s);
		return s;
	}
	s->op = slot->backend->open(slot->inst, &spec, on_opened, s);
	s->timer = loop_after(sb->loop, LIMIT_MS, "survey limit", on_limit, s);
	return s;
}
