#include "gateway/gateway_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/op.h"

#define DRAIN_LOOK_MS 50
#define SAVE_MS 3000		/* an answer being saved may finish */
#define CURSOR_AGE_MS (24 * 3600 * 1000LL)	/* rules 1.3 */

static void on_recovered(void *arg, const struct json *res,
    const struct err *err);
static void start_platform(struct served *s);
static void on_cursor(void *arg, const struct json *res, const struct err *err);
static void on_reports_done(void *arg);
static void on_drain_look(void *arg);
static void gateway_close(struct gateway *gw);
static void on_closed(void *arg);

static void
gateway_enter(struct gateway *gw, enum gateway_step step)
{
	static const char *const names[] = {
		[GATEWAY_BOOT] = "boot", [GATEWAY_UP] = "up",
		[GATEWAY_DRAIN] = "drain", [GATEWAY_CLOSE] = "close",
		[GATEWAY_STOPPED] = "stopped",
	};

	log_debug("gateway", NULL, "step=%s was=%s", names[step],
	    names[gw->step]);
	gw->step = step;
}

static void
on_text(void *arg, const struct origin *to, const char *text, size_t len)
{
	struct gateway *gw = arg;

	if (gw->opts.on_text)
		gw->opts.on_text(gw->opts.console_arg, to, text, len);
}

static void
on_activity(void *arg, const struct origin *to, const char *what)
{
	struct gateway *gw = arg;

	if (gw->opts.on_activity)
		gw->opts.on_activity(gw->opts.console_arg, to, what);
}

static void
on_answered(void *arg, const struct origin *to, bool ok)
{
	struct gateway *gw = arg;

	if (gw->opts.on_answered)
		gw->opts.on_answered(gw->opts.console_arg, to, ok);
}

static void
on_sandbox_alarm(void *arg, const char *key_text, const char *text)
{
	struct gateway *gw = arg;

	sessions_alarm(gw->sessions, key_text, text);
}

static void
on_sandbox_news(void *arg, const char *key_text, const char *text, bool first)
{
	struct gateway *gw = arg;

	sessions_sandbox_news(gw->sessions, key_text, text, first);
}

static void
on_process(void *arg, const struct process_event *event)
{
	struct gateway *gw = arg;

	notices_event(gw->notices, event);
}

static void
make_parts(struct gateway *gw)
{
	const struct gateway_opts *o = &gw->opts;
	struct gate_host gate_host = gateway_gate_host(gw);
	struct delivery_host delivery_host = gateway_delivery_host(gw);

	auth_init(&gw->auth, o->auth, o->nauth);
	gw->gate = gate_new(o->loop, o->store, &o->gate, &gate_host);
	gw->delivery = delivery_new(o->loop, o->store, &o->delivery,
	    &delivery_host);
	gw->prompts = prompts_new(gw->delivery);
	struct notices_env nenv = { o->loop, o->store, gw->delivery, o->notices };

	gw->notices = notices_new(&nenv);
	struct session_env senv = {
		.loop = o->loop, .store = o->store, .model = o->model,
		.gate = gw->gate, .sandboxes = o->sandboxes,
		.delivery = gw->delivery, .notices = gw->notices,
		.one_shot = o->one_shot, .hint = o->hint, .profile = o->route.profile,
		.scope = o->scope, .persona = o->persona, .busy = o->busy,
		.reset = o->reset,
		.code = o->code, .max_turns = o->max_turns, .max_tokens = o->max_tokens,
		.arg = gw, .instance = gateway_instance,
		.text = on_text, .activity = on_activity, .answered = on_answered,
	};

	gw->sessions = sessions_new(&senv);
	sandboxes_on_alarm(o->sandboxes, on_sandbox_alarm, gw);
	sandboxes_on_news(o->sandboxes, on_sandbox_news, gw);
	sandboxes_on_process(o->sandboxes, on_process, gw);
	gw->talks = talks_new(o->loop, o->store, gw->sessions, gw->delivery);
	struct restart_env renv = { o->loop, o->store, gw->delivery,
		o->approvers, o->arg, o->on_restart };

	gw->restart = restart_new(&renv);
	struct intake_env ienv = {
		.control = { o->loop, o->store, gw->sessions, gw->gate,
		    gw->delivery, &gw->auth, gw->talks, gw->restart },
		.route = o->route, .auth = &gw->auth,
		.pending_max_ms = o->pending_max_ms,
		.arg = gw, .instance = gateway_instance,
		.migrated = gateway_migrated,
	};

	gw->intake = intake_new(&ienv);
	gw->host = gateway_platform_host(gw);
}

