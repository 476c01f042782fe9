#include "store/writer.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/reserve.h"
#include "store/schema.h"

#define GROUP_MAX 256		/* jobs a transaction: bounds its length */
#define WAL_INTERRUPT 8192	/* frames (32 MB): our own reader has to yield */

static bool kept_run(struct writer *w);

/* ---- opening ------------------------------------------------------------- */

static int
open_once(struct writer *w, struct err *err, enum db_trouble *ret_trouble)
{
	w->db = db_open(w->path, DB_OWNER, err, ret_trouble);
	if (!w->db)
		return -1;
	int rc = schema_migrate(w->db, err);
	if (rc == 0 && damage_marked(w->path)) {
		struct db_rows *rows = db_query(w->db, err, "PRAGMA quick_check(1)");

		rc = rows ? db_next(rows, err) : -1;
		if (rc == 1) {
			if (strcmp(db_col_text(rows, 0), "ok") != 0)
				rc = err_set(err, ERR_IO, "%s is damaged: %s",
				    w->path, db_col_text(rows, 0));
			db_end(rows);
		}
		if (rc == -1)
			*ret_trouble = DB_CORRUPT;
	}
	if (rc != -1)
		return 0;
	if (*ret_trouble == DB_FINE)
		*ret_trouble = db_trouble(w->db);
	db_close(&w->db);
	return -1;
}

/* The person must learn of it: the notice stays in the store's health. */
static int
open_anew(struct writer *w, struct err *err)
{
	enum db_trouble trouble;
	struct err cause = *err;

	if (damage_set_aside(w->path, w->stamp, err) == -1)
		return -1;
	w->notice = mem_printf("the database was damaged (%s): it is kept as "
	    "%s.damaged-%s and a new one was started: earlier conversations "
	    "are not known", cause.text, w->path, w->stamp);
	log_error("store", NULL, "%s", w->notice);
	return open_once(w, err, &trouble);
}

static int
on_init(void *state, struct err *err)
{
	struct writer *w = state;
	enum db_trouble trouble = DB_FINE;
	struct err full;

	if (access(w->path, F_OK) == -1 && reserve_exists(w->path)) {
		w->notice = mem_printf("the database %s is gone: a new one was "
		    "started", w->path);
		log_error("store", NULL, "%s", w->notice);
	}
	int rc = open_once(w, err, &trouble);
	if (rc == -1 && trouble == DB_FULL && reserve_spend(w->path))
		rc = open_once(w, err, &trouble);
	if (rc == -1 && trouble == DB_CORRUPT)
		rc = open_anew(w, err);
	if (rc == -1)
		return -1;
	if (reserve_make(w->path, WRITER_RESERVE, &full) == -1) {
		w->trouble = TROUBLE_FULL;
		log_error("store", NULL, "disk full: %s", full.text);
	}
	return 0;
}

static void
on_fini(void *state)
{
	struct writer *w = state;

	kept_clear(&w->kept, kept_run(w));
	db_close(&w->db);
}

/* ---- trouble ------------------------------------------------------------- */

static void
trouble_set(struct writer *w, enum trouble trouble, const char *why)
{
	if (w->trouble == trouble)
		return;
	if (trouble == TROUBLE_NONE)
		log_info("store", NULL, "%s works again", w->path);
	else
		log_error("store", NULL, "%s", why);
	w->trouble = trouble;
}

/* A group committed: what only a commit can disprove is over. */
static void
trouble_passed(struct writer *w)
{
	if (w->trouble == TROUBLE_BUSY || w->trouble == TROUBLE_IO)
		trouble_set(w, TROUBLE_NONE, "");
}

static void
trouble_met(struct writer *w, const struct err *err)
{
	static const enum trouble kinds[] = {
		[DB_FINE] = TROUBLE_IO, [DB_FULL] = TROUBLE_FULL,
		[DB_BUSY] = TROUBLE_BUSY, [DB_CORRUPT] = TROUBLE_DAMAGED,
		[DB_IO] = TROUBLE_IO,
	};
	enum trouble met = kinds[db_trouble(w->db)];

	if (met > w->trouble)
		trouble_set(w, met, err->text);
}

