#include "gateway/restart.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define KIND "restart"
#define LAST "last"
#define AGAIN_MS 60000

struct restart {
	struct restart_env env;
	msec_t last;		/* wall time of the last request; 0: none known */
	bool asked;
	struct op *waiting;
};

static void on_last(void *arg, const struct json *res, const struct err *err);
static void on_recorded(void *arg, const struct err *err);

struct restart *
restart_new(const struct restart_env *env)
{
	struct restart *r = mem_alloc(sizeof(*r));

	r->env = *env;
	return r;
}

void
restart_free(struct restart **rp)
{
	if (!*rp)
		return;
	struct restart *r = STEAL(*rp);

	op_cancel(&r->waiting);
	mem_free(r);
}

void
restart_look(struct restart *r)
{
	r->waiting = store_ledger_list(r->env.store, KIND, on_last, r);
}

static void
on_last(void *arg, const struct json *res, const struct err *err)
{
	struct restart *r = arg;
	const struct json *row = json_get(json_first(res), "row");
	struct origin to;

	r->waiting = NULL;
	if (err || !row)
		return;
	r->last = json_get_int(row, "at", 0);
	if (!json_get(row, "origin"))
		return;
	origin_from_json(&to, json_get(row, "origin"));
	struct place place = { to.platform, to.account, to.chat_id, to.thread_id };
	CLEANUP_JSON struct json *told = json_object();

	delivery_notice(r->env.delivery, &place, "I am back.", NULL, 0);
	json_set_int(told, "at", r->last);
	store_ledger_put(r->env.store, KIND, LAST, told, NULL, NULL);
	origin_done(&to);
}

static bool
may_ask(const struct restart *r, const struct origin *origin)
{
	for (const char *const *a = r->env.approvers; a && *a; a++)
		if (strcmp(*a, origin->user_id) == 0)
			return true;
	return !r->env.approvers || !*r->env.approvers;
}

char *
restart_request(struct restart *r, const struct origin *origin)
{
	msec_t now = loop_wall(r->env.loop);

	if (!r->env.now)
		return mem_str("Nothing would start me again here: only "
		    "`gatehouse run` under a supervisor can restart.");
	if (!may_ask(r, origin))
		return mem_str("Only the people in approvals.approvers may "
		    "restart me.");
	if (r->asked || r->waiting)
		return mem_str("I am restarting already.");
	if (now >= r->last && now - r->last < AGAIN_MS)
		return mem_str("I was restarted less than a minute ago. Ask again "
		    "in a minute if it is still needed.");
	CLEANUP_JSON struct json *row = json_object();

	json_set_int(row, "at", now);
	json_set_take(row, "origin", origin_json(origin));
	r->asked = true;
	r->waiting = store_ledger_put(r->env.store, KIND, LAST, row, on_recorded,
	    r);
	return mem_str("I restart: what runs may finish within the drain time "
	    "(agent.restart_drain_timeout), the rest goes on afterwards.");
}

static void
on_recorded(void *arg, const struct err *err)
{
	struct restart *r = arg;

	r->waiting = NULL;
	if (err) {
		r->asked = false;
		log_error("restart", NULL, "not recorded, not done: %s",
		    err->text);
		return;
	}
	log_info("restart", NULL, "asked for in a chat");
	r->env.now(r->env.arg);
}
