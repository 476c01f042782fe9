/*
 * Accounts at platforms: their ids, their cursors, and chats that got a new
 * id (the old one stays known, so that a run under way keeps its route).
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

int
q_source(const struct q *q, const char *platform, const char *account,
	int64_t *ret_id, struct err *err)
{
	int rc = db_int(q->db, err, ret_id, "SELECT id FROM source"
	    " WHERE profile = ? AND platform = ? AND account = ?",
	    DB_S(q->profile), DB_S(platform), DB_S(account));

	if (rc != 0)
		return rc == 1 ? 0 : -1;
	if (db_run(q->db, err, "INSERT INTO source(profile, platform, account)"
	    " VALUES(?, ?, ?)", DB_S(q->profile), DB_S(platform),
	    DB_S(account)) == -1)
		return -1;
	*ret_id = db_last_id(q->db);
	return 0;
}

int
q_chat_now(const struct q *q, struct job *job, int64_t source,
	const char *chat_id, const char **ret_chat, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT new_id FROM chat_alias"
	    " WHERE source = ? AND old_id = ?", DB_I(source), DB_S(chat_id));
	int rc = rows ? db_next(rows, err) : -1;

	*ret_chat = chat_id;
	if (rc == 1) {
		*ret_chat = job_keep(job, db_col_text(rows, 0));
		db_end(rows);
	}
	return rc == -1 ? -1 : 0;
}

/* ---- cursor -------------------------------------------------------------- */

struct cursor_job {
	struct job job;
	const char *platform, *account;
};

static int
cursor_run(struct job *job, const struct q *q, struct err *err)
{
	struct cursor_job *c = (struct cursor_job *)job;
	struct db_rows *rows = db_query(q->db, err, "SELECT cursor, cursor_at"
	    " FROM source WHERE profile = ? AND platform = ? AND account = ?"
	    " AND cursor IS NOT NULL",
	    DB_S(q->profile), DB_S(c->platform), DB_S(c->account));
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	job->json = json_object();
	json_set_str(job->json, "value", db_col_text(rows, 0));
	json_set_int(job->json, "at", db_col_int(rows, 1));
	db_end(rows);
	return 0;
}

struct op *
store_cursor_get(struct store *store, const char *platform, const char *account,
	store_json_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "read the cursor", .flags = JOB_READS,
		.result = JOB_JSON, .run = cursor_run,
	};
	struct cursor_job *c = job_new(store, &type, sizeof(*c));

	c->platform = job_key(&c->job, "platform", platform);
	c->account = job_key(&c->job, "account", account);
	return job_submit_json(&c->job, cb, arg);
}
