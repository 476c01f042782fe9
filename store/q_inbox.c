/*
 * Intake (rules 1.1 to 1.4, 1.8): events by key, edits of words not answered
 * yet, the cursor, and the claims of the same transaction.
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

/* A claim under way: its session, and whether something of it is new. */
struct claimant {
	struct q_session session;
	bool fresh;
};

struct accept_job {
	struct job job;
	struct accept_req req;
	struct inbox_event *events;
	struct inbox_claim *claims;
	struct claimant *claimants;
	int64_t *ids;			/* result */
	struct run_claim *claimed;	/* result */
};

/*
 * An edit of words that were not answered yet replaces them, wherever they
 * are.  1: it did and the set wants a new run; 0: it is only recorded.
 */
static int
edit_apply(const struct q *q, int64_t session, const struct inbox_event *e,
	msec_t now, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT id, entry FROM ("
	    "SELECT id, entry, msg_id FROM inbox WHERE session = ?"
	    "  AND state = 'waiting' UNION ALL "
	    "SELECT id, entry, msg_id FROM inbox WHERE session = ?"
	    "  AND state = 'owned') WHERE msg_id = ? LIMIT 1",
	    DB_I(session), DB_I(session), DB_S(e->ref_id));
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	int64_t id = db_col_int(rows, 0), entry = db_col_int(rows, 1);
	db_end(rows);
	if (entry != 0)
		rc = q_transcript_words(q, entry, e->text ? e->text : "",
		    now, err);
	else
		rc = db_run(q->db, err, "UPDATE inbox SET text = ? WHERE id = ?",
		    DB_S(e->text), DB_I(id));
	return rc == -1 ? -1 : 1;
}

/* 1: stored, 0: known already. */
static int
event_insert(const struct q *q, const struct accept_req *req, int64_t source,
	int64_t session, const struct inbox_event *e, const char *state,
	struct err *err)
{
	if (db_run(q->db, err, "INSERT INTO inbox(source, kind_name, event_id,"
	    " kind, session, chat_id, thread_id, user_id, msg_id, ref_id, text,"
	    " payload, sent_at, accepted_at, state)"
	    " VALUES(?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	    " ON CONFLICT DO NOTHING",
	    DB_I(source), DB_S(e->kind_name), DB_S(e->event_id), DB_I(e->kind),
	    DB_I(session), DB_S(e->chat_id), DB_S(e->thread_id),
	    DB_S(e->user_id), DB_S(e->msg_id), DB_S(e->ref_id), DB_S(e->text),
	    DB_S(e->payload), DB_I(e->sent_wall), DB_I(req->now_wall),
	    DB_S(state)) == -1)
		return -1;
	return db_changes(q->db) == 1;
}

/* What is said about the event itself, as a reply to it. */
static int
event_notice(struct accept_job *a, const struct q *q, int64_t session,
	const struct inbox_event *e, struct err *err)
{
	const struct outbox_chunk chunk = {
		.kind = OUT_REPORT, .platform = a->req.platform,
		.account = a->req.account, .chat_id = e->chat_id,
		.thread_id = e->thread_id, .text = e->notice, .plain = true,
		.reply_to = e->msg_id,
	};
	const struct q_chunk_in in = { .chunk = &chunk, .session = session,
		.now = a->req.now_wall };
	int64_t id;

	return q_outbox_insert(q, &a->job, &in, &id, err);
}

static size_t
claim_of(const struct accept_req *req, const char *key)
{
	size_t i = 0;

	while (i < req->nclaims && strcmp(req->claims[i].session_key, key) != 0)
		i++;
	return i;
}

static int
event_accept(struct accept_job *a, const struct q *q, int64_t source, size_t i,
	struct err *err)
{
	const struct inbox_event *e = &a->events[i];
	size_t c = claim_of(&a->req, e->session_key);
	struct claimant other = { .fresh = false };
	struct claimant *who = c < a->req.nclaims ? &a->claimants[c] : &other;
	bool runs = who != &other && a->claims[c].run;
	const char *state = e->kind != INBOX_TURN ? "recorded" :
	    runs ? "owned" : "waiting";	/* the claim below takes it */

