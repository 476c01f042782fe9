/* One piece of a platform's batch: its rows, plans and controls. */
#include "gateway/intake_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

#define TEXT_MAX (64 * 1024)

struct batch *
batch_new(struct intake *in, const char *platform, const char *account,
    uint64_t id, const char *cursor, size_t max)
{
	struct batch *b = mem_alloc(sizeof(*b));

	b->in = in;
	b->platform = mem_str(platform);
	b->account = mem_str(account);
	b->cursor = mem_str(cursor);
	b->id = id;
	b->events = mem_array(max + 1, sizeof(*b->events));
	b->controls = mem_array(max + 1, sizeof(*b->controls));
	b->acted = mem_array(max + 1, sizeof(*b->acted));
	TAILQ_INSERT_TAIL(&in->open, b, link);
	in->nopen++;
	return b;
}

void
batch_free(struct batch *b)
{
	op_cancel(&b->waiting);
	loop_cancel(&b->timer);
	TAILQ_REMOVE(&b->in->open, b, link);
	b->in->nopen--;
	for (size_t i = 0; i < b->nparts; i++) {
		mem_free(b->parts[i].key);
		origin_done(&b->parts[i].origin);
	}
	for (size_t i = 0; i < b->nevents; i++)
		control_free(&b->controls[i]);
	for (size_t i = 0; i < b->nstrings; i++)
		mem_free(b->strings[i]);
	mem_free(b->strings);
	mem_free(b->parts);
	mem_free(b->controls);
	mem_free(b->acted);
	mem_free(b->events);
	mem_free(b->platform);
	mem_free(b->account);
	mem_free(b->cursor);
	mem_free(b);
}

const char *
batch_keep(struct batch *b, char *s)
{
	b->strings = mem_grow(b->strings, b->nstrings + 1, sizeof(*b->strings));
	b->strings[b->nstrings++] = s;
	return s;
}

/*
 * In a shared session the model must know who speaks; names are labels.  Both
 * the model and (through it) the person learn that a text was too long.
 */
static char *
turn_text(const struct msg *msg, bool shared)
{
	size_t len = strlen(msg->text), n = utf8_cut(msg->text, len, TEXT_MAX);
	CLEANUP_FREE char *text = n == len ? mem_strn(msg->text, len) :
	    mem_printf("%.*s\n[the message was cut here: it has %zu bytes, %d "
	    "are taken]", (int)n, msg->text, len, TEXT_MAX);

	if (!shared)
		return STEAL(text);
	CLEANUP_FREE char *name = mem_printf("%.60s", msg->user_name);

	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '[' || *p == ']')
			*p = '_';
	return mem_printf("[%s] %s", name, text);
}

static char *
event_payload(const struct msg *msg, bool glue)
{
	CLEANUP_JSON struct json *p = json_object();

	json_set_str(p, "user_name", msg->user_name);
	if (msg->reply_to[0])
		json_set_str(p, "reply_to", msg->reply_to);
	if (glue)
		json_set_bool(p, "glue", true);
	return json_text(p);
}

static struct part *
find_part(struct batch *b, const char *key)
{
	for (size_t i = 0; i < b->nparts; i++)
		if (strcmp(b->parts[i].key, key) == 0)
			return &b->parts[i];
	return NULL;
}

/* Texts of one batch join before the start: one plan a session. */
static struct part *
plan_part(struct batch *b, const struct msg *msg, const char *key)
{
	struct intake *in = b->in;
	struct part *part = find_part(b, key);
	struct session_plan plan;

	if (part) {
		session_plan_join(in->env.control.sessions, key, msg,
		    &part->plan);
		return part;
	}
	plan = session_plan(in->env.control.sessions, key, msg);
	b->parts = mem_grow(b->parts, b->nparts + 1, sizeof(*b->parts));
	part = &b->parts[b->nparts++];
	part->key = mem_str(key);
	part->plan = plan;
	origin_from_msg(&part->origin, &in->env.route, msg);
	return part;
}

static enum inbox_kind
event_kind(const struct msg *msg, const struct control *control)
{
	if (control)
		return INBOX_CONTROL;
	switch (msg->kind) {
	case MSG_TEXT:
		return INBOX_TURN;
	case MSG_EDIT:
		return INBOX_EDIT;
	case MSG_PRESS:
		return INBOX_CONTROL;
	case MSG_MEMBER:
	case MSG_MIGRATED:
	case MSG_UNREADABLE:
		return INBOX_PASSED;
	}
	return INBOX_PASSED;
}

/*
 * Words that waited at the platform for longer than the operator lets them:
 * what is said about them, or NULL.  Presses and edits stay: they refer to
 * something that knows its own age.
 */
