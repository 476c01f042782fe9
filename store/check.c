#include "store/check.h"

#include "base/log.h"
#include "base/mem.h"
#include "store/reader.h"
#include "store/writer.h"

#define AGAIN_MS 30000	/* between full checks while the damage lasts */

struct store_check {
	struct store *store;
	bool busy;		/* a step is on the reader */
	struct timer *again;
	bool whole;		/* the check under way is a full one */
	bool stopped;
};

struct step_job {
	struct job job;
	struct store_check *check;
	const char *table;	/* NULL: everything */
};

struct verdict_job {
	struct job job;
	bool whole;
};

static void step_ended(struct job *job);

static int
step_run(struct job *job, const struct q *q, struct err *err)
{
	struct step_job *s = (struct step_job *)job;
	char *next;

	if (reader_check(q->db, s->table, &next, err) == -1)
		return -1;
	if (next)
		job->json = json_string(next);
	mem_free(next);
	return 0;
}

static void
step_start(struct store_check *check, const char *table)
{
	static const struct job_type type = {
		.name = "check the database", .flags = JOB_ASIDE,
		.run = step_run, .ended = step_ended,
	};
	struct step_job *s = job_new(check->store, &type, sizeof(*s));

	s->table = job_keep(&s->job, table);
	s->check = check;
	check->busy = true;
	job_submit_own(&s->job);
}

static int
verdict_run(struct job *job, const struct q *q, struct err *err)
{
	return writer_checked(q->writer, ((struct verdict_job *)job)->whole, err);
}

static void
verdict_ended(struct job *job)
{
	if (job->failed)
		log_error("store", NULL, "%s", job->err.text);
}

static void
verdict_send(struct store_check *check, bool whole)
{
	static const struct job_type type = {
		.name = "take note of a check", .flags = JOB_WRITES | JOB_PROBES,
		.run = verdict_run, .ended = verdict_ended,
	};
	struct verdict_job *v = job_new(check->store, &type, sizeof(*v));

	v->whole = whole;
	job_submit_own(&v->job);
}

static void
on_again(void *arg)
{
	struct store_check *check = arg;

	check->again = NULL;
	check_whole(check);
}

/* A damaged page may have been a bad read: the mount may come back. */
static void
step_failed(struct store_check *check, const struct err *err)
{
	log_error("store", NULL, "check: %s", err->text);
	if (err->code == ERR_INVALID)
		verdict_send(check, false);
	if (check->whole)
		check->again = loop_after(store_loop(check->store), AGAIN_MS,
		    "store check", on_again, check);
}

static void
step_ended(struct job *job)
{
	struct store_check *check = ((struct step_job *)job)->check;

	check->busy = false;
	if (check->stopped)
		return;
	if (job->failed)
		step_failed(check, &job->err);
	else if (job->json)
		step_start(check, json_str(job->json));
	else if (check->whole)
		verdict_send(check, true);
}

struct store_check *
check_new(struct store *store)
{
	struct store_check *check = mem_alloc(sizeof(*check));

	check->store = store;
	return check;
}

void
check_quick(struct store_check *check)
{
	step_start(check, "");
}

void
check_whole(struct store_check *check)
{
	if (check->stopped || check->busy || check->again)
		return;
	check->whole = true;
	step_start(check, NULL);
}

void
check_stop(struct store_check *check)
{
	check->stopped = true;
	loop_cancel(&check->again);
}

void
check_free(struct store_check **check)
{
	mem_free(STEAL(*check));
}
