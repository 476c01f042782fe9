/*
 * After a start, before the first poll (rules 2.4, 3.1, 3.8, 4.4): what the
 * last owner left half done is sorted, in one transaction.  Nothing is
 * deleted.
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

#define PARK_MS ((msec_t)24 * 60 * 60 * 1000)
#define ATTEMPTS_MAX 3

struct recover_job {
	struct job job;
	msec_t now;
};

/* ---- sends ---------------------------------------------------------------- */

/*
 * An edit of a message whose id is known may be repeated (rules 2.3): it waits
 * again, a preview is shown again; all else that was in flight has an unknown
 * end, which its chat is told (a question has expired: nothing is to be told).
 */
static int
recover_sends(struct recover_job *r, const struct q *q, struct err *err)
{
	if (db_run(q->db, err, "UPDATE outbox SET state = 'waiting',"
	    " updated_at = ? WHERE state = 'sending' AND edit_of <> 0 AND"
	    " (SELECT msg_id FROM outbox p WHERE p.id = outbox.edit_of) <> ''",
	    DB_I(r->now)) == -1 ||
	    db_run(q->db, err, "UPDATE outbox SET state = 'shown',"
	    " updated_at = ? WHERE state = 'sending' AND msg_id <> ''",
	    DB_I(r->now)) == -1)
		return -1;
	if (db_run(q->db, err, "UPDATE outbox SET state = 'unknown',"
	    " owed = kind NOT IN (?, ?, ?),"
	    " why = 'the gateway ended while it was sent', updated_at = ?"
	    " WHERE state = 'sending'", DB_I(OUT_PROMPT), DB_I(OUT_FILE), DB_I(OUT_LABEL),
	    DB_I(r->now)) == -1)
		return -1;
	/* A clock set back must not make a wait longer than it was (3.9). */
	if (db_run(q->db, err, "UPDATE outbox SET not_before = ? + wait"
	    " WHERE state = 'waiting' AND not_before > ? + wait",
	    DB_I(r->now), DB_I(r->now)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE outbox SET not_before = ? + wait"
	    " WHERE state = 'shown' AND not_before > ? + wait",
	    DB_I(r->now), DB_I(r->now));
}

/* ---- approvals ------------------------------------------------------------ */

static int
recover_approvals(struct recover_job *r, const struct q *q, struct json *res,
	struct err *err)
{
	static const struct q_col cols[] = {
		{ "id", false, false }, { "session_key", false, false },
		{ "row", false, true }, { "msg_id", false, false },
	};
	struct json *array = json_array();

	json_set_take(res, "expired_approvals", array);
	if (q_list(db_query(q->db, err, "SELECT a.id, s.session_key, a.row,"
	    " coalesce(o.msg_id, '')"
	    " FROM approval a JOIN session s ON s.id = a.session"
	    " LEFT JOIN outbox o ON o.id = (SELECT max(p.id) FROM outbox p"
	    "  WHERE p.run = a.run AND p.kind = ? AND p.state = 'delivered'"
	    "  AND instr(p.buttons, ':' || a.id))"
	    " WHERE a.state = 'open' AND a.profile = ? LIMIT 10000",
	    DB_I(OUT_PROMPT), DB_S(q->profile)), cols, ARRAY_LEN(cols), array,
	    err) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE approval SET state = 'closed',"
	    " outcome = 'expired', closed_at = ? WHERE state = 'open'",
	    DB_I(r->now));
}

/* ---- parking -------------------------------------------------------------- */

/* A clock behind what is stored proves nothing about age (3.9). */
static int
clock_behind(struct recover_job *r, const struct q *q, struct err *err)
{
	int64_t newest = 0;

	if (db_int(q->db, err, &newest, "SELECT max(coalesce((SELECT accepted_at"
	    " FROM inbox ORDER BY id DESC LIMIT 1), 0), coalesce((SELECT"
	    " updated_at FROM outbox ORDER BY id DESC LIMIT 1), 0))") == -1)
		return -1;
	return r->now < newest;
}

/* Its chats are owed a word about it, whatever ends before they get it. */
static int
owe_parked(struct recover_job *r, const struct q *q, struct err *err)
{
	msec_t limit = r->now - PARK_MS;

	return db_run(q->db, err, "INSERT OR REPLACE INTO ledger(profile, kind,"
	    " id, row) SELECT a.profile, '" STORE_PARKED "', a.platform || '/' ||"
	    " a.account || '/' || x.chat_id || '/' || x.thread_id, json_object("
	    " 'platform', a.platform, 'account', a.account, 'chat_id', x.chat_id,"
	    " 'thread_id', x.thread_id, 'inbox', sum(x.i), 'outbox', sum(x.o))"
	    " FROM ("
	    " SELECT source, chat_id, thread_id, 1 AS i, 0 AS o FROM inbox"
	    "  WHERE state = 'waiting' AND accepted_at < ?"
	    " UNION ALL SELECT source, chat_id, thread_id, 1, 0 FROM inbox"
	    "  WHERE state = 'owned' AND accepted_at < ?"
	    " UNION ALL SELECT source, chat_id, thread_id, 0, 1 FROM outbox"
	    "  WHERE state = 'waiting' AND created_at < ?) x"
	    " JOIN source a ON a.id = x.source WHERE a.profile = ?"
	    " GROUP BY x.source, x.chat_id, x.thread_id LIMIT 10000",
	    DB_I(limit), DB_I(limit), DB_I(limit), DB_S(q->profile));
}

static int
list_parked(const struct q *q, struct json *array, struct err *err)
{
	static const struct q_col cols[] = {
		{ "id", false, false }, { "row", false, true },
	};

	return q_list(db_query(q->db, err, "SELECT id, row FROM ledger"
	    " WHERE profile = ? AND kind = '" STORE_PARKED "' LIMIT 10000",
	    DB_S(q->profile)), cols, ARRAY_LEN(cols), array, err);
}

static int
recover_parked(struct recover_job *r, const struct q *q, struct json *res,
	struct err *err)
{
	struct json *array = json_array();
	msec_t limit = r->now - PARK_MS;

	json_set_take(res, "parked", array);
	int behind = clock_behind(r, q, err);
	if (behind == -1)
		return -1;
	if (behind == 1)
		return list_parked(q, array, err);
	if (owe_parked(r, q, err) == -1 || list_parked(q, array, err) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET state = 'parked'"
	    " WHERE state = 'waiting' AND accepted_at < ?", DB_I(limit)) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET state = 'parked'"
	    " WHERE state = 'owned' AND accepted_at < ?", DB_I(limit)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE outbox SET state = 'parked',"
	    " updated_at = ? WHERE state = 'waiting' AND created_at < ?",
	    DB_I(r->now), DB_I(limit));
}

