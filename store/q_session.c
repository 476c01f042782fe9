/*
 * Sessions and their conversations.  A session is a key with a generation; a
 * conversation is what /new starts afresh under the same key.
 */
#include "store/q.h"

#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/mem.h"

#define SESSION_COLS "SELECT s.id, s.conversation, s.generation, c.session_id," \
	" coalesce(s.model, '') FROM session s JOIN conversation c ON c.id = s.conversation"

static int
session_read(struct db_rows *rows, struct job *job, struct q_session *ret,
	struct err *err)
{
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	*ret = (struct q_session){
		.id = db_col_int(rows, 0),
		.conversation = db_col_int(rows, 1),
		.generation = db_col_int(rows, 2),
		.session_id = job_keep(job, db_col_text(rows, 3)),
		.model = job_keep(job, db_col_text(rows, 4)),
	};
	db_end(rows);
	return 1;
}

int
q_session_find(const struct q *q, struct job *job, const char *key,
	struct q_session *ret, struct err *err)
{
	int rc = session_read(db_query(q->db, err, SESSION_COLS
	    " WHERE s.profile = ? AND s.session_key = ?",
	    DB_S(q->profile), DB_S(key)), job, ret, err);

	if (rc != 0)
		return rc;
	return session_read(db_query(q->db, err, SESSION_COLS
	    " JOIN session_alias a ON a.session = s.id"
	    " WHERE a.profile = ? AND a.session_key = ?",
	    DB_S(q->profile), DB_S(key)), job, ret, err);
}

/* UTC, so that the order of ids does not jump with the local clock. */
static void
session_id_make(msec_t now, char out[32])
{
	time_t t = (time_t)(now / 1000);
	char hex[9], date[24];
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    strftime(date, sizeof(date), "%Y%m%d_%H%M%S", &tm) == 0)
		REQUIRE(mem_copy_str(date, sizeof(date), "00000000_000000") == 0);
	ids_hex(hex, 8);
	REQUIRE(mem_format(out, 32, "%s_%s", date, hex) == 0);
}

int
q_conversation_start(const struct q *q, struct job *job, int64_t session,
	msec_t now, struct q_session *ret, struct err *err)
{
	char id[32];

	session_id_make(now, id);
	if (db_run(q->db, err, "INSERT INTO conversation(session_id, session,"
	    " created_at) VALUES(?, ?, ?)",
	    DB_S(id), DB_I(session), DB_I(now)) == -1)
		return -1;
	ret->id = session;
	ret->model = "";
	ret->conversation = db_last_id(q->db);
	ret->session_id = job_keep(job, id);
	return db_run(q->db, err, "UPDATE session SET conversation = ?,"
	    " updated_at = ? WHERE id = ?",
	    DB_I(ret->conversation), DB_I(now), DB_I(session));
}

int
q_session_need(const struct q *q, struct job *job,
	const struct q_session_new *in, struct q_session *ret, struct err *err)
{
	int rc = q_session_find(q, job, in->key, ret, err);

	if (rc != 0)
		return rc == 1 ? 0 : -1;
	if (db_run(q->db, err, "INSERT INTO session(profile, session_key, source,"
	    " chat_id, origin, created_at, updated_at)"
	    " VALUES(?, ?, nullif(?, 0), ?, ?, ?, ?)",
	    DB_S(q->profile), DB_S(in->key), DB_I(in->source),
	    DB_S(in->chat_id), DB_S(in->origin ? in->origin : "{}"),
	    DB_I(in->now), DB_I(in->now)) == -1)
		return -1;
	ret->generation = 0;
	return q_conversation_start(q, job, db_last_id(q->db), in->now, ret, err);
}

/* ---- lists --------------------------------------------------------------- */

int
q_list(struct db_rows *rows, const struct q_col *cols, size_t ncols,
	struct json *array, struct err *err)
{
	int rc = rows ? 1 : -1;

	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		struct json *obj = json_object();

		for (size_t i = 0; i < ncols; i++) {
			const char *s = db_col_text(rows, (int)i);
			struct json *sub = s && cols[i].is_json ?
			    json_parse(s, strlen(s), NULL) : NULL;

			if (sub)
				json_set_take(obj, cols[i].key, sub);
			else if (!s)
				json_set_null(obj, cols[i].key);
			else if (cols[i].is_int)
				json_set_int(obj, cols[i].key,
				    db_col_int(rows, (int)i));
			else
				json_set_str(obj, cols[i].key, s);
		}
		json_add_take(array, obj);
	}
	return rc;
}

/* Each count runs over a partial index: what is open, never what is stored. */
static int
summary_run(struct job *job, const struct q *q, struct err *err)
{
	static const struct q_col cols[] = {
		{ "sessions", true, false }, { "inbox_waiting", true, false },
		{ "inbox_owned", true, false }, { "runs_open", true, false },
		{ "outbox_waiting", true, false },
		{ "outbox_sending", true, false },
		{ "outbox_unknown", true, false },
		{ "approvals_open", true, false },
	};
	struct json *CLEANUP_JSON rows = json_array();

	if (q_list(db_query(q->db, err, "SELECT"
	    " (SELECT count(*) FROM session WHERE profile = ?),"
	    " (SELECT count(*) FROM inbox WHERE state = 'waiting'),"
	    " (SELECT count(*) FROM inbox WHERE state = 'owned'),"
	    " (SELECT count(*) FROM run WHERE state = 'open'),"
	    " (SELECT count(*) FROM outbox WHERE state = 'waiting'),"
	    " (SELECT count(*) FROM outbox WHERE state = 'sending'),"
	    " (SELECT count(*) FROM outbox WHERE state = 'unknown'),"
	    " (SELECT count(*) FROM approval WHERE state = 'open')",
	    DB_S(q->profile)), cols, ARRAY_LEN(cols), rows, err) == -1)
		return -1;
	job->json = json_clone(json_at(rows, 0));
	return 0;
}

struct op *
store_summary(struct store *store, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "summary", .flags = JOB_ASIDE,
		.result = JOB_JSON, .run = summary_run,
	};

	return job_submit_json(job_new(store, &type, sizeof(struct job)), cb, arg);
}
