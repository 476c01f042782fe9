#include "gateway/keeper.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/worker.h"
#include "gateway/config_table.h"
#include "gateway/config_write.h"

struct keeper {
	struct worker *worker;
	char *file;
};

/* The job belongs to the thread until it is done; the op to whoever waits. */
struct keep_op {
	struct op op;
	struct keep_job *job;
	keeper_cb *cb;
	void *arg;
};

struct keep_job {
	struct worker_job job;
	struct keeper *keeper;
	struct keep_op *op;		/* NULL: nobody waits any more */
	char *entry;
	struct err err;
};

static void
keep_cancel(struct op *op)
{
	struct keep_op *k = (struct keep_op *)op;

	k->job->op = NULL;
	mem_free(k);
}

static const struct op_type keep_type = { "keep an approval", keep_cancel };

static void
on_done(struct worker_job *wj)
{
	struct keep_job *job = (struct keep_job *)wj;
	struct keep_op *k = job->op;

	if (k) {
		op_finish(&k->op);
		k->cb(k->arg, job->err.code ? &job->err : NULL);
		mem_free(k);
	} else if (job->err.code) {
		log_error("keeper", NULL, "%s", job->err.text);
	}
	mem_free(job->entry);
	mem_free(job);
}

static void
run_batch(void *state, struct worker_job *jobs)
{
	struct keeper *keeper = state;

	for (struct worker_job *wj = jobs; wj; wj = wj->next) {
		struct keep_job *job = (struct keep_job *)wj;

		job->err.code = ERR_NONE;
		(void)config_write_add(keeper->file,
		    config_key_find("command_allowlist"), job->entry, &job->err);
	}
}

struct keeper *
keeper_new(struct loop *loop, const char *file, struct err *err)
{
	static const struct worker_ops ops = {
		.name = "keeper", .run_batch = run_batch,
	};
	struct keeper *k = mem_alloc(sizeof(*k));

	k->file = mem_str(file);
	k->worker = worker_start(loop, &ops, k, err);
	if (!k->worker)
		keeper_free(&k);
	return k;
}

void
keeper_free(struct keeper **kp)
{
	if (!*kp)
		return;
	struct keeper *k = STEAL(*kp);

	worker_stop(&k->worker);
	mem_free(k->file);
	mem_free(k);
}

struct op *
keeper_add(struct keeper *keeper, const char *entry, keeper_cb *cb, void *arg)
{
	struct keep_op *k = mem_alloc(sizeof(*k));
	struct keep_job *job = mem_alloc(sizeof(*job));

	op_init(&k->op, &keep_type);
	k->cb = cb;
	k->arg = arg;
	k->job = job;
	job->job.done = on_done;
	job->keeper = keeper;
	job->op = k;
	job->entry = mem_str(entry);
	worker_submit(keeper->worker, &job->job);
	return &k->op;
}
