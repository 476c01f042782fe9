/* Approval requests: open until answered, withdrawn or expired; once. */
#include "store/q.h"

#include "base/mem.h"

struct approval_job {
	struct job job;
	struct run_ref run;
	const char *id, *row, *outcome, *who;
	size_t max;
	msec_t now;
};

int
q_approval_withdraw(const struct q *q, int64_t session, msec_t now,
	struct err *err)
{
	return db_run(q->db, err, "UPDATE approval SET state = 'closed',"
	    " outcome = 'withdrawn', closed_at = ?"
	    " WHERE session = ? AND state = 'open'", DB_I(now), DB_I(session));
}

static int
open_run(struct job *job, const struct q *q, struct err *err)
{
	struct approval_job *a = (struct approval_job *)job;
	struct q_run run;

	if (q_run_live(q, job, &a->run, &run, err) == -1)
		return -1;
	return db_run(q->db, err, "INSERT INTO approval(profile, id, session, run,"
	    " row, state, opened_at) VALUES(?, ?, ?, ?, ?, 'open', ?)",
	    DB_S(q->profile), DB_S(a->id), DB_I(run.session), DB_I(run.id),
	    DB_S(a->row), DB_I(a->now));
}

static int
note_run(struct job *job, const struct q *q, struct err *err)
{
	struct approval_job *a = (struct approval_job *)job;
	struct q_run run;

	if (q_run_live(q, job, &a->run, &run, err) == -1)
		return -1;
	return db_run(q->db, err, "INSERT INTO approval(profile, id, session, run,"
	    " row, state, outcome, who, opened_at, closed_at)"
	    " VALUES(?, ?, ?, ?, ?, 'closed', ?, ?, ?, ?)", DB_S(q->profile),
	    DB_S(a->id), DB_I(run.session), DB_I(run.id), DB_S(a->row),
	    DB_S(a->outcome), DB_S(a->who), DB_I(a->now), DB_I(a->now));
}

static struct approval_job *
request_job(struct store *store, const struct job_type *type,
	const struct run_ref *run, const char *id, const struct json *row,
	msec_t now_wall)
{
	struct approval_job *a = job_new(store, type, sizeof(*a));
	char *text = json_text(row);

	a->run.generation = run->generation;
	a->run.session_key = job_key(&a->job, "session key", run->session_key);
	a->id = job_key(&a->job, "request id", id);
	a->row = job_str(&a->job, "the request", text, JOB_BODY_MAX);
	a->now = now_wall;
	mem_free(text);
	return a;
}

struct op *
store_approval_open(struct store *store, const struct run_ref *run,
	const char *id, const struct json *row, msec_t now_wall,
	store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "record an approval request",
		.flags = JOB_WRITES | JOB_OPENS,
		.result = JOB_DONE, .run = open_run,
	};
	struct approval_job *a = request_job(store, &type, run, id, row,
	    now_wall);

	return job_submit_done(&a->job, cb, arg);
}

struct op *
store_approval_note(struct store *store, const struct run_ref *run,
	const char *id, const struct json *row, const char *outcome,
	const char *who, msec_t now_wall, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "record a decision", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = note_run,
	};
	struct approval_job *a = request_job(store, &type, run, id, row,
	    now_wall);

	a->outcome = job_key(&a->job, "outcome", outcome);
	a->who = job_key(&a->job, "who", who);
	return job_submit_done(&a->job, cb, arg);
}

static int
close_run(struct job *job, const struct q *q, struct err *err)
{
	struct approval_job *a = (struct approval_job *)job;
	int64_t same;

	if (db_run(q->db, err, "UPDATE approval SET state = 'closed', outcome = ?,"
	    " who = ?, closed_at = ? WHERE profile = ? AND id = ?"
	    " AND state = 'open'", DB_S(a->outcome), DB_S(a->who), DB_I(a->now),
	    DB_S(q->profile), DB_S(a->id)) == -1)
		return -1;
	if (db_changes(q->db) == 1)
		return 0;
	int rc = db_int(q->db, err, &same, "SELECT outcome = ? FROM approval"
	    " WHERE profile = ? AND id = ?", DB_S(a->outcome),
	    DB_S(q->profile), DB_S(a->id));
	if (rc == -1 || (rc == 1 && same))	/* withdrawn with the claim */
		return rc == -1 ? -1 : 0;
	return err_set(err, rc == 1 ? ERR_EXISTS : ERR_NOT_FOUND,
	    "request %s %s", a->id, rc == 1 ? "is closed already" :
	    "is not known");
}

struct op *
store_approval_close(struct store *store, const char *id, const char *outcome,
	const char *who, msec_t now_wall, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "close an approval request", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = close_run,
	};
	struct approval_job *a = job_new(store, &type, sizeof(*a));

	a->id = job_key(&a->job, "request id", id);
	a->outcome = job_key(&a->job, "outcome", outcome);
	a->who = job_key(&a->job, "who", who);
	a->now = now_wall;
	return job_submit_done(&a->job, cb, arg);
}

static int
list_run(struct job *job, const struct q *q, struct err *err)
{
	static const struct q_col cols[] = {
		{ "id", false, false }, { "session_key", false, false },
		{ "generation", true, false }, { "row", false, true },
		{ "opened_at", true, false }, { "state", false, false },
		{ "outcome", false, false }, { "who", false, false },
	};

	job->json = json_array();
	return q_list(db_query(q->db, err, "SELECT a.id, s.session_key,"
	    " r.generation, a.row, a.opened_at, a.state, a.outcome, a.who"
	    " FROM approval a"
	    " JOIN session s ON s.id = a.session JOIN run r ON r.id = a.run"
	    " WHERE a.profile = ? ORDER BY a.opened_at DESC LIMIT ?",
	    DB_S(q->profile), DB_I(((struct approval_job *)job)->max)),
	    cols, ARRAY_LEN(cols), job->json, err);
}

struct op *
store_approvals(struct store *store, size_t max, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "list approval requests", .flags = JOB_ASIDE,
		.result = JOB_JSON, .run = list_run,
	};
	struct approval_job *a = job_new(store, &type, sizeof(*a));

	a->max = max < JOB_ROWS_MAX ? max : JOB_ROWS_MAX;
	return job_submit_json(&a->job, cb, arg);
}
