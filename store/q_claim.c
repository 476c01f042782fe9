/*
 * Claiming a run (rules 1.4 to 1.6): the only place that raises a generation.
 * The new run takes over what its predecessor did not finish, takes back what
 * of its answer was not sent yet, and writes the set's words into the
 * transcript under the new generation.
 */
#include "store/q.h"

#include "base/mem.h"

static int
words_next(const struct q *q, struct db_rows *rows, int64_t conversation,
	int64_t generation, msec_t now, struct err *err)
{
	int64_t entry, id = db_col_int(rows, 0), at = db_col_int(rows, 2);
	const char *text = db_col_text(rows, 1);

	if (q_transcript_user(q, conversation, generation, text ? text : "",
	    at > 0 ? at : now, &entry, err) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE inbox SET entry = ?, text = NULL"
	    " WHERE id = ?", DB_I(entry), DB_I(id));
}

/*
 * One row at a time: the query is not left open across the update of the very
 * rows it walks.
 */
int
q_set_words(const struct q *q, int64_t session, int64_t conversation,
	int64_t generation, msec_t now, struct err *err)
{
	for (;;) {
		struct db_rows *rows = db_query(q->db, err, "SELECT id, text, sent_at"
		    " FROM inbox WHERE session = ? AND state = 'owned'"
		    " AND entry IS NULL ORDER BY id LIMIT 1", DB_I(session));
		int rc = rows ? db_next(rows, err) : -1;

		if (rc != 1)
			return rc;
		rc = words_next(q, rows, conversation, generation, now, err);
		db_end(rows);
		if (rc == -1)
			return -1;
	}
}

/* Rule 1.5 for a run that finished; for all others they are simply dead. */
static int
predecessor_end(const struct q *q, const struct q_run *prev, msec_t now,
	unsigned *ret_withdrawn, struct err *err)
{
	if (!prev->finished) {
		if (q_run_end(q, prev->id, "cancelled", NULL, now, err) == -1)
			return -1;
		return q_outbox_withdraw_run(q, prev->id, now, err);
	}
	if (q_outbox_withdraw_answer(q, prev->id, now, ret_withdrawn, err) == -1)
		return -1;
	if (*ret_withdrawn == 0)
		return 0;
	if (db_run(q->db, err, "UPDATE inbox SET state = 'owned', answer = NULL"
	    " WHERE run = ? AND state = 'answered'", DB_I(prev->id)) == -1)
		return -1;
	return q_transcript_cut(q, prev->id, err);
}

static int
set_move(const struct q *q, int64_t session, int64_t run, unsigned *ret_n,
	struct err *err)
{
	if (db_run(q->db, err, "UPDATE inbox SET run = ? WHERE session = ?"
	    " AND state = 'owned'", DB_I(run), DB_I(session)) == -1)
		return -1;
	*ret_n = (unsigned)db_changes(q->db);
	if (db_run(q->db, err, "UPDATE inbox SET run = ?, state = 'owned'"
	    " WHERE session = ? AND state = 'waiting'",
	    DB_I(run), DB_I(session)) == -1)
		return -1;
	*ret_n += (unsigned)db_changes(q->db);
	return 0;
}

static int
run_insert(const struct q *q, const struct q_session *s, msec_t now,
	int64_t *ret_run, struct err *err)
{
	if (db_run(q->db, err, "UPDATE session SET generation = generation + 1,"
	    " updated_at = ? WHERE id = ?", DB_I(now), DB_I(s->id)) == -1 ||
	    db_run(q->db, err, "INSERT INTO run(session, conversation, generation,"
	    " state, started_at) VALUES(?, ?, ?, 'open', ?)", DB_I(s->id),
	    DB_I(s->conversation), DB_I(s->generation + 1), DB_I(now)) == -1)
		return -1;
	*ret_run = db_last_id(q->db);
	return 0;
}

static int
claim_waits(const struct q *q, int64_t session, struct err *err)
{
	int64_t any;

	return db_int(q->db, err, &any, "SELECT 1 WHERE"
	    " EXISTS(SELECT 1 FROM inbox WHERE session = ? AND state = 'waiting')"
	    " OR EXISTS(SELECT 1 FROM inbox WHERE session = ? AND state = 'owned')",
	    DB_I(session), DB_I(session));
}

int
q_claim(const struct q *q, struct job *job, const char *key, msec_t now,
	struct run_claim *ret, struct err *err)
{
	struct q_session s;
	struct q_run prev;
	int64_t run;
	int rc = q_session_find(q, job, key, &s, err);

	*ret = (struct run_claim){ .session_key = key, .session_id = "" };
	if (rc == 1)
		rc = claim_waits(q, s.id, err);
	if (rc != 1)
		return rc;
	rc = q_run_newest(q, &s, &prev, err);
	if (rc == 1)
		rc = predecessor_end(q, &prev, now, &ret->withdrawn, err);
	if (rc == -1 || q_approval_withdraw(q, s.id, now, err) == -1 ||
	    run_insert(q, &s, now, &run, err) == -1 ||
	    set_move(q, s.id, run, &ret->set_size, err) == -1 ||
	    q_set_words(q, s.id, s.conversation, s.generation + 1, now, err) == -1)
		return -1;
	ret->claimed = true;
	ret->session_id = s.session_id;
	ret->generation = (uint64_t)s.generation + 1;
	ret->first = s.generation == 0;
	return 0;
}

/* ---- a claim without a new event ----------------------------------------- */

struct claim_job {
	struct job job;
	const char *key;
	msec_t now;
};

static int
claim_run(struct job *job, const struct q *q, struct err *err)
{
	struct claim_job *c = (struct claim_job *)job;
	struct run_claim *claim = job_alloc(job, 1, sizeof(*claim));

	job->accept = (struct accept_result){ .claims = claim };
	return q_claim(q, job, c->key, c->now, claim, err);
}

struct op *
store_claim(struct store *store, const char *session_key, msec_t now_wall,
	store_accept_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "claim a run", .flags = JOB_WRITES | JOB_OPENS,
		.result = JOB_ACCEPT, .run = claim_run,
	};
	struct claim_job *c = job_new(store, &type, sizeof(*c));

	c->key = job_key(&c->job, "session key", session_key);
	c->now = now_wall;
	return job_submit_accept(&c->job, cb, arg);
}
