/*
 * FIND -> RENAME, or FIND -> ERASE (slice by slice), or for prune
 * IDLE -> ERASE -> IDLE ... until nothing is idle any more.
 */
#include "gateway/session_edit.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum edit_step { EDIT_START, EDIT_FIND, EDIT_RENAME, EDIT_IDLE, EDIT_ERASE };

struct session_edit {
	struct op op;
	struct loop *loop;
	struct store *store;
	enum edit_step step;
	struct timer *start;
	struct op *waiting;
	char *action, *ref, *title, *session_id;
	msec_t before;
	int64_t max, erased;
	bool even_open;
	store_json_cb *cb;
	void *arg;
};

static void on_start(void *arg);
static void on_found(void *arg, const struct json *res, const struct err *err);
static void on_renamed(void *arg, const struct err *err);
static void on_idle(void *arg, const struct json *res, const struct err *err);
static void on_erased(void *arg, const struct json *res, const struct err *err);

static const char *
edit_step_name(enum edit_step step)
{
	switch (step) {
	case EDIT_START:
		return "start";
	case EDIT_FIND:
		return "find";
	case EDIT_RENAME:
		return "rename";
	case EDIT_IDLE:
		return "idle";
	case EDIT_ERASE:
		return "erase";
	}
	return "?";
}

static void
edit_free(struct session_edit *e)
{
	op_cancel(&e->waiting);
	loop_cancel(&e->start);
	mem_free(e->action);
	mem_free(e->ref);
	mem_free(e->title);
	mem_free(e->session_id);
	mem_free(e);
}

static void
edit_cancel(struct op *op)
{
	edit_free((struct session_edit *)op);
}

static void
edit_finish(struct session_edit *e, const struct err *err)
{
	CLEANUP_JSON struct json *res = json_object();
	store_json_cb *cb = e->cb;
	void *arg = e->arg;

	if (e->session_id)
		json_set_str(res, "session_id", e->session_id);
	json_set_int(res, "erased", e->erased);
	op_finish(&e->op);
	edit_free(e);
	cb(arg, err ? NULL : res, err);
}

static bool
edit_is(const struct session_edit *e, const char *action)
{
	return strcmp(e->action, action) == 0;
}

static void
edit_enter(struct session_edit *e, enum edit_step step)
{
	log_debug("sessions", NULL, "%s: %s -> %s", e->action,
	    edit_step_name(e->step), edit_step_name(step));
	e->step = step;
	switch (step) {
	case EDIT_START:
		e->start = loop_defer(e->loop, "session edit", on_start, e);
		break;
	case EDIT_FIND:
		e->waiting = store_conversation(e->store, e->ref, on_found, e);
		break;
	case EDIT_RENAME:
		e->waiting = store_conversation_rename(e->store, e->session_id,
		    e->title, on_renamed, e);
		break;
	case EDIT_IDLE:
		e->waiting = store_conversation_idle(e->store, e->before,
		    on_idle, e);
		break;
	case EDIT_ERASE:
		e->waiting = store_conversation_erase(e->store, e->session_id,
		    e->even_open, loop_wall(e->loop), on_erased, e);
		break;
	}
}

static void
on_start(void *arg)
{
	struct session_edit *e = arg;
	struct err err;

	e->start = NULL;
	if (edit_is(e, "prune") && e->before <= 0) {
		err_set(&err, ERR_INVALID, "prune: `before` is missing");
		edit_finish(e, &err);
	} else if (edit_is(e, "prune")) {
		edit_enter(e, EDIT_IDLE);
	} else if (edit_is(e, "rename") || edit_is(e, "delete")) {
		edit_enter(e, EDIT_FIND);
	} else {
		err_set(&err, ERR_INVALID, "no such change of a session: '%s'",
		    e->action);
		edit_finish(e, &err);
	}
}

static void
on_found(void *arg, const struct json *res, const struct err *err)
{
	struct session_edit *e = arg;

	e->waiting = NULL;
	if (err) {
		edit_finish(e, err);
		return;
	}
	e->session_id = mem_str(json_get_str(res, "session_id", ""));
	edit_enter(e, edit_is(e, "rename") ? EDIT_RENAME : EDIT_ERASE);
}

static void
on_renamed(void *arg, const struct err *err)
{
	struct session_edit *e = arg;

	e->waiting = NULL;
	edit_finish(e, err);
}

static void
on_idle(void *arg, const struct json *res, const struct err *err)
{
	struct session_edit *e = arg;

	e->waiting = NULL;
	if (err || !res) {
		edit_finish(e, err);
		return;
	}
	mem_free(e->session_id);
	e->session_id = mem_str(json_get_str(res, "session_id", ""));
	edit_enter(e, EDIT_ERASE);
}

static void
on_erased(void *arg, const struct json *res, const struct err *err)
{
	struct session_edit *e = arg;

	e->waiting = NULL;
	if (err) {
		edit_finish(e, err);
		return;
	}
	if (!json_get_bool(res, "done", false)) {
		edit_enter(e, EDIT_ERASE);
		return;
	}
	e->erased++;
	if (edit_is(e, "prune") && e->erased < e->max)
		edit_enter(e, EDIT_IDLE);
	else
		edit_finish(e, NULL);
}

struct op *
session_edit_start(struct loop *loop, struct store *store,
	const struct json *req, bool even_open, store_json_cb *cb, void *arg)
{
	static const struct op_type type = { "session edit", edit_cancel };
	struct session_edit *e = mem_alloc(sizeof(*e));

	op_init(&e->op, &type);
	e->loop = loop;
	e->store = store;
	e->action = mem_str(json_get_str(req, "action", ""));
	e->ref = mem_str(json_get_str(req, "ref", ""));
	e->title = mem_str(json_get_str(req, "title", ""));
	e->before = json_get_int(req, "before", 0);
	e->max = json_get_int(req, "max", 10000);
	e->even_open = even_open;
	e->cb = cb;
	e->arg = arg;
	edit_enter(e, EDIT_START);
	return &e->op;
}

/* ---- through the control socket -------------------------------------------- */

struct edit_call {
	struct owner_call *call;
	struct op *waiting;
};

static void
on_edited(void *arg, const struct json *res, const struct err *err)
{
	struct edit_call *e = arg;
	struct owner_call *call = e->call;
	struct json *frame = res ? json_clone(res) : json_object();

	owner_call_set_data(call, NULL);
	mem_free(e);
	if (err)
		json_set_str(frame, "error", err->text);
	owner_call_end(call, frame, err == NULL);
}

void
session_edit_call(struct loop *loop, struct store *store,
	struct owner_call *call, const struct json *req)
{
	struct edit_call *e = mem_alloc(sizeof(*e));

	e->call = call;
	owner_call_set_data(call, e);
	e->waiting = session_edit_start(loop, store, req, false, on_edited, e);
}

void
session_edit_gone(struct owner_call *call)
{
	struct edit_call *e = owner_call_data(call);

	if (!e)
		return;
	owner_call_set_data(call, NULL);
	op_cancel(&e->waiting);
	mem_free(e);
}
