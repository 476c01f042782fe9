/* The ledger of what we own outside; and a copy of everything. */
#include "store/q.h"

#include "base/mem.h"

struct ledger_job {
	struct job job;
	const char *kind, *id, *row;	/* backup: row is the path */
};

static int
put_run(struct job *job, const struct q *q, struct err *err)
{
	struct ledger_job *l = (struct ledger_job *)job;

	return db_run(q->db, err, "INSERT OR REPLACE INTO ledger(profile, kind,"
	    " id, row) VALUES(?, ?, ?, ?)", DB_S(q->profile), DB_S(l->kind),
	    DB_S(l->id), DB_S(l->row));
}

struct op *
store_ledger_put(struct store *store, const char *kind, const char *id,
	const struct json *row, store_cb *cb, void *arg)
{
	/* Not JOB_OPENS: what exists outside must be known, full disk or not. */
	static const struct job_type type = {
		.name = "write the ledger", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = put_run,
	};
	struct ledger_job *l = job_new(store, &type, sizeof(*l));
	char *text = json_text(row);

	l->kind = job_key(&l->job, "kind", kind);
	l->id = job_key(&l->job, "id", id);
	l->row = job_str(&l->job, "the row", text, JOB_TEXT_MAX);
	mem_free(text);
	return job_submit_done(&l->job, cb, arg);
}

static int
remove_run(struct job *job, const struct q *q, struct err *err)
{
	struct ledger_job *l = (struct ledger_job *)job;

	return db_run(q->db, err, "DELETE FROM ledger WHERE profile = ?"
	    " AND kind = ? AND id = ?", DB_S(q->profile), DB_S(l->kind),
	    DB_S(l->id));
}

struct op *
store_ledger_remove(struct store *store, const char *kind, const char *id,
	store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "strike from the ledger", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = remove_run,
	};
	struct ledger_job *l = job_new(store, &type, sizeof(*l));

	l->kind = job_key(&l->job, "kind", kind);
	l->id = job_key(&l->job, "id", id);
	return job_submit_done(&l->job, cb, arg);
}

static int
list_run(struct job *job, const struct q *q, struct err *err)
{
	static const struct q_col cols[] = {
		{ "id", false, false }, { "row", false, true },
	};

	job->json = json_array();
	return q_list(db_query(q->db, err, "SELECT id, row FROM ledger"
	    " WHERE profile = ? AND kind = ? ORDER BY id LIMIT 100000",
	    DB_S(q->profile), DB_S(((struct ledger_job *)job)->kind)),
	    cols, ARRAY_LEN(cols), job->json, err);
}

struct op *
store_ledger_list(struct store *store, const char *kind, store_json_cb *cb,
	void *arg)
{
	static const struct job_type type = {
		.name = "read the ledger", .flags = JOB_READS,
		.result = JOB_JSON, .run = list_run,
	};
	struct ledger_job *l = job_new(store, &type, sizeof(*l));

	l->kind = job_key(&l->job, "kind", kind);
	return job_submit_json(&l->job, cb, arg);
}

static int
backup_run(struct job *job, const struct q *q, struct err *err)
{
	return db_copy(q->db, ((struct ledger_job *)job)->row, err);
}

struct op *
store_backup(struct store *store, const char *path, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "backup", .flags = JOB_ASIDE,
		.result = JOB_DONE, .run = backup_run,
	};
	struct ledger_job *l = job_new(store, &type, sizeof(*l));

	l->row = job_str(&l->job, "the path", path, JOB_TEXT_MAX);
	return job_submit_done(&l->job, cb, arg);
}
