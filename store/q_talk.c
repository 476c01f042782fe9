/*
 * What a person does with the conversations of one session: list them, go back
 * to one, name it, take back the last exchanges, choose a model.  Everything
 * is limited to the session's own conversations: nobody reaches another's.
 */
#include "store/q.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LIST_MAX 50
#define TURNS_MAX 50

struct talk_job {
	struct job job;
	const char *key, *ref;
	int64_t n;
	bool again;
	msec_t now;
};

static struct talk_job *
talk_new(struct store *store, const struct job_type *type, const char *key,
	const char *ref, msec_t now)
{
	struct talk_job *t = job_new(store, type, sizeof(*t));

	t->key = job_key(&t->job, "session key", key);
	t->ref = job_key(&t->job, "words", ref);
	t->now = now;
	return t;
}

static int
session_known(struct talk_job *t, const struct q *q, struct q_session *ret,
	struct err *err)
{
	int rc = q_session_find(q, &t->job, t->key, ret, err);

	return rc == 0 ? err_set(err, ERR_NOT_FOUND,
	    "nothing was said here yet") : rc;
}

/* ---- list ------------------------------------------------------------------ */

#define CONVERSATIONS "SELECT c.id, c.session_id, c.title, c.id = s.conversation," \
	" (SELECT count(*) FROM transcript t WHERE t.conversation = c.id" \
	"  AND t.hidden = 0) AS n, coalesce((SELECT t.at FROM transcript t" \
	"  WHERE t.conversation = c.id ORDER BY t.generation DESC, t.id DESC" \
	"  LIMIT 1), c.created_at) AS last FROM session s" \
	" JOIN conversation c ON c.session = s.id WHERE s.id = ?" \
	" AND c.end_reason IS NOT 'erased'"
/* The person's list: what was talked about, newest first. */
#define LISTED " AND (n > 0 OR c.id = s.conversation)" \
	" ORDER BY last DESC, c.id DESC"

static const struct q_col talk_cols[] = {
	{ "id", true, false }, { "session_id", false, false },
	{ "title", false, false }, { "current", true, false },
	{ "messages", true, false }, { "updated_at", true, false },
};

static int
list_run(struct job *job, const struct q *q, struct err *err)
{
	struct talk_job *t = (struct talk_job *)job;
	struct q_session s;

	job->json = json_array();
	if (session_known(t, q, &s, err) == -1)
		return -1;
	return q_list(db_query(q->db, err, CONVERSATIONS LISTED " LIMIT ?",
	    DB_I(s.id), DB_I(t->n)), talk_cols, ARRAY_LEN(talk_cols), job->json,
	    err);
}

struct op *
store_session_list(struct store *store, const char *session_key, size_t max,
	store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "list a session's conversations", .flags = JOB_READS,
		.result = JOB_JSON, .run = list_run,
	};
	struct talk_job *t = talk_new(store, &type, session_key, "", 0);

	t->n = max > 0 && max < LIST_MAX ? (int64_t)max : LIST_MAX;
	return job_submit_json(&t->job, cb, arg);
}

/* ---- switch ---------------------------------------------------------------- */

/* A number of the list, else an id, its beginning, or a title. */
static int
find_target(struct talk_job *t, const struct q *q, const struct q_session *s,
	struct json *found, struct err *err)
{
	size_t len = strlen(t->ref);

	if (len > 0 && len <= 2 && strspn(t->ref, "0123456789") == len)
		return q_list(db_query(q->db, err, CONVERSATIONS LISTED
		    " LIMIT 1 OFFSET ?", DB_I(s->id),
		    DB_I(strtoll(t->ref, NULL, 10) - 1)), talk_cols,
		    ARRAY_LEN(talk_cols), found, err);
	if (q_list(db_query(q->db, err, CONVERSATIONS " AND (c.session_id = ?"
	    " OR c.title = ? COLLATE NOCASE) LIMIT 3", DB_I(s->id),
	    DB_S(t->ref), DB_S(t->ref)), talk_cols, ARRAY_LEN(talk_cols), found,
	    err) == -1)
		return -1;
	if (json_len(found) > 0 || len < 4 ||
	    strspn(t->ref, "0123456789abcdef_") != len)
		return 0;
	return q_list(db_query(q->db, err, CONVERSATIONS
	    " AND substr(c.session_id, 1, length(?)) = ? LIMIT 3",
	    DB_I(s->id), DB_S(t->ref), DB_S(t->ref)), talk_cols,
	    ARRAY_LEN(talk_cols), found, err);
}

