#include "gateway/agent/file_change.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/errand.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/seen.h"
#include "sandbox/exec.h"

struct change_op {
	struct op op;
	struct tool_env env;
	struct op *waiting;
	struct file_act act;
	file_change_cb *cb;
	void *arg;
};

static void
change_free(struct change_op *c)
{
	op_cancel(&c->waiting);
	file_act_done(&c->act);
	mem_free(c);
}

static void
change_cancel(struct op *op)
{
	change_free((struct change_op *)(void *)op);
}

static const struct op_type change_type = { "file change", change_cancel };

/* "cat > 'path'", "rm -- 'path'", a line each: what the gate judges. */
static void
judged_text(struct buf *out, const struct file_act *act)
{
	for (size_t i = 0; i < act->nedits; i++) {
		const struct file_edit *e = &act->edits[i];

		buf_add_str(out, e->kind == FILE_PUT ? "cat > " :
		    e->kind == FILE_DELETE ? "rm -- " : "mv -- ");
		exec_quote(out, e->path, strlen(e->path));
		if (e->kind == FILE_MOVE) {
			buf_add_char(out, ' ');
			exec_quote(out, e->to, strlen(e->to));
		}
		buf_add_char(out, '\n');
	}
}

static void
change_finish(struct change_op *c, struct json *refusal,
    const struct file_change_reply *reply, bool lost)
{
	struct file_changed res = { .refusal = refusal, .lost = lost };

	if (reply)
		res.reply = *reply;
	op_finish(&c->op);
	c->cb(c->arg, &res);
	json_free(&refusal);
	change_free(c);
}

static void
note_all(struct change_op *c, const struct file_change_reply *reply)
{
	for (size_t i = 0; i < c->act.nedits; i++) {
		const struct file_edit *e = &c->act.edits[i];

		if (e->kind == FILE_PUT)
			seen_note(c->env.seen, e->path, reply->versions[i]);
		else
			seen_forget(c->env.seen, e->path);
	}
}

/* Takes nothing; words for the model. */
static struct json *
not_done(struct change_op *c, const struct file_change_reply *r)
{
	const struct file_edit *e = &c->act.edits[r->at];
	CLEANUP_FREE char *text = mem_printf("%s: %s. %s", e->path, r->why,
	    r->partly ? "The files named before it in this call ARE changed "
	    "already: read them before you go on" : "Nothing was changed");

	if (!r->partly)
		return file_error(text);
	for (size_t i = 0; i < c->act.nedits; i++)
		seen_forget(c->env.seen, c->act.edits[i].path);
	return json_set_bool(file_error(text), "partly_done", true);
}

static void
on_ran(void *arg, const struct errand_result *res)
{
	struct change_op *c = arg;
	struct file_change_reply reply;

	c->waiting = NULL;
	if (res->refused) {
		change_finish(c, errand_refusal(res), NULL, res->lost);
		return;
	}
	if (res->exit_code != 0 || file_change_parse(&reply, res->out, res->len,
	    c->act.nedits) < 0) {
		CLEANUP_FREE char *text = mem_printf("the change ended in an "
		    "unknown way (exit code %d): read the files before you go "
		    "on. %.300s", res->exit_code,
		    utf8_valid(res->err, strlen(res->err)) ? res->err : "");

		change_finish(c, file_error(text), NULL, true);
		return;
	}
	if (!reply.done) {
		change_finish(c, not_done(c, &reply), NULL, false);
		return;
	}
	note_all(c, &reply);
	change_finish(c, NULL, &reply, false);
}

struct op *
file_change_start(const struct tool_env *env, const struct file_change_req *req,
    file_change_cb *cb, void *arg)
{
	struct change_op *c = mem_alloc(sizeof(*c));
	CLEANUP_BUF struct buf judged;

	op_init(&c->op, &change_type);
	c->env = *env;
	c->cb = cb;
	c->arg = arg;
	file_act_copy(&c->act, req->act);
	buf_init(&judged, 128 * 1024);
	judged_text(&judged, &c->act);
	c->waiting = errand_start(env, &(struct errand_req){
		.call_id = req->call_id, .tool = req->tool, .args = req->args,
		.effects = true, .act = &c->act,
		/* too many long names: cut text would be judged as less */
		.judged = judged.over ? NULL : judged.data,
		.shown = req->shown, .what = "this change of files",
		.output_max = 64 * 1024,
	}, on_ran, c);
	return &c->op;
}
