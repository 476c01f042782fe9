/*
 * Getting updates: getMe, then one long poll after another.
 *
 *   WHO (getMe) -> POLL -> COMMIT (the gateway stores the batch) -> POLL ...
 *      any trouble -> WAIT -> WHO or POLL;  bad token -> FAILED;  pause -> PAUSED
 *
 * The offset moves only after the gateway has committed a batch (rules 1.3), so
 * nothing is lost between Telegram and the store.  Pending updates are never
 * dropped and a webhook of somebody else is never deleted.
 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "platforms/telegram_priv.h"

#define WHO_MS 20000
#define POLL_MARGIN_MS 15000	/* a poll longer than this is deaf */
#define POLL_LIMIT 100
#define EMPTY_MS 1000		/* after an answer that came at once, with nothing */
#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS 60000
#define CONFLICT_FIRST_MS 3000
#define CONFLICT_MAX_MS 30000
#define CONFLICT_TELL 3		/* conflicts in a row before people are told */
#define COMMIT_RETRY_MAX_MS 30000

static void start_who(struct platform_instance *t);
static void on_who(void *arg, struct telegram_reply *r);
static void start_poll(void *arg);
static void on_polled(void *arg, struct telegram_reply *r);
static void offer_batch(void *arg);
static void on_waited(void *arg);

/* ---- state -------------------------------------------------------------------------- */

static const char *
step_name(enum telegram_step step)
{
	static const char *const names[] = {
		[TELEGRAM_WHO] = "who", [TELEGRAM_POLL] = "poll",
		[TELEGRAM_COMMIT] = "commit", [TELEGRAM_WAIT] = "wait",
		[TELEGRAM_PAUSED] = "paused", [TELEGRAM_FAILED] = "failed",
	};

	return names[step];
}

/* The only place that writes step. */
static void
enter(struct platform_instance *t, enum telegram_step step)
{
	log_debug("telegram", &t->log, "%s -> %s", step_name(t->step),
		step_name(step));
	t->step = step;
}

static void
tell(struct platform_instance *t, enum platform_state state, const char *why)
{
	if (t->state == state && !strcmp(t->why, why))
		return;
	t->state = state;
	mem_free(t->why);
	t->why = mem_str(why);
	if (state == PLATFORM_BACKOFF || state == PLATFORM_FAILED)
		log_warn("telegram", &t->log, "%s: %s",
			platform_state_name(state), why);
	else
		log_info("telegram", &t->log, "%s%s%s",
			platform_state_name(state), t->username ? " as @" : "",
			t->username ? t->username : "");
	t->host->on_state(t->host->arg, "telegram", state, t->why);
}

/* Between half of ms and ms, so that two pollers don't stay in step. */
static msec_t
jitter(struct platform_instance *t, msec_t ms)
{
	return ms / 2 + (msec_t)(loop_random(t->loop) % (uint64_t)(ms / 2 + 1));
}

static msec_t
grown(msec_t first, unsigned times, msec_t max)
{
	msec_t ms = first;

	for (; times > 1 && ms < max; times--)
		ms *= 2;
	return ms < max ? ms : max;
}

static void
wait_for(struct platform_instance *t, msec_t ms)
{
	enter(t, TELEGRAM_WAIT);
	t->timer = loop_after(t->loop, ms, "telegram-wait", on_waited, t);
}

static void
on_waited(void *arg)
{
	struct platform_instance *t = arg;

	t->timer = NULL;
	if (t->username)
		start_poll(t);
	else
		start_who(t);
}

/* ---- trouble -------------------------------------------------------------------------- */

static void
fail(struct platform_instance *t, const struct telegram_reply *r)
{
	struct err err;

	enter(t, TELEGRAM_FAILED);
	err_set(&err, ERR_CONFIG, "Telegram refuses the bot token (%d %s): check "
		"TELEGRAM_BOT_TOKEN or platforms.telegram.token, and "
		"platforms.telegram.extra.base_url if it is set",
		r->status, r->text);
	tell(t, PLATFORM_FAILED, err.text);
}

