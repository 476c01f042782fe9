#include "base/offload.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/worker.h"

struct offload {
	struct worker *worker;
};

struct piece {
	struct op op;
	struct worker_job job;
	const struct offload_work *work;
	void *data, *arg;
	atomic_bool cancelled;
};

static struct piece *
piece_of(struct worker_job *job)
{
	return (struct piece *)(void *)((char *)job -
	    offsetof(struct piece, job));
}

static void
run_batch(void *state, struct worker_job *jobs)
{
	(void)state;
	for (; jobs; jobs = jobs->next) {
		struct piece *p = piece_of(jobs);

		if (!atomic_load(&p->cancelled))
			p->work->run(p->data);
	}
}

static void
on_job(struct worker_job *job)
{
	struct piece *p = piece_of(job);

	if (!atomic_load(&p->cancelled)) {
		op_finish(&p->op);
		p->work->done(p->arg, p->data);
	}
	p->work->drop(p->data);
	mem_free(p);
}

static void
piece_cancel(struct op *op)
{
	atomic_store(&((struct piece *)(void *)op)->cancelled, true);
}

static const struct op_type piece_type = { "offload", piece_cancel };

struct offload *
offload_new(struct loop *loop, struct err *err)
{
	static const struct worker_ops ops = {
		.name = "files", .run_batch = run_batch,
	};
	struct offload *o = mem_alloc(sizeof(*o));

	o->worker = worker_start(loop, &ops, NULL, err);
	if (o->worker)
		return o;
	mem_free(o);
	return NULL;
}

void
offload_free(struct offload **op)
{
	if (!op || !*op)
		return;
	struct offload *o = STEAL(*op);

	worker_stop(&o->worker);
	mem_free(o);
}

struct op *
offload_start(struct offload *o, const struct offload_work *work, void *data,
	void *arg)
{
	struct piece *p = mem_alloc(sizeof(*p));

	op_init(&p->op, &piece_type);
	p->job.done = on_job;
	p->work = work;
	p->data = data;
	p->arg = arg;
	atomic_init(&p->cancelled, false);
	worker_submit(o->worker, &p->job);
	return &p->op;
}
