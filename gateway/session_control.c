/* What people and the gateway do to sessions: stop, new, status, drain. */
#include "gateway/session_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gate/grants.h"
#include "gateway/notices.h"

#define MOVED_MAX 256		/* chats that got new ids; each costs every message */

/* Also of a session that is remembered no more: its processes may live. */
static struct sandbox_key
box_key(const struct session *s, const struct origin *from, char **ret_scope)
{
	const struct session_env *env = &s->all->env;

	*ret_scope = scope_text(env->scope, s->key, from);
	return (struct sandbox_key){ env->profile, *ret_scope,
		session_owner(from->platform) };
}

/* The list also remembers those that have ended. */
static struct json *
running_in(struct sessions *all, const struct sandbox_key *box)
{
	CLEANUP_JSON struct json *procs = sandbox_processes(all->env.sandboxes,
	    box);
	struct json *list = json_array();

	for (const struct json *p = json_first(procs); p; p = json_next(p))
		if (strcmp(json_get_str(p, "status", ""), "running") == 0)
			json_add_take(list, json_clone(p));
	return list;
}

char *
session_stop(struct sessions *all, const char *key, const struct origin *from)
{
	struct session *s = session_get(all, key);
	CLEANUP_FREE char *scope = NULL;
	struct sandbox_key box = box_key(s, from, &scope);
	bool had_run = s->run || s->planned || s->claiming || s->queued;

	op_cancel(&s->claiming);
	if (!session_cancel_run(s, RUN_STOP_PERSON))
		return mem_str("Too late to stop: the answer is on its way.");
	s->queued = false;
	s->cancelled = 0;
	s->voided = s->planned;
	store_stop(all->env.store, s->key, loop_wall(all->env.loop), NULL, NULL);
	CLEANUP_JSON struct json *procs = running_in(all, &box);

	session_settle(s);
	if (json_len(procs) == 0)
		return mem_str(had_run ? "Stopped." : "Nothing was running.");
	struct buf text;

	buf_init(&text, 4096);
	buf_printf(&text, "%s Still running in the background:",
	    had_run ? "Stopped." : "No answer was under way.");
	for (const struct json *p = json_first(procs); p; p = json_next(p))
		buf_printf(&text, "\n%s %.100s", json_get_str(p, "session_id", "?"),
		    json_get_str(p, "command", ""));
	return buf_take(&text);
}

/*
 * What the sandbox loses: it is the conversation's own, or also serves others,
 * whose directory and processes stay.
 */
static char *
reset_sandbox(struct session *s, const struct origin *from, bool wipe)
{
	const struct session_env *env = &s->all->env;
	CLEANUP_FREE char *scope = NULL;
	struct sandbox_key box = box_key(s, from, &scope);

	if (wipe && env->scope == SCOPE_SHARED)
		return mem_str("A new conversation begins. The workspace is shared "
		    "by everybody, so its files stay: the operator can remove them "
		    "with `gatehouse sandbox prune`.");
	if (wipe) {
		sandbox_wipe(env->sandboxes, &box);
		return mem_str("A new conversation begins. Background processes were "
		    "ended and the files of the workspace are being removed.");
	}
	if (env->scope != SCOPE_SESSION)
		return mem_str("A new conversation begins. The sandbox serves other "
		    "conversations, too: its files, directory and background "
		    "processes stay.");
	sandbox_end_processes(env->sandboxes, &box);
	sandbox_reset(env->sandboxes, &box);
	return mem_str("A new conversation begins. Files in the workspace stay; "
	    "background processes were ended.");
}

char *
session_reset(struct sessions *all, const char *key, const struct origin *from,
    bool wipe)
{
	struct session *s = session_get(all, key);

	op_cancel(&s->claiming);
	if (!session_cancel_run(s, RUN_STOP_PERSON))
		log_debug("session", NULL, "session=%s reset while its answer "
		    "is being saved", key);
	s->queued = false;
	s->cancelled = 0;
	mem_free(STEAL(s->model));
	store_reset(all->env.store, s->key, loop_wall(all->env.loop), NULL,
	    NULL);
	notices_forget(all->env.notices, s->key);
	char *say = reset_sandbox(s, from, wipe);
	gate_forget_grants(all->env.gate, s->key);
	session_settle(s);
	return say;
}