/* Somebody else polls, or a webhook is set: both end without us. */
static void
conflict(struct platform_instance *t, const struct telegram_reply *r)
{
	bool webhook = strstr(r->text, "webhook is active") != NULL;

	t->proven = false;
	t->conflicts++;
	if (webhook)
		tell(t, PLATFORM_BACKOFF, "a webhook is set for this bot, so "
			"Telegram refuses polling: remove it with the Bot API's "
			"deleteWebhook (or stop the program that set it); "
			"polling then goes on by itself");
	else if (t->conflicts >= CONFLICT_TELL)
		tell(t, PLATFORM_BACKOFF, "another program polls with the same "
			"bot token: stop it, or give each its own bot; polling "
			"is tried again by itself");
	else
		log_info("telegram", &t->log, "another poll took over: %s", r->text);
	wait_for(t, jitter(t, 2 * grown(CONFLICT_FIRST_MS, t->conflicts,
		CONFLICT_MAX_MS)));
}

static void
trouble(struct platform_instance *t, const struct telegram_reply *r)
{
	if (r->status == 401 || r->status == 404) {
		if (r->verdict == TELEGRAM_REFUSED) {
			fail(t, r);
			return;
		}
	}
	if (r->status == 409 && r->verdict == TELEGRAM_REFUSED) {
		conflict(t, r);
		return;
	}
	t->proven = false;
	t->conflicts = 0;
	t->troubles++;
	/* an answer came, so the connection is good; else it is not used again */
	t->fresh = r->status == 0 || r->verdict == TELEGRAM_UNKNOWN;
	tell(t, PLATFORM_BACKOFF, r->err ? r->err->text : "no usable answer");
	wait_for(t, r->retry_after_ms ? r->retry_after_ms :
		jitter(t, grown(BACKOFF_FIRST_MS, t->troubles, BACKOFF_MAX_MS)));
}

static void
bad_answer(struct platform_instance *t, const struct err *err)
{
	struct telegram_reply r = { .verdict = TELEGRAM_UNKNOWN, .text = "",
		.err = err };

	trouble(t, &r);
}

/* ---- who we are -------------------------------------------------------------------------- */

static void
start_who(struct platform_instance *t)
{
	enter(t, TELEGRAM_WHO);
	t->waiting = telegram_api_start(&t->api, &(struct telegram_call){
		.method = "getMe", .label = "telegram getMe", .total_ms = WHO_MS,
		.fresh = t->fresh, .cb = on_who, .arg = t });
}

/* The stored cursor counts only for the same bot. */
static void
adopt_cursor(struct platform_instance *t)
{
	CLEANUP_JSON struct json *cursor = json_string(t->cursor);
	int64_t offset;

	if (!strcmp(t->cursor_account, t->id) && json_id(cursor, &offset) &&
	    offset > 0)
		t->offset = offset;
}

static void
on_who(void *arg, struct telegram_reply *r)
{
	struct platform_instance *t = arg;
	int64_t id;

	t->waiting = NULL;
	if (r->verdict != TELEGRAM_OK) {
		trouble(t, r);
		return;
	}
	if (!json_id(json_get(r->result, "id"), &id)) {
		struct err err;

		err_set(&err, ERR_PROTOCOL, "telegram getMe: the answer names "
			"no bot; is platforms.telegram.extra.base_url a Bot API?");
		bad_answer(t, &err);
		return;
	}
	t->id = mem_printf("%" PRId64, id);
	t->username = mem_str(json_get_str(r->result, "username", ""));
	log_ctx_set(&t->log, NULL, "bot=%s", t->id);
	adopt_cursor(t);
	start_poll(t);
}

/* ---- polling -------------------------------------------------------------------------------- */

static struct json *
poll_params(const struct platform_instance *t, msec_t wait)
{
	static const char *const kinds[] = { "message", "edited_message",
		"callback_query", "my_chat_member" };
	struct json *params = json_object();
	struct json *allowed = json_array();

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		json_add_take(allowed, json_string(kinds[i]));
	if (t->offset)
		json_set_int(params, "offset", t->offset);
	json_set_int(params, "timeout", wait / 1000);
	json_set_int(params, "limit", POLL_LIMIT);
	json_set_take(params, "allowed_updates", allowed);
	return params;
}

static void
start_poll(void *arg)
{
	struct platform_instance *t = arg;
	/* the first one after a start or trouble comes back at once: a proof */
	msec_t wait = t->proven ? t->poll_ms : 0;
	CLEANUP_JSON struct json *params = poll_params(t, wait);

	t->timer = NULL;
	if (t->paused) {
		enter(t, TELEGRAM_PAUSED);
		return;
	}
	enter(t, TELEGRAM_POLL);
	t->waiting = telegram_api_start(&t->api, &(struct telegram_call){
		.method = "getUpdates", .label = "telegram getUpdates",
		.params = params, .total_ms = wait + POLL_MARGIN_MS,
		.fresh = t->fresh, .cb = on_polled, .arg = t });
}

