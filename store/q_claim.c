/*
 * Claiming a run (rules 1.4 to 1.6): the only place that raises a generation.
 * The new run takes over what its predecessor did not finish, takes back what
 * of its answer was not sent yet, and writes the set's words into the
 * transcript under the new generation.
 */
#include "store/q.h"

#include <string.h>


struct word { int64_t id; const char *text; msec_t at; bool glue; };

/* Read whole before anything is changed: the updates would move the rows. */
static int
words_read(const struct q *q, struct job *job, int64_t session,
	struct word **ret_words, size_t *ret_n, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT id, text, sent_at,"
	    " CASE WHEN json_valid(payload) THEN json_extract(payload, '$.glue')"
	    " END FROM inbox WHERE session = ? AND state = 'owned'"
	    " AND entry IS NULL ORDER BY id", DB_I(session));
	struct word *words = NULL;
	size_t n = 0, size = 0;
	int rc = rows ? 1 : -1;

	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		if (n == size) {
			struct word *more = job_alloc(job, 2 * size + 4,
			    sizeof(*more));

			if (n > 0)
				memcpy(more, words, n * sizeof(*words));
			words = more;
			size = 2 * size + 4;
		}
		words[n++] = (struct word){
			.id = db_col_int(rows, 0), .at = db_col_int(rows, 2),
			.text = job_keep(job, db_col_text(rows, 1)),
			.glue = db_col_int(rows, 3) != 0,
		};
	}
	*ret_words = words;
	*ret_n = n;
	return rc;
}

int
q_set_words(const struct q *q, struct job *job, const struct q_session *s,
	int64_t generation, msec_t now, struct err *err)
{
	struct word *words;
	size_t n;

	if (words_read(q, job, s->id, &words, &n, err) == -1)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct word *w = &words[i];
		int64_t entry;

		if (q_transcript_user(q, s->conversation, generation,
		    w->text ? w->text : "", w->glue, w->at > 0 ? w->at : now,
		    &entry, err) == -1 ||
		    db_run(q->db, err, "UPDATE inbox SET entry = ?, text = NULL"
		    " WHERE id = ?", DB_I(entry), DB_I(w->id)) == -1)
			return -1;
	}
	return 0;
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
	if (db_run(q->db, err, "UPDATE inbox SET state = 'owned', run = NULL,"
	    " answer = NULL WHERE run = ? AND state = 'answered'", DB_I(prev->id)) == -1)
		return -1;
	return q_transcript_cut(q, prev->id, now, err);
}

/* The session's open set is its newest run's: nothing else can own it. */
static int
set_take(const struct q *q, int64_t session, unsigned *ret_n, struct err *err)
{
	int64_t n = 0;

	if (db_run(q->db, err, "UPDATE inbox SET state = 'owned'"
	    " WHERE session = ? AND state = 'waiting'", DB_I(session)) == -1 ||
	    db_int(q->db, err, &n, "SELECT count(*) FROM inbox"
	    " WHERE session = ? AND state = 'owned'", DB_I(session)) == -1)
		return -1;
	*ret_n = (unsigned)n;
	return 0;
}

static int
run_insert(const struct q *q, const struct q_session *s, const char *origin,
	msec_t now, struct err *err)
{
	if (db_run(q->db, err, "UPDATE session SET generation = generation + 1,"
	    " origin = coalesce(?, origin), updated_at = ? WHERE id = ?",
	    DB_S(origin), DB_I(now), DB_I(s->id)) == -1)
		return -1;
	return db_run(q->db, err, "INSERT INTO run(session, conversation,"
	    " generation, state, started_at) VALUES(?, ?, ?, 'open', ?)",
	    DB_I(s->id), DB_I(s->conversation), DB_I(s->generation + 1),
	    DB_I(now));
}

int
q_claim(const struct q *q, struct job *job, const struct q_session *s,
	bool interrupts, const char *origin, msec_t now, struct run_claim *ret, struct err *err)
{
	struct q_run prev;
	int rc = q_run_newest(q, s, &prev, err);

	/* Words that waited for their turn do not cut the answer before them. */
	if (rc == 1 && (interrupts || !prev.finished))
		rc = predecessor_end(q, &prev, now, &ret->withdrawn, err);
	if (rc == -1 || q_approval_withdraw(q, s->id, now, err) == -1 ||
	    run_insert(q, s, origin, now, err) == -1 ||
	    set_take(q, s->id, &ret->set_size, err) == -1 ||
	    q_set_words(q, job, s, s->generation + 1, now, err) == -1)
		return -1;
	ret->claimed = true;
	ret->session_id = s->session_id;
	ret->model = s->model;
	ret->generation = (uint64_t)s->generation + 1;
	ret->first = s->generation == 0;
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
	struct q_session s;
	int64_t any;
	int rc = q_session_find(q, job, c->key, &s, err);

	*claim = (struct run_claim){ .session_key = c->key, .session_id = "",
		.model = "" };
	job->accept = (struct accept_result){ .claims = claim };
	if (rc == 1)
		rc = db_int(q->db, err, &any, "SELECT 1 WHERE EXISTS(SELECT 1"
		    " FROM inbox WHERE session = ? AND state = 'waiting')"
		    " OR EXISTS(SELECT 1 FROM inbox WHERE session = ?"
		    " AND state = 'owned')", DB_I(s.id), DB_I(s.id));
	return rc == 1 ? q_claim(q, job, &s, false, NULL, c->now, claim, err) : rc;
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
