#include "gateway/intake.h"

#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "store/store.h"

#define TEXT_MAX (64 * 1024)
#define RECENT_MAX 1024		/* control events remembered against repeats */
#define COMMIT_RETRY_MS 1000

/* A session that the batch has words for. */
struct part {
	char *key;
	struct origin origin;
	struct session_plan plan;
};

struct batch {
	struct intake *in;
	TAILQ_ENTRY(batch) link;
	char *platform, *account, *cursor;
	uint64_t id;
	struct op *waiting;
	struct timer *timer;		/* told the platform of a failure */
	struct inbox_event *events;	/* strings owned by the arrays below */
	size_t nevents;
	char **strings;
	size_t nstrings;
	struct part *parts;
	size_t nparts;
	struct control **controls;	/* one an event, or NULL */
};

/* An answer to a press: nobody waits for it. */
struct ack {
	struct intake *in;
	TAILQ_ENTRY(ack) link;
	struct op *op;
};

struct intake {
	struct intake_env env;
	TAILQ_HEAD(, batch) open;
	TAILQ_HEAD(, ack) acks;
	size_t nopen;
	struct map recent;
};

static void on_accepted(void *arg, const struct accept_result *res,
    const struct err *err);

struct intake *
intake_new(const struct intake_env *env)
{
	struct intake *in = mem_alloc(sizeof(*in));

	in->env = *env;
	TAILQ_INIT(&in->open);
	TAILQ_INIT(&in->acks);
	map_init(&in->recent);
	return in;
}

static void
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
	mem_free(b->events);
	mem_free(b->platform);
	mem_free(b->account);
	mem_free(b->cursor);
	mem_free(b);
}

void
intake_free(struct intake **inp)
{
	if (!*inp)
		return;
	struct intake *in = STEAL(*inp);

	while (!TAILQ_EMPTY(&in->open))
		batch_free(TAILQ_FIRST(&in->open));
	while (!TAILQ_EMPTY(&in->acks)) {
		struct ack *ack = TAILQ_FIRST(&in->acks);

		op_cancel(&ack->op);
		TAILQ_REMOVE(&in->acks, ack, link);
		mem_free(ack);
	}
	map_done(&in->recent);
	mem_free(in);
}

size_t
intake_open(const struct intake *in)
{
	return in->nopen;
}

/* ---- control ---------------------------------------------------------------- */

static void
on_acked(void *arg, const struct send_result *res)
{
	struct ack *ack = arg;

	(void)res;
	TAILQ_REMOVE(&ack->in->acks, ack, link);
	mem_free(ack);
}

static void
act(struct intake *in, const struct control *c)
{
	CLEANUP_FREE char *said = NULL;
	const struct platform *platform;

	control_act(&in->env.control, c, &said);
	if (!said)
		return;
	struct platform_instance *inst = in->env.instance(in->env.arg,
	    c->origin.platform, &platform);

	if (!inst || !platform->answer_press)
		return;
	struct ack *ack = mem_alloc(sizeof(*ack));

	ack->in = in;
	TAILQ_INSERT_TAIL(&in->acks, ack, link);
	ack->op = platform->answer_press(inst, c->press_id, said, on_acked, ack);
}

/* What stops acts at once, unless this very event did so before. */
static void
act_at_once(struct intake *in, const struct control *c)
{
	if (map_get(&in->recent, c->event_id))
		return;
	if (in->recent.used >= RECENT_MAX) {
		map_done(&in->recent);
		map_init(&in->recent);
	}
	map_set(&in->recent, c->event_id, in);
	act(in, c);
}

/* ---- building the transaction -------------------------------------------------- */

static const char *
keep(struct batch *b, char *s)
{
	b->strings = mem_grow(b->strings, b->nstrings + 1, sizeof(*b->strings));
	b->strings[b->nstrings++] = s;
	return s;
}

/* In a shared session the model must know who speaks; names are labels. */
static char *
turn_text(const struct msg *msg, bool shared)
{
	if (!shared)
		return mem_strn(msg->text, strnlen(msg->text, TEXT_MAX));
	CLEANUP_FREE char *name = mem_printf("%.60s", msg->user_name);

	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '[' || *p == ']')
			*p = '_';
	return mem_printf("[%s] %.*s", name, TEXT_MAX, msg->text);
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
		if (msg->text_units > 0)
			part->plan.hold_ms = 0;
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

