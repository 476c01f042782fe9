/*
 * Runs: finding them, finishing with an answer, stopping, starting afresh.
 * Claiming is q_claim.c.
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

#define RUN_COLS "SELECT id, session, conversation, generation, state FROM run"

static int
run_read(struct db_rows *rows, int64_t newest, struct q_run *ret, struct err *err)
{
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	const char *state = db_col_text(rows, 4);
	*ret = (struct q_run){
		.id = db_col_int(rows, 0), .session = db_col_int(rows, 1),
		.conversation = db_col_int(rows, 2),
		.generation = db_col_int(rows, 3),
		.finished = strcmp(state, "finished") == 0,
	};
	ret->live = strcmp(state, "open") == 0 && ret->generation == newest;
	db_end(rows);
	return 1;
}

static int
run_at(const struct q *q, const struct q_session *s, int64_t generation,
	struct q_run *ret, struct err *err)
{
	return run_read(db_query(q->db, err, RUN_COLS
	    " WHERE session = ? AND generation = ?",
	    DB_I(s->id), DB_I(generation)), s->generation, ret, err);
}

int
q_run_find(const struct q *q, struct job *job, const struct run_ref *ref,
	struct q_run *ret, struct err *err)
{
	struct q_session s;
	int rc = q_session_find(q, job, ref->session_key, &s, err);

	return rc == 1 ? run_at(q, &s, (int64_t)ref->generation, ret, err) : rc;
}

int
q_run_live(const struct q *q, struct job *job, const struct run_ref *ref,
	struct q_run *ret, struct err *err)
{
	int rc = q_run_find(q, job, ref, ret, err);

	if (rc == -1 || (rc == 1 && ret->live))
		return rc == -1 ? -1 : 0;
	return err_set(err, ERR_DENIED, "run %llu of session %s is over",
	    (unsigned long long)ref->generation, ref->session_key);
}

int
q_run_newest(const struct q *q, const struct q_session *s, struct q_run *ret,
	struct err *err)
{
	return run_at(q, s, s->generation, ret, err);
}

int
q_run_end(const struct q *q, int64_t run, const char *state,
	const char *outcome, msec_t now, struct err *err)
{
	return db_run(q->db, err, "UPDATE run SET state = ?, outcome = ?,"
	    " ended_at = ? WHERE id = ? AND state = 'open'",
	    DB_S(state), DB_S(outcome), DB_I(now), DB_I(run));
}

/* The set is closed: what was lost on the way has been told by now. */
static int
set_closed(const struct q *q, int64_t session, msec_t now, struct err *err)
{
	if (db_run(q->db, err, "UPDATE session SET attempts = 0, updated_at = ?"
	    " WHERE id = ?", DB_I(now), DB_I(session)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE tool SET state = 'unknown'"
	    " WHERE state = 'lost'"
	    " AND (SELECT session FROM run WHERE id = tool.run) = ?",
	    DB_I(session));
}

/* ---- finish -------------------------------------------------------------- */

struct finish_job {
	struct job job;
	struct finish_req req;
	struct outbox_chunk *chunks;
	const char *body;
};

static int
finish_chunks(struct finish_job *f, const struct q *q, const struct q_run *run,
	int64_t *ret_first, struct err *err)
{
	struct q_chunk_in in = {
		.session = run->session, .run = run->id, .now = f->req.now_wall,
	};

	*ret_first = 0;
	for (size_t i = 0; i < f->req.nchunks; i++) {
		int64_t id;

		in.chunk = &f->chunks[i];
		if (q_outbox_insert(q, &f->job, &in, &id, err) == -1)
			return -1;
		if (i == 0)
			*ret_first = in.group = id;
	}
	return 0;
}

/* Only if nothing of this chat waits or is in flight: order is kept. */
static int
finish_send(struct finish_job *f, const struct q *q, int64_t first,
	struct err *err)
{
	int rc = q_outbox_chat_busy(q, first, err);

	if (rc == 0)
		rc = q_outbox_take_row(q, first, f->req.now_wall, err);
	else if (rc == 1)
		rc = 0;
	if (rc != 1)
		return rc;
	f->job.rows = job_alloc(&f->job, 1, sizeof(*f->job.rows));
	f->job.nrows = 1;
	return q_outbox_row(q, &f->job, first, f->job.rows, err) == -1 ? -1 : 0;
}

static int
finish_run(struct job *job, const struct q *q, struct err *err)
{
	struct finish_job *f = (struct finish_job *)job;
	struct q_run run;
	int64_t entry = 0, first;

	if (q_run_live(q, job, &f->req.run, &run, err) == -1)
		return -1;
	if (f->body && q_transcript_add(q, &run, f->body, f->req.now_wall,
	    &entry, err) == -1)
		return -1;
	if (finish_chunks(f, q, &run, &first, err) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET state = 'answered',"
	    " answer = nullif(?, 0), run = ? WHERE session = ?"
	    " AND state = 'owned'", DB_I(first), DB_I(run.id),
	    DB_I(run.session)) == -1 ||
	    db_run(q->db, err, "UPDATE run SET entry = nullif(?, 0),"
	    " answer = nullif(?, 0) WHERE id = ?",
	    DB_I(entry), DB_I(first), DB_I(run.id)) == -1 ||
	    q_run_end(q, run.id, "finished", f->req.outcome, f->req.now_wall,
	    err) == -1 || set_closed(q, run.session, f->req.now_wall, err) == -1)
		return -1;
	return f->req.send_first && first ? finish_send(f, q, first, err) : 0;
}

