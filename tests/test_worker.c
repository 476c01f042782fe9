#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/worker.h"
#include "tests/loop_sim.h"

#define JOBS 2000

struct job {
	struct worker_job job;
	struct world *world;
	int n;
	int answer;		/* written on the thread */
	bool resubmit;
};

struct world {
	struct loop *loop;
	struct worker *worker;
	int done, in_turn;
	bool ordered;

	/* thread only, read after worker_stop */
	int inits, finis, batches, ran;
	bool fail_init, signals_blocked;
	int gate[2];		/* the thread waits for a byte if gate[0] >= 0 */
};

static int
init(void *state, struct err *err)
{
	struct world *w = state;
	sigset_t set;

	w->inits++;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	w->signals_blocked = sigismember(&set, SIGTERM) == 1;
	if (w->fail_init)
		return err_set(err, ERR_IO, "no database");
	return 0;
}

static void
run_batch(void *state, struct worker_job *jobs)
{
	struct world *w = state;
	char c;

	w->batches++;
	if (w->gate[0] >= 0)
		assert_int_equal(read(w->gate[0], &c, 1), 1);
	for (; jobs; jobs = jobs->next) {
		struct job *job = (struct job *)jobs;

		job->answer = job->n * 2;
		w->ran++;
	}
}

static void
fini(void *state)
{
	((struct world *)state)->finis++;
}

static const struct worker_ops ops = { "test", init, run_batch, fini };

static void submit(struct world *w, int n, bool resubmit);

static void
on_done(struct worker_job *wj)
{
	struct job *job = (struct job *)wj;
	struct world *w = job->world;

	w->ordered = w->ordered && job->n == w->done &&
	    job->answer == job->n * 2;
	w->done++;
	w->in_turn++;
	if (job->resubmit)
		submit(w, job->n + 1, false);
	mem_free(job);
}

static void
submit(struct world *w, int n, bool resubmit)
{
	struct job *job = mem_alloc(sizeof(*job));

	job->job.done = on_done;
	job->world = w;
	job->n = n;
	job->resubmit = resubmit;
	worker_submit(w->worker, &job->job);
}

static void
start(struct world *w)
{
	*w = (struct world){ .loop = loop_sim_new(1), .ordered = true,
	    .gate = { -1, -1 } };
	w->worker = worker_start(w->loop, &ops, w, NULL);
	assert_non_null(w->worker);
}

static bool
is_idle(void *arg)
{
	return worker_depth(((struct world *)arg)->worker) == 0;
}

static void
finish(struct world *w)
{
	worker_stop(&w->worker);
	assert_null(w->worker);
	assert_int_equal(w->inits, 1);
	assert_int_equal(w->finis, 1);
	assert_true(w->signals_blocked);
	loop_free(&w->loop);
}

static void
jobs_run_and_come_back_in_order(void **state)
{
	(void)state;
	struct world w;

	start(&w);
	for (int i = 0; i < JOBS; i++)
		submit(&w, i, false);
	assert_int_equal(w.done, 0);	/* never from inside submit */
	sim_wait_until(w.loop, is_idle, &w);
	assert_int_equal(w.done, JOBS);
	assert_true(w.ordered);
	assert_int_equal(worker_oldest_ms(w.worker), 0);
	finish(&w);
	assert_int_equal(w.ran, JOBS);
	assert_true(w.batches < JOBS);	/* grouped without a timer */
}

static void
one_turn_of_the_loop_handles_a_bounded_number(void **state)
{
	(void)state;
	struct world w;
	int turns = 0;

	start(&w);
	for (int i = 0; i < JOBS; i++)
		submit(&w, i, false);
	while (w.done < JOBS) {
		w.in_turn = 0;
		assert_true(sim_wait(w.loop, 10000));
		assert_true(w.in_turn <= 64);
		turns++;
	}
	assert_true(turns >= JOBS / 64);
	finish(&w);
}

