/*
 * Changing conversations as a whole: their title, and erasing their words.
 * What is erased is gone from the tables; the row of the conversation stays,
 * marked, because runs refer to it.
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"
#include "store/words.h"
#include "store/writer.h"

#define ERASE_SLICE 1000	/* entries a call */
#define TITLE_MAX 200		/* bytes */

struct erase_job {
	struct job job;
	const char *session_id, *title;
	bool even_open;
	msec_t now;
};

static struct erase_job *
erase_new(struct store *store, const struct job_type *type,
	const char *session_id, msec_t now)
{
	struct erase_job *e = job_new(store, type, sizeof(*e));

	e->session_id = job_key(&e->job, "session", session_id);
	e->now = now;
	return e;
}

/* *ret_current: the session has no other under its key. */
static int
conversation_find(const struct erase_job *e, const struct q *q, int64_t *ret_id,
	int64_t *ret_session, bool *ret_current, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT c.id, s.id,"
	    " s.conversation = c.id FROM conversation c"
	    " JOIN session s ON s.id = c.session WHERE c.session_id = ?"
	    " AND s.profile = ? AND c.end_reason IS NOT 'erased'",
	    DB_S(e->session_id), DB_S(q->profile));
	int rc = rows ? db_next(rows, err) : -1;

	if (rc == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no session '%s'",
		    e->session_id);
	if (rc == -1)
		return -1;
	*ret_id = db_col_int(rows, 0);
	*ret_session = db_col_int(rows, 1);
	*ret_current = db_col_int(rows, 2) != 0;
	db_end(rows);
	return 0;
}

/* ---- rename --------------------------------------------------------------- */

static int
rename_run(struct job *job, const struct q *q, struct err *err)
{
	struct erase_job *e = (struct erase_job *)job;
	int64_t id, session, other;
	bool current;

	if (conversation_find(e, q, &id, &session, &current, err) == -1)
		return -1;
	int rc = db_int(q->db, err, &other, "SELECT c.id FROM conversation c"
	    " JOIN session s ON s.id = c.session WHERE s.profile = ?"
	    " AND c.title = ? COLLATE NOCASE AND c.id <> ?",
	    DB_S(q->profile), DB_S(e->title), DB_I(id));
	if (rc == 1)
		return err_set(err, ERR_EXISTS, "another session is called '%s'",
		    e->title);
	if (rc == -1)
		return -1;
	return db_run(q->db, err, "UPDATE conversation SET title = nullif(?, '')"
	    " WHERE id = ?", DB_S(e->title), DB_I(id));
}

struct op *
store_conversation_rename(struct store *store, const char *session_id,
	const char *title, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "rename a session", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = rename_run,
	};
	struct erase_job *e = erase_new(store, &type, session_id, 0);

	e->title = job_str(&e->job, "the title", title, TITLE_MAX);
	return job_submit_done(&e->job, cb, arg);
}

/* ---- erase ---------------------------------------------------------------- */

#define OWN_RUNS "(SELECT id FROM run WHERE session = ? AND conversation = ?)"

/* Beside the transcript, words stand in what was sent, asked and received. */
static int
erase_rest(const struct q *q, int64_t session, int64_t conversation, msec_t now,
	struct err *err)
{
	if (db_run(q->db, err, "DELETE FROM tool WHERE state <> 'started'"
	    " AND run IN " OWN_RUNS,
	    DB_I(session), DB_I(conversation)) == -1 ||
	    db_run(q->db, err, "UPDATE outbox SET text = '', state ="
	    " CASE WHEN state = 'waiting' THEN 'withdrawn' ELSE state END"
	    " WHERE state <> 'sending'"
	    " AND run IN " OWN_RUNS,
	    DB_I(session), DB_I(conversation)) == -1 ||
	    db_run(q->db, err, "DELETE FROM approval WHERE state = 'closed'"
	    " AND run IN " OWN_RUNS,
	    DB_I(session), DB_I(conversation)) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET text = NULL, payload = NULL"
	    " WHERE run IN " OWN_RUNS,
	    DB_I(session), DB_I(conversation)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE conversation SET title = NULL,"
	    " ended_at = coalesce(ended_at, ?), end_reason = 'erased'"
	    " WHERE id = ?", DB_I(now), DB_I(conversation));
}