struct gateway *
gateway_start(const struct gateway_opts *opts)
{
	struct gateway *gw = mem_alloc(sizeof(*gw));

	gw->opts = *opts;
	gw->nserved = opts->nplatforms;
	gw->served = mem_array(gw->nserved + 1, sizeof(*gw->served));
	for (size_t i = 0; i < gw->nserved; i++) {
		gw->served[i].def = &opts->platforms[i];
		gw->served[i].gw = gw;
		gw->served[i].why = mem_str("");
	}
	make_parts(gw);
	if (opts->survey)
		sandboxes_warm(opts->sandboxes);
	gw->waiting = store_recover(opts->store, loop_wall(opts->loop),
	    on_recovered, gw);
	return gw;
}

static void
on_recovered(void *arg, const struct json *res, const struct err *err)
{
	struct gateway *gw = arg;

	gw->waiting = NULL;
	if (err) {
		log_error("gateway", NULL, "the state cannot be read: %s",
		    err->text);
		if (gw->opts.on_dead)
			gw->opts.on_dead(gw->opts.arg, err->text);
		return;
	}
	struct recover_env env = { gw->opts.loop, gw->opts.store, gw->sessions,
		gw->delivery, gw->gate };

	gw->recover = recover_start(&env, res, on_reports_done, gw);
}

/*
 * Only now may new messages come in: one that claimed its session's next run
 * before the report of the last one was written would make that report dead.
 */
static void
on_reports_done(void *arg)
{
	struct gateway *gw = arg;

	recover_free(&gw->recover);
	gateway_enter(gw, GATEWAY_UP);
	notices_attach(gw->notices, gw->sessions);
	for (size_t i = 0; i < gw->nserved; i++)
		start_platform(&gw->served[i]);
	delivery_kick_all(gw->delivery);
	restart_look(gw->restart);
	if (gw->opts.on_up)
		gw->opts.on_up(gw->opts.arg);
}

static void
launch_platform(struct served *s, const char *cursor)
{
	struct gateway *gw = s->gw;
	const char *name = s->def->platform->name;
	struct err err = { ERR_NONE, "" };
	struct platform_env env = {
		.loop = gw->opts.loop, .http = gw->opts.http,
		.host = &gw->host, .cursor = cursor,
		.cursor_account = s->def->account,
	};

	s->inst = s->def->platform->start(&env, s->def->opts, &err);
	if (!s->inst)
		gw->host.on_state(gw->host.arg, name, PLATFORM_FAILED, err.text);
}

static void
start_platform(struct served *s)
{
	struct gateway *gw = s->gw;

	if (s->def->account[0] == '\0') {
		launch_platform(s, "");
		return;
	}
	s->cursor_op = store_cursor_get(gw->opts.store, s->def->platform->name,
	    s->def->account, on_cursor, s);
}

static void
on_cursor(void *arg, const struct json *res, const struct err *err)
{
	struct served *s = arg;
	msec_t age = loop_wall(s->gw->opts.loop) - json_get_int(res, "at", 0);
	bool fresh = !err && age >= 0 && age < CURSOR_AGE_MS;

	s->cursor_op = NULL;
	launch_platform(s, fresh ? json_get_str(res, "value", "") : "");
}

/* ---- the end ------------------------------------------------------------------ */

