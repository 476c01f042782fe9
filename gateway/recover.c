#include "gateway/recover.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gate/display.h"

#define COMMAND_MAX 600		/* bytes; a longer one is not shown again */

struct recover {
	struct recover_env env;
	struct json *rows;		/* sessions to close with a report */
	size_t at;
	struct op *waiting;
	struct timer *timer;
	struct origin origin;		/* of the session under way */
	void (*done)(void *arg);
	void *arg;
};

static void recover_next(void *arg);
static void on_claimed(void *arg, const struct accept_result *res,
    const struct err *err);
static void on_reported(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err);

static struct place
place_of(const struct json *node)
{
	return (struct place){
		json_get_str(node, "platform", ""),
		json_get_str(node, "account", ""),
		json_get_str(node, "chat_id", ""),
		json_get_str(node, "thread_id", ""),
	};
}

/*
 * Open questions ended with the process (rules 4.4): their messages say so, and
 * so does the answer to a press that comes now.
 */
static void
say_expired(struct recover *r, const struct json *result)
{
	const struct json *list = json_get(result, "expired_approvals");

	for (const struct json *row = json_first(list); row; row = json_next(row)) {
		const char *id = json_get_str(row, "id", "");
		const char *msg_id = json_get_str(row, "msg_id", "");
		struct place to = place_of(json_path(row, "row.asker"));
		CLEANUP_FREE char *past = mem_printf("%s: expired, the gateway "
		    "was restarted; it was not run", id);

		gate_note_past(r->env.gate, id, past);
		if (!msg_id[0])
			continue;
		const char *command = json_get_str(json_get(row, "row"),
		    "command", "");
		CLEANUP_FREE char *seen = strlen(command) < COMMAND_MAX ?
		    gate_visible(command, strlen(command)) : mem_str("");
		CLEANUP_FREE char *text = mem_printf("%s\n\n%s", seen, past);

		delivery_amend(r->env.delivery, &to, msg_id, text);
	}
}

/* Recorded, and only then no more owed: a kill in between repeats it at worst. */
static void
say_parked(struct recover *r, const struct json *result)
{
	const struct json *list = json_get(result, "parked");

	for (const struct json *p = json_first(list); p; p = json_next(p)) {
		const struct json *row = json_get(p, "row");
		const struct place to = place_of(row);
		CLEANUP_FREE char *say = mem_printf("I was away for more than a "
		    "day: %lld messages and %lld answers from before were put "
		    "aside. Write again what still matters.",
		    (long long)json_get_int(row, "inbox", 0),
		    (long long)json_get_int(row, "outbox", 0));
		const struct outbox_chunk chunk = {
			.kind = OUT_REPORT, .platform = to.platform,
			.account = to.account, .chat_id = to.chat_id,
			.thread_id = to.thread_id, .text = say, .plain = true,
		};

		store_outbox_add(r->env.store, NULL, &chunk,
		    loop_wall(r->env.loop), NULL, NULL);
		store_ledger_remove(r->env.store, STORE_PARKED,
		    json_get_str(p, "id", ""), NULL, NULL);
	}
}

struct recover *
recover_start(const struct recover_env *env, const struct json *result,
    void (*done)(void *arg), void *arg)
{
	struct recover *r = mem_alloc(sizeof(*r));
	const struct json *list = json_get(result, "sessions");
	const struct json *moved = json_get(result, "moved");

	r->env = *env;
	r->done = done;
	r->arg = arg;
	r->rows = json_array();
	for (const struct json *m = json_first(moved); m; m = json_next(m))
		sessions_moved(env->sessions, json_get_str(m, "old_id", ""),
		    json_get_str(m, "new_id", ""));
	say_expired(r, result);
	say_parked(r, result);
	for (const struct json *row = json_first(list); row; row = json_next(row)) {
		const char *action = json_get_str(row, "action", "");

		log_info("recover", NULL, "session=%s %s attempts=%lld",
		    json_get_str(row, "session_key", ""), action,
		    (long long)json_get_int(row, "attempts", 0));
		if (strcmp(action, "resume") == 0)
			session_recovered(env->sessions, row);
		else
			json_add_take(r->rows, json_clone(row));
	}
	r->timer = loop_defer(env->loop, "recover", recover_next, r);
	return r;
}

