#include "base/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

/* done() calls in one turn of the loop; the rest waits for the next turn. */
#define DONE_MAX 64

struct list {
	struct worker_job *first, **last;
};

/* Jobs submitted in the same millisecond, for worker_oldest_ms(). */
struct age {
	struct age *next;
	msec_t at;
	size_t jobs;
};

struct worker {
	const struct worker_ops *ops;
	void *state;
	pthread_t thread;

	/* under lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list queued, finished;
	bool stop, up;
	void (*drop)(struct worker_job *job);	/* set: we were left */
	int init_rc;
	struct err init_err;

	/* loop thread only */
	struct loop *loop;
	struct watch *watch;
	int fd;			/* eventfd: finished is not empty */
	struct list ready;	/* taken from finished, done() not yet called */
	size_t depth;
	struct age *oldest, **newest;
	bool in_done;
};

static void
list_init(struct list *l)
{
	l->first = NULL;
	l->last = &l->first;
}

/* Appends the whole chain that starts at job. */
static void
list_add(struct list *l, struct worker_job *job)
{
	*l->last = job;
	while (*l->last)
		l->last = &(*l->last)->next;
}

static struct worker_job *
list_take(struct list *l)
{
	struct worker_job *job = l->first;

	list_init(l);
	return job;
}

static void
ring(struct worker *w)
{
	uint64_t one = 1;
	ssize_t n;

	do {
		n = write(w->fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	/* EAGAIN: the counter is full, so the loop is going to wake anyway */
	REQUIRE(n == (ssize_t)sizeof(one) || errno == EAGAIN);
}

static void
drop_all(struct worker_job *job, void (*drop)(struct worker_job *job))
{
	while (job) {
		struct worker_job *next = job->next;

		drop(job);
		job = next;
	}
}

static void
release(struct worker *w)
{
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	mem_free(w);
}

static void *
thread_main(void *arg)
{
	struct worker *w = arg;
	struct err err = { .code = ERR_NONE };
	int rc = w->ops->init ? w->ops->init(w->state, &err) : 0;

	pthread_mutex_lock(&w->lock);
	w->up = true;
	w->init_rc = rc;
	w->init_err = err;
	pthread_cond_broadcast(&w->changed);
	while (rc == 0) {
		while (!w->queued.first && !w->stop)
			pthread_cond_wait(&w->changed, &w->lock);
		struct worker_job *jobs = list_take(&w->queued);

		if (!jobs)
			break;
		pthread_mutex_unlock(&w->lock);
		w->ops->run_batch(w->state, jobs);
		pthread_mutex_lock(&w->lock);
		if (w->drop) {
			drop_all(jobs, w->drop);
		} else {
			list_add(&w->finished, jobs);
			ring(w);
		}
	}
	bool left = w->drop != NULL;

	pthread_mutex_unlock(&w->lock);
	if (rc == 0 && w->ops->fini)
		w->ops->fini(w->state);
	if (left)
		release(w);
	return NULL;
}

static void
age_add(struct worker *w)
{
	msec_t now = loop_now(w->loop);
	struct age *age = w->oldest ? *w->newest : NULL;

	if (!age || age->at != now) {
		age = mem_alloc(sizeof(*age));
		age->at = now;
		if (w->oldest)
			w->newest = &(*w->newest)->next;
		*w->newest = age;
	}
	age->jobs++;
}

static void
age_drop(struct worker *w)
{
	struct age *age = w->oldest;

	if (--age->jobs > 0)
		return;
	if (w->newest == &age->next)	/* its successor is the last one */
		w->newest = &w->oldest;
	w->oldest = age->next;
	mem_free(age);
}

static void
call_done(struct worker *w, size_t max)
{
	w->in_done = true;
	while (w->ready.first && max-- > 0) {
		struct worker_job *job = w->ready.first;

		w->ready.first = job->next;
		if (!w->ready.first)
			list_init(&w->ready);
		job->next = NULL;
		w->depth--;
		age_drop(w);
		job->done(job);
	}
	w->in_done = false;
}

static void
collect(struct worker *w)
{
	uint64_t count;

	/* EAGAIN: nobody rang; an interrupted read is seen again, level triggered */
	if (read(w->fd, &count, sizeof(count)) < 0)
		REQUIRE(errno == EAGAIN || errno == EINTR);
	pthread_mutex_lock(&w->lock);
	struct worker_job *jobs = list_take(&w->finished);
	pthread_mutex_unlock(&w->lock);
	if (jobs)
		list_add(&w->ready, jobs);
}

static void
on_rung(void *arg, unsigned events)
{
	struct worker *w = arg;

	(void)events;		/* only LOOP_READ is watched */
	collect(w);
	call_done(w, DONE_MAX);
	if (w->ready.first)
		ring(w);
}

/* Signals belong to the loop's thread. */
static int
spawn(struct worker *w)
{
	sigset_t all, old;
	char name[16];		/* what the kernel takes */

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&w->thread, NULL, thread_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0 && mem_copy_str(name, sizeof(name), w->ops->name) == 0)
		pthread_setname_np(w->thread, name);
	return rc;
}

struct worker *
worker_start(struct loop *loop, const struct worker_ops *ops, void *state,
	struct err *err)
{
	struct worker *w = mem_alloc(sizeof(*w));

	w->loop = loop;
	w->ops = ops;
	w->state = state;
	w->newest = &w->oldest;
	list_init(&w->queued);
	list_init(&w->finished);
	list_init(&w->ready);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = w->fd < 0 ? errno : spawn(w);

	if (rc != 0) {
		err_set_errno(err, rc, "cannot start the thread %s", ops->name);
		release(w);
		return NULL;
	}
	pthread_mutex_lock(&w->lock);
	while (!w->up)
		pthread_cond_wait(&w->changed, &w->lock);
	rc = w->init_rc;
	pthread_mutex_unlock(&w->lock);
	if (rc != 0) {
		pthread_join(w->thread, NULL);
		if (err)
			*err = w->init_err;
		release(w);
		return NULL;
	}
	w->watch = loop_watch(loop, w->fd, LOOP_READ, ops->name, on_rung, w);
	return w;
}

void
worker_submit(struct worker *w, struct worker_job *job)
{
	REQUIRE(job->done);
	job->next = NULL;
	w->depth++;
	age_add(w);
	pthread_mutex_lock(&w->lock);
	list_add(&w->queued, job);
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

size_t
worker_depth(const struct worker *w)
{
	return w->depth;
}

msec_t
worker_oldest_ms(const struct worker *w)
{
	return w->oldest ? loop_now(w->loop) - w->oldest->at : 0;
}

void
worker_stop(struct worker **wp)
{
	if (!wp || !*wp)
		return;
	struct worker *w = *wp;

	/* The owner's pointer stays good meanwhile: done() may submit more. */
	REQUIRE(!w->in_done);
	while (w->depth > 0) {
		struct pollfd p = { .fd = w->fd, .events = POLLIN };

		if (!w->ready.first)
			poll(&p, 1, -1);
		collect(w);
		call_done(w, SIZE_MAX);
	}
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	loop_unwatch(&w->watch);
	release(w);
	*wp = NULL;
}

void
worker_leave(struct worker **wp, void (*drop)(struct worker_job *job))
{
	if (!wp || !*wp)
		return;
	struct worker *w = STEAL(*wp);
	pthread_t thread = w->thread;

	REQUIRE(!w->in_done);
	while (w->oldest) {
		struct age *age = w->oldest;

		w->oldest = age->next;
		mem_free(age);
	}
	drop_all(w->ready.first, drop);
	loop_unwatch(&w->watch);
	pthread_mutex_lock(&w->lock);
	struct worker_job *queued = list_take(&w->queued);
	struct worker_job *finished = list_take(&w->finished);

	w->stop = true;
	w->drop = drop;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	/* From here on w is the thread's. */
	pthread_detach(thread);
	drop_all(queued, drop);
	drop_all(finished, drop);
}
