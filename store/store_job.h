/*
 * Private to store/: a job is one call of store.h on its way through a worker.
 * It owns copies of all arguments and its results (one arena), and is the op
 * that the caller holds.  Made and ended on the loop's thread; run() alone is
 * called on the worker's.
 */
#ifndef GATEHOUSE_STORE_JOB_H
#define GATEHOUSE_STORE_JOB_H

#include "base/worker.h"
#include "store/db.h"
#include "store/store.h"

/* Bounds of what a call may bring. */
#define JOB_KEY_MAX 512			/* ids, keys, names */
#define JOB_TEXT_MAX ((size_t)1 << 20)	/* words */
#define JOB_BODY_MAX ((size_t)4 << 20)	/* a transcript entry, a payload */
#define JOB_ROWS_MAX 1000		/* events, claims, entries, chunks a call */

struct writer;
struct words;

/* What run() works on. */
struct q {
	struct db *db;
	const char *profile;
	struct writer *writer;	/* NULL on the reader */
	struct words *words;	/* the reader's index of words, or NULL */
};

enum job_result { JOB_DONE, JOB_JSON, JOB_ACCEPT, JOB_ROWS };
enum {
	JOB_READS = 0,		/* on the writer, after all calls made before */
	JOB_WRITES = 1,
	JOB_OPENS = 2,		/* starts new work: refused while space is low */
	JOB_ASIDE = 4,		/* on the reader: may miss writes not awaited */
	JOB_PROBES = 8,		/* runs whatever the trouble */
};

/* Why the store can't be relied on; the worst last. */
enum trouble {
	TROUBLE_NONE,
	TROUBLE_BUSY,
	TROUBLE_IO,
	TROUBLE_FULL,		/* the reserve is spent */
	TROUBLE_MOVED,		/* the file was removed under us */
	TROUBLE_DAMAGED,
};

struct job;

struct job_type {
	const char *name;
	unsigned flags;
	enum job_result result;
	/* Worker thread. May run again after a rollback: results are set anew. */
	int (*run)(struct job *job, const struct q *q, struct err *err);
	/* Loop thread, for the store's own jobs: in place of a callback. */
	void (*ended)(struct job *job);
};

struct job {
	struct op op;			/* first: the caller's handle */
	struct worker_job link;
	struct store *store;
	const struct job_type *type;
	struct job_block *blocks;	/* the arena */
	size_t size;			/* of the caller's struct */
	struct timer *refused;		/* delivers a call that was not queued */
	bool awaited, abandoned;
	union {
		store_cb *done;
		store_json_cb *json;
		store_accept_cb *accept;
		store_rows_cb *rows;
	} cb;
	void *arg;

	bool failed;
	struct err err;
	struct json *json;
	struct accept_result accept;
	struct outbox_row *rows;
	size_t nrows;

	/* Written by the worker, read by the store afterwards. */
	enum trouble trouble;
	bool committed;			/* the last job of a committed group */
};

/* size: of the caller's struct, whose first member is a struct job. */
void *job_new(struct store *store, const struct job_type *type, size_t size);
void *job_alloc(struct job *job, size_t n, size_t size);	/* zeroed; any thread */
/* A copy; NULL stays NULL. Too long: the call fails with ERR_LIMIT. */
const char *job_str(struct job *job, const char *what, const char *s, size_t max);
const char *job_key(struct job *job, const char *what, const char *s);	/* "" for NULL */
const char *job_keep(struct job *job, const char *s);	/* no bound: from a row */
void job_fail(struct job *job, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

size_t job_bytes(const struct job *job);
/* What it is to do, as a job that nobody waits for; any thread. */
struct job *job_move(struct job *job);
void job_free(struct job *job);

void job_submit_own(struct job *job);	/* reports to type->ended */
/* Queue the call; NULL if cb is NULL. */
struct op *job_submit_done(struct job *job, store_cb *cb, void *arg);
struct op *job_submit_json(struct job *job, store_json_cb *cb, void *arg);
struct op *job_submit_accept(struct job *job, store_accept_cb *cb, void *arg);
struct op *job_submit_rows(struct job *job, store_rows_cb *cb, void *arg);

struct job *job_of(struct worker_job *link);
static inline struct job *
job_next(const struct job *job)
{
	return job->link.next ? job_of(job->link.next) : NULL;
}

/* store.c: chooses the worker, or says why not (0: queued). */
int store_enqueue(struct store *store, struct job *job, struct err *err);
void store_note(struct store *store, const struct job *job);	/* one came back */
struct loop *store_loop(struct store *store);
void store_op_count(struct store *store, int delta);

#endif