struct op *
store_finish(struct store *store, const struct finish_req *req,
	store_rows_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "finish a run", .flags = JOB_WRITES,
		.result = JOB_ROWS, .run = finish_run,
	};
	struct finish_job *f = job_new(store, &type, sizeof(*f));
	struct job *job = &f->job;

	if (req->nchunks > JOB_ROWS_MAX) {
		job_fail(job, ERR_LIMIT, "finish a run: more than %d chunks",
		    JOB_ROWS_MAX);
		return job_submit_rows(job, cb, arg);
	}
	f->req = *req;
	f->req.run.session_key = job_key(job, "session key",
	    req->run.session_key);
	f->req.outcome = job_key(job, "outcome", req->outcome);
	f->chunks = job_alloc(job, req->nchunks, sizeof(*f->chunks));
	for (size_t i = 0; i < req->nchunks; i++)
		outbox_chunk_copy(job, &f->chunks[i], &req->chunks[i]);
	if (req->entry) {
		char *text = json_text(req->entry);

		f->body = job_str(job, "the entry", text, JOB_BODY_MAX);
		mem_free(text);
	}
	return job_submit_rows(job, cb, arg);
}

/* ---- stop and reset ------------------------------------------------------ */

/* Words that only waited are kept in the history, as those of the run are. */
int
q_session_stop(const struct q *q, struct job *job, const struct q_session *s,
	msec_t now, struct err *err)
{
	struct q_run run;
	unsigned n = 0;
	int rc = q_run_newest(q, s, &run, err);

	if (rc == 1 && !run.finished && (q_run_end(q, run.id, "stopped", NULL,
	    now, err) == -1 || q_outbox_withdraw_run(q, run.id, now, err) == -1))
		rc = -1;
	if (rc == 1 && run.finished)
		rc = q_outbox_withdraw_answer(q, run.id, now, &n, err);
	if (rc != -1 && n > 0)
		rc = q_transcript_cut(q, run.id, now, err);
	if (rc == -1 || q_approval_withdraw(q, s->id, now, err) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET state = 'owned'"
	    " WHERE session = ? AND state = 'waiting'", DB_I(s->id)) == -1 ||
	    q_set_words(q, job, s, s->generation, now, err) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET state = 'stopped'"
	    " WHERE session = ? AND state = 'owned'", DB_I(s->id)) == -1)
		return -1;
	return set_closed(q, s->id, now, err);
}

struct stop_job {
	struct job job;
	const char *key;
	msec_t now;
};

static int
stop_run(struct job *job, const struct q *q, struct err *err)
{
	struct stop_job *st = (struct stop_job *)job;
	struct q_session s;
	int rc = q_session_find(q, job, st->key, &s, err);

	return rc == 1 ? q_session_stop(q, job, &s, st->now, err) : rc;
}

static int
session_reset(const struct q *q, struct job *job, struct q_session *s,
	msec_t now, struct err *err)
{
	if (q_session_stop(q, job, s, now, err) == -1 ||
	    db_run(q->db, err, "UPDATE conversation SET ended_at = ?,"
	    " end_reason = 'reset' WHERE id = ?",
	    DB_I(now), DB_I(s->conversation)) == -1)
		return -1;
	if (db_run(q->db, err, "UPDATE session SET model = NULL WHERE id = ?",
	    DB_I(s->id)) == -1)
		return -1;
	return q_conversation_start(q, job, s->id, now, s, err);
}

int
q_session_reset(const struct q *q, struct job *job, int64_t session,
	msec_t now, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err,
	    "SELECT session_key FROM session WHERE id = ?", DB_I(session));
	struct q_session s;
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	const char *key = job_keep(job, db_col_text(rows, 0));
	db_end(rows);
	rc = q_session_find(q, job, key, &s, err);
	return rc == 1 ? session_reset(q, job, &s, now, err) : rc;
}

static int
reset_run(struct job *job, const struct q *q, struct err *err)
{
	struct stop_job *st = (struct stop_job *)job;
	struct q_session s = { .session_id = "" };
	int rc = q_session_find(q, job, st->key, &s, err);

	if (rc == 1)
		rc = session_reset(q, job, &s, st->now, err);
	if (rc == -1)
		return -1;
	job->json = json_object();
	json_set_str(job->json, "session_id", s.session_id);
	return 0;
}

static struct stop_job *
stop_new(struct store *store, const struct job_type *type,
	const char *session_key, msec_t now)
{
	struct stop_job *st = job_new(store, type, sizeof(*st));

	st->key = job_key(&st->job, "session key", session_key);
	st->now = now;
	return st;
}

struct op *
store_stop(struct store *store, const char *session_key, msec_t now_wall,
	store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "stop a run", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = stop_run,
	};

	return job_submit_done(&stop_new(store, &type, session_key,
	    now_wall)->job, cb, arg);
}

struct op *
store_reset(struct store *store, const char *session_key, msec_t now_wall,
	store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "start a new conversation", .flags = JOB_WRITES,
		.result = JOB_JSON, .run = reset_run,
	};

	return job_submit_json(&stop_new(store, &type, session_key,
	    now_wall)->job, cb, arg);
}