void
gateway_stop(struct gateway *gw, void (*done)(void *arg), void *arg)
{
	gw->stopped = done;
	gw->stopped_arg = arg;
	if (gw->step == GATEWAY_DRAIN) {	/* a second signal shortens */
		gw->drain_until = loop_now(gw->opts.loop);
		return;
	}
	if (gw->step > GATEWAY_DRAIN)
		return;
	log_info("gateway", NULL, "stopping: no new work; %zu runs under way "
	    "may take %lld ms", sessions_running(gw->sessions),
	    (long long)gw->opts.drain_ms);
	gateway_enter(gw, GATEWAY_DRAIN);
	sessions_drain(gw->sessions);
	for (size_t i = 0; i < gw->nserved; i++)
		if (gw->served[i].inst)
			gw->served[i].def->platform->pause(gw->served[i].inst);
	gw->drain_until = loop_now(gw->opts.loop) + gw->opts.drain_ms;
	gw->timer = loop_defer(gw->opts.loop, "gateway drain", on_drain_look, gw);
}

/* Rows are durable: the exit doesn't wait for flood waits, only for runs. */
static void
on_drain_look(void *arg)
{
	struct gateway *gw = arg;
	msec_t now = loop_now(gw->opts.loop);

	gw->timer = NULL;
	if (sessions_running(gw->sessions) > 0 && now >= gw->drain_until)
		sessions_interrupt(gw->sessions);
	bool saving = sessions_running(gw->sessions) > 0 ||
	    intake_open(gw->intake) > 0 ||
	    delivery_sending(gw->delivery) > 0;

	if (saving && now < gw->drain_until + SAVE_MS)
		gw->timer = loop_after(gw->opts.loop, DRAIN_LOOK_MS,
		    "gateway drain", on_drain_look, gw);
	else
		gateway_close(gw);
}

static void
gateway_close(struct gateway *gw)
{
	gateway_enter(gw, GATEWAY_CLOSE);
	op_cancel(&gw->waiting);
	recover_free(&gw->recover);
	intake_free(&gw->intake);
	talks_free(&gw->talks);
	restart_free(&gw->restart);
	sandboxes_on_process(gw->opts.sandboxes, NULL, NULL);
	notices_stop(gw->notices);
	sessions_abandon(gw->sessions);
	prompts_free(&gw->prompts);
	delivery_free(&gw->delivery);
	for (size_t i = 0; i < gw->nserved; i++) {
		op_cancel(&gw->served[i].cursor_op);
		if (gw->served[i].inst)
			gw->served[i].def->platform->stop(&gw->served[i].inst);
	}
	gw->waiting = sandboxes_close(gw->opts.sandboxes, on_closed, gw);
}

static void
on_closed(void *arg)
{
	struct gateway *gw = arg;

	gw->waiting = NULL;
	gateway_enter(gw, GATEWAY_STOPPED);
	gw->stopped(gw->stopped_arg);
}

void
gateway_free(struct gateway **gwp)
{
	if (!*gwp)
		return;
	struct gateway *gw = STEAL(*gwp);

	REQUIRE(gw->step == GATEWAY_STOPPED);
	sandboxes_on_alarm(gw->opts.sandboxes, NULL, NULL);
	sandboxes_on_news(gw->opts.sandboxes, NULL, NULL);
	sessions_free(&gw->sessions);
	notices_free(&gw->notices);
	gate_free(&gw->gate);
	auth_done(&gw->auth);
	for (size_t i = 0; i < gw->nserved; i++)
		mem_free(gw->served[i].why);
	mem_free(gw->served);
	mem_free(gw);
}

/* ---- looking at it ---------------------------------------------------------------- */

struct platform_instance *
gateway_console(struct gateway *gw)
{
	const struct platform *platform;

	return gateway_instance(gw, "console", &platform);
}

/* How late the loop was at worst since the start. */
static struct json *
loop_json(struct loop *loop)
{
	struct loop_stats stats = loop_stats(loop, false);
	struct json *j = json_object();

	json_set_int(j, "stall_max_ms", stats.stall_max);
	json_set_int(j, "stalls", (int64_t)stats.stalls);
	json_set_int(j, "callbacks", (int64_t)stats.callbacks);
	return j;
}

static struct json *
store_json(struct store *store)
{
	struct store_health health = store_health(store);
	struct json *j = json_object();

	json_set_bool(j, "ok", health.ok);
	json_set_str(j, "why", health.why);
	json_set_int(j, "queued", (int64_t)health.depth);
	return j;
}

