/*
 * The tool `patch`: one text replaced in a file, or a V4A patch over several.
 * Everything is looked at and computed before anything is written, and then
 * all of it is.  LOOK (each file) > THINK (on the thread) > CHANGE > LINT.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/offload.h"
#include "base/redact.h"
#include "gateway/agent/file_change.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/lint.h"
#include "gateway/agent/patch_job.h"
#include "gateway/agent/seen.h"
#include "gateway/agent/tool_call.h"

#define PATCH_MAX (1u << 20)
#define DIFF_SHOWN 30000
#define FAILURES_HINT 3

enum patch_step { PATCH_LOOK, PATCH_THINK, PATCH_CHANGE, PATCH_LINT };

struct patch_call {
	struct tool_call c;
	enum patch_step step;
	struct patch_job *job;		/* the thread's while it thinks */
	size_t at;			/* file that is looked at, or checked */
	struct json *result, *lints;	/* until all are checked */
};

static void look_next(struct patch_call *c);
static void on_look(void *arg, const struct file_look *look);
static void on_thought(void *arg, void *data);
static void on_changed(void *arg, const struct file_changed *res);
static void lint_next(struct patch_call *c);
static void on_linted(void *arg, const struct json *lint);

static void
patch_enter(struct patch_call *c, enum patch_step step)
{
	static const char *const names[] = { "look", "think", "change",
		"lint" };

	log_debug("patch", NULL, "call=%s step=%s was=%s", c->c.call_id,
	    names[step], names[c->step]);
	c->step = step;
}

static void
release(void *call)
{
	struct patch_call *c = call;

	patch_job_free(&c->job);
	json_free(&c->result);
	json_free(&c->lints);
}

static const struct op_type call_type = { "patch", tool_call_cancel };

static void
on_begin(void *arg)
{
	struct patch_call *c = arg;

	c->c.timer = NULL;
	look_next(c);
}

/* ---- what is asked for --------------------------------------------------------------- */

/* All return NULL, or the fault (caller frees). */
static char *
add_path(struct patch_call *c, enum v4a_kind kind, const char *text,
    const struct v4a_file *patch)
{
	const char *fault;
	CLEANUP_FREE char *path = file_tool_path(&c->c.env, text, &fault);

	if (!path)
		return mem_printf("%.200s: %s", text, fault);
	struct patch_file *f = patch_job_file(c->job, kind, path);

	f->patch = patch;
	if (!patch || !patch->to)
		return NULL;
	f->to = file_tool_path(&c->c.env, patch->to, &fault);
	return f->to ? NULL : mem_printf("%.200s: %s", patch->to, fault);
}

static char *
take_replace(struct patch_call *c)
{
	const char *old = json_get_str(c->c.args, "old_string", "");
	const char *new = json_get_str(c->c.args, "new_string", "");

	if (!json_get(c->c.args, "path") || !json_get(c->c.args, "old_string") ||
	    !json_get(c->c.args, "new_string"))
		return mem_str("mode replace needs path, old_string and "
		    "new_string");
	if (redact_has_sentinel(old, strlen(old)) ||
	    redact_has_sentinel(new, strlen(new)))
		return mem_str("old_string or new_string holds a mask such as "
		    "«redacted:...»: the file has the real secret there, which "
		    "you were not shown. Choose lines around it that hold no "
		    "mask");
	c->job->old = mem_str(old);
	c->job->new = mem_str(new);
	c->job->all = json_get_bool(c->c.args, "replace_all", false);
	return add_path(c, V4A_UPDATE, json_get_str(c->c.args, "path", ""), NULL);
}

static char *
take_patch(struct patch_call *c)
{
	const char *text = json_get_str(c->c.args, "patch", "");
	size_t len = strlen(text);
	struct err err;

	if (len == 0)
		return mem_str("mode patch needs the member patch");
	if (len > PATCH_MAX)
		return mem_str("the patch is too large: send it in pieces");
	if (redact_has_sentinel(text, len))
		return mem_str("the patch holds a mask such as «redacted:...»: the "
		    "file has the real secret there, which you were not shown. "
		    "Leave that line out, also as context");
	if (v4a_parse(&c->job->v4a, text, len, &err) < 0)
		return mem_str(err.text);
	for (size_t i = 0; i < c->job->v4a.n; i++) {
		const struct v4a_file *f = &c->job->v4a.files[i];
		char *fault = add_path(c, f->kind, f->path, f);

		if (fault)
			return fault;
	}
	return NULL;
}