/* Processes in the background are a life that a reset would end. */
msec_t
session_stale_before(struct sessions *all, const char *key,
    const struct origin *from)
{
	msec_t boundary = reset_boundary(reset_rule(&all->env.reset,
	    from->platform, from->chat_type, from->thread_id[0] != '\0'),
	    loop_wall(all->env.loop));

	if (boundary <= 0)
		return 0;
	const struct session *s = session_get(all, key);
	CLEANUP_FREE char *scope = NULL;
	struct sandbox_key box = box_key(s, from, &scope);
	CLEANUP_JSON struct json *procs = running_in(all, &box);

	return json_len(procs) > 0 ? 0 : boundary;
}

void
session_interrupt(struct sessions *all, const char *key)
{
	struct session *s = session_get(all, key);

	op_cancel(&s->claiming);
	if (!session_cancel_run(s, RUN_STOP_PERSON))
		log_debug("session", NULL, "session=%s interrupted while its "
		    "answer is being saved", s->key);
	s->queued = false;
	s->cancelled = 0;
	session_settle(s);
}

void
session_again(struct sessions *all, const char *key, const struct origin *origin)
{
	struct session *s = session_get(all, key);

	if (!s->run)
		session_know(s, origin);
	s->queued = true;
	session_settle(s);
}

void
session_model_set(struct sessions *all, const char *key, const char *model)
{
	struct session *s = session_get(all, key);

	mem_free(s->model);
	s->model = mem_str(model);
	session_settle(s);
}

char *
session_model(struct sessions *all, const char *key)
{
	CLEANUP_FREE char *known = sessions_key(all, key);
	const struct session *s = map_get(&all->map, known);

	if (s && s->model && s->model[0])
		return mem_printf("This conversation uses %s; the configured "
		    "model is %s. /model NAME chooses another of the same "
		    "server, /model default goes back.", s->model,
		    all->env.model->label);
	return mem_printf("The configured model is %s. /model NAME chooses "
	    "another of the same server for this conversation.",
	    all->env.model->label);
}

char *
session_status(struct sessions *all, const char *key,
    const struct origin *from)
{
	CLEANUP_FREE char *known = sessions_key(all, key);
	const struct session *s = map_get(&all->map, known);
	const struct session_env *env = &all->env;
	struct sandbox_props props = sandbox_props(env->sandboxes,
	    session_owner(from->platform));
	struct buf b;

	buf_init(&b, 8192);
	buf_printf(&b, "Session: %s%s%s\n", key,
	    s && s->session_id[0] ? ", " : "",
	    s && s->session_id[0] ? s->session_id : "");
	buf_printf(&b, "Model: %s\n", env->model->label);
	buf_printf(&b, "Sandbox: %s%s%s%s%s, network %s%s%s%s\n", props.backend,
	    props.level[0] ? " " : "", props.level,
	    props.image[0] ? ", image " : "", props.image, props.network,
	    props.isolation ? "" : ", isolated by nothing",
	    props.available ? "" : " - NOT AVAILABLE: ",
	    props.available ? "" : props.why);
	if (props.caution && props.caution[0])
		buf_printf(&b, "Its isolation is less than full: %s\n", props.caution);
	if (s && s->run)
		buf_printf(&b, "Running: %s (%lld s)\n", run_activity(s->run),
		    (long long)(run_age(s->run) / 1000));
	else
		buf_add_str(&b, "Running: nothing\n");
	CLEANUP_JSON struct json *grants = gate_grants(env->gate, key);

	for (const struct json *g = json_first(grants); g; g = json_next(g))
		buf_printf(&b, "Not asked about: %s (for %s, see /approvals)\n",
		    strcmp(json_get_str(g, "rule", ""), GRANT_ALL) == 0 ?
		    "anything, /yolo is on" : json_get_str(g, "rule", ""),
		    json_get_str(g, "asker", ""));
	if (s && s->queued)
		buf_add_str(&b, "Messages wait for the next answer.\n");
	if (!store_health(env->store).ok)
		buf_printf(&b, "Nothing can be saved: %s.\n",
		    store_health(env->store).why);
	return buf_take(&b);
}

/* ---- chats that move ------------------------------------------------------------- */

/* The latest move first: a chat that moved twice is known by its first id. */
char *
sessions_key(const struct sessions *all, const char *key)
{
	char *known = mem_str(key);

	for (size_t i = all->nmoved; i-- > 0; ) {
		CLEANUP_FREE char *now = known;

		known = route_key_moved(now, all->moved[i].new_id,
		    all->moved[i].old_id);
	}
	return known;
}

