/*
 * A session's step is what it waits for: IDLE, PLANNED (a commit is under way
 * that may claim a run), CLAIM (a run over waiting rows is being claimed) and
 * RUN.  session_enter() is its only writer.
 */
#include "gateway/session_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/prompt.h"
#include "gateway/agent/seen.h"
#include "gateway/notices.h"

#define JOIN_MS 300			/* rules 1.9 */
#define HOLD_MS 1000
#define HOLD_UNITS 4000
#define GLUE_MS 3000
#define CANCELLED_MAX 3
#define RETRY_CLAIM_MS 10000
#define KEEP_MS 600000			/* how long burst counters are remembered */
#define KEEP_WOKEN_MS (24 * 3600 * 1000)

static void on_run_done(void *arg, const struct run_result *res);
static void on_claimed(void *arg, const struct accept_result *res,
    const struct err *err);

struct sessions *
sessions_new(const struct session_env *env)
{
	struct sessions *all = mem_alloc(sizeof(*all));

	all->env = *env;
	map_init(&all->map);
	return all;
}

static void
session_free(struct session *s)
{
	REQUIRE(!s->run);
	op_cancel(&s->claiming);
	loop_cancel(&s->timer);
	session_show_end(s, NULL);
	chunks_done(&s->chunks);
	origin_done(&s->origin);
	if (s->has_next)
		origin_done(&s->next);
	mem_free(s->key);
	mem_free(s->model);
	mem_free(s->scope);
	mem_free(s->system);
	seen_free(&s->seen);
	mem_free(s);
}

void
sessions_free(struct sessions **allp)
{
	if (!*allp)
		return;
	struct sessions *all = STEAL(*allp);
	size_t it = 0;
	void *s;

	while (map_next(&all->map, &it, NULL, &s))
		session_free(s);
	map_done(&all->map);
	for (size_t i = 0; i < all->nmoved; i++) {
		mem_free(all->moved[i].old_id);
		mem_free(all->moved[i].new_id);
	}
	mem_free(all->moved);
	mem_free(all);
}

struct session *
session_get(struct sessions *all, const char *key)
{
	CLEANUP_FREE char *known = sessions_key(all, key);
	struct session *s = map_get(&all->map, known);

	if (s)
		return s;
	s = mem_alloc(sizeof(*s));
	s->all = all;
	s->key = STEAL(known);
	s->seen = seen_new();
	s->last_text = loop_now(all->env.loop) - KEEP_MS;
	map_set(&all->map, s->key, s);
	return s;
}

static void
origin_set(struct origin *to, bool *set, const struct origin *from)
{
	CLEANUP_JSON struct json *copy = origin_json(from);

	if (*set)
		origin_done(to);
	origin_from_json(to, copy);
	*set = true;
}

void
session_know(struct session *s, const struct origin *origin)
{
	origin_set(&s->origin, &s->known, origin);
	if (s->has_next)
		origin_done(&s->next);
	s->has_next = false;
}

/* ---- planning ------------------------------------------------------------- */

/* Who waits for his turn is not to cut what is going out now either. */
static bool
is_busy(const struct session *s)
{
	struct place to = { s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };

	return s->run || s->planned || s->claiming ||
	    (s->all->env.busy == BUSY_QUEUE && s->known &&
	    !delivery_is_idle(s->all->env.delivery, &to));
}

static bool
may_run(const struct session *s, const struct msg *msg, bool joined)
{
	bool addressed = msg->chat_type == CHAT_DM || !s->known ||
	    !s->origin.shared || msg->mentions_bot || msg->reply_to_bot;

	return !s->all->draining && (!is_busy(s) || (addressed &&
	    s->all->env.busy == BUSY_INTERRUPT &&
	    (s->cancelled < CANCELLED_MAX || joined)));
}

static void
plan_text(struct session *s, const struct msg *msg, struct session_plan *plan)
{
	msec_t now = loop_now(s->all->env.loop);
	bool is_long = msg->kind == MSG_TEXT && msg->text_units >= HOLD_UNITS;

	plan->hold_ms = is_long ? HOLD_MS : 0;
	plan->glue = msg->kind == MSG_TEXT && s->last_long &&
	    now - s->last_text <= GLUE_MS;
	s->last_text = now;
	s->last_long = is_long;
}

