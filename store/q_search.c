/*
 * Searching what was said: newest first, in pages.  What the index of words has
 * is looked up there, the newest entries (and all, where there is no index, or
 * the text is too short for it) are looked through.
 */
#include "store/q.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/words.h"

#define SEARCH_ENTRIES 5000	/* looked through in one call */
#define FOUND_MAX 200		/* candidates of the index looked at in one call */

struct search_job {
	struct job job;
	const char *words;
	int64_t before;
};

/* % and _ are words like all others. */
static char *
like_pattern(const char *words)
{
	struct buf b;

	buf_init(&b, 2 * JOB_KEY_MAX + 2);
	buf_add_char(&b, '%');
	for (const char *p = words; *p; p++) {
		if (strchr("%_\\", *p))
			buf_add_char(&b, '\\');
		buf_add_char(&b, *p);
	}
	buf_add_char(&b, '%');
	return buf_take(&b);
}

/* The entries between two ids, at most max of them, that have the words. */
static int
search_list(const struct q *q, const struct search_job *s, int64_t above,
	int64_t before, int64_t max, struct json *matches, struct err *err)
{
	static const struct q_col cols[] = {
		{ "session_id", false, false }, { "title", false, false },
		{ "role", false, false }, { "at", true, false },
		{ "text", false, false },
	};
	CLEANUP_FREE char *pattern = like_pattern(s->words);

	return q_list(db_query(q->db, err, "SELECT c.session_id, c.title,"
	    " json_extract(t.body, '$.role'), t.at, substr(t.words,"
	    "  max(1, instr(lower(t.words), lower(?)) - 60), 160)"
	    " FROM (SELECT *, " Q_ENTRY_WORDS " AS words"
	    "  FROM transcript WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?) t"
	    " JOIN conversation c ON c.id = t.conversation"
	    " JOIN session s ON s.id = c.session"
	    " WHERE t.hidden = 0 AND s.profile = ?"
	    " AND t.words LIKE ? ESCAPE '\\' ORDER BY t.id DESC",
	    DB_S(s->words), DB_I(above), DB_I(before), DB_I(max),
	    DB_S(q->profile), DB_S(pattern)), cols, ARRAY_LEN(cols), matches, err);
}

/* *ret_next: where the next call goes on; what the index has comes last. */
static int
search_through(const struct q *q, const struct search_job *s, int64_t upto,
	struct json *matches, int64_t *ret_next, struct err *err)
{
	*ret_next = upto > 0 ? upto + 1 : 0;
	if (search_list(q, s, upto, s->before, SEARCH_ENTRIES, matches,
	    err) == -1)
		return -1;
	return db_int(q->db, err, ret_next, "SELECT id FROM transcript"
	    " WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?",
	    DB_I(upto), DB_I(s->before), DB_I(SEARCH_ENTRIES - 1)) == -1 ? -1 : 0;
}

/* 1: done, 0: the index can't tell. */
static int
search_index(const struct q *q, const struct search_job *s,
	struct json *matches, int64_t *ret_next, struct err *err)
{
	int64_t ids[FOUND_MAX];
	size_t n;

	if (words_find(q->words, s->words, s->before, ids, FOUND_MAX, &n) == -1)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (search_list(q, s, ids[i] - 1, ids[i] + 1, 1, matches,
		    err) == -1)
			return -1;
	*ret_next = n < FOUND_MAX ? 0 : ids[n - 1];
	return 1;
}

static int
search_run(struct job *job, const struct q *q, struct err *err)
{
	struct search_job *s = (struct search_job *)job;
	struct json *matches = json_array();
	int64_t next = 0, upto = 0;
	int rc = 0;

	job->json = json_object();
	json_set_take(job->json, "matches", matches);
	if (q->words && words_can_find(s->words))
		words_upto(q->words, q, &upto);
	if (upto > 0 && s->before <= upto + 1)
		rc = search_index(q, s, matches, &next, err);
	if (rc == 0)
		rc = search_through(q, s, s->before <= upto + 1 ? 0 : upto,
		    matches, &next, err);
	if (rc == -1)
		return -1;
	json_set_int(job->json, "next", next);
	return 0;
}

struct op *
store_search(struct store *store, const char *words, int64_t before,
	store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "search", .flags = JOB_ASIDE,
		.result = JOB_JSON, .run = search_run,
	};
	struct search_job *s = job_new(store, &type, sizeof(*s));

	s->words = job_key(&s->job, "words", words);
	if (s->words[0] == '\0')
		job_fail(&s->job, ERR_INVALID, "search: no words");
	s->before = before > 0 ? before : INT64_MAX;
	return job_submit_json(&s->job, cb, arg);
}
