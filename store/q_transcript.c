/*
 * Transcript entries: chat messages as JSON text, in the order (generation, id).
 */
#include "store/q.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/words.h"

static int
entry_insert(const struct q *q, int64_t conversation, int64_t generation,
	const char *body, msec_t at, int64_t *ret_id, struct err *err)
{
	if (db_run(q->db, err, "INSERT INTO transcript(conversation, generation,"
	    " at, body) VALUES(?, ?, ?, ?)", DB_I(conversation),
	    DB_I(generation), DB_I(at), DB_S(body)) == -1)
		return -1;
	*ret_id = db_last_id(q->db);
	return 0;
}

int
q_transcript_add(const struct q *q, const struct q_run *run,
	const char *body, msec_t now, int64_t *ret_id, struct err *err)
{
	return entry_insert(q, run->conversation, run->generation, body, now,
	    ret_id, err);
}

int
q_transcript_user(const struct q *q, int64_t conversation, int64_t generation,
	const char *text, bool glue, msec_t at, int64_t *ret_id, struct err *err)
{
	struct json *CLEANUP_JSON obj = json_object();

	json_set_str(obj, "role", "user");
	json_set_str(obj, "content", text);
	if (glue)
		json_set_bool(obj, "glue", true);
	char *CLEANUP_FREE body = json_text(obj);
	return entry_insert(q, conversation, generation, body, at, ret_id, err);
}

/* Body of an entry as a tree; NULL with err if it is missing or unreadable. */
static struct json *
entry_read(const struct q *q, int64_t entry, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err,
	    "SELECT body FROM transcript WHERE id = ?", DB_I(entry));
	struct json *obj = NULL;
	int rc = rows ? db_next(rows, err) : -1;

	if (rc == 0)
		err_set(err, ERR_NOT_FOUND, "no transcript entry %lld",
		    (long long)entry);
	if (rc == 1) {
		obj = json_parse(db_col_text(rows, 0), db_col_len(rows, 0), err);
		db_end(rows);
	}
	return obj;
}

static int
entry_write(const struct q *q, int64_t entry, const struct json *obj,
	bool hidden, msec_t now, struct err *err)
{
	char *CLEANUP_FREE body = json_text(obj);

	if (words_changed(q, entry, now, err) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE transcript SET body = ?, hidden = ?"
	    " WHERE id = ?", DB_S(body), DB_I(hidden), DB_I(entry));
}

int
q_transcript_words(const struct q *q, int64_t entry, const char *text,
	msec_t now, struct err *err)
{
	struct json *CLEANUP_JSON obj = entry_read(q, entry, err);

	if (!obj)
		return -1;
	json_set_str(obj, "content", text);
	return entry_write(q, entry, obj, false, now, err);
}

/*
 * What reached the person of this run's answer, in order.  A preview whose
 * answer was taken back stands for its beginning, as far as that was recorded.
 */
static int
delivered_words(const struct q *q, int64_t run, struct buf *out, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT CASE"
	    " WHEN o.state = 'delivered' THEN o.text ELSE p.text END FROM run r"
	    " JOIN outbox o ON o.grp = r.answer"
	    " LEFT JOIN outbox p ON p.id = o.edit_of WHERE r.id = ?"
	    " AND (o.state = 'delivered' OR (o.state = 'withdrawn'"
	    "  AND p.state = 'shown')) ORDER BY o.id", DB_I(run));
	int rc = rows ? 1 : -1;

	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		if (out->len > 0)
			buf_add_str(out, "\n");
		buf_add_str(out, db_col_text(rows, 0));
	}
	return rc;
}

/* Also called again when a chunk that was in flight turns out delivered. */
int
q_transcript_cut(const struct q *q, int64_t run, msec_t now, struct err *err)
{
	struct buf CLEANUP_BUF words;
	int64_t entry = 0;
	int rc = db_int(q->db, err, &entry,
	    "SELECT entry FROM run WHERE id = ? AND entry IS NOT NULL",
	    DB_I(run));

	buf_init(&words, 2 * JOB_BODY_MAX);
	if (rc != 1)
		return rc;
	struct json *CLEANUP_JSON obj = entry_read(q, entry, err);
	if (!obj || delivered_words(q, run, &words, err) == -1)
		return -1;
	json_set_str(obj, "content", words.data);
	json_set_str(obj, "mark", "cut");
	/* An answer of which nothing arrived was never said. */
	return entry_write(q, entry, obj, words.len == 0, now, err);
}

