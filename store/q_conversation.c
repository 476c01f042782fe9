/*
 * Looking at conversations: one, all, their entries, words in them.  All on
 * the reader, in pages.
 */
#include "store/q.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define LIST_MAX 500
#define READ_MAX 500
#define READ_BYTES ((size_t)4 << 20)

static const struct q_col conversation_cols[] = {
	{ "id", true, false }, { "session_id", false, false },
	{ "session_key", false, false }, { "title", false, false },
	{ "origin", false, true }, { "created_at", true, false },
	{ "updated_at", true, false }, { "messages", true, false },
	{ "current", true, false },
};

#define CONVERSATION_COLS "SELECT c.id, c.session_id, s.session_key," \
	" c.title, s.origin, c.created_at, coalesce((SELECT max(t.at)" \
	"  FROM transcript t WHERE t.conversation = c.id), c.created_at) AS last," \
	" (SELECT count(*) FROM transcript t WHERE t.conversation = c.id" \
	"  AND t.hidden = 0), s.conversation = c.id" \
	" FROM conversation c JOIN session s ON s.id = c.session" \
	" WHERE s.profile = ? AND c.end_reason IS NOT 'erased'"

struct look_job {
	struct job job;
	const char *ref, *from;
	int64_t before;
	size_t max;
};

static struct look_job *
look_new(struct store *store, const struct job_type *type, const char *ref)
{
	struct look_job *l = job_new(store, type, sizeof(*l));

	l->ref = job_key(&l->job, "session", ref);
	return l;
}

/* ---- one ------------------------------------------------------------------ */

static int
find_by(struct look_job *l, const struct q *q, struct json *found,
	struct err *err)
{
	char *prefix = mem_printf("%s%%", l->ref);
	int rc = q_list(db_query(q->db, err, CONVERSATION_COLS
	    " AND (c.session_id = ? OR c.title = ? COLLATE NOCASE"
	    "  OR (s.session_key = ? AND s.conversation = c.id)) LIMIT 3",
	    DB_S(q->profile), DB_S(l->ref), DB_S(l->ref), DB_S(l->ref)),
	    conversation_cols, ARRAY_LEN(conversation_cols), found, err);

	/* Ids are digits, letters and "_", which LIKE takes for any letter. */
	if (rc == 0 && json_len(found) == 0 &&
	    l->ref[0] != '\0' && strspn(l->ref, "0123456789abcdef_") ==
	    strlen(l->ref))
		rc = q_list(db_query(q->db, err, CONVERSATION_COLS
		    " AND c.session_id LIKE ? LIMIT 3", DB_S(q->profile),
		    DB_S(prefix)), conversation_cols,
		    ARRAY_LEN(conversation_cols), found, err);
	mem_free(prefix);
	return rc;
}

static int
find_run(struct job *job, const struct q *q, struct err *err)
{
	struct look_job *l = (struct look_job *)job;
	struct json *CLEANUP_JSON found = json_array();

	if (find_by(l, q, found, err) == -1)
		return -1;
	if (json_len(found) == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no session '%s'",
		    l->ref);
	if (json_len(found) > 1)
		return err_set(err, ERR_INVALID, "'%s' fits several sessions, "
		    "for example %s and %s", l->ref,
		    json_get_str(json_at(found, 0), "session_id", ""),
		    json_get_str(json_at(found, 1), "session_id", ""));
	job->json = json_clone(json_at(found, 0));
	json_remove(job->json, "id");
	return 0;
}

struct op *
store_conversation(struct store *store, const char *ref, store_json_cb *cb,
	void *arg)
{
	static const struct job_type type = {
		.name = "find a session", .flags = JOB_ASIDE,
		.result = JOB_JSON, .run = find_run,
	};

	return job_submit_json(&look_new(store, &type, ref)->job, cb, arg);
}

/* ---- all ------------------------------------------------------------------ */

