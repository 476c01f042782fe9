/*
 * One thread and one eventfd: the only door between a thread and the loop.
 * Jobs run in order on the thread; done() runs in the same order on the loop.
 * Nothing else of ours may start a thread.
 */
#ifndef GATEHOUSE_WORKER_H
#define GATEHOUSE_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"

struct worker;

struct worker_job {
	struct worker_job *next;
	void (*done)(struct worker_job *job);	/* loop thread; owns the job again */
};

/*
 * run_batch is called on the thread with every job that was queued (a linked
 * list, oldest first) and must leave each job complete; the list is then handed
 * back.  init/fini run on the thread around its life.
 */
struct worker_ops {
	const char *name;
	int (*init)(void *state, struct err *err);
	void (*run_batch)(void *state, struct worker_job *jobs);
	void (*fini)(void *state);
};

struct worker *worker_start(struct loop *loop, const struct worker_ops *ops,
	void *state, struct err *err);
void worker_submit(struct worker *w, struct worker_job *job);
size_t worker_depth(const struct worker *w);	/* submitted, not yet done */
msec_t worker_oldest_ms(const struct worker *w);	/* age of the oldest job */
/*
 * Runs all that is queued, joins; done() of the rest runs from inside and may
 * still submit: *w is NULL only afterwards. Blocks. Not from inside done().
 */
void worker_stop(struct worker **w);
/*
 * For jobs that may hang (name look-ups): lets go without waiting.  drop() gets
 * every job that was not done, from here or, for the batch that is running, from
 * the thread once it has ended; done() is not called any more.  The thread then
 * ends by itself; state belongs to it.
 */
void worker_leave(struct worker **w, void (*drop)(struct worker_job *job));

#endif
