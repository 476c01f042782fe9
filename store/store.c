/*
 * The store as the loop sees it: opening, closing, which worker a call goes
 * to, and health.  The calls themselves are in q_*.c, one noun a file; the
 * transaction around them is in writer.c.
 */
#include "store/store.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/check.h"
#include "store/reader.h"
#include "store/retention.h"
#include "store/words.h"
#include "store/writer.h"

#define QUEUE_MAX 100000	/* calls not ended */
#define STALLED_MS 5000
#define DEAD_MS 60000
#define PROBE_MS 2000		/* between attempts to get out of trouble */

struct store {
	struct loop *loop;
	struct writer writer;		/* the writer thread's while it lives */
	struct reader reader;		/* the reader thread's */
	struct worker *write, *read;
	struct timer *probe;
	bool probing;			/* a probe is on its way */
	enum trouble trouble;		/* as the last job that came back said */
	uint64_t commits, jobs;
	int ops;			/* handles that callers hold */
	struct store_check *check;
	struct retention *retention;	/* NULL: read only */
	struct words_pump *pump;	/* the same */
};

static void probe_later(struct store *store);

/* ---- trouble ------------------------------------------------------------- */

static int
probe_run(struct job *job, const struct q *q, struct err *err)
{
	(void)job;
	return writer_probe(q->writer, err);
}

static void
probe_ended(struct job *job)
{
	job->store->probing = false;
	probe_later(job->store);
}

static void
on_probe(void *arg)
{
	static const struct job_type type = {
		.name = "probe", .flags = JOB_WRITES | JOB_PROBES,
		.run = probe_run, .ended = probe_ended,
	};
	struct store *store = arg;

	store->probe = NULL;
	store->probing = true;
	job_submit_own(job_new(store, &type, sizeof(struct job)));
}

/* Waits for nothing to arrive: in trouble nothing is accepted. */
static void
probe_later(struct store *store)
{
	if (store->trouble != TROUBLE_NONE && !store->probe && !store->probing)
		store->probe = loop_after(store->loop, PROBE_MS, "store probe",
		    on_probe, store);
}

void
store_note(struct store *store, const struct job *job)
{
	store->jobs++;
	if (job->committed)
		store->commits++;
	if (job->type->flags & JOB_ASIDE) {
		if (job->trouble == TROUBLE_DAMAGED)
			check_whole(store->check);
		return;
	}
	store->trouble = job->trouble;
	if (store->trouble == TROUBLE_DAMAGED)
		check_whole(store->check);
	probe_later(store);
}

/* ---- queueing ------------------------------------------------------------ */

struct loop *
store_loop(struct store *store)
{
	return store->loop;
}

void
store_op_count(struct store *store, int delta)
{
	store->ops += delta;
}

int
store_enqueue(struct store *store, struct job *job, struct err *err)
{
	unsigned flags = job->type->flags;
	bool writes = (flags & (JOB_WRITES | JOB_PROBES)) != 0;
	struct worker *w = flags & JOB_ASIDE || !store->write ?
	    store->read : store->write;

	if (writes && !store->write)
		return err_set(err, ERR_DENIED, "the store is open for reading "
		    "only");
	if (worker_depth(w) >= QUEUE_MAX)
		return err_set(err, ERR_LIMIT, "%d calls wait for the store",
		    QUEUE_MAX);
	worker_submit(w, &job->link);
	return 0;
}

/* ---- health -------------------------------------------------------------- */

static const char *
trouble_text(enum trouble trouble)
{
	switch (trouble) {
	case TROUBLE_NONE:
		return "";
	case TROUBLE_BUSY:
		return "the database is locked by another process";
	case TROUBLE_IO:
		return "the database cannot be written";
	case TROUBLE_FULL:
		return "disk full";
	case TROUBLE_MOVED:
		return "the database file was removed or replaced";
	case TROUBLE_DAMAGED:
		return "the database is damaged";
	}
	return "";
}

struct store_health
store_health(struct store *store)
{
	struct worker *w = store->write ? store->write : store->read;
	msec_t age = worker_oldest_ms(w);
	struct store_health h = {
		.ok = store->trouble == TROUBLE_NONE && age <= STALLED_MS,
		.stalled = age > STALLED_MS,
		.dead = age > DEAD_MS,
		.why = trouble_text(store->trouble),
		.depth = worker_depth(w),
		.commits = store->commits,
		.jobs = store->jobs,
	};

	if (h.ok && store->writer.notice)
		h.why = store->writer.notice;
	if (age > STALLED_MS)
		h.why = "store stalled";
	return h;
}

/* ---- life ---------------------------------------------------------------- */

static void
stamp_make(msec_t now, char *out, size_t size)
{
	time_t t = (time_t)(now / 1000);
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    strftime(out, size, "%Y%m%d-%H%M%S", &tm) == 0)
		out[0] = '\0';
}

static void
store_free(struct store *store)
{
	mem_free(store->writer.path);
	mem_free(store->writer.profile);
	mem_free(store->writer.notice);
	mem_free(store->reader.path);
	mem_free(store->reader.profile);
	mem_free(store);
}

/* The writer first: it creates, migrates and recovers what the reader opens. */
static int
store_start(struct store *store, bool read_only, struct err *err)
{
	if (!read_only) {
		store->write = worker_start(store->loop, &writer_ops,
		    &store->writer, err);
		if (!store->write)
			return -1;
	}
	store->read = worker_start(store->loop, &reader_ops, &store->reader, err);
	if (!store->read) {
		worker_stop(&store->write);
		return -1;
	}
	store->writer.reader = store->reader.db;
	store->trouble = store->writer.trouble;
	return 0;
}

struct store *
store_open(struct loop *loop, const struct store_opts *opts, struct err *err)
{
	const char *profile = opts->profile ? opts->profile : "main";
	struct store *store = mem_alloc(sizeof(*store));

	store->loop = loop;
	store->writer.path = mem_str(opts->path);
	store->writer.profile = mem_str(profile);
	stamp_make(loop_wall(loop), store->writer.stamp,
	    sizeof(store->writer.stamp));
	store->reader.path = mem_str(opts->path);
	store->reader.profile = mem_str(profile);
	store->reader.owner = !opts->read_only;
	if (store_start(store, opts->read_only, err) == -1) {
		store_free(store);
		return NULL;
	}
	store->check = check_new(store);
	if (!opts->read_only) {
		check_quick(store->check);
		store->retention = retention_start(store);
		store->pump = words_pump_start(store);
	}
	probe_later(store);
	return store;
}

void
store_close(struct store **storep)
{
	struct store *store = STEAL(*storep);

	if (!store)
		return;
	check_stop(store->check);
	retention_stop(store->retention);
	words_pump_stop(store->pump);
	REQUIRE(store->ops == 0);
	worker_stop(&store->write);
	worker_stop(&store->read);
	loop_cancel(&store->probe);
	check_free(&store->check);
	retention_free(&store->retention);
	words_pump_free(&store->pump);
	store_free(store);
}
