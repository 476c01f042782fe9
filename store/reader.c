#include "store/reader.h"

#include <string.h>

#include "base/mem.h"
#include "store/schema.h"
#include "store/words.h"

static int
on_init(void *state, struct err *err)
{
	struct reader *r = state;
	enum db_trouble trouble;

	r->db = db_open(r->path, DB_READER, err, &trouble);
	if (!r->db)
		return -1;
	if (schema_check(r->db, err) == 0) {
		r->words = words_new(r->path, r->owner);
		return 0;
	}
	db_close(&r->db);
	return err_wrap(err, "%s", r->path);
}

static void
on_fini(void *state)
{
	struct reader *r = state;

	words_free(&r->words);
	db_close(&r->db);
}

/* Each job is a read transaction of its own, so that none holds the log long. */
static void
run_one(struct reader *r, struct job *job)
{
	struct q q = { .db = r->db, .profile = r->profile, .words = r->words };
	struct err err;

	db_trouble_clear(r->db);
	job->failed = db_run(r->db, &job->err, "BEGIN") == -1 ||
	    job->type->run(job, &q, &job->err) == -1;
	/* Ends the snapshot; nothing was written that could be lost. */
	if (db_in_transaction(r->db) && db_run(r->db, &err, "COMMIT") == -1)
		(void)db_run(r->db, NULL, "ROLLBACK");
	job->trouble = db_trouble(r->db) == DB_CORRUPT ? TROUBLE_DAMAGED :
	    TROUBLE_NONE;
}

static void
on_batch(void *state, struct worker_job *jobs)
{
	for (struct job *job = job_of(jobs); job; job = job_next(job))
		run_one(state, job);
}

static int
check_result(struct db_rows *rows, struct err *err)
{
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	const char *text = db_col_text(rows, 0);
	rc = strcmp(text, "ok") == 0 ? 0 :
	    err_set(err, ERR_INVALID, "the database is damaged: %s", text);
	db_end(rows);
	return rc;
}

int
reader_check(struct db *db, const char *table, char **ret_next, struct err *err)
{
	*ret_next = NULL;
	/* The file itself is to be looked at, not what was read of it before. */
	if (!table && db_run(db, err, "PRAGMA shrink_memory") == -1)
		return -1;
	if (!table)
		return check_result(db_query(db, err, "PRAGMA integrity_check(1)"),
		    err);
	if (table[0] != '\0' && check_result(db_query(db, err, "SELECT *"
	    " FROM pragma_quick_check(?)", DB_S(table)), err) == -1)
		return -1;
	struct db_rows *rows = db_query(db, err, "SELECT name FROM sqlite_schema"
	    " WHERE type = 'table' AND name > ? ORDER BY name LIMIT 1",
	    DB_S(table));
	int rc = rows ? db_next(rows, err) : -1;
	if (rc == 1) {
		*ret_next = mem_str(db_col_text(rows, 0));
		db_end(rows);
	}
	return rc == -1 ? -1 : 0;
}

const struct worker_ops reader_ops = {
	.name = "store-reader",
	.init = on_init,
	.run_batch = on_batch,
	.fini = on_fini,
};
