/*
 * Previews: a message that is edited while its text comes (rules 2.4).  Its row
 * is "shown" from the moment its id is known until what stands there is final:
 * the answer's first chunk took its place ("replaced"), it became a message of
 * its own (OUT_INTERIM), or its run is over and it is marked so.
 */
#include "store/q.h"

#include "base/mem.h"

#define OPEN_PREVIEW "SELECT id FROM outbox WHERE run = ? AND kind = ?" \
	" AND state IN ('waiting', 'sending', 'shown') ORDER BY id DESC LIMIT 1"

static int
preview_open(const struct q *q, int64_t run, int64_t *ret_id, struct err *err)
{
	*ret_id = 0;
	return db_int(q->db, err, ret_id, OPEN_PREVIEW, DB_I(run),
	    DB_I(OUT_PREVIEW));
}

/* One that was never sent has nothing to be edited: it is taken back. */
int
q_preview_replace(const struct q *q, const struct q_chunk_in *in,
	int64_t *ret_id, struct err *err)
{
	*ret_id = in->chunk->edit_of;
	if (*ret_id == OUTBOX_PREVIEW &&
	    preview_open(q, in->run, ret_id, err) == -1)
		return -1;
	if (*ret_id == 0)
		return 0;
	return db_run(q->db, err, "UPDATE outbox SET state = 'withdrawn',"
	    " updated_at = ? WHERE id = ? AND state = 'waiting'",
	    DB_I(in->now), DB_I(*ret_id));
}

int
q_preview_replaced(const struct q *q, int64_t by, msec_t now, struct err *err)
{
	return db_run(q->db, err, "UPDATE outbox SET state = 'replaced',"
	    " text = '', updated_at = ? WHERE state = 'shown' AND id ="
	    " (SELECT edit_of FROM outbox WHERE id = ?)", DB_I(now), DB_I(by));
}

/*
 * A message of the chat that is not what it is to stay: an interim text that
 * still shows its beginning, or a preview that nobody goes on with.
 */
int
q_preview_due(const struct q *q, int64_t source, const char *chat,
	const char *thread, int64_t *ret_id, struct err *err)
{
	return db_int(q->db, err, ret_id, "SELECT o.id FROM outbox o"
	    " LEFT JOIN run r ON r.id = o.run"
	    " LEFT JOIN session s ON s.id = r.session"
	    " WHERE o.state = 'shown' AND o.source = ? AND o.chat_id = ?"
	    " AND o.thread_id = ? AND (o.kind = ? OR (NOT (r.state = 'open'"
	    "  AND r.generation = s.generation) AND NOT EXISTS(SELECT 1"
	    "  FROM outbox e WHERE e.run = o.run AND e.edit_of = o.id"
	    "  AND e.state IN ('waiting', 'sending'))))"
	    " ORDER BY o.not_before, o.id LIMIT 1", DB_I(source), DB_S(chat),
	    DB_S(thread), DB_I(OUT_INTERIM));
}

int
q_preview_take(const struct q *q, int64_t id, msec_t now, struct err *err)
{
	if (db_run(q->db, err, "UPDATE outbox SET state = 'sending',"
	    " attempts = attempts + 1, updated_at = ? WHERE id = ?"
	    " AND state = 'shown' AND not_before <= ?", DB_I(now), DB_I(id),
	    DB_I(now)) == -1)
		return -1;
	return db_changes(q->db) == 1;
}

/* ---- a message of its own -------------------------------------------------- */

struct keep_job {
	struct job job;
	struct run_ref run;
	struct outbox_chunk chunk;
	bool add;
	msec_t now;
};

static int
keep_run(struct job *job, const struct q *q, struct err *err)
{
	struct keep_job *k = (struct keep_job *)job;
	struct q_run run;
	int64_t id = 0;
	int rc = q_run_find(q, job, &k->run, &run, err);

	if (rc != 1)
		return rc;
	rc = preview_open(q, run.id, &id, err);
	if (rc == 1)
		return db_run(q->db, err, "UPDATE outbox SET kind = ?, text = ?,"
		    " updated_at = ? WHERE id = ?", DB_I(OUT_INTERIM),
		    DB_S(k->chunk.text), DB_I(k->now), DB_I(id));
	if (rc == -1 || !k->add || !run.live)
		return rc;
	struct q_chunk_in in = {
		.chunk = &k->chunk, .session = run.session, .run = run.id,
		.now = k->now,
	};
	return q_outbox_insert(q, job, &in, &id, err);
}

struct op *
store_outbox_keep(struct store *store, const struct run_ref *run,
	const struct outbox_chunk *chunk, bool add, msec_t now_wall,
	store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "keep a preview", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = keep_run,
	};
	struct keep_job *k = job_new(store, &type, sizeof(*k));

	k->run.session_key = job_key(&k->job, "session key", run->session_key);
	k->run.generation = run->generation;
	outbox_chunk_copy(&k->job, &k->chunk, chunk);
	k->chunk.kind = OUT_INTERIM;
	k->add = add;
	k->now = now_wall;
	return job_submit_done(&k->job, cb, arg);
}