/* ---- append -------------------------------------------------------------- */

struct append_job {
	struct job job;
	struct run_ref run;
	const char **bodies;
	size_t n;
	msec_t now;
};

static int
append_run(struct job *job, const struct q *q, struct err *err)
{
	struct append_job *a = (struct append_job *)job;
	struct q_run run;
	int64_t id;
	int rc = q_run_find(q, job, &a->run, &run, err);

	if (rc == 0)
		return err_set(err, ERR_NOT_FOUND, "no run %llu of session %s",
		    (unsigned long long)a->run.generation, a->run.session_key);
	for (size_t i = 0; rc != -1 && i < a->n; i++)
		rc = q_transcript_add(q, &run, a->bodies[i], a->now, &id, err);
	return rc == -1 ? -1 : 0;
}

struct op *
store_append(struct store *store, const struct run_ref *run,
	const struct json *entries, msec_t now_wall, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "append to the transcript", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = append_run,
	};
	struct append_job *a = job_new(store, &type, sizeof(*a));
	size_t n = json_len(entries);

	a->run.generation = run->generation;
	a->run.session_key = job_key(&a->job, "session key", run->session_key);
	a->now = now_wall;
	if (!json_is_array(entries) || n > JOB_ROWS_MAX)
		job_fail(&a->job, ERR_INVALID, "append to the transcript: not an "
		    "array of at most %d entries", JOB_ROWS_MAX);
	else
		a->bodies = job_alloc(&a->job, n, sizeof(*a->bodies));
	for (const struct json *e = json_first(entries); e && a->bodies;
	    e = json_next(e)) {
		char *text = json_text(e);

		a->bodies[a->n++] = job_str(&a->job, "an entry", text,
		    JOB_BODY_MAX);
		mem_free(text);
	}
	return job_submit_done(&a->job, cb, arg);
}

/* ---- load ---------------------------------------------------------------- */

struct load_job {
	struct job job;
	const char *key;
	size_t max_entries, max_bytes;
};

/* Newest first from the index; the array is built the other way round. */
static int
load_bodies(struct load_job *l, const struct q *q, int64_t conversation,
	struct json **nodes, size_t *ret_n, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT body, at"
	    " FROM transcript WHERE conversation = ? AND hidden = 0"
	    " ORDER BY generation DESC, id DESC LIMIT ?",
	    DB_I(conversation), DB_I(l->max_entries));
	size_t n = 0, bytes = 0;
	struct err bad;
	int rc = rows ? 1 : -1;

	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		size_t len = db_col_len(rows, 0);

		bytes += len;
		if (bytes > l->max_bytes && n > 0) {
			db_end(rows);
			break;
		}
		struct json *e = json_parse(db_col_text(rows, 0), len, &bad);
		if (!e) {	/* one bad entry must not hide all others */
			log_warn("store", NULL, "session %s: an unreadable "
			    "entry is left out: %s", l->key, bad.text);
			continue;
		}
		if (!json_get(e, "at"))
			json_set_int(e, "at", db_col_int(rows, 1));
		nodes[n++] = e;
	}
	*ret_n = n;
	return rc == -1 ? -1 : 0;
}

static int
load_run(struct job *job, const struct q *q, struct err *err)
{
	struct load_job *l = (struct load_job *)job;
	struct q_session s;
	size_t n = 0;
	int rc = q_session_find(q, job, l->key, &s, err);

	job->json = json_array();
	if (rc != 1)
		return rc;
	struct json **nodes = mem_array(l->max_entries, sizeof(*nodes));
	rc = load_bodies(l, q, s.conversation, nodes, &n, err);
	while (n > 0)
		json_add_take(job->json, nodes[--n]);
	mem_free(nodes);
	return rc;
}

struct op *
store_load(struct store *store, const char *session_key, size_t max_entries,
	size_t max_bytes, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "load the transcript", .flags = JOB_READS,
		.result = JOB_JSON, .run = load_run,
	};
	struct load_job *l = job_new(store, &type, sizeof(*l));

	l->key = job_key(&l->job, "session key", session_key);
	l->max_entries = max_entries < 100000 ? max_entries : 100000;
	l->max_bytes = max_bytes;
	return job_submit_json(&l->job, cb, arg);
}