static int
switch_to(const struct q *q, const struct q_session *s, int64_t target,
	msec_t now, struct err *err)
{
	if (db_run(q->db, err, "UPDATE conversation SET ended_at = ?,"
	    " end_reason = 'switched' WHERE id = ?", DB_I(now),
	    DB_I(s->conversation)) == -1 ||
	    db_run(q->db, err, "UPDATE conversation SET ended_at = NULL,"
	    " end_reason = NULL WHERE id = ?", DB_I(target)) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE session SET conversation = ?,"
	    " model = NULL, updated_at = ? WHERE id = ?",
	    DB_I(target), DB_I(now), DB_I(s->id));
}

static int
switch_run(struct job *job, const struct q *q, struct err *err)
{
	struct talk_job *t = (struct talk_job *)job;
	struct json *CLEANUP_JSON found = json_array();
	struct q_session s;

	if (session_known(t, q, &s, err) == -1 ||
	    find_target(t, q, &s, found, err) == -1)
		return -1;
	if (json_len(found) == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no conversation "
		    "'%s' here", t->ref);
	if (json_len(found) > 1)
		return err_set(err, ERR_INVALID, "'%s' fits several "
		    "conversations", t->ref);
	const struct json *target = json_at(found, 0);
	int64_t id = json_get_int(target, "id", 0);

	job->json = json_clone(target);
	if (id == s.conversation)
		return 0;
	if (q_session_stop(q, job, &s, t->now, err) == -1)
		return -1;
	return switch_to(q, &s, id, t->now, err);
}

struct op *
store_switch(struct store *store, const char *session_key, const char *ref,
	msec_t now_wall, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "switch the conversation", .flags = JOB_WRITES,
		.result = JOB_JSON, .run = switch_run,
	};

	return job_submit_json(&talk_new(store, &type, session_key, ref,
	    now_wall)->job, cb, arg);
}

/* ---- title ----------------------------------------------------------------- */

static int
title_run(struct job *job, const struct q *q, struct err *err)
{
	struct talk_job *t = (struct talk_job *)job;
	struct q_session s;
	int64_t other;

	if (session_known(t, q, &s, err) == -1)
		return -1;
	int rc = db_int(q->db, err, &other, "SELECT c.id FROM conversation c"
	    " JOIN session s ON s.id = c.session WHERE s.profile = ?"
	    " AND c.title = ? COLLATE NOCASE AND c.id <> ?",
	    DB_S(q->profile), DB_S(t->ref), DB_I(s.conversation));
	if (rc == 1)
		return err_set(err, ERR_EXISTS, "another conversation is called "
		    "'%s'", t->ref);
	if (rc == -1)
		return -1;
	return db_run(q->db, err, "UPDATE conversation SET title = nullif(?, '')"
	    " WHERE id = ?", DB_S(t->ref), DB_I(s.conversation));
}

struct op *
store_title(struct store *store, const char *session_key, const char *title,
	store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "name the conversation", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = title_run,
	};

	return job_submit_done(&talk_new(store, &type, session_key, title,
	    0)->job, cb, arg);
}

/* ---- rewind ---------------------------------------------------------------- */

/*
 * Where the n-th last turn of the person begins; a turn is all the words
 * between two answers.  *ret_words: those of the earliest one.
 */