static void
the_age_is_that_of_the_oldest_job(void **state)
{
	(void)state;
	struct world w;

	start(&w);
	assert_int_equal(pipe(w.gate), 0);
	assert_int_equal(worker_oldest_ms(w.worker), 0);
	submit(&w, 0, false);
	sim_advance(w.loop, 100);
	submit(&w, 1, false);
	submit(&w, 2, false);
	sim_advance(w.loop, 50);
	submit(&w, 3, false);
	assert_int_equal(worker_oldest_ms(w.worker), 150);
	assert_int_equal(worker_depth(w.worker), 4);
	assert_int_equal(write(w.gate[1], "x", 1), 1);
	assert_true(sim_wait(w.loop, 10000));
	/* the thread took job 0 alone or with others, never out of order */
	assert_int_equal(worker_oldest_ms(w.worker),
	    w.done == 0 ? 150 : w.done < 3 ? 50 : 0);
	assert_int_equal(write(w.gate[1], "xxx", 3), 3);
	sim_wait_until(w.loop, is_idle, &w);
	submit(&w, 4, false);
	sim_advance(w.loop, 7);
	assert_int_equal(worker_oldest_ms(w.worker), 7);
	assert_int_equal(write(w.gate[1], "xx", 2), 2);
	finish(&w);
	assert_int_equal(w.done, 5);
	assert_true(w.ordered);
	close(w.gate[0]);
	close(w.gate[1]);
}

static void
stopping_runs_what_is_queued_and_what_that_submits(void **state)
{
	(void)state;
	struct world w;

	start(&w);
	for (int i = 0; i < 100; i++)
		submit(&w, i, i == 99);
	finish(&w);
	assert_int_equal(w.done, 101);
	assert_int_equal(w.ran, 101);
	assert_true(w.ordered);
}

static void
a_failed_init_is_the_errors_text_and_leaves_nothing(void **state)
{
	(void)state;
	struct world w = { .loop = loop_sim_new(1), .fail_init = true };
	struct err err = { .code = ERR_NONE };

	assert_null(worker_start(w.loop, &ops, &w, &err));
	assert_int_equal(err.code, ERR_IO);
	assert_string_equal(err.text, "no database");
	assert_int_equal(w.finis, 0);
	assert_int_equal(sim_watches(w.loop), 0);
	loop_free(&w.loop);
}

static void
stopping_nothing_is_allowed(void **state)
{
	(void)state;
	struct worker *none = NULL;

	worker_stop(&none);
	worker_stop(NULL);
	assert_null(none);
}

/* Leaving: the thread hangs in a job, and nobody waits for it. */
static atomic_int dropped, left_threads;

static void
hang_fini(void *state)
{
	(void)state;
	atomic_fetch_add(&left_threads, 1);
}

static void
drop(struct worker_job *job)
{
	atomic_fetch_add(&dropped, 1);
	mem_free(job);
}

static void
one_that_hangs_can_be_left(void **state)
{
	static const struct worker_ops hang_ops = { "hang", init, run_batch,
	    hang_fini };
	static struct world w;		/* outlives this function: the thread has it */

	(void)state;
	w = (struct world){ .loop = loop_sim_new(1), .ordered = true };
	assert_int_equal(pipe(w.gate), 0);
	w.worker = worker_start(w.loop, &hang_ops, &w, NULL);
	/* One batch runs and hangs, the next waits behind it. */
	submit(&w, 0, false);
	usleep(20000);
	for (int i = 1; i < 5; i++)
		submit(&w, i, false);
	worker_leave(&w.worker, drop);
	assert_null(w.worker);
	assert_true(atomic_load(&dropped) <= 5);
	assert_int_equal(atomic_load(&left_threads), 0);
	loop_free(&w.loop);
	/* Let go, it drops what it had and ends by itself. */
	assert_int_equal(write(w.gate[1], "xxxxx", 5), 5);
	for (int i = 0; i < 2000 && atomic_load(&left_threads) == 0; i++)
		usleep(5000);
	assert_int_equal(atomic_load(&left_threads), 1);
	assert_int_equal(atomic_load(&dropped), 5);
	assert_int_equal(w.done, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_and_come_back_in_order),
		cmocka_unit_test(one_turn_of_the_loop_handles_a_bounded_number),
		cmocka_unit_test(the_age_is_that_of_the_oldest_job),
		cmocka_unit_test(stopping_runs_what_is_queued_and_what_that_submits),
		cmocka_unit_test(a_failed_init_is_the_errors_text_and_leaves_nothing),
		cmocka_unit_test(stopping_nothing_is_allowed),
		cmocka_unit_test(one_that_hangs_can_be_left),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
