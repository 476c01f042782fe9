/*
 * The calls of delivery on the outbox: add, take, mark, resend, and which
 * chats have work.
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

/* ---- add ----------------------------------------------------------------- */

struct add_job {
	struct job job;
	struct run_ref run;		/* session_key "": no run */
	struct outbox_chunk chunk;
	msec_t now;
};

/* Rule 1.6 at insert: rows of finished runs are never dead. */
static int
add_run_of(struct add_job *a, const struct q *q, struct q_run *run,
	struct err *err)
{
	if (a->run.session_key[0] == '\0') {
		*run = (struct q_run){ .id = 0 };
		return 0;
	}
	int rc = q_run_find(q, &a->job, &a->run, run, err);
	if (rc == -1 || (rc == 1 && (run->live || run->finished)))
		return rc == -1 ? -1 : 0;
	return err_set(err, ERR_DENIED, "run %llu of session %s is over",
	    (unsigned long long)a->run.generation, a->run.session_key);
}

static int
add_run(struct job *job, const struct q *q, struct err *err)
{
	struct add_job *a = (struct add_job *)job;
	struct q_run run;
	int64_t id;

	if (add_run_of(a, q, &run, err) == -1)
		return -1;
	struct q_chunk_in in = {
		.chunk = &a->chunk, .session = run.session, .run = run.id,
		.now = a->now,
	};
	if (q_outbox_insert(q, job, &in, &id, err) == -1)
		return -1;
	job->rows = job_alloc(job, 1, sizeof(*job->rows));
	job->nrows = 1;
	return q_outbox_row(q, job, id, job->rows, err) == -1 ? -1 : 0;
}

struct op *
store_outbox_add(struct store *store, const struct run_ref *run,
	const struct outbox_chunk *chunk, msec_t now_wall,
	store_rows_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "add to the outbox", .flags = JOB_WRITES,
		.result = JOB_ROWS, .run = add_run,
	};
	struct add_job *a = job_new(store, &type, sizeof(*a));

	a->run.session_key = job_key(&a->job, "session key",
	    run ? run->session_key : "");
	a->run.generation = run ? run->generation : 0;
	outbox_chunk_copy(&a->job, &a->chunk, chunk);
	a->now = now_wall;
	return job_submit_rows(&a->job, cb, arg);
}

/* ---- take ---------------------------------------------------------------- */

struct take_job {
	struct job job;
	const char *platform, *account, *chat_id, *thread_id;
	msec_t now;
};

static int
take_head(struct take_job *t, const struct q *q, int64_t source,
	const char *chat, int64_t *ret_id, struct err *err)
{
	return db_int(q->db, err, ret_id, "SELECT id FROM outbox"
	    " WHERE state = 'waiting' AND source = ? AND chat_id = ?"
	    " AND thread_id = ? ORDER BY id LIMIT 1",
	    DB_I(source), DB_S(chat), DB_S(t->thread_id));
}

static int
take_edit(struct take_job *t, const struct q *q, int64_t source,
	const char *chat, struct err *err)
{
	struct job *job = &t->job;
	int64_t id;
	int rc = q_preview_due(q, source, chat, t->thread_id, &id, err);

	if (rc != 1)
		return rc;
	if (q_preview_take(q, id, t->now, err) == -1)
		return -1;
	job->rows = job_alloc(job, 1, sizeof(*job->rows));
	job->nrows = 1;
	return q_outbox_row(q, job, id, job->rows, err) == -1 ? -1 : 0;
}

static int
take_run(struct job *job, const struct q *q, struct err *err)
{
	struct take_job *t = (struct take_job *)job;
	struct outbox_row row;
	const char *chat;
	int64_t source, id;
	int rc;

	if (q_source(q, t->platform, t->account, &source, err) == -1 ||
	    q_chat_now(q, job, source, t->chat_id, &chat, err) == -1)
		return -1;
	while ((rc = take_head(t, q, source, chat, &id, err)) == 1) {
		rc = q_outbox_take_row(q, id, t->now, err);
		if (rc == -1 || q_outbox_row(q, job, id, &row, err) == -1)
			return -1;
		if (rc == 1 || row.not_before > t->now) {
			job->rows = job_alloc(job, 1, sizeof(row));
			*job->rows = row;
			job->nrows = 1;
			return 0;
		}
		/* Not taken though due: it is dead. */
		if (db_run(q->db, err, "UPDATE outbox SET state = 'withdrawn',"
		    " updated_at = ? WHERE id = ?", DB_I(t->now), DB_I(id)) == -1)
			return -1;
	}
	return rc == -1 ? -1 : take_edit(t, q, source, chat, err);
}

struct op *
store_outbox_take(struct store *store, const char *platform,
	const char *account, const char *chat_id, const char *thread_id,
	msec_t now_wall, store_rows_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "take from the outbox", .flags = JOB_WRITES,
		.result = JOB_ROWS, .run = take_run,
	};
	struct take_job *t = job_new(store, &type, sizeof(*t));

	t->platform = job_key(&t->job, "platform", platform);
	t->account = job_key(&t->job, "account", account);
	t->chat_id = job_key(&t->job, "chat id", chat_id);
	t->thread_id = job_key(&t->job, "thread id", thread_id);
	t->now = now_wall;
	return job_submit_rows(&t->job, cb, arg);
}