static struct op *
patch_call_start(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct patch_call *c = mem_alloc(sizeof(*c));

	tool_call_init(&c->c, &call_type, env, call_id, args, done, arg);
	c->c.release = release;
	c->job = patch_job_new();
	bool whole = strcmp(json_get_str(args, "mode", "replace"), "patch") == 0 ||
	    (!json_get(args, "mode") && json_get(args, "patch"));
	CLEANUP_FREE char *fault = whole ? take_patch(c) : take_replace(c);

	if (fault)
		return tool_call_refuse(&c->c, true, file_error(fault));
	c->c.timer = loop_defer(env->loop, "patch begin", on_begin, c);
	return &c->c.op;
}

/* ---- look, think, change --------------------------------------------------------------- */

/* What the thread works on: the job is the call's again when it is done. */
struct thought {
	struct patch_job *job;
};

static void
thought_run(void *data)
{
	patch_job_run(((struct thought *)data)->job);
}

static void
thought_drop(void *data)
{
	struct thought *t = data;

	patch_job_free(&t->job);	/* of a cancelled call */
	mem_free(t);
}

static void
look_next(struct patch_call *c)
{
	static const struct offload_work work = {
		thought_run, on_thought, thought_drop,
	};

	if (c->at < c->job->n) {
		c->c.waiting = file_look_start(&c->c.env, &(struct file_look_req){
			.call_id = c->c.call_id,
			.path = c->job->files[c->at].path, .to_write = true,
		}, on_look, c);
		return;
	}
	struct offload *o = sandboxes_offload(c->c.env.sandboxes);

	if (!o) {
		tool_call_finish(&c->c, file_error("this machine has no thread left to work on "
		    "it; try again later"), false);
		return;
	}
	struct thought *t = mem_alloc(sizeof(*t));

	t->job = STEAL(c->job);
	patch_enter(c, PATCH_THINK);
	c->c.waiting = offload_start(o, &work, t, c);
}

static void
on_look(void *arg, const struct file_look *look)
{
	struct patch_call *c = arg;
	struct patch_file *f = &c->job->files[c->at];

	c->c.waiting = NULL;
	if (look->refusal) {
		tool_call_finish(&c->c, json_clone(look->refusal), false);
		return;
	}
	struct sandbox_props props = sandbox_props(c->c.env.sandboxes,
	    c->c.env.sandbox.owner);
	const char *why = patch_job_take(f, &look->reply);

	if (!why && f->to)
		why = file_denied(&props, f->to, true);

	if (why) {
		CLEANUP_FREE char *text = mem_printf("%s: %s. Nothing was changed",
		    look->reply.path, why);

		tool_call_finish(&c->c, file_error(text), false);
		return;
	}
	if (f->exists && seen_changed(c->c.env.seen, f->path, f->version))
		f->warning = "the file had changed since you last read or wrote it";
	c->at++;
	look_next(c);
}

static struct json *
not_possible(struct patch_call *c)
{
	struct patch_job *job = c->job;
	const char *path = job->files[job->wrong].path;
	unsigned failures = seen_patch(c->c.env.seen, path, false);
	CLEANUP_BUF struct buf text;

	buf_init(&text, 8192);
	buf_printf(&text, "%s: %s. Nothing was changed", path, job->err.text);
	if (job->closest.len > 0) {
		buf_add_str(&text, ". The closest lines are:\n");
		redact_sentinels(&text, job->closest.data, job->closest.len);
	}
	if (failures >= FAILURES_HINT)
		buf_add_str(&text, "\nThis is not the first failure here: read the "
		    "file again and copy the lines exactly.");
	return json_set_bool(file_error(text.data), "success", false);
}

static void
on_thought(void *arg, void *data)
{
	struct patch_call *c = arg;
	struct file_act act;

	c->c.waiting = NULL;
	c->job = STEAL(((struct thought *)data)->job);
	if (c->job->err.code != ERR_NONE) {
		tool_call_finish(&c->c, not_possible(c), false);
		return;
	}
	patch_job_act(c->job, &act);
	patch_enter(c, PATCH_CHANGE);
	c->c.waiting = file_change_start(&c->c.env, &(struct file_change_req){
		.call_id = c->c.call_id, .tool = "patch", .args = c->c.args,
		.act = &act, .shown = c->job->diff.data,
	}, on_changed, c);
	file_act_done(&act);
}