void
recover_free(struct recover **rp)
{
	if (!*rp)
		return;
	struct recover *r = STEAL(*rp);

	op_cancel(&r->waiting);
	loop_cancel(&r->timer);
	origin_done(&r->origin);
	json_free(&r->rows);
	mem_free(r);
}

static void
recover_next(void *arg)
{
	struct recover *r = arg;
	const struct json *row = json_at(r->rows, r->at);

	r->timer = NULL;
	if (!row) {
		r->done(r->arg);
		return;
	}
	origin_done(&r->origin);
	origin_from_json(&r->origin, json_get(row, "origin"));
	r->waiting = store_claim(r->env.store,
	    json_get_str(row, "session_key", ""), loop_wall(r->env.loop),
	    on_claimed, r);
}

static char *
report_text(const struct json *row)
{
	const struct json *tools = json_get(row, "tools");
	struct buf b;

	buf_init(&b, 16384);
	if (strcmp(json_get_str(row, "action", ""), "exhausted") == 0) {
		buf_add_str(&b, "I was interrupted three times while I worked "
		    "on your last message, so I stop trying. Write again if "
		    "you want me to go on.");
		return buf_take(&b);
	}
	buf_add_str(&b, "I was restarted while this was running, so its "
	    "outcome is unknown; I have not repeated it:");
	for (const struct json *t = json_first(tools); t; t = json_next(t)) {
		const char *args = json_get_str(t, "args", "");
		CLEANUP_JSON struct json *parsed = json_parse(args,
		    strlen(args), NULL);

		buf_printf(&b, "\n%s: %.1000s", json_get_str(t, "name", "tool"),
		    json_get_str(parsed, "command", args));
	}
	buf_add_str(&b, "\nTell me whether to look what happened or to do it "
	    "again.");
	return buf_take(&b);
}

static void
on_claimed(void *arg, const struct accept_result *res, const struct err *err)
{
	struct recover *r = arg;
	const struct json *row = json_at(r->rows, r->at);

	r->waiting = NULL;
	if (err || !res->claims[0].claimed) {
		log_error("recover", NULL, "session=%s cannot be closed: %s",
		    json_get_str(row, "session_key", ""),
		    err ? err->text : "nothing waits there");
		r->at++;
		r->timer = loop_defer(r->env.loop, "recover", recover_next, r);
		return;
	}
	CLEANUP_FREE char *text = report_text(row);
	CLEANUP_JSON struct json *entry = json_object();
	struct outbox_chunk chunk = {
		.kind = OUT_REPORT,
		.platform = r->origin.platform, .account = r->origin.account,
		.chat_id = r->origin.chat_id, .thread_id = r->origin.thread_id,
		.text = text, .plain = true,
	};
	struct finish_req req = {
		.run = { json_get_str(row, "session_key", ""),
		    res->claims[0].generation },
		.entry = entry,
		.chunks = &chunk, .nchunks = 1,
		.outcome = "reported",
		.now_wall = loop_wall(r->env.loop),
	};

	json_set_str(entry, "role", "assistant");
	json_set_str(entry, "content", text);
	r->waiting = store_finish(r->env.store, &req, on_reported, r);
}

static void
on_reported(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err)
{
	struct recover *r = arg;
	struct place to = { r->origin.platform, r->origin.account,
		r->origin.chat_id, r->origin.thread_id };

	(void)rows;
	(void)n;
	r->waiting = NULL;
	if (err)
		log_error("recover", NULL, "a report could not be recorded: %s",
		    err->text);
	else
		delivery_kick(r->env.delivery, &to);
	r->at++;
	r->timer = loop_defer(r->env.loop, "recover", recover_next, r);
}