struct session_plan
session_plan(struct sessions *all, const char *key, const struct msg *msg)
{
	struct session *s = session_get(all, key);
	struct session_plan plan = {
		.joined = loop_now(all->env.loop) - s->last_text <= JOIN_MS,
	};

	plan.run = may_run(s, msg, plan.joined);
	if (!plan.run && !all->draining && !s->told_queued &&
	    s->cancelled >= CANCELLED_MAX) {
		s->told_queued = true;
		plan.say_queued = true;
	}
	plan_text(s, msg, &plan);
	s->planned++;
	loop_cancel(&s->timer);
	return plan;
}

void
session_plan_join(struct sessions *all, const char *key, const struct msg *msg,
    struct session_plan *plan)
{
	struct session *s = session_get(all, key);

	plan->run = plan->run || may_run(s, msg, plan->joined);
	plan_text(s, msg, plan);
}

/* Was it stopped before its commit was known? */
static bool
plan_end(struct session *s)
{
	REQUIRE(s->planned > 0);
	s->planned--;
	if (s->voided == 0)
		return false;
	s->voided--;
	return true;
}

void
session_failed(struct sessions *all, const char *key)
{
	struct session *s = session_get(all, key);

	plan_end(s);
	session_settle(s);
}

/* ---- a run's life ----------------------------------------------------------- */

enum sandbox_owner
session_owner(const char *platform)
{
	return strcmp(platform, "console") == 0 ? SANDBOX_CONSOLE :
	    SANDBOX_MESSAGING;
}

/* Nothing can be told there once the answer is out. */
static bool
is_stateless(const struct session *s)
{
	const struct platform *platform;

	s->all->env.instance(s->all->env.arg, s->origin.platform, &platform);
	return s->all->env.one_shot ||
	    (platform && platform->flags & PLATFORM_STATELESS);
}

static void
session_run(struct session *s, const struct run_claim *claim, msec_t hold_ms)
{
	struct session_env *env = &s->all->env;
	enum sandbox_owner owner = session_owner(s->origin.platform);
	struct run_host host = session_show_host(s);

	host.done = on_run_done;

	REQUIRE(!s->run);
	s->generation = claim->generation;
	mem_free(s->model);
	s->model = mem_str(claim->model);
	if (mem_copy_str(s->session_id, sizeof(s->session_id),
	    claim->session_id) < 0)
		log_warn("session", NULL, "session=%s has an overlong id", s->key);
	mem_free(s->scope);
	s->scope = scope_text(env->scope, s->key, &s->origin);
	mem_free(s->system);
	struct prompt_opts prompt = {
		.persona = env->persona,
		.platform = s->origin.platform,
		.chat_type = chat_type_name(s->origin.chat_type),
		.user_name = s->origin.user_name,
		.shared = s->origin.shared,
		.environment = sandbox_describe(env->sandboxes, owner),
		.hint = env->hint,
	};

	s->system = prompt_make(&prompt);
	if (claim->rested)
		session_say_rested(s);
	s->env = (struct tool_env){
		.loop = env->loop,
		.store = env->store,
		.gate = env->gate,
		.sandboxes = env->sandboxes,
		.run = { s->key, s->generation },
		.origin = &s->origin,
		.sandbox = { env->profile, s->scope, owner },
		.seen = s->seen, .code = env->code,
		.notices = env->notices,
		.depth = s->wake_depth,
		.stateless = is_stateless(s),
	};
	struct run_opts opts = {
		.system = s->system,
		.hold_ms = hold_ms,
		.max_turns = env->max_turns,
		.max_tokens = env->max_tokens,
		.model = s->model,
	};

	s->woken += s->wake_depth > 0;
	s->wake_depth = 0;
	s->all->running++;
	session_show_start(s);
	s->run = run_start(&s->env, env->model, &opts, &host);
}

bool
session_cancel_run(struct session *s, enum run_stop why)
{
	if (!s->run)
		return true;
	if (!run_cancel(&s->run, why))
		return false;
	s->all->running--;
	session_show_end(s, session_stop_word(why));
	return true;
}