/* What is being worked on is not taken away from under the run. */
static int
erase_current(const struct erase_job *e, const struct q *q, struct job *job,
	int64_t session, struct err *err)
{
	int64_t open = 0;
	int rc = e->even_open ? 0 : db_int(q->db, err, &open, "SELECT 1 FROM run r"
	    " JOIN session s ON s.id = r.session WHERE r.session = ?"
	    " AND r.state = 'open' AND r.generation = s.generation",
	    DB_I(session));

	if (rc == 1)
		return err_set(err, ERR_UNAVAILABLE, "session %s is being worked "
		    "on: /stop it first", e->session_id);
	return rc == -1 ? -1 : q_session_reset(q, job, session, e->now, err);
}

static int
erase_run(struct job *job, const struct q *q, struct err *err)
{
	struct erase_job *e = (struct erase_job *)job;
	int64_t id, session;
	bool current;

	if (conversation_find(e, q, &id, &session, &current, err) == -1 ||
	    (current && erase_current(e, q, job, session, err) == -1) ||
	    db_run(q->db, err, "DELETE FROM transcript WHERE id IN (SELECT id"
	    " FROM transcript WHERE conversation = ? LIMIT ?)", DB_I(id),
	    DB_I(ERASE_SLICE)) == -1)
		return -1;
	bool done = db_changes(q->db) < ERASE_SLICE;
	if (words_drop(q, q->writer->path, err) == -1)
		return -1;
	if (done && erase_rest(q, session, id, e->now, err) == -1)
		return -1;
	job->json = json_set_bool(json_object(), "done", done);
	return 0;
}

struct op *
store_conversation_erase(struct store *store, const char *session_id,
	bool even_open, msec_t now_wall, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "erase a session", .flags = JOB_WRITES,
		.result = JOB_JSON, .run = erase_run,
	};

	struct erase_job *e = erase_new(store, &type, session_id, now_wall);

	e->even_open = even_open;
	return job_submit_json(&e->job, cb, arg);
}

/* ---- idle ----------------------------------------------------------------- */

static int
idle_run(struct job *job, const struct q *q, struct err *err)
{
	struct erase_job *e = (struct erase_job *)job;
	struct db_rows *rows = db_query(q->db, err, "SELECT c.session_id,"
	    " coalesce(max(t.at), c.created_at) AS last FROM conversation c"
	    " JOIN session s ON s.id = c.session"
	    " LEFT JOIN transcript t ON t.conversation = c.id"
	    " WHERE s.profile = ? AND c.end_reason IS NOT 'erased'"
	    " AND c.created_at < ? AND (s.conversation <> c.id OR EXISTS("
	    "  SELECT 1 FROM transcript x WHERE x.conversation = c.id))"
	    " AND NOT EXISTS(SELECT 1 FROM inbox i WHERE i.session = s.id"
	    "  AND i.state = 'waiting')"
	    " AND NOT EXISTS(SELECT 1 FROM inbox i WHERE i.session = s.id"
	    "  AND i.state = 'owned')"
	    " GROUP BY c.id HAVING last < ? ORDER BY c.id LIMIT 1",
	    DB_S(q->profile), DB_I(e->now), DB_I(e->now));
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	job->json = json_set_str(json_object(), "session_id",
	    db_col_text(rows, 0));
	json_set_int(job->json, "updated_at", db_col_int(rows, 1));
	db_end(rows);
	return 0;
}

struct op *
store_conversation_idle(struct store *store, msec_t before, store_json_cb *cb,
	void *arg)
{
	static const struct job_type type = {
		.name = "find an idle session", .flags = JOB_READS,
		.result = JOB_JSON, .run = idle_run,
	};

	return job_submit_json(&erase_new(store, &type, "", before)->job, cb, arg);
}