void
sessions_moved(struct sessions *all, const char *old_id, const char *new_id)
{
	if (all->nmoved >= MOVED_MAX || strcmp(old_id, new_id) == 0)
		return;
	for (size_t i = 0; i < all->nmoved; i++)
		if (strcmp(all->moved[i].old_id, old_id) == 0)
			return;
	all->moved = mem_grow(all->moved, all->nmoved + 1, sizeof(*all->moved));
	all->moved[all->nmoved++] = (struct moved_chat){ mem_str(old_id),
		mem_str(new_id) };
}

/* ---- start and end --------------------------------------------------------------- */

void
session_recovered(struct sessions *all, const struct json *row)
{
	struct session *s = session_get(all, json_get_str(row, "session_key", ""));
	struct origin origin;

	origin_from_json(&origin, json_get(row, "origin"));
	session_know(s, &origin);
	origin_done(&origin);
	s->queued = true;
	session_settle(s);
}

void
sessions_drain(struct sessions *all)
{
	size_t it = 0;
	const char *key;
	void *value;

	all->draining = true;
	while (map_next(&all->map, &it, &key, &value)) {
		struct session *s = value;
		CLEANUP_JSON struct json *open = gate_open_requests(
		    all->env.gate, key);

		if (s->run && json_len(open) > 0)
			session_cancel_run(s, RUN_STOP_EXIT);
	}
}

static void
cancel_all(struct sessions *all, enum run_stop why)
{
	size_t it = 0;
	void *value;

	all->draining = true;
	while (map_next(&all->map, &it, NULL, &value)) {
		struct session *s = value;

		op_cancel(&s->claiming);
		session_cancel_run(s, why);
	}
}

void
sessions_interrupt(struct sessions *all)
{
	cancel_all(all, RUN_STOP_EXIT);
}

void
sessions_abandon(struct sessions *all)
{
	cancel_all(all, RUN_STOP_ABANDON);
}

/* Each session that has this sandbox. */
static void
each_of(struct sessions *all, const char *sandbox,
	void (*tell)(const struct session *s, const char *text), const char *text)
{
	size_t it = 0;
	const char *key;
	void *value;

	while (map_next(&all->map, &it, &key, &value)) {
		const struct session *s = value;
		if (!s->known || !s->env.sandbox.scope)
			continue;
		CLEANUP_FREE char *own = sandbox_key_text(&s->env.sandbox);
		if (strcmp(own, sandbox) == 0)
			tell(s, text);
	}
}

static void
tell_notice(const struct session *s, const char *text)
{
	struct place to = { s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };

	delivery_notice(s->all->env.delivery, &to, text, NULL, 0);
}

static void
tell_activity(const struct session *s, const char *text)
{
	if (s->all->env.activity)
		s->all->env.activity(s->all->env.arg, &s->origin, text);
}

static void
tell_first(const struct session *s, const char *text)
{
	struct place to = { s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };

	delivery_progress(s->all->env.delivery, &to, text, true);
}

static void
tell_more(const struct session *s, const char *text)
{
	struct place to = { s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };

	delivery_progress(s->all->env.delivery, &to, text, false);
}

void
sessions_alarm(struct sessions *all, const char *sandbox, const char *text)
{
	CLEANUP_FREE char *say = mem_printf("Your sandbox: %s.", text);

	each_of(all, sandbox, tell_notice, say);
}

void
sessions_sandbox_news(struct sessions *all, const char *sandbox,
	const char *text, bool first)
{
	CLEANUP_FREE char *say = mem_printf("Your sandbox: %s.", text);

	each_of(all, sandbox, first ? tell_first : tell_more, say);
	each_of(all, sandbox, tell_activity, text);
}

bool
session_is_idle(const struct sessions *all, const char *key)
{
	CLEANUP_FREE char *known = sessions_key(all, key);
	const struct session *s = map_get(&all->map, known);

	return !s || (!s->run && !s->planned && !s->claiming && !s->queued);
}

size_t
sessions_running(const struct sessions *all)
{
	return all->running;
}

struct json *
sessions_list(const struct sessions *all)
{
	struct json *list = json_array();
	size_t it = 0;
	const char *key;
	void *value;

	while (map_next(&all->map, &it, &key, &value)) {
		const struct session *s = value;

		if (!s->run)
			continue;
		struct json *row = json_object();

		json_set_str(row, "session", key);
		json_set_str(row, "activity", run_activity(s->run));
		json_set_int(row, "age_ms", run_age(s->run));
		json_add_take(list, row);
	}
	return list;
}
