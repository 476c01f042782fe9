/* What people answer, and what they are told then. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "gateway/gate/display.h"
#include "gateway/gate/gate_priv.h"

#define HOUR_MS 3600000

static struct question *
find_id(struct gate *gate, const char *id)
{
	struct question *q;

	TAILQ_FOREACH(q, &gate->questions, link)
		if (q->step == ASK_OPEN && strcmp(q->id, id) == 0)
			return q;
	return NULL;
}

static bool
same_chat(const struct origin *a, const struct origin *b)
{
	return strcmp(a->platform, b->platform) == 0 &&
	    strcmp(a->account, b->account) == 0 &&
	    strcmp(a->chat_id, b->chat_id) == 0 &&
	    strcmp(a->thread_id, b->thread_id) == 0;
}

/* at: of that chat; else of that session; both NULL: all. */
static bool
is_here(const struct question *q, const char *session_key,
    const struct origin *at)
{
	const struct request *r = TAILQ_FIRST(&q->requests);

	if (q->step != ASK_OPEN)
		return false;
	if (at)
		return same_chat(&r->asker, at);
	return !session_key || strcmp(r->session_key, session_key) == 0;
}

/* Suspend does not stop the clock that a person's answer is measured by. */
static bool
has_expired(const struct question *q)
{
	return loop_boottime(q->gate->loop) - q->asked_at >
	    q->gate->opts.timeout_ms;
}

static char *
say_yes(struct question *q, enum gate_answer answer, const char *who)
{
	CLEANUP_FREE char *id = mem_str(q->id);

	switch (answer) {
	case GATE_ANSWER_HOUR:
		question_grant(q, who, HOUR_MS);
		question_settle(q, GATE_ALLOWED, "allowed-hour", who, "");
		return mem_printf("Approved %s, and what is asked here for the "
		    "same reasons within an hour.", id);
	case GATE_ANSWER_SESSION:
		question_grant(q, who, 0);
		question_settle(q, GATE_ALLOWED, "allowed-session", who, "");
		return mem_printf("Approved %s, and what is asked here for the "
		    "same reasons until /new or a restart.", id);
	case GATE_ANSWER_ALWAYS: {
		CLEANUP_FREE char *entry = mem_str(
		    TAILQ_FIRST(&q->requests)->judged.always);

		question_keep(q, who);
		return mem_printf("Approved %s. This is being stored for always: "
		    "%.600s", id, entry);
	}
	case GATE_ANSWER_NO:
	case GATE_ANSWER_ONCE:
		break;
	}
	question_settle(q, GATE_ALLOWED, "allowed", who, "");
	return mem_printf("Approved %s.", id);
}

static char *
say_no(struct question *q, const char *reason, const char *who)
{
	CLEANUP_FREE char *id = mem_str(q->id);
	CLEANUP_FREE char *said = reason && reason[0] ?
	    mem_printf("a person refused it: %.280s", reason) :
	    mem_str("a person refused it");

	question_settle(q, GATE_DENIED, "denied", who, said);
	return mem_printf("Denied %s.", id);
}

/* Returns what the person is told; *ret_over: the question is gone. */
static char *
decide_one(struct question *q, const struct gate_reply *reply, bool *ret_over)
{
	struct gate *gate = q->gate;
	const struct request *r = TAILQ_FIRST(&q->requests);
	CLEANUP_FREE char *who = mem_printf("%s:%s", reply->who->platform,
	    reply->who->user_id);

	*ret_over = false;
	if (!gate->host.may_decide(gate->host.arg, &r->asker, reply->who))
		return mem_printf("Only the person who asked for %s, or an "
		    "approver, may decide about it.", q->id);
	if (has_expired(q)) {
		CLEANUP_FREE char *id = mem_str(q->id);

		*ret_over = true;
		question_timed_out(q);
		return mem_printf("%s has expired; it was not run.", id);
	}
	if (!(q->offers & GATE_OFFER(reply->answer)))
		return mem_printf("%s can't be allowed for so long: /approve %s "
		    "allows it once.", q->id, q->id);
	*ret_over = true;
	return reply->answer == GATE_ANSWER_NO ? say_no(q, reply->reason, who) :
	    say_yes(q, reply->answer, who);
}

static char *
decide_id(struct gate *gate, const struct gate_reply *reply)
{
	struct question *q = find_id(gate, reply->id);
	const char *past = gate_past(gate, reply->id);
	bool over;

	if (q)
		return decide_one(q, reply, &over);
	if (past)
		return mem_printf("Too late. %s.", past);
	return mem_printf("There is no open request %s: it was decided, "
	    "withdrawn or has expired.", reply->id);
}

