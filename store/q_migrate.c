/*
 * A chat got a new id: sessions, inbox and outbox move in one transaction, and
 * the old id and keys stay known.  Whichever signal comes first does it; the
 * second finds the alias and does nothing.
 */
#include "store/q.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct migrate_job {
	struct job job;
	const char *platform, *account, *old_id, *new_id;
};

/* Keys are segments between ':'; the one that is the old id becomes the new. */
static char *
key_change(const char *key, const char *old_id, const char *new_id)
{
	struct buf CLEANUP_BUF b;

	buf_init(&b, 2 * JOB_KEY_MAX);
	for (const char *at = key; ; ) {
		size_t len = strcspn(at, ":");

		if (len == strlen(old_id) && memcmp(at, old_id, len) == 0)
			buf_add_str(&b, new_id);
		else
			buf_add(&b, at, len);
		if (at[len] == '\0')
			return buf_take(&b);
		buf_add_char(&b, ':');
		at += len + 1;
	}
}

static char *
origin_change(const char *origin, const char *old_id, const char *new_id)
{
	struct json *CLEANUP_JSON obj = json_parse(origin, strlen(origin), NULL);
	struct json *CLEANUP_JSON out = json_clone(obj);

	for (const struct json *e = json_first(obj); e; e = json_next(e)) {
		const char *key = json_key(e), *s = json_str(e);

		if (key && s && strncmp(key, "chat", 4) == 0 &&
		    strcmp(s, old_id) == 0)
			json_set_str(out, key, new_id);
	}
	return out ? json_text(out) : mem_str(origin);
}

/*
 * Words came from the new chat before we knew: what the old session said goes
 * before them, its open set joins the new session's, its generations end.
 */
static int
session_merge(const struct q *q, int64_t from, const struct q_session *to,
	struct err *err)
{
	return db_run(q->db, err, "UPDATE transcript SET generation = 0,"
	    " conversation = ? WHERE conversation ="
	    " (SELECT conversation FROM session WHERE id = ?)",
	    DB_I(to->conversation), DB_I(from)) == -1 ||
	    db_run(q->db, err, "UPDATE run SET state = 'cancelled'"
	    " WHERE session = ? AND state = 'open'", DB_I(from)) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET session = ?, run = NULL,"
	    " state = 'waiting' WHERE session = ? AND (state = 'waiting'"
	    " OR state = 'owned')", DB_I(to->id), DB_I(from)) == -1 ||
	    db_run(q->db, err, "UPDATE session SET session_key ="
	    " 'merged:' || id || ':' || session_key WHERE id = ?",
	    DB_I(from)) == -1 ? -1 : 0;
}

static int
session_move(struct migrate_job *m, const struct q *q, int64_t id,
	const char *key, const char *origin, struct err *err)
{
	char *CLEANUP_FREE new_key = key_change(key, m->old_id, m->new_id);
	char *CLEANUP_FREE new_origin = origin_change(origin, m->old_id,
	    m->new_id);
	struct q_session there = { .id = id };
	int rc = q_session_find(q, &m->job, new_key, &there, err);

	if (rc == 1 && there.id != id)
		rc = session_merge(q, id, &there, err);
	else if (rc != -1)
		rc = db_run(q->db, err, "UPDATE session SET session_key = ?,"
		    " origin = ?, chat_id = ? WHERE id = ?", DB_S(new_key),
		    DB_S(new_origin), DB_S(m->new_id), DB_I(id));
	if (rc == -1)
		return -1;
	return db_run(q->db, err, "INSERT OR REPLACE INTO session_alias(profile,"
	    " session_key, session) VALUES(?, ?, ?)", DB_S(q->profile),
	    DB_S(key), DB_I(there.id));
}

/* One at a time: moving changes what the query walks. */
static int
sessions_move(struct migrate_job *m, const struct q *q, int64_t source,
	struct err *err)
{
	for (int64_t last = 0; ; ) {
		struct db_rows *rows = db_query(q->db, err, "SELECT id,"
		    " session_key, origin FROM session WHERE source = ?"
		    " AND chat_id = ? AND id > ? ORDER BY id LIMIT 1",
		    DB_I(source), DB_S(m->old_id), DB_I(last));
		int rc = rows ? db_next(rows, err) : -1;

		if (rc != 1)
			return rc;
		last = db_col_int(rows, 0);
		const char *key = job_keep(&m->job, db_col_text(rows, 1));
		const char *origin = job_keep(&m->job, db_col_text(rows, 2));
		db_end(rows);
		if (session_move(m, q, last, key, origin, err) == -1)
			return -1;
	}
}

static int
migrate_run(struct job *job, const struct q *q, struct err *err)
{
	struct migrate_job *m = (struct migrate_job *)job;
	const char *now;
	int64_t source;

	if (q_source(q, m->platform, m->account, &source, err) == -1 ||
	    q_chat_now(q, job, source, m->old_id, &now, err) == -1)
		return -1;
	if (strcmp(now, m->new_id) == 0)
		return 0;		/* done already, or nothing changes */
	if (sessions_move(m, q, source, err) == -1 ||
	    db_run(q->db, err, "UPDATE inbox SET chat_id = ? WHERE source = ?"
	    " AND chat_id = ? AND (state = 'waiting' OR state = 'owned')",
	    DB_S(m->new_id), DB_I(source), DB_S(m->old_id)) == -1 ||
	    db_run(q->db, err, "UPDATE outbox SET chat_id = ? WHERE source = ?"
	    " AND chat_id = ? AND (state = 'waiting' OR state = 'sending'"
	    " OR owed = 1)",
	    DB_S(m->new_id), DB_I(source), DB_S(m->old_id)) == -1)
		return -1;
	/* A chat that moves twice: the first id leads to the last. */
	if (db_run(q->db, err, "UPDATE chat_alias SET new_id = ?"
	    " WHERE source = ? AND new_id = ?", DB_S(m->new_id), DB_I(source),
	    DB_S(m->old_id)) == -1)
		return -1;
	return db_run(q->db, err, "INSERT OR REPLACE INTO chat_alias(source,"
	    " old_id, new_id) VALUES(?, ?, ?)", DB_I(source), DB_S(m->old_id),
	    DB_S(m->new_id));
}

struct op *
store_migrate_chat(struct store *store, const char *platform,
	const char *account, const char *old_id, const char *new_id,
	store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "move a chat to its new id", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = migrate_run,
	};
	struct migrate_job *m = job_new(store, &type, sizeof(*m));

	m->platform = job_key(&m->job, "platform", platform);
	m->account = job_key(&m->job, "account", account);
	m->old_id = job_key(&m->job, "chat id", old_id);
	m->new_id = job_key(&m->job, "chat id", new_id);
	return job_submit_done(&m->job, cb, arg);
}