static const char *
too_old(struct batch *b, const struct msg *msg)
{
	msec_t limit = b->in->env.pending_max_ms;
	msec_t age = loop_wall(b->in->env.control.loop) - msg->sent_wall;

	if (limit <= 0 || msg->kind != MSG_TEXT || msg->sent_wall <= 0 ||
	    age <= limit || !auth_addressed(b->in->env.auth, msg))
		return NULL;
	log_warn("intake", NULL, "platform=%s chat=%s message=%s skipped: it "
	    "waited %lld s (gateway.pending_max_age)", msg->platform,
	    msg->chat_id, msg->msg_id, (long long)(age / 1000));
	return batch_keep(b, mem_printf("I was away when you wrote this, %lld "
	    "minutes ago, and did not answer it: \"%.*s\". Write again if it "
	    "still matters.", (long long)(age / 60000),
	    (int)utf8_cut(msg->text, strlen(msg->text), 60), msg->text));
}

static void
batch_skip(struct batch *b, const struct msg *msg, const char *key,
    const char *notice)
{
	b->events[b->nevents++] = (struct inbox_event){
		.kind = INBOX_PASSED,
		.kind_name = msg_kind_name(msg->kind),
		.event_id = batch_keep(b, mem_str(msg->event_id)),
		.session_key = key,
		.chat_id = batch_keep(b, mem_str(msg->chat_id)),
		.thread_id = batch_keep(b, mem_str(msg->thread_id)),
		.user_id = batch_keep(b, mem_str(msg->user_id)),
		.msg_id = batch_keep(b, mem_str(msg->msg_id)),
		.text = batch_keep(b, mem_str(msg->text)),
		.notice = notice, .sent_wall = msg->sent_wall,
	};
}

void
batch_add(struct batch *b, const struct msg *msg)
{
	struct intake *in = b->in;
	CLEANUP_FREE char *route = route_session_key(&in->env.route, msg);
	const char *key = batch_keep(b, sessions_key(in->env.control.sessions,
	    route));
	const char *notice = too_old(b, msg);

	if (notice) {
		batch_skip(b, msg, key, notice);
		return;
	}
	struct control *control = msg->kind == MSG_TEXT ||
	    msg->kind == MSG_PRESS ? control_new(&in->env.control,
	    &in->env.route, msg, key) : NULL;
	enum inbox_kind kind = event_kind(msg, control);

	if (!control && !auth_addressed(in->env.auth, msg))
		kind = INBOX_PASSED;
	struct part *part = NULL;

	if (kind == INBOX_TURN || kind == INBOX_EDIT)
		part = plan_part(b, msg, key);
	bool shared = part && part->origin.shared;
	struct inbox_event ev = {
		.kind = kind,
		.kind_name = msg_kind_name(msg->kind),
		.event_id = batch_keep(b, mem_str(msg->event_id)),
		.session_key = key,
		.chat_id = batch_keep(b, mem_str(msg->chat_id)),
		.thread_id = batch_keep(b, mem_str(msg->thread_id)),
		.user_id = batch_keep(b, mem_str(msg->user_id)),
		.msg_id = batch_keep(b, mem_str(msg->msg_id)),
		.ref_id = batch_keep(b, mem_str(kind == INBOX_EDIT ? msg->msg_id : "")),
		.text = kind == INBOX_PASSED && msg->kind == MSG_TEXT ? "" :
		    batch_keep(b, turn_text(msg, shared)),
		.payload = batch_keep(b, event_payload(msg, part && part->plan.glue)),
		.sent_wall = msg->sent_wall,
	};

	b->controls[b->nevents] = control;
	b->events[b->nevents++] = ev;
	if (control && control_is_at_once(control)) {
		intake_act_at_once(in, control);
		b->acted[b->nevents - 1] = true;
	}
}

static bool
is_barrier_control(const struct control *c)
{
	return c && (c->command == COMMAND_NEW || c->command == COMMAND_STOP ||
	    c->command == COMMAND_RESUME || c->command == COMMAND_UNDO ||
	    c->command == COMMAND_RETRY || c->command == COMMAND_MODEL);
}

/* Words that follow a control of their session which acts after the commit? */
bool
batch_must_split(const struct batch *b, const struct msg *msg)
{
	const struct intake *in = b->in;

	if (msg->kind != MSG_TEXT && msg->kind != MSG_EDIT)
		return false;
	CLEANUP_FREE char *route = route_session_key(&in->env.route, msg);
	CLEANUP_FREE char *key = sessions_key(in->env.control.sessions, route);

	for (size_t i = 0; i < b->nevents; i++)
		if (is_barrier_control(b->controls[i]) &&
		    strcmp(b->events[i].session_key, key) == 0)
			return true;
	return false;
}

/* What comes later waits until this has acted. */
bool
batch_is_barrier(const struct batch *b)
{
	for (size_t i = 0; i < b->nevents; i++)
		if (is_barrier_control(b->controls[i]))
			return true;
	return false;
}