static void
add_event(struct batch *b, const struct msg *msg)
{
	struct intake *in = b->in;
	const char *key = keep(b, route_session_key(&in->env.route, msg));
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
		.event_id = keep(b, mem_str(msg->event_id)),
		.session_key = key,
		.chat_id = keep(b, mem_str(msg->chat_id)),
		.thread_id = keep(b, mem_str(msg->thread_id)),
		.user_id = keep(b, mem_str(msg->user_id)),
		.msg_id = keep(b, mem_str(msg->msg_id)),
		.ref_id = keep(b, mem_str(kind == INBOX_EDIT ? msg->msg_id : "")),
		.text = kind == INBOX_PASSED && msg->kind == MSG_TEXT ? "" :
		    keep(b, turn_text(msg, shared)),
		.payload = keep(b, event_payload(msg, part && part->plan.glue)),
		.sent_wall = msg->sent_wall,
	};

	b->controls[b->nevents] = control;
	b->events[b->nevents++] = ev;
	if (control && control_is_at_once(control)) {
		act_at_once(in, control);
		if (!find_part(b, key))		/* else again after the commit */
			control_free(&b->controls[b->nevents - 1]);
	}
}

static void
batch_commit(struct batch *b)
{
	struct inbox_claim *claims = mem_array(b->nparts + 1, sizeof(*claims));

	for (size_t i = 0; i < b->nparts; i++) {
		CLEANUP_JSON struct json *origin =
		    origin_json(&b->parts[i].origin);

		claims[i].session_key = b->parts[i].key;
		claims[i].origin = keep(b, json_text(origin));
		claims[i].run = b->parts[i].plan.run;
	}
	struct accept_req req = {
		.platform = b->platform,
		.account = b->account,
		.cursor = b->cursor,
		.events = b->events,
		.nevents = b->nevents,
		.claims = claims,
		.nclaims = b->nparts,
		.now_wall = loop_wall(b->in->env.control.loop),
	};

	b->waiting = store_accept(b->in->env.control.store, &req, on_accepted, b);
	mem_free(claims);
}

void
intake_batch(struct intake *in, const char *platform, const struct msg *msgs,
    size_t n, uint64_t batch_id, const char *cursor)
{
	struct batch *b = mem_alloc(sizeof(*b));

	b->in = in;
	b->platform = mem_str(platform);
	b->account = mem_str(n > 0 ? msgs[0].account : "");
	b->cursor = mem_str(cursor);
	b->id = batch_id;
	b->events = mem_array(n + 1, sizeof(*b->events));
	b->controls = mem_array(n + 1, sizeof(*b->controls));
	TAILQ_INSERT_TAIL(&in->open, b, link);
	in->nopen++;
	for (size_t i = 0; i < n; i++) {
		if (msgs[i].kind == MSG_MIGRATED)
			in->env.migrated(in->env.arg, &msgs[i]);
		if (msgs[i].kind == MSG_UNREADABLE ||
		    auth_allows(in->env.auth, &msgs[i]))
			add_event(b, &msgs[i]);
	}
	batch_commit(b);
}

/* ---- the commit's answer --------------------------------------------------------- */

static void
tell_platform(struct batch *b, bool ok)
{
	const struct platform *platform;
	struct platform_instance *inst = b->in->env.instance(b->in->env.arg,
	    b->platform, &platform);

	if (inst)
		platform->committed(inst, b->id, ok);
}

static void
say_queued(struct intake *in, const struct part *part)
{
	struct place to = { part->origin.platform, part->origin.account,
		part->origin.chat_id, part->origin.thread_id };

	delivery_notice(in->env.control.delivery, &to, "I will finish one "
	    "answer first; what you write meanwhile is answered after it.",
	    NULL, 0);
}

static void
on_retry_told(void *arg)
{
	struct batch *b = arg;

	b->timer = NULL;
	tell_platform(b, false);
	batch_free(b);
}

static void
batch_failed(struct batch *b, const struct err *err)
{
	struct sessions *sessions = b->in->env.control.sessions;

	log_error("intake", NULL, "platform=%s %zu events could not be "
	    "recorded; they are not acknowledged: %s", b->platform, b->nevents,
	    err->text);
	for (size_t i = 0; i < b->nparts; i++)
		session_failed(sessions, b->parts[i].key);
	b->timer = loop_after(b->in->env.control.loop, COMMIT_RETRY_MS,
	    "intake retry", on_retry_told, b);
}

static void
on_accepted(void *arg, const struct accept_result *res, const struct err *err)
{
	struct batch *b = arg;
	struct intake *in = b->in;

	b->waiting = NULL;
	if (err) {
		batch_failed(b, err);
		return;
	}
	tell_platform(b, true);
	for (size_t i = 0; i < b->nparts; i++) {
		session_accepted(in->env.control.sessions, b->parts[i].key,
		    &b->parts[i].origin, &b->parts[i].plan, &res->claims[i]);
		if (b->parts[i].plan.say_queued)
			say_queued(in, &b->parts[i]);
	}
	for (size_t i = 0; i < b->nevents; i++)
		if (b->controls[i] && res->row_ids[i] != 0)
			act(in, b->controls[i]);
	batch_free(b);
}
