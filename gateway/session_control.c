/* What people and the gateway do to sessions: stop, new, status, drain. */
#include "gateway/session_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

static size_t
count_processes(const struct session *s, struct json **ret_list)
{
	struct sandbox_key key = s->env.sandbox;

	*ret_list = key.scope ? sandbox_processes(s->all->env.sandboxes, &key) :
	    json_array();
	return json_len(*ret_list);
}

char *
session_stop(struct sessions *all, const char *key)
{
	struct session *s = session_get(all, key);
	bool had_run = s->run != NULL;
	CLEANUP_JSON struct json *procs = NULL;

	op_cancel(&s->claiming);
	if (!session_cancel_run(s, RUN_STOP_PERSON))
		return mem_str("Too late to stop: the answer is on its way.");
	s->queued = false;
	s->cancelled = 0;
	store_stop(all->env.store, key, loop_wall(all->env.loop), NULL, NULL);
	size_t n = count_processes(s, &procs);

	session_settle(s);
	if (n == 0)
		return mem_str(had_run ? "Stopped." : "Nothing was running.");
	struct buf text;

	buf_init(&text, 4096);
	buf_printf(&text, "%s Still running in the background:",
	    had_run ? "Stopped." : "No answer was under way.");
	for (const struct json *p = json_first(procs); p; p = json_next(p))
		buf_printf(&text, "\n%s %.100s", json_get_str(p, "id", "?"),
		    json_get_str(p, "command", ""));
	return buf_take(&text);
}

char *
session_reset(struct sessions *all, const char *key)
{
	struct session *s = session_get(all, key);

	op_cancel(&s->claiming);
	if (!session_cancel_run(s, RUN_STOP_PERSON))
		log_debug("session", NULL, "session=%s reset while its answer "
		    "is being saved", key);
	s->queued = false;
	s->cancelled = 0;
	store_reset(all->env.store, key, loop_wall(all->env.loop), NULL, NULL);
	if (s->env.sandbox.scope) {
		sandbox_end_processes(all->env.sandboxes, &s->env.sandbox);
		sandbox_reset(all->env.sandboxes, &s->env.sandbox);
	}
	session_settle(s);
	return mem_str("A new conversation begins. Files in the workspace stay; "
	    "background processes were ended.");
}

char *
session_status(struct sessions *all, const char *key, const char *platform)
{
	const struct session *s = map_get(&all->map, key);
	const struct session_env *env = &all->env;
	struct sandbox_props props = sandbox_props(env->sandboxes,
	    session_owner(platform));
	struct buf b;

	buf_init(&b, 8192);
	buf_printf(&b, "Session: %s%s%s\n", key,
	    s && s->session_id[0] ? ", " : "",
	    s && s->session_id[0] ? s->session_id : "");
	buf_printf(&b, "Model: %s\n", env->model->label);
	buf_printf(&b, "Sandbox: %s%s%s, network %s%s%s\n", props.backend,
	    props.level[0] ? " " : "", props.level, props.network,
	    props.available ? "" : " - NOT AVAILABLE: ",
	    props.available ? "" : props.why);
	if (s && s->run)
		buf_printf(&b, "Running: %s (%lld s)\n", run_activity(s->run),
		    (long long)(run_age(s->run) / 1000));
	else
		buf_add_str(&b, "Running: nothing\n");
	if (s && s->queued)
		buf_add_str(&b, "Messages wait for the next answer.\n");
	return buf_take(&b);
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
	all->draining = true;
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

bool
session_is_idle(const struct sessions *all, const char *key)
{
	const struct session *s = map_get(&all->map, key);

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