static const char *
trouble_refuses(const struct writer *w, const struct job_type *type)
{
	if (type->flags & JOB_PROBES)
		return NULL;
	if (w->trouble == TROUBLE_FULL && (type->flags & JOB_OPENS))
		return "the disk is full";
	if (w->trouble == TROUBLE_MOVED && (type->flags & JOB_WRITES))
		return "the database file was removed or replaced: put it back "
		    "or restart";
	if (w->trouble == TROUBLE_DAMAGED && (type->flags & JOB_WRITES))
		return "the database is damaged: restart sets it aside";
	return NULL;
}

static int
reopen(struct writer *w, struct err *err)
{
	enum db_trouble trouble;

	struct db *fresh = db_open(w->path, DB_OWNER, err, &trouble);
	if (!fresh)
		return -1;
	db_close(&w->db);
	w->db = fresh;
	return 0;
}

int
writer_checked(struct writer *w, bool whole, struct err *err)
{
	if (!whole) {
		damage_mark(w->path);
		trouble_set(w, TROUBLE_DAMAGED, "a check found the database "
		    "damaged: nothing is accepted; restart sets it aside");
		return 0;
	}
	if (w->trouble != TROUBLE_DAMAGED)
		return 0;
	damage_unmark(w->path);
	if (reopen(w, err) == -1)
		return -1;
	trouble_set(w, TROUBLE_NONE, "");
	return 0;
}

int
writer_probe(struct writer *w, struct err *err)
{
	if (w->trouble == TROUBLE_MOVED && !db_moved(w->db))
		trouble_set(w, TROUBLE_NONE, "");
	if (w->trouble == TROUBLE_FULL) {
		if (reserve_make(w->path, WRITER_RESERVE, err) == -1)
			return -1;
		trouble_set(w, TROUBLE_NONE, "");
	}
	if (w->trouble != TROUBLE_BUSY && w->trouble != TROUBLE_IO)
		return 0;
	/* The commit around this row is the proof. */
	return db_run(w->db, err, "INSERT OR REPLACE INTO meta(profile, key, value)"
	    " VALUES(?, 'store.probe', ?)", DB_S(w->profile), DB_S(w->stamp));
}

/* ---- groups -------------------------------------------------------------- */

static void
job_reset(struct job *job)
{
	job->failed = false;
	json_free(&job->json);
	job->rows = NULL;
	job->nrows = 0;
}

/* In its savepoint. -1: the engine failed, the whole group is lost. */
static int
job_run(struct writer *w, struct job *job, struct err *err)
{
	struct q q = { .db = w->db, .profile = w->profile, .writer = w };
	const char *no = trouble_refuses(w, job->type);

	job_reset(job);
	if (no) {
		job_fail(job, ERR_UNAVAILABLE, "%s: %s", job->type->name, no);
		return 0;
	}
	if (db_run(w->db, err, "SAVEPOINT job") == -1)
		return -1;
	job->err = (struct err){ .code = ERR_NONE };
	if (job->type->run(job, &q, &job->err) == -1) {
		job->failed = true;
		if (db_trouble(w->db) != DB_FINE || !db_in_transaction(w->db)) {
			*err = job->err;
			return -1;
		}
		if (db_run(w->db, err, "ROLLBACK TO job") == -1)
			return -1;
	}
	return db_run(w->db, err, "RELEASE job");
}

static int
group_try(struct writer *w, struct job *first, size_t n, bool writes,
	struct err *err)
{
	struct job *job = first;

	db_trouble_clear(w->db);
	if ((writes ? db_run(w->db, err, "BEGIN IMMEDIATE") :
	    db_run(w->db, err, "BEGIN")) == -1)
		return -1;
	for (size_t i = 0; i < n; i++, job = job_next(job))
		if (job_run(w, job, err) == -1)
			return -1;
	return db_run(w->db, err, "COMMIT");
}