/* The ids of what is open here, oldest first; caller frees each. */
static size_t
open_ids(struct gate *gate, const char *session_key, const struct origin *at,
    char *ids[], size_t max)
{
	struct question *q;
	size_t n = 0;

	TAILQ_FOREACH(q, &gate->questions, link)
		if (n < max && is_here(q, session_key, at))
			ids[n++] = mem_str(q->id);
	return n;
}

static char *
say_ambiguous(char *ids[], size_t n)
{
	struct buf b;

	buf_init(&b, 8192);
	buf_printf(&b, "%zu requests wait here, so nothing was approved. Name "
	    "one:", n);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "\n/approve %s", ids[i]);
	return buf_take(&b);
}

/* Each in turn: a decision may open or end others. */
static char *
decide_each(struct gate *gate, const struct gate_reply *reply, char *ids[],
    size_t n)
{
	struct buf b;

	buf_init(&b, 32 * 1024);
	for (size_t i = 0; i < n; i++) {
		struct question *q = find_id(gate, ids[i]);
		bool over;

		if (!q)
			continue;
		CLEANUP_FREE char *text = decide_one(q, reply, &over);

		buf_printf(&b, "%s%s", b.len ? "\n" : "", text);
	}
	return buf_take(&b);
}

char *
gate_decide(struct gate *gate, const struct gate_reply *reply)
{
	char *ids[64];
	char *text;

	if (reply->id && reply->id[0])
		return decide_id(gate, reply);
	size_t n = open_ids(gate, reply->session_key, NULL, ids, ARRAY_LEN(ids));

	if (n == 0)
		n = open_ids(gate, NULL, reply->who, ids, ARRAY_LEN(ids));
	if (n == 0)
		text = mem_str("Nothing waits for an answer here.");
	else if (n > 1 && !reply->all && reply->answer != GATE_ANSWER_NO)
		text = say_ambiguous(ids, n);
	else
		text = decide_each(gate, reply, ids, reply->all ? n : 1);
	for (size_t i = 0; i < n; i++)
		mem_free(ids[i]);
	return text;
}

void
gate_prompt_shown(struct gate *gate, const char *request_id, const char *msg_id)
{
	struct question *q = find_id(gate, request_id);

	if (!q || !msg_id[0])
		return;
	mem_free(q->msg_id);
	q->msg_id = mem_str(msg_id);
}

void
gate_prompt_failed(struct gate *gate, const char *request_id, const char *why)
{
	struct question *q = find_id(gate, request_id);

	if (!q)
		return;
	CLEANUP_FREE char *reason = mem_printf(
	    "no approver could be reached: the prompt was not delivered (%s)",
	    why);

	question_settle(q, GATE_UNREACHABLE, "unreachable", "", reason);
}

static struct json *
list_open(struct gate *gate, const char *session_key, const struct origin *at)
{
	struct json *list = json_array();
	struct question *q;

	TAILQ_FOREACH(q, &gate->questions, link) {
		if (!is_here(q, session_key, at))
			continue;
		const struct request *r = TAILQ_FIRST(&q->requests), *each;
		struct json *row = json_object();
		int n = 0;

		TAILQ_FOREACH(each, &q->requests, link)
			n++;
		json_set_str(row, "id", q->id);
		json_set_str(row, "session_key", r->session_key);
		json_set_str(row, "command", gate_shown(&r->req));
		json_set_str(row, "workdir", r->req.workdir);
		json_set_str(row, "backend", r->req.props.backend);
		json_set_str(row, "why", r->judged.why);
		json_set_str(row, "asker", r->asker_name);
		json_set_str(row, "msg_id", q->msg_id ? q->msg_id : "");
		json_set_int(row, "offers", q->offers);
		json_set_int(row, "waiting", n);
		json_set_int(row, "age_ms",
		    loop_boottime(gate->loop) - q->asked_at);
		json_set_int(row, "asked_wall", q->asked_wall);
		json_add_take(list, row);
	}
	return list;
}

struct json *
gate_open_requests(struct gate *gate, const char *session_key)
{
	return list_open(gate, session_key, NULL);
}

struct json *
gate_open_in_chat(struct gate *gate, const struct origin *at)
{
	return list_open(gate, NULL, at);
}