/* ---- runs and their sets -------------------------------------------------- */

/* Read before anything is written: runs are few, at most one a session. */
static int
open_runs(struct recover_job *r, const struct q *q, struct q_run **ret_runs,
	size_t *ret_n, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT id, session,"
	    " conversation, generation FROM run WHERE state = 'open'"
	    " LIMIT 10000");
	struct q_run *runs = job_alloc(&r->job, 10000, sizeof(*runs));
	size_t n = 0;
	int rc = rows ? 1 : -1;

	while (rc == 1 && (rc = db_next(rows, err)) == 1)
		runs[n++] = (struct q_run){
			.id = db_col_int(rows, 0), .session = db_col_int(rows, 1),
			.conversation = db_col_int(rows, 2),
			.generation = db_col_int(rows, 3),
		};
	*ret_runs = runs;
	*ret_n = n;
	return rc;
}

/* What a dead run still had to send is dead; so are its tools' ends. */
static int
recover_runs(struct recover_job *r, const struct q *q, struct err *err)
{
	struct q_run *runs;
	size_t n;

	if (open_runs(r, q, &runs, &n, err) == -1)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (q_calls_not_begun(q, &r->job, &runs[i], r->now, err) == -1)
			return -1;
	if (db_run(q->db, err, "UPDATE tool SET ended_at = ?, state ="
	    " CASE WHEN read_only THEN 'unknown' ELSE 'lost' END"
	    " WHERE state = 'started'", DB_I(r->now)) == -1 ||
	    db_run(q->db, err, "UPDATE outbox SET state = 'withdrawn',"
	    " updated_at = ? WHERE state = 'waiting' AND run IN"
	    " (SELECT id FROM run WHERE state = 'open')", DB_I(r->now)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE run SET state = 'cancelled',"
	    " outcome = 'interrupted', ended_at = ? WHERE state = 'open'",
	    DB_I(r->now));
}

static int
session_lists(const struct q *q, int64_t id, struct json *obj, struct err *err)
{
	static const struct q_col tool_cols[] = {
		{ "call_id", false, false }, { "name", false, false },
		{ "args", false, false }, { "generation", true, false },
	};
	struct json *tools = json_array();

	json_set_take(obj, "tools", tools);
	return q_list(db_query(q->db, err, "SELECT t.call_id, t.name, t.args,"
	    " r.generation FROM tool t JOIN run r ON r.id = t.run"
	    " WHERE t.state = 'lost' AND r.session = ? ORDER BY t.started_at"
	    " LIMIT 1000", DB_I(id)), tool_cols, ARRAY_LEN(tool_cols), tools,
	    err);
}

/* Words in the transcript are read there: inbox.text is empty then. */
static int
session_texts(const struct q *q, int64_t id, struct json *obj, struct err *err)
{
	struct json *texts = json_array();
	struct db_rows *rows = db_query(q->db, err, "SELECT coalesce(i.text,"
	    " json_extract(t.body, '$.content'), '') FROM inbox i"
	    " LEFT JOIN transcript t ON t.id = i.entry WHERE i.session = ?"
	    " AND (i.state = 'owned' OR i.state = 'waiting') ORDER BY i.id"
	    " LIMIT 1000", DB_I(id));
	int rc = rows ? 1 : -1;

	json_set_take(obj, "texts", texts);
	while (rc == 1 && (rc = db_next(rows, err)) == 1)
		json_add_take(texts, json_string(db_col_text(rows, 0)));
	return rc;
}

/* The attempt is counted in this commit, before anything is tried. */
static int
session_sort(const struct q *q, int64_t id, struct json *obj, struct err *err)
{
	int64_t attempts = json_get_int(obj, "attempts", 0);
	bool interrupted = json_get_int(obj, "owned", 0) > 0;
	const char *action = "resume";

	json_remove(obj, "owned");
	json_remove(obj, "id");
	if (session_lists(q, id, obj, err) == -1 ||
	    session_texts(q, id, obj, err) == -1)
		return -1;
	if (interrupted && json_len(json_get(obj, "tools")) > 0)
		action = "report";
	else if (interrupted && attempts >= ATTEMPTS_MAX)
		action = "exhausted";
	else if (interrupted)
		attempts++;
	json_set_str(obj, "action", action);
	json_set_int(obj, "attempts", attempts);
	return db_run(q->db, err, "UPDATE session SET attempts = ? WHERE id = ?",
	    DB_I(attempts), DB_I(id));
}

static int
recover_sessions(const struct q *q, struct json *res, struct err *err)
{
	static const struct q_col cols[] = {
		{ "id", true, false }, { "session_key", false, false },
		{ "origin", false, true }, { "attempts", true, false },
		{ "owned", true, false },
	};
	struct json *list = json_array();

	json_set_take(res, "sessions", list);
	if (q_list(db_query(q->db, err, "SELECT s.id, s.session_key, s.origin,"
	    " s.attempts, sum(i.state = 'owned') FROM inbox i"
	    " JOIN session s ON s.id = i.session"
	    " WHERE (i.state = 'waiting' OR i.state = 'owned') AND s.profile = ?"
	    " GROUP BY s.id ORDER BY min(i.id) LIMIT 10000",
	    DB_S(q->profile)), cols, ARRAY_LEN(cols), list, err) == -1)
		return -1;
	struct json *sorted = json_array();
	for (const struct json *e = json_first(list); e; e = json_next(e)) {
		struct json *obj = json_clone(e);

		json_add_take(sorted, obj);
		if (session_sort(q, json_get_int(e, "id", 0), obj, err) == -1) {
			json_free(&sorted);
			return -1;
		}
	}
	json_set_take(res, "sessions", sorted);
	return 0;
}

/* Chats that got new ids: their sessions are known by the old ones. */
static int
recover_moved(const struct q *q, struct json *res, struct err *err)
{
	static const struct q_col cols[] = {
		{ "old_id", false, false }, { "new_id", false, false },
	};
	struct json *list = json_array();

	json_set_take(res, "moved", list);
	return q_list(db_query(q->db, err, "SELECT c.old_id, c.new_id"
	    " FROM source a JOIN chat_alias c ON c.source = a.id"
	    " WHERE a.profile = ? LIMIT 1000", DB_S(q->profile)), cols,
	    ARRAY_LEN(cols), list, err);
}

static int
recover_run(struct job *job, const struct q *q, struct err *err)
{
	struct recover_job *r = (struct recover_job *)job;
	struct json *res = job->json = json_object();

	if (recover_sends(r, q, err) == -1 ||
	    recover_approvals(r, q, res, err) == -1 ||
	    recover_parked(r, q, res, err) == -1 ||
	    recover_moved(q, res, err) == -1 ||
	    recover_runs(r, q, err) == -1)
		return -1;
	return recover_sessions(q, res, err);
}

struct op *
store_recover(struct store *store, msec_t now_wall, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "recover", .flags = JOB_WRITES,
		.result = JOB_JSON, .run = recover_run,
	};
	struct recover_job *r = job_new(store, &type, sizeof(*r));

	r->now = now_wall;
	return job_submit_json(&r->job, cb, arg);
}