	if (e->session_key[0] != '\0' && q_session_need(q, &a->job,
	    &(struct q_session_new){ .key = e->session_key, .source = source,
		.chat_id = e->chat_id, .now = a->req.now_wall,
		.origin = who != &other ? a->claims[c].origin : NULL },
	    &who->session, err) == -1)
		return -1;
	int rc = event_insert(q, &a->req, source, who->session.id, e, state, err);
	if (rc != 1)
		return rc;
	a->ids[i] = db_last_id(q->db);
	if (e->notice && event_notice(a, q, who->session.id, e, err) == -1)
		return -1;
	if (e->kind == INBOX_TURN)
		who->fresh = true;
	if (e->kind != INBOX_EDIT || who->session.id == 0 || !e->ref_id)
		return 0;
	rc = edit_apply(q, who->session.id, e, a->req.now_wall, err);
	if (rc == 1)
		who->fresh = true;
	return rc == -1 ? -1 : 0;
}

static int
cursor_store(const struct q *q, const struct accept_req *req, int64_t source,
	struct err *err)
{
	if (!req->cursor)
		return 0;
	return db_run(q->db, err, "UPDATE source SET cursor = ?, cursor_at = ?"
	    " WHERE id = ?", DB_S(req->cursor), DB_I(req->now_wall),
	    DB_I(source));
}

/*
 * A conversation that rested too long ends before the new words, never in
 * mid-run or while words of before still wait.  1: it did.
 */
static int
end_stale(struct accept_job *a, const struct q *q,
	const struct inbox_claim *c, struct q_session *s, struct err *err)
{
	int64_t one;

	if (c->stale_before <= 0 || s->generation == 0)
		return 0;
	int rc = db_int(q->db, err, &one, "SELECT 1 FROM session s WHERE s.id = ?"
	    " AND s.updated_at < ? AND NOT EXISTS(SELECT 1 FROM run r"
	    "  WHERE r.session = s.id AND r.state = 'open')"
	    " AND NOT EXISTS(SELECT 1 FROM inbox i WHERE i.session = s.id"
	    "  AND i.state = 'owned' AND i.accepted_at < ?)"
	    " AND EXISTS(SELECT 1 FROM transcript t"
	    "  WHERE t.conversation = s.conversation AND t.hidden = 0)",
	    DB_I(s->id), DB_I(c->stale_before), DB_I(a->req.now_wall));
	if (rc != 1)
		return rc;
	if (db_run(q->db, err, "UPDATE conversation SET ended_at = ?,"
	    " end_reason = 'rested' WHERE id = ?", DB_I(a->req.now_wall),
	    DB_I(s->conversation)) == -1 ||
	    db_run(q->db, err, "UPDATE session SET model = NULL WHERE id = ?",
	    DB_I(s->id)) == -1 || q_conversation_start(q, &a->job, s->id,
	    a->req.now_wall, s, err) == -1)
		return -1;
	return 1;
}

/* The way back may have changed: a claim brings the newest origin. */
static int
claim_accept(struct accept_job *a, const struct q *q, size_t i, struct err *err)
{
	const struct inbox_claim *c = &a->claims[i];
	struct claimant *who = &a->claimants[i];

	a->claimed[i] = (struct run_claim){
		.session_key = c->session_key, .session_id = "", .model = "",
		.set_size = who->fresh,
	};
	if (!who->fresh)
		return 0;
	if (c->run) {
		int rested = end_stale(a, q, c, &who->session, err);

		if (rested == -1)
			return -1;
		a->claimed[i].rested = rested == 1;
		return q_claim(q, &a->job, &who->session, true, c->origin,
		    a->req.now_wall, &a->claimed[i], err);
	}
	return db_run(q->db, err, "UPDATE session SET origin = coalesce(?, origin),"
	    " updated_at = ? WHERE id = ?", DB_S(c->origin),
	    DB_I(a->req.now_wall), DB_I(who->session.id));
}