static int
find_turn(struct talk_job *t, const struct q *q, int64_t conversation,
	int64_t *ret_generation, int64_t *ret_id, const char **ret_words,
	int64_t *ret_turns, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT id, generation,"
	    " json_extract(body, '$.role') = 'user',"
	    " coalesce(json_extract(body, '$.content'), '') FROM transcript"
	    " WHERE conversation = ? AND hidden = 0 AND json_valid(body)"
	    " ORDER BY generation DESC, id DESC LIMIT 10000",
	    DB_I(conversation));
	bool in_turn = false;
	int rc = rows ? 1 : -1;

	*ret_turns = 0;
	*ret_words = "";
	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		bool user = db_col_int(rows, 2) != 0;

		if (user && !in_turn && *ret_turns == t->n) {
			db_end(rows);
			return 0;
		}
		if (user) {
			*ret_turns += !in_turn;
			*ret_generation = db_col_int(rows, 1);
			*ret_id = db_col_int(rows, 0);
			char *words = mem_printf("%s%s%s", db_col_text(rows, 3),
			    in_turn ? "\n\n" : "", in_turn ? *ret_words : "");

			*ret_words = job_keep(&t->job, words);
			mem_free(words);
		}
		in_turn = user;
	}
	return rc == -1 ? -1 : 0;
}

/* The words are asked anew, as if they had just come. */
static int
ask_again(struct talk_job *t, const struct q *q, const struct q_session *s,
	const char *words, struct err *err)
{
	return db_run(q->db, err, "INSERT INTO inbox(source, kind_name, event_id,"
	    " kind, session, chat_id, thread_id, user_id, msg_id, text, sent_at,"
	    " accepted_at, state) SELECT source, 'again',"
	    " lower(hex(randomblob(8))), ?, id, chat_id, '', '', '', ?, ?, ?,"
	    " 'waiting' FROM session WHERE id = ? AND source IS NOT NULL",
	    DB_I(INBOX_TURN), DB_S(words), DB_I(t->now), DB_I(t->now),
	    DB_I(s->id));
}

static int
rewind_run(struct job *job, const struct q *q, struct err *err)
{
	struct talk_job *t = (struct talk_job *)job;
	int64_t generation = 0, id = 0, turns = 0;
	struct q_session s;
	const char *words;

	if (session_known(t, q, &s, err) == -1 ||
	    q_session_stop(q, job, &s, t->now, err) == -1 ||
	    find_turn(t, q, s.conversation, &generation, &id, &words, &turns,
	    err) == -1)
		return -1;
	job->json = json_object();
	json_set_int(job->json, "turns", turns);
	json_set_str(job->json, "text", words);
	if (turns == 0)
		return 0;
	if (db_run(q->db, err, "UPDATE transcript SET hidden = 1"
	    " WHERE conversation = ? AND (generation, id) >= (?, ?)"
	    " AND hidden = 0", DB_I(s.conversation), DB_I(generation),
	    DB_I(id)) == -1)
		return -1;
	json_set_int(job->json, "entries", db_changes(q->db));
	return t->again ? ask_again(t, q, &s, words, err) : 0;
}

struct op *
store_rewind(struct store *store, const char *session_key, unsigned turns,
	bool again, msec_t now_wall, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "take back exchanges", .flags = JOB_WRITES,
		.result = JOB_JSON, .run = rewind_run,
	};
	struct talk_job *t = talk_new(store, &type, session_key, "", now_wall);

	t->n = turns < TURNS_MAX ? turns : TURNS_MAX;
	t->again = again;
	return job_submit_json(&t->job, cb, arg);
}

/* ---- model ----------------------------------------------------------------- */

static int
model_run(struct job *job, const struct q *q, struct err *err)
{
	struct talk_job *t = (struct talk_job *)job;
	struct q_session s;

	if (session_known(t, q, &s, err) == -1)
		return -1;
	return db_run(q->db, err, "UPDATE session SET model = nullif(?, '')"
	    " WHERE id = ?", DB_S(t->ref), DB_I(s.id));
}

struct op *
store_model_set(struct store *store, const char *session_key,
	const char *model, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "choose a model", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = model_run,
	};

	return job_submit_done(&talk_new(store, &type, session_key, model,
	    0)->job, cb, arg);
}