static int
list_run(struct job *job, const struct q *q, struct err *err)
{
	struct look_job *l = (struct look_job *)job;
	struct json *list = json_array();

	job->json = json_object();
	json_set_take(job->json, "list", list);
	if (q_list(db_query(q->db, err, CONVERSATION_COLS
	    " AND c.id < ? ORDER BY c.id DESC LIMIT ?", DB_S(q->profile),
	    DB_I(l->before), DB_I(l->max)), conversation_cols,
	    ARRAY_LEN(conversation_cols), list, err) == -1)
		return -1;
	size_t n = json_len(list);
	json_set_int(job->json, "next", n < l->max ? 0 :
	    json_get_int(json_at(list, n - 1), "id", 0));
	return 0;
}

struct op *
store_conversations(struct store *store, int64_t before, size_t max,
	store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "list sessions", .flags = JOB_ASIDE,
		.result = JOB_JSON, .run = list_run,
	};
	struct look_job *l = look_new(store, &type, "");

	l->before = before > 0 ? before : INT64_MAX;
	l->max = max > 0 && max < LIST_MAX ? max : LIST_MAX;
	return job_submit_json(&l->job, cb, arg);
}

/* ---- entries -------------------------------------------------------------- */

/* A place is "generation:id" of the last entry read. */
static void
place_parse(const char *from, int64_t *ret_generation, int64_t *ret_id)
{
	char *end;

	*ret_generation = -1;
	*ret_id = 0;
	if (from[0] == '\0')
		return;
	*ret_generation = strtoll(from, &end, 10);
	if (*end == ':')
		*ret_id = strtoll(end + 1, NULL, 10);
}

static int
read_entries(struct look_job *l, struct db_rows *rows, struct json *entries,
	struct buf *next, struct err *err)
{
	size_t n = 0, bytes = 0;
	int rc = rows ? 1 : -1;

	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		size_t len = db_col_len(rows, 2);
		struct json *e = json_parse(db_col_text(rows, 2), len, NULL);

		bytes += len;
		if (e && !json_get(e, "at"))
			json_set_int(e, "at", db_col_int(rows, 3));
		if (e)
			json_add_take(entries, e);
		if (++n < l->max && bytes < READ_BYTES)
			continue;
		buf_printf(next, "%lld:%lld", (long long)db_col_int(rows, 0),
		    (long long)db_col_int(rows, 1));
		db_end(rows);
		return 0;
	}
	return rc;
}

static int
read_run(struct job *job, const struct q *q, struct err *err)
{
	struct look_job *l = (struct look_job *)job;
	struct json *entries = json_array();
	int64_t generation, id;
	struct buf next;

	job->json = json_object();
	json_set_take(job->json, "entries", entries);
	place_parse(l->from, &generation, &id);
	buf_init(&next, 64);
	int rc = read_entries(l, db_query(q->db, err, "SELECT t.generation, t.id,"
	    " t.body, t.at FROM transcript t"
	    " JOIN conversation c ON c.id = t.conversation"
	    " JOIN session s ON s.id = c.session"
	    " WHERE c.session_id = ? AND s.profile = ? AND t.hidden = 0"
	    " AND (t.generation, t.id) > (?, ?)"
	    " ORDER BY t.generation, t.id LIMIT ?", DB_S(l->ref),
	    DB_S(q->profile), DB_I(generation), DB_I(id), DB_I(l->max)),
	    entries, &next, err);
	json_set_str(job->json, "next", next.data);
	buf_done(&next);
	return rc;
}

struct op *
store_conversation_read(struct store *store, const char *session_id,
	const char *from, size_t max, store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "read a session", .flags = JOB_ASIDE,
		.result = JOB_JSON, .run = read_run,
	};
	struct look_job *l = look_new(store, &type, session_id);

	l->from = job_key(&l->job, "place", from);
	l->max = max > 0 && max < READ_MAX ? max : READ_MAX;
	return job_submit_json(&l->job, cb, arg);
}