static int
accept_run(struct job *job, const struct q *q, struct err *err)
{
	struct accept_job *a = (struct accept_job *)job;
	const struct accept_req *req = &a->req;
	int64_t source;

	a->ids = job_alloc(job, req->nevents, sizeof(*a->ids));
	a->claimed = job_alloc(job, req->nclaims, sizeof(*a->claimed));
	a->claimants = job_alloc(job, req->nclaims, sizeof(*a->claimants));
	job->accept = (struct accept_result){ a->ids, a->claimed };
	if (q_source(q, req->platform, req->account, &source, err) == -1)
		return -1;
	for (size_t i = 0; i < req->nevents; i++)
		if (event_accept(a, q, source, i, err) == -1)
			return -1;
	if (cursor_store(q, req, source, err) == -1)
		return -1;
	for (size_t i = 0; i < req->nclaims; i++)
		if (claim_accept(a, q, i, err) == -1)
			return -1;
	return 0;
}

static void
event_copy(struct job *job, struct inbox_event *to, const struct inbox_event *e)
{
	*to = (struct inbox_event){
		.kind = e->kind, .sent_wall = e->sent_wall,
		.kind_name = job_key(job, "event kind", e->kind_name),
		.event_id = job_key(job, "event id", e->event_id),
		.session_key = job_key(job, "session key", e->session_key),
		.chat_id = job_key(job, "chat id", e->chat_id),
		.thread_id = job_key(job, "thread id", e->thread_id),
		.user_id = job_key(job, "user id", e->user_id),
		.msg_id = job_key(job, "message id", e->msg_id),
		.ref_id = job_str(job, "reference", e->ref_id, JOB_KEY_MAX),
		.text = job_str(job, "text", e->text, JOB_TEXT_MAX),
		.payload = job_str(job, "payload", e->payload, JOB_BODY_MAX),
		.notice = job_str(job, "notice", e->notice, JOB_TEXT_MAX),
	};
	if (to->event_id[0] == '\0')
		job_fail(job, ERR_INVALID, "accept: an event without an id");
}

struct op *
store_accept(struct store *store, const struct accept_req *req,
	store_accept_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "accept", .flags = JOB_WRITES | JOB_OPENS,
		.result = JOB_ACCEPT, .run = accept_run,
	};
	struct accept_job *a = job_new(store, &type, sizeof(*a));
	struct job *job = &a->job;

	if (req->nevents > JOB_ROWS_MAX || req->nclaims > JOB_ROWS_MAX) {
		job_fail(job, ERR_LIMIT, "accept: more than %d events or claims "
		    "at once", JOB_ROWS_MAX);
		return job_submit_accept(job, cb, arg);
	}
	a->events = job_alloc(job, req->nevents, sizeof(*a->events));
	a->claims = job_alloc(job, req->nclaims, sizeof(*a->claims));
	for (size_t i = 0; i < req->nevents; i++)
		event_copy(job, &a->events[i], &req->events[i]);
	for (size_t i = 0; i < req->nclaims; i++)
		a->claims[i] = (struct inbox_claim){
			.run = req->claims[i].run,
			.stale_before = req->claims[i].stale_before,
			.session_key = job_key(job, "session key",
			    req->claims[i].session_key),
			.origin = job_str(job, "origin", req->claims[i].origin,
			    JOB_TEXT_MAX),
		};
	a->req = (struct accept_req){
		.platform = job_key(job, "platform", req->platform),
		.account = job_key(job, "account", req->account),
		.cursor = job_str(job, "cursor", req->cursor, JOB_KEY_MAX),
		.events = a->events, .nevents = req->nevents,
		.claims = a->claims, .nclaims = req->nclaims,
		.now_wall = req->now_wall,
	};
	return job_submit_accept(job, cb, arg);
}