static void
add_files(struct json *j, const struct patch_job *job)
{
	struct json *modified = json_array(), *created = json_array();
	struct json *deleted = json_array();

	for (size_t i = 0; i < job->n; i++) {
		const struct patch_file *f = &job->files[i];

		if (f->to || f->kind == V4A_DELETE)
			json_add_take(deleted, json_string(f->path));
		if (f->to || f->kind == V4A_ADD)
			json_add_take(created, json_string(f->to ? f->to :
			    f->path));
		else if (f->kind == V4A_UPDATE)
			json_add_take(modified, json_string(f->path));
		if (f->warning)
			json_set_str(j, "_warning", f->warning);
	}
	json_set_take(j, "files_modified", modified);
	json_set_take(j, "files_created", created);
	json_set_take(j, "files_deleted", deleted);
}

static void
on_changed(void *arg, const struct file_changed *res)
{
	struct patch_call *c = arg;
	struct patch_job *job = c->job;
	struct json *j = json_object();

	c->c.waiting = NULL;
	if (res->refusal) {
		json_free(&j);
		tool_call_finish(&c->c, json_clone(res->refusal), res->lost);
		return;
	}
	(void)seen_patch(c->c.env.seen, job->files[0].path, true);
	json_set_bool(j, "success", true);
	if (job->diff.len > DIFF_SHOWN) {
		CLEANUP_FREE char *text = mem_printf("(%zu bytes, not shown)",
		    job->diff.len);

		json_set_str(j, "diff", text);
	} else {
		json_set_str(j, "diff", job->diff.data);
	}
	add_files(j, job);
	if (job->strategy && strcmp(job->strategy, "exact") != 0)
		json_set_str(j, "strategy", job->strategy);
	if (job->strategy)
		json_set_int(j, "replacements", job->replaced);
	c->result = j;
	c->lints = json_object();
	c->at = 0;
	patch_enter(c, PATCH_LINT);
	lint_next(c);
}

/* In replace mode the finding itself, else one for each path. */
static void
lint_next(struct patch_call *c)
{
	for (; c->at < c->job->n; c->at++) {
		const struct patch_file *f = &c->job->files[c->at];
		const char *path = f->to ? f->to : f->path;

		if ((f->kind != V4A_UPDATE && f->kind != V4A_ADD) ||
		    !lint_knows(path))
			continue;
		c->c.waiting = lint_start(&c->c.env, &(struct lint_req){
			.call_id = c->c.call_id, .path = path,
			.before = f->exists ? f->text.data : NULL,
			.before_len = f->text.len,
			.after = f->made.data, .after_len = f->made.len,
		}, on_linted, c);
		return;
	}
	const struct json *only = json_first(c->lints);

	if (only && c->job->strategy)
		json_set_take(c->result, "lint", json_clone(only));
	else if (only)
		json_set_take(c->result, "lint", STEAL(c->lints));
	tool_call_finish(&c->c, STEAL(c->result), false);
}

static void
on_linted(void *arg, const struct json *lint)
{
	struct patch_call *c = arg;
	const struct patch_file *f = &c->job->files[c->at++];

	c->c.waiting = NULL;
	json_set_take(c->lints, f->to ? f->to : f->path, json_clone(lint));
	lint_next(c);
}

const struct tool tool_patch = {
	.name = "patch",
	.description = "Change text files in this conversation's sandbox. mode "
	    "replace: one place in one file; old_string must be there once "
	    "(or set replace_all) and may differ in blanks. mode patch: several "
	    "files at once in V4A form (*** Begin Patch, *** Update File: PATH, "
	    "@@ line above, lines with ' ', '-', '+', *** Add File:, *** Delete "
	    "File:, *** Move File: A -> B, *** End Patch); all of it is checked "
	    "before anything is written. Answers with a diff, and with lint what "
	    "is newly wrong in the syntax.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"mode\":{\"type\":\"string\",\"enum\":[\"replace\",\"patch\"],"
	    "\"description\":\"replace, unless patch is given.\"},"
	    "\"path\":{\"type\":\"string\",\"description\":\"replace: the "
	    "file.\"},"
	    "\"old_string\":{\"type\":\"string\",\"description\":\"replace: text "
	    "that is there, with enough lines to be unique.\"},"
	    "\"new_string\":{\"type\":\"string\",\"description\":\"replace: what "
	    "stands there then; empty deletes.\"},"
	    "\"replace_all\":{\"type\":\"boolean\",\"description\":\"replace: "
	    "every place (false).\"},"
	    "\"patch\":{\"type\":\"string\",\"description\":\"patch: the V4A "
	    "text.\"}},\"required\":[]}",
	.needs = SANDBOX_COMMANDS,
	.read_only = false,
	.call = patch_call_start,
};