/*
 * The next poll.  A server that answers at once with nothing new would make us
 * spin; Telegram doesn't, but not every Bot API server is Telegram's.
 */
static void
poll_again(struct platform_instance *t, bool progress, msec_t elapsed)
{
	bool first = !t->proven;

	t->proven = true;
	t->fresh = false;
	t->troubles = 0;
	t->conflicts = 0;
	tell(t, PLATFORM_UP, "");
	if (!progress && !first && elapsed < EMPTY_MS)
		wait_for(t, EMPTY_MS);
	else
		start_poll(t);
}

static void
on_polled(void *arg, struct telegram_reply *r)
{
	struct platform_instance *t = arg;
	struct telegram_self self = { t->id, t->username };
	struct err err;

	t->waiting = NULL;
	if (r->verdict != TELEGRAM_OK) {
		trouble(t, r);
		return;
	}
	if (telegram_batch_init(&t->batch, STEAL(r->root), &self, &err) < 0) {
		telegram_batch_done(&t->batch);
		bad_answer(t, &err);
		return;
	}
	bool progress = t->batch.updates && t->batch.next_offset != t->offset;
	if (t->batch.n == 0) {
		if (t->batch.updates)
			t->offset = t->batch.next_offset;
		telegram_batch_done(&t->batch);
		poll_again(t, progress, r->elapsed);
		return;
	}
	if (!progress && r->elapsed < EMPTY_MS) {
		/* the same again: offered again, but not in a hurry */
		enter(t, TELEGRAM_COMMIT);
		t->timer = loop_after(t->loop, EMPTY_MS, "telegram-batch",
			offer_batch, t);
		return;
	}
	offer_batch(t);
}

static void
offer_batch(void *arg)
{
	struct platform_instance *t = arg;
	CLEANUP_FREE char *cursor = mem_printf("%" PRId64, t->batch.next_offset);

	t->timer = NULL;
	enter(t, TELEGRAM_COMMIT);
	t->batch_id++;
	t->host->on_batch(t->host->arg, "telegram", t->batch.msgs, t->batch.n,
		t->batch_id, cursor);
}

/* Soon, not now: the gateway may call this from inside on_batch. */
static void
on_committed(void *arg)
{
	struct platform_instance *t = arg;

	t->timer = NULL;
	telegram_batch_done(&t->batch);
	poll_again(t, true, 0);
}

void
telegram_poll_committed(struct platform_instance *t, uint64_t batch_id, bool ok)
{
	/* an answer to an offer that was repeated meanwhile says nothing */
	if (t->step != TELEGRAM_COMMIT || batch_id != t->batch_id || t->timer)
		return;
	if (ok) {
		t->offset = t->batch.next_offset;
		t->commit_failures = 0;
		t->timer = loop_defer(t->loop, "telegram-committed",
			on_committed, t);
		return;
	}
	t->commit_failures++;
	msec_t ms = jitter(t, grown(BACKOFF_FIRST_MS, t->commit_failures,
		COMMIT_RETRY_MAX_MS));
	log_warn("telegram", &t->log, "%zu messages could not be stored; trying "
		"again in %lld ms, nothing is confirmed to Telegram",
		t->batch.n, (long long)ms);
	t->timer = loop_after(t->loop, ms, "telegram-batch", offer_batch, t);
}

/* ---- start, pause, end --------------------------------------------------------------- */

static void
on_started(void *arg)
{
	struct platform_instance *t = arg;

	t->timer = NULL;
	tell(t, PLATFORM_STARTING, "");
	start_who(t);
}

void
telegram_poll_start(struct platform_instance *t)
{
	t->state = PLATFORM_STOPPED;
	t->why = mem_str("");
	t->timer = loop_defer(t->loop, "telegram-start", on_started, t);
}

/* What a cancelled poll has brought is not confirmed, so it comes again. */
void
telegram_poll_pause(struct platform_instance *t)
{
	t->paused = true;
	if (t->step == TELEGRAM_COMMIT || t->step == TELEGRAM_FAILED)
		return;
	op_cancel(&t->waiting);
	loop_cancel(&t->timer);
	enter(t, TELEGRAM_PAUSED);
}

void
telegram_poll_done(struct platform_instance *t)
{
	op_cancel(&t->waiting);
	loop_cancel(&t->timer);
	telegram_batch_done(&t->batch);
	mem_free(t->why);
	mem_free(t->id);
	mem_free(t->username);
}
