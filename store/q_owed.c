/*
 * Rows whose chat is owed a word: their send has an unknown end or was given
 * up.  The mark is set with the state and taken back when the word was tried,
 * so that no end of the process swallows it (rules 2.5).
 */
#include "store/q.h"

#include "base/mem.h"

int
q_owed_undelivered(const struct q *q, int64_t id, msec_t now, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT r.id, r.session,"
	    " r.conversation, r.generation FROM outbox o"
	    " JOIN run r ON r.id = o.run WHERE o.id = ? AND o.owed = 1",
	    DB_I(id));
	int64_t entry;
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	const struct q_run run = {
		.id = db_col_int(rows, 0), .session = db_col_int(rows, 1),
		.conversation = db_col_int(rows, 2),
		.generation = db_col_int(rows, 3),
	};
	db_end(rows);
	return q_transcript_add(q, &run, "{\"role\":\"assistant\",\"content\":\"\","
	    "\"mark\":\"undelivered\"}", now, &entry, err);
}

/* ---- list ------------------------------------------------------------------- */

static int
owed_run(struct job *job, const struct q *q, struct err *err)
{
	static const struct q_col cols[] = {
		{ "id", true, false }, { "session_key", false, false },
		{ "platform", false, false }, { "account", false, false },
		{ "chat_id", false, false }, { "thread_id", false, false },
		{ "kind", true, false }, { "state", false, false },
		{ "text", false, false }, { "why", false, false },
	};

	job->json = json_array();
	return q_list(db_query(q->db, err, "SELECT o.id, s.session_key,"
	    " a.platform, a.account, o.chat_id, o.thread_id, o.kind, o.state,"
	    " substr(o.text, 1, 200), o.why FROM outbox o"
	    " JOIN source a ON a.id = o.source"
	    " LEFT JOIN session s ON s.id = o.session"
	    " WHERE o.owed = 1 AND a.profile = ? ORDER BY o.id LIMIT 1000",
	    DB_S(q->profile)), cols, ARRAY_LEN(cols), job->json, err);
}

struct op *
store_outbox_owed(struct store *store, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "list what a chat is owed", .flags = JOB_READS,
		.result = JOB_JSON, .run = owed_run,
	};

	return job_submit_json(job_new(store, &type, sizeof(struct job)), cb, arg);
}

/* ---- told ------------------------------------------------------------------- */

struct told_job {
	struct job job;
	int64_t id;
};

static int
told_run(struct job *job, const struct q *q, struct err *err)
{
	return db_run(q->db, err, "UPDATE outbox SET owed = 0 WHERE id = ?",
	    DB_I(((struct told_job *)job)->id));
}

struct op *
store_outbox_told(struct store *store, int64_t id, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "note that a chat was told", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = told_run,
	};
	struct told_job *t = job_new(store, &type, sizeof(*t));

	t->id = id;
	return job_submit_done(&t->job, cb, arg);
}