/* What commands of each kind of session get. */
static struct json *
sandbox_json(struct sandboxes *sb, enum sandbox_owner owner)
{
	struct sandbox_props p = sandbox_props(sb, owner);
	struct json *j = json_object();

	json_set_str(j, "backend", p.backend);
	json_set_str(j, "level", p.level);
	json_set_str(j, "image", p.image);
	json_set_str(j, "network", p.network);
	json_set_str(j, "limits", p.limits ? p.limits : "");
	json_set_str(j, "caution", p.caution ? p.caution : "");
	json_set_bool(j, "isolated", (p.isolation & SANDBOX_ISOLATED) ==
	    SANDBOX_ISOLATED);
	json_set_bool(j, "available", p.available);
	json_set_str(j, "why", p.available ? "" : p.why);
	return j;
}

struct json *
gateway_status(struct gateway *gw)
{
	struct json *res = json_object();
	struct json *platforms = json_array();

	for (size_t i = 0; i < gw->nserved; i++) {
		const struct served *s = &gw->served[i];
		struct json *row = json_object();

		json_set_str(row, "name", s->def->platform->name);
		json_set_str(row, "state", platform_state_name(s->state));
		json_set_int(row, "since", s->since);
		json_set_str(row, "why", s->why);
		json_add_take(platforms, row);
	}
	json_set_take(res, "platforms", platforms);
	if (gw->sessions)
		json_set_take(res, "runs", sessions_list(gw->sessions));
	json_set_take(res, "approvals", gate_open_requests(gw->gate, NULL));
	json_set_take(res, "grants", gate_grants(gw->gate, NULL));
	json_set_int(res, "refused_senders", (int64_t)gw->auth.refused);
	json_set_take(res, "sandbox", sandbox_json(gw->opts.sandboxes,
	    SANDBOX_MESSAGING));
	json_set_take(res, "console_sandbox", sandbox_json(gw->opts.sandboxes,
	    SANDBOX_CONSOLE));
	json_set_take(res, "sandboxes", sandboxes_status(gw->opts.sandboxes));
	json_set_take(res, "loop", loop_json(gw->opts.loop));
	json_set_take(res, "store", store_json(gw->opts.store));
	json_set_int(res, "operations", (int64_t)op_live());
	json_set_int(res, "log_lines_lost", (int64_t)log_dropped());
	return res;
}

struct json *
gateway_grants(struct gateway *gw)
{
	return gate_grants(gw->gate, NULL);
}

unsigned
gateway_revoke(struct gateway *gw, const char *session_key)
{
	return gate_forget_grants(gw->gate, session_key);
}

bool
gateway_chat_idle(struct gateway *gw, const struct msg *msg)
{
	CLEANUP_FREE char *key = route_session_key(&gw->opts.route, msg);
	struct place to = { msg->platform, msg->account, msg->chat_id,
		msg->thread_id };

	return gw->step != GATEWAY_UP || (!gw->recover &&
	    intake_open(gw->intake) == 0 &&
	    session_is_idle(gw->sessions, key) &&
	    delivery_is_idle(gw->delivery, &to));
}

char *
gateway_greeting(struct gateway *gw)
{
	struct sandbox_props props = sandbox_props(gw->opts.sandboxes,
	    SANDBOX_CONSOLE);

	return mem_printf("Model: %s\n"
	    "Commands of the model run in: %s%s%s%s\n"
	    "/help lists what you can type, Ctrl-D leaves.\n",
	    gw->opts.model->label, props.backend,
	    props.level[0] ? " " : "", props.level, props.available ? "" :
	    " (NOT AVAILABLE, they are refused: see /status)");
}

struct sandboxes *
gateway_sandboxes(struct gateway *gw)
{
	return gw->opts.sandboxes;
}

bool
gateway_idle(const struct gateway *gw)
{
	return gw->step == GATEWAY_UP && !gw->recover &&
	    sessions_running(gw->sessions) == 0 &&
	    intake_open(gw->intake) == 0 && !notices_busy(gw->notices) &&
	    delivery_busy(gw->delivery) == 0;
}