static void
group_undo(struct writer *w)
{
	if (db_in_transaction(w->db))
		(void)db_run(w->db, NULL, "ROLLBACK");	/* nothing to tell: undone */
}

static void
group_fail(struct job *first, size_t n, const struct err *err)
{
	struct job *job = first;

	for (size_t i = 0; i < n; i++, job = job_next(job)) {
		job_reset(job);
		job->failed = true;
		job->err = *err;
	}
}

/* Takes all jobs of a group or none; the first shortage spends the reserve. */
static bool
group_run(struct writer *w, struct job *first, size_t n, bool writes)
{
	struct err err;

	if (group_try(w, first, n, writes, &err) == 0)
		return true;
	group_undo(w);
	if (db_trouble(w->db) == DB_FULL && reserve_spend(w->path)) {
		trouble_met(w, &err);
		if (group_try(w, first, n, writes, &err) == 0)
			return true;
		group_undo(w);
	}
	trouble_met(w, &err);
	group_fail(first, n, &err);
	return false;
}

/* ---- kept writes ----------------------------------------------------------- */

/* True: nothing is left that would have to go first. */
static bool
kept_run(struct writer *w)
{
	struct kept *kept = &w->kept;

	if (kept->n == 0)
		return true;
	if (w->trouble == TROUBLE_MOVED || w->trouble == TROUBLE_DAMAGED ||
	    !group_run(w, kept->first, kept->n, true))
		return false;
	kept_clear(kept, true);
	return true;
}

static bool
is_write(const struct job *job)
{
	return job->type->flags & JOB_WRITES && !(job->type->flags & JOB_PROBES);
}

/* No write overtakes what is kept: each job by itself, writes not at all. */
static void
group_hold(struct writer *w, struct job *first, size_t n)
{
	struct job *job = first;

	for (size_t i = 0; i < n; i++, job = job_next(job)) {
		if (is_write(job))
			group_fail(job, 1, &w->kept.why);
		else
			(void)group_run(w, job, 1, true);	/* it tells its caller */
	}
}

/* Nobody would try it again; what only the arguments are to blame for is told. */
static void
group_keep(struct writer *w, struct job *first, size_t n, bool done)
{
	struct job *job = first;

	for (size_t i = 0; i < n; i++, job = job_next(job))
		if (job->failed && is_write(job) && !job->awaited &&
		    !job->type->ended &&
		    (!done || trouble_refuses(w, job->type)))
			kept_add(&w->kept, job);
}

static struct job *
group_next(struct writer *w, struct job *first)
{
	struct job *job = first, *last = first;
	bool writes = false, done = false;
	size_t n = 0;

	if (db_moved(w->db))
		trouble_set(w, TROUBLE_MOVED, "the database file was removed or "
		    "replaced: nothing is accepted");
	for (; job && n < GROUP_MAX; job = job_next(job), n++) {
		writes |= (job->type->flags & (JOB_WRITES | JOB_PROBES)) != 0;
		last = job;
	}
	if (kept_run(w))
		done = group_run(w, first, n, writes);
	else
		group_hold(w, first, n);
	group_keep(w, first, n, done);
	if (done && writes)
		trouble_passed(w);
	last->committed = done && writes;
	for (struct job *j = first; j != job; j = job_next(j))
		j->trouble = w->trouble;
	if (w->reader && db_wal_frames(w->db) > WAL_INTERRUPT)
		db_interrupt(w->reader);
	return job;
}

static void
on_batch(void *state, struct worker_job *jobs)
{
	struct writer *w = state;

	for (struct job *job = job_of(jobs); job; )
		job = group_next(w, job);
}

const struct worker_ops writer_ops = {
	.name = "store-writer",
	.init = on_init,
	.run_batch = on_batch,
	.fini = on_fini,
};