void
session_accepted(struct sessions *all, const char *key,
    const struct origin *origin, const struct session_plan *plan,
    const struct run_claim *claim)
{
	struct session *s = session_get(all, key);

	if (plan_end(s)) {
		store_stop(all->env.store, key, loop_wall(all->env.loop), NULL,
		    NULL);
		session_settle(s);
		return;
	}
	if (!plan->news) {
		s->woken = s->wake_depth = 0;
		s->told_enough = false;
	}
	if (!claim->claimed) {
		if (!plan->run && claim->set_size > 0 && !plan->silent) {
			s->queued = true;
			s->hold_ms = plan->hold_ms;
			origin_set(&s->next, &s->has_next, origin);
		}
		session_settle(s);
		return;
	}
	session_know(s, origin);
	op_cancel(&s->claiming);
	if (claim->withdrawn > 0)	/* a preview may wait for its last word */
		session_kick(s);
	if (s->run) {
		session_cancel_run(s, RUN_STOP_MESSAGE);
		if (!plan->joined)
			s->cancelled++;
	}
	s->queued = false;
	session_run(s, claim, plan->hold_ms);
}

static void
say_lost(struct session *s)
{
	const char *why = store_health(s->all->env.store).why;
	struct place to = { s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };
	CLEANUP_FREE char *text = mem_printf("I could not save my answer (%s). "
	    "Your message is kept; I will try again.", why[0] ? why :
	    "the store failed");

	delivery_notice(s->all->env.delivery, &to, text, NULL, 0);
}

static void
on_run_done(void *arg, const struct run_result *res)
{
	struct session *s = arg;
	struct delivery *delivery = s->all->env.delivery;

	s->run = NULL;
	s->all->running--;
	session_show_end(s, res->outcome == RUN_DEAD ? "cut off" : NULL);
	switch (res->outcome) {
	case RUN_ANSWERED:
	case RUN_FAILED:
		s->cancelled = 0;
		s->told_queued = false;
		s->told_lost = false;
		if (s->all->env.answered)
			s->all->env.answered(s->all->env.arg, &s->origin,
			    res->outcome == RUN_ANSWERED);
		for (size_t i = 0; i < res->nrows; i++)
			delivery_send_row(delivery, &res->rows[i]);
		break;
	case RUN_DEAD:
		break;
	case RUN_STORE_LOST:
		if (!s->told_lost)
			say_lost(s);
		s->told_lost = true;
		s->queued = true;
		s->claim_later = true;
		break;
	}
	session_settle(s);
}

/* ---- what comes next for a session without a run ---------------------------- */

static void
on_forget(void *arg)
{
	struct session *s = arg;

	s->timer = NULL;
	map_remove(&s->all->map, s->key);
	session_free(s);
}

static void
on_claim_again(void *arg)
{
	struct session *s = arg;

	s->timer = NULL;
	s->claim_later = false;
	session_settle(s);
}

static void
session_claim(struct session *s)
{
	s->queued = false;
	s->claiming = store_claim(s->all->env.store, s->key,
	    loop_wall(s->all->env.loop), on_claimed, s);
}

static void
on_claimed(void *arg, const struct accept_result *res, const struct err *err)
{
	struct session *s = arg;

	s->claiming = NULL;
	if (err) {
		log_error("session", NULL, "session=%s waiting messages cannot "
		    "be taken up, next try in %d ms: %s", s->key,
		    RETRY_CLAIM_MS, err->text);
		s->queued = true;
		s->claim_later = true;
		session_settle(s);
		return;
	}
	if (!res->claims[0].claimed || s->run) {
		session_settle(s);
		return;
	}
	if (s->has_next) {
		struct origin next = s->next;

		s->has_next = false;
		session_know(s, &next);
		origin_done(&next);
	}
	session_run(s, &res->claims[0], s->hold_ms);
	s->hold_ms = 0;
}

static void
session_rest(struct session *s)
{
	/* A count that ends with our memory would bound nothing. */
	s->timer = loop_after(s->all->env.loop, s->woken ? KEEP_WOKEN_MS :
	    KEEP_MS, "session forget", on_forget, s);
	notices_rested(s->all->env.notices, s->key);
}

void
session_settle(struct session *s)
{
	if (s->run || s->planned || s->claiming)
		return;
	loop_cancel(&s->timer);
	bool more = s->queued && (s->known || s->has_next) && !s->all->draining;

	if (more && s->claim_later)
		s->timer = loop_after(s->all->env.loop, RETRY_CLAIM_MS,
		    "session claim", on_claim_again, s);
	else if (more)
		session_claim(s);
	else
		session_rest(s);
}