/* ---- mark ---------------------------------------------------------------- */

struct mark_job {
	struct job job;
	int64_t id;
	const char *state, *msg_id, *why;
	msec_t not_before, now;
};

/* A retry is refused to a row whose run is over, or whose answer was cut. */
static int
mark_wait(struct mark_job *m, const struct q *q, struct err *err)
{
	msec_t wait = m->not_before > m->now ? m->not_before - m->now : 0;

	return db_run(q->db, err, "UPDATE outbox SET why = ?, not_before = ?,"
	    " wait = ?, updated_at = ?, state = CASE WHEN msg_id <> ''"
	    " THEN 'shown' WHEN run IS NULL OR EXISTS("
	    "  SELECT 1 FROM run r JOIN session s ON s.id = r.session"
	    "  WHERE r.id = outbox.run AND ((r.state = 'finished' AND r.cut = 0)"
	    "  OR (r.state = 'open' AND r.generation = s.generation)))"
	    " THEN 'waiting' ELSE 'withdrawn' END"
	    " WHERE id = ? AND state IN ('sending', 'unknown')", DB_S(m->why),
	    DB_I(m->not_before), DB_I(wait), DB_I(m->now), DB_I(m->id));
}

/*
 * The text is kept until the whole answer is delivered: for a cut, and for
 * the resend button.
 */
static int
mark_delivered(struct mark_job *m, const struct q *q, struct err *err)
{
	int64_t run;
	int rc = db_int(q->db, err, &run, "SELECT r.id FROM outbox o"
	    " JOIN run r ON r.id = o.run AND r.answer = o.grp"
	    " WHERE o.id = ? AND r.cut = 1", DB_I(m->id));

	if (rc == 1)
		return q_transcript_cut(q, run, m->now, err);
	if (rc == -1 || q_preview_replaced(q, m->id, m->now, err) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE outbox SET text = '' WHERE grp ="
	    " (SELECT grp FROM outbox WHERE id = ?) AND NOT EXISTS(SELECT 1"
	    " FROM outbox o WHERE o.grp = outbox.grp AND o.state <> 'delivered')",
	    DB_I(m->id));
}

static int
mark_run(struct job *job, const struct q *q, struct err *err)
{
	struct mark_job *m = (struct mark_job *)job;
	bool waits = strcmp(m->state, "waiting") == 0;
	bool refused = strcmp(m->state, "refused") == 0;
	bool owes = refused || strcmp(m->state, "unknown") == 0;

	if (waits ? mark_wait(m, q, err) == -1 :
	    db_run(q->db, err, "UPDATE outbox SET state = ?, why = ?,"
	    " owed = ? AND kind IN (?, ?),"
	    " msg_id = CASE WHEN ? <> '' THEN ? ELSE msg_id END, updated_at = ?"
	    " WHERE id = ? AND state IN ('sending', 'unknown')",
	    DB_S(m->state), DB_S(m->why), DB_I(owes), DB_I(OUT_FINAL),
	    DB_I(OUT_REPORT), DB_S(m->msg_id), DB_S(m->msg_id),
	    DB_I(m->now), DB_I(m->id)) == -1)
		return -1;
	if (db_changes(q->db) == 0)
		return err_set(err, ERR_NOT_FOUND, "outbox row %lld is not being "
		    "sent", (long long)m->id);
	if (refused)
		return q_owed_undelivered(q, m->id, m->now, err);
	return strcmp(m->state, "delivered") == 0 ? mark_delivered(m, q, err) : 0;
}

struct op *
store_outbox_mark(struct store *store, int64_t id, const char *state,
	const char *msg_id, msec_t not_before, const char *why,
	msec_t now_wall, store_cb *cb, void *arg)
{
	static const char *const states[] = {
		"delivered", "refused", "unknown", "waiting", "shown",
	};
	static const struct job_type type = {
		.name = "mark a send", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = mark_run,
	};
	struct mark_job *m = job_new(store, &type, sizeof(*m));
	size_t i = 0;

	while (i < ARRAY_LEN(states) && strcmp(states[i], state) != 0)
		i++;
	if (i == ARRAY_LEN(states))
		job_fail(&m->job, ERR_INVALID, "%s: no such state: %s",
		    type.name, state);
	m->id = id;
	m->state = job_key(&m->job, "state", state);
	m->msg_id = job_key(&m->job, "message id", msg_id);
	m->why = job_str(&m->job, "reason", why, JOB_TEXT_MAX);
	m->not_before = not_before;
	m->now = now_wall;
	return job_submit_done(&m->job, cb, arg);
}

/* ---- chats with work ----------------------------------------------------- */

