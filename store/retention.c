#include "store/retention.h"

#include "base/log.h"
#include "base/mem.h"
#include "store/q.h"

/*
 * Keys of inbound events are kept longer than any platform repeats one
 * (rules 1.2: 72 h); rows with a resend button longer still.
 */
#define DAY_MS ((msec_t)24 * 60 * 60 * 1000)
#define KEEP_MS (7 * DAY_MS)
#define KEEP_LONG_MS (30 * DAY_MS)
#define TICK_MS ((msec_t)10 * 60 * 1000)	/* the clocks must agree this long */
#define DRIFT_MS 5000
#define SLICE 500		/* rows of a table deleted in one job */

struct retention {
	struct store *store;
	struct timer *timer;
	msec_t wall, mono;	/* at the last tick */
	int64_t after;
	bool stopped;
};

struct slice_job {
	struct job job;
	struct retention *retention;
	msec_t now;
	int64_t after;		/* run id; result: for the next slice */
	bool more;		/* result: not at the end yet */
};

static void on_tick(void *arg);

/* ---- writer thread -------------------------------------------------------- */

/* Only the oldest rows are looked at, however many are stored. */
#define OLDEST(table) "(SELECT * FROM " table " ORDER BY id LIMIT 2000)"

static int
slice_inbox(struct slice_job *s, const struct q *q, struct err *err)
{
	return db_run(q->db, err, "DELETE FROM inbox WHERE id IN (SELECT id FROM "
	    OLDEST("inbox") " WHERE (state IN ('answered', 'stopped', 'recorded')"
	    " AND accepted_at < ?) OR (state = 'parked' AND accepted_at < ?)"
	    " LIMIT ?)", DB_I(s->now - KEEP_MS), DB_I(s->now - KEEP_LONG_MS),
	    DB_I(SLICE));
}

static int
slice_outbox(struct slice_job *s, const struct q *q, struct err *err)
{
	return db_run(q->db, err, "DELETE FROM outbox WHERE id IN (SELECT id FROM "
	    OLDEST("outbox") " WHERE (state IN ('delivered', 'replaced',"
	    " 'withdrawn') AND updated_at < ?) OR (state IN ('unknown', 'refused', 'parked')"
	    " AND updated_at < ?) LIMIT ?)", DB_I(s->now - KEEP_MS),
	    DB_I(s->now - KEEP_LONG_MS), DB_I(SLICE));
}

static int
slice_approvals(struct slice_job *s, const struct q *q, struct err *err)
{
	return db_run(q->db, err, "DELETE FROM approval WHERE (profile, id) IN"
	    " (SELECT profile, id FROM approval WHERE state = 'closed'"
	    " AND closed_at < ? LIMIT ?)", DB_I(s->now - KEEP_MS), DB_I(SLICE));
}

/*
 * Runs that nothing refers to any more.  Some stay, so the walk goes on from
 * where the last slice ended.
 */
#define OLD_RUNS "(SELECT r.id FROM (SELECT * FROM run WHERE id > ?" \
	" ORDER BY id LIMIT 500) r" \
	" WHERE r.state <> 'open' AND r.ended_at < ?" \
	" AND NOT EXISTS(SELECT 1 FROM inbox i WHERE i.run = r.id)" \
	" AND NOT EXISTS(SELECT 1 FROM outbox o WHERE o.run = r.id)" \
	" AND NOT EXISTS(SELECT 1 FROM approval a WHERE a.run = r.id)" \
	" AND NOT EXISTS(SELECT 1 FROM tool t WHERE t.run = r.id" \
	"  AND t.state IN ('started', 'lost')))"

static int
slice_runs(struct slice_job *s, const struct q *q, struct err *err)
{
	int64_t next = 0;

	if (db_int(q->db, err, &next, "SELECT max(id) FROM (SELECT id FROM run"
	    " WHERE id > ? ORDER BY id LIMIT 500) HAVING max(id) IS NOT NULL",
	    DB_I(s->after)) == -1 ||
	    db_run(q->db, err, "DELETE FROM tool WHERE run IN " OLD_RUNS,
	    DB_I(s->after), DB_I(s->now - KEEP_MS)) == -1 ||
	    db_run(q->db, err, "DELETE FROM run WHERE id IN " OLD_RUNS,
	    DB_I(s->after), DB_I(s->now - KEEP_MS)) == -1)
		return -1;
	s->after = next;	/* 0: the end was reached */
	s->more |= next != 0;
	return 0;
}

/* 1 if the wall clock is not behind what is stored. */
static int
clock_ahead(const struct slice_job *s, const struct q *q, struct err *err)
{
	int64_t newest = 0;

	if (db_int(q->db, err, &newest, "SELECT max(coalesce((SELECT accepted_at"
	    " FROM inbox ORDER BY id DESC LIMIT 1), 0), coalesce((SELECT"
	    " updated_at FROM outbox ORDER BY id DESC LIMIT 1), 0))") == -1)
		return -1;
	return s->now >= newest;
}

static int
slice_run(struct job *job, const struct q *q, struct err *err)
{
	static int (*const parts[])(struct slice_job *, const struct q *,
	    struct err *) = {
		slice_inbox, slice_outbox, slice_approvals, slice_runs,
	};
	struct slice_job *s = (struct slice_job *)job;
	int rc = clock_ahead(s, q, err);

	s->more = false;
	if (rc != 1)
		return rc;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i](s, q, err) == -1)
			return -1;
		s->more |= db_changes(q->db) > 0;
	}
	return 0;
}

/* ---- loop thread ---------------------------------------------------------- */

static void
tick_later(struct retention *r)
{
	r->wall = loop_wall(store_loop(r->store));
	r->mono = loop_now(store_loop(r->store));
	r->timer = loop_after(store_loop(r->store), TICK_MS, "store retention",
	    on_tick, r);
}

static void slice_start(struct retention *r);

static void
slice_ended(struct job *job)
{
	struct slice_job *s = (struct slice_job *)job;
	struct retention *r = s->retention;

	if (r->stopped)
		return;
	if (job->failed && job->trouble == TROUBLE_NONE)
		log_error("store", NULL, "delete what is old: %s", job->err.text);
	r->after = job->failed ? 0 : s->after;
	if (!job->failed && s->more)
		slice_start(r);
	else
		tick_later(r);
}

static void
slice_start(struct retention *r)
{
	static const struct job_type type = {
		.name = "delete what is old", .flags = JOB_WRITES,
		.run = slice_run, .ended = slice_ended,
	};
	struct slice_job *s = job_new(r->store, &type, sizeof(*s));

	s->retention = r;
	s->after = r->after;
	s->now = loop_wall(store_loop(r->store));
	job_submit_own(&s->job);
}

static void
on_tick(void *arg)
{
	struct retention *r = arg;
	msec_t wall = loop_wall(store_loop(r->store)) - r->wall;
	msec_t mono = loop_now(store_loop(r->store)) - r->mono;

	r->timer = NULL;
	if (wall - mono > DRIFT_MS || mono - wall > DRIFT_MS)
		tick_later(r);
	else
		slice_start(r);
}

struct retention *
retention_start(struct store *store)
{
	struct retention *r = mem_alloc(sizeof(*r));

	r->store = store;
	tick_later(r);
	return r;
}

void
retention_stop(struct retention *r)
{
	if (!r)
		return;
	r->stopped = true;
	loop_cancel(&r->timer);
}

void
retention_free(struct retention **r)
{
	mem_free(STEAL(*r));
}
