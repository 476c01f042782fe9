#include "gateway/intake_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/store.h"

#define RECENT_MAX 1024		/* control events remembered against repeats */
#define COMMIT_RETRY_MS 1000

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
	map_init(&in->told);
	return in;
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
	map_done(&in->told);
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

void
intake_act_at_once(struct intake *in, const struct control *c)
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

static void
batch_commit(struct batch *b)
{
	struct inbox_claim *claims = mem_array(b->nparts + 1, sizeof(*claims));

	for (size_t i = 0; i < b->nparts; i++) {
		CLEANUP_JSON struct json *origin =
		    origin_json(&b->parts[i].origin);

		claims[i].session_key = b->parts[i].key;
		claims[i].origin = batch_keep(b, json_text(origin));
		claims[i].run = b->parts[i].plan.run;
		claims[i].stale_before = session_stale_before(
		    b->in->env.control.sessions, b->parts[i].key,
		    &b->parts[i].origin);
	}
	struct accept_req req = {
		.platform = b->platform,
		.account = b->account,
		.cursor = b->last ? b->cursor : NULL,
		.events = b->events,
		.nevents = b->nevents,
		.claims = claims,
		.nclaims = b->nparts,
		.now_wall = loop_wall(b->in->env.control.loop),
	};

	b->submitted = true;
	b->waiting = store_accept(b->in->env.control.store, &req, on_accepted, b);
	mem_free(claims);
}

/* In order; a piece whose controls act after the commit holds up the rest. */
static void
intake_pump(struct intake *in)
{
	struct batch *b;

	TAILQ_FOREACH(b, &in->open, link) {
		if (!b->submitted)
			batch_commit(b);
		if (b->waiting && batch_is_barrier(b))
			return;
	}
}

void
intake_batch(struct intake *in, const char *platform, const struct msg *msgs,
    size_t n, uint64_t batch_id, const char *cursor)
{
	const char *account = n > 0 ? msgs[0].account : "";
	struct batch *b = batch_new(in, platform, account, batch_id, cursor, n);

	for (size_t i = 0; i < n; i++) {
		if (msgs[i].kind == MSG_MIGRATED)
			in->env.migrated(in->env.arg, &msgs[i]);
		if (msgs[i].kind != MSG_UNREADABLE &&
		    !auth_allows(in->env.auth, &msgs[i]))
			continue;
		if (batch_must_split(b, &msgs[i]))
			b = batch_new(in, platform, account, batch_id, cursor,
			    n - i);
		batch_add(b, &msgs[i]);
	}
	b->last = true;
	intake_pump(in);
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

/* One light notice a chat and trouble (rules 3.5). False: it knows already. */
static bool
say_trouble(struct intake *in, const struct part *part)
{
	const char *why = store_health(in->env.control.store).why;
	struct place to = { part->origin.platform, part->origin.account,
		part->origin.chat_id, part->origin.thread_id };

	if (map_get(&in->told, part->key) || in->told.used >= RECENT_MAX)
		return false;
	map_set(&in->told, part->key, in);
	CLEANUP_FREE char *text = mem_printf("I can't save your message now "
	    "(%s), so I don't work on it yet. I keep trying; it is not lost.",
	    why[0] ? why : "the store failed");

	delivery_notice(in->env.control.delivery, &to, text, NULL, 0);
	return true;
}

/* True: somebody is told for the first time. */
static bool
parts_failed(struct batch *b)
{
	bool news = false;

	for (size_t i = 0; i < b->nparts; i++) {
		session_failed(b->in->env.control.sessions, b->parts[i].key);
		news |= say_trouble(b->in, &b->parts[i]);
	}
	return news;
}

/* The platform brings all of its batch again: later pieces are void. */
static void
batch_failed(struct batch *b, const struct err *err)
{
	struct batch *next;

	/* The same batch comes each second: on a full disk a log must not grow. */
	log_write(parts_failed(b) ? LOG_ERROR : LOG_DEBUG, "intake", NULL,
	    "platform=%s %zu events could not be recorded; they are not "
	    "acknowledged: %s", b->platform, b->nevents, err->text);
	while (!b->last && (next = TAILQ_NEXT(b, link))) {
		(void)parts_failed(next);
		b->last = next->last;
		batch_free(next);
	}
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
		intake_pump(in);
		return;
	}
	map_done(&in->told);
	map_init(&in->told);
	if (b->last)
		tell_platform(b, true);
	for (size_t i = 0; i < b->nparts; i++) {
		session_accepted(in->env.control.sessions, b->parts[i].key,
		    &b->parts[i].origin, &b->parts[i].plan, &res->claims[i]);
		if (b->parts[i].plan.say_queued)
			say_queued(in, &b->parts[i]);
	}
	for (size_t i = 0; i < b->nevents; i++) {
		const struct inbox_event *e = &b->events[i];
		const struct place to = { b->platform, b->account, e->chat_id,
			e->thread_id };

		if (e->notice && res->row_ids[i] != 0)
			delivery_kick(in->env.control.delivery, &to);
		if (b->controls[i] && !b->acted[i] && res->row_ids[i] != 0)
			act(in, b->controls[i]);
	}
	batch_free(b);
	intake_pump(in);
}