#define CHATS(state) "SELECT a.platform, a.account, o.chat_id, o.thread_id," \
	" o.not_before, min(o.id) FROM outbox o JOIN source a ON a.id = o.source" \
	" WHERE o.state = '" state "' AND a.profile = ?" \
	" GROUP BY o.source, o.chat_id, o.thread_id LIMIT 10000"

static int
chats_run(struct job *job, const struct q *q, struct err *err)
{
	static const struct q_col cols[] = {
		{ "platform", false, false }, { "account", false, false },
		{ "chat_id", false, false }, { "thread_id", false, false },
		{ "due", true, false }, { "id", true, false },
	};

	job->json = json_array();
	/* not_before is the one of the row with min(id): SQLite's rule for min() */
	if (q_list(db_query(q->db, err, CHATS("waiting"), DB_S(q->profile)),
	    cols, ARRAY_LEN(cols), job->json, err) == -1)
		return -1;
	return q_list(db_query(q->db, err, CHATS("shown"), DB_S(q->profile)),
	    cols, ARRAY_LEN(cols), job->json, err);
}

struct op *
store_outbox_chats(struct store *store, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "list chats with work", .flags = JOB_READS,
		.result = JOB_JSON, .run = chats_run,
	};

	return job_submit_json(job_new(store, &type, sizeof(struct job)), cb, arg);
}

/* ---- resend -------------------------------------------------------------- */

struct resend_job {
	struct job job;
	int64_t id;
	const char *chat_id;	/* NULL: any */
	const char *label;	/* NULL: none */
	msec_t now;
};

/* Before the copies, in the same order and the same transaction. */
static int
resend_label(struct resend_job *r, const struct q *q, struct err *err)
{
	if (db_run(q->db, err, "INSERT INTO outbox(source, session, kind,"
	    " chat_id, thread_id, text, plain, nonce, state, created_at,"
	    " updated_at) SELECT source, session, ?, chat_id, thread_id, ?, 1,"
	    " lower(hex(randomblob(8))), 'waiting', ?, ? FROM outbox"
	    " WHERE id = ?", DB_I(OUT_LABEL), DB_S(r->label), DB_I(r->now),
	    DB_I(r->now), DB_I(r->id)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE outbox SET grp = id WHERE id = ?",
	    DB_I(db_last_id(q->db)));
}

/* The copies belong to no run: a person asked for them. */
static int
resend_copy(struct resend_job *r, const struct q *q, int64_t group,
	struct err *err)
{
	if (r->label && resend_label(r, q, err) == -1)
		return -1;
	if (db_run(q->db, err, "INSERT INTO outbox(source, session, kind,"
	    " chat_id, thread_id, text, plain, reply_to, buttons, nonce, state,"
	    " created_at, updated_at) SELECT source, session, kind, chat_id,"
	    " thread_id, text, plain, reply_to, buttons,"
	    " lower(hex(randomblob(8))), 'waiting', ?, ? FROM outbox"
	    " WHERE grp = ? ORDER BY id",
	    DB_I(r->now), DB_I(r->now), DB_I(group)) == -1)
		return -1;
	int64_t n = db_changes(q->db), last = db_last_id(q->db);
	if (db_run(q->db, err, "UPDATE outbox SET grp = ? WHERE id > ? AND id <= ?",
	    DB_I(last - n + 1), DB_I(last - n), DB_I(last)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE outbox SET resent = ?, owed = 0 WHERE grp = ?",
	    DB_I(last - n + 1), DB_I(group));
}

static int
resend_run(struct job *job, const struct q *q, struct err *err)
{
	struct resend_job *r = (struct resend_job *)job;
	struct db_rows *rows = db_query(q->db, err, "SELECT grp, resent, "
	    " EXISTS(SELECT 1 FROM outbox o WHERE o.grp = outbox.grp"
	    "  AND o.state <> 'delivered') FROM outbox WHERE id = ?"
	    " AND chat_id = coalesce(?, chat_id)", DB_I(r->id), DB_S(r->chat_id));
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc == -1 ? -1 : err_set(err, ERR_NOT_FOUND,
		    "no outbox row %lld", (long long)r->id);
	int64_t group = db_col_int(rows, 0), resent = db_col_int(rows, 1);
	bool missing = db_col_int(rows, 2) != 0;
	db_end(rows);
	if (resent != 0)
		return err_set(err, ERR_EXISTS, "this answer was sent again "
		    "already");
	if (!missing)
		return err_set(err, ERR_EXISTS, "this answer was delivered");
	return resend_copy(r, q, group, err);
}

struct op *
store_outbox_resend(struct store *store, int64_t id, const char *chat_id,
	const char *label, msec_t now_wall, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "send again", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = resend_run,
	};
	struct resend_job *r = job_new(store, &type, sizeof(*r));

	r->id = id;
	r->chat_id = job_str(&r->job, "chat id", chat_id, JOB_KEY_MAX);
	r->label = job_str(&r->job, "label", label, JOB_TEXT_MAX);
	r->now = now_wall;
	return job_submit_done(&r->job, cb, arg);
}
