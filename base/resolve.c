#include "base/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/worker.h"

/* So many names may hang without holding up the others. */
#define THREADS 4
/* The system's own patience can be half a minute; nobody here waits so long. */
#define RETRANS_S 3
#define RETRIES 2

struct look_up;

/* What goes to a thread and comes back; lives longer than a cancelled op. */
struct job {
	struct worker_job job;
	struct look_up *up;	/* NULL: cancelled */
	struct thread *thread;
	char name[256];
	struct ip ips[RESOLVE_ADDRESSES_MAX];
	size_t n;
	int error;		/* of getaddrinfo */
};

struct thread {
	struct resolver *resolver;
	struct worker *worker;	/* NULL until it is needed */
	bool busy;
};

struct look_up {
	struct op op;
	TAILQ_ENTRY(look_up) entry;	/* while it waits for a thread */
	struct resolver *resolver;
	struct job *job;
	bool queued;
	struct timer *timer;
	struct err err;		/* why it was not even begun */
	resolve_cb *cb;
	void *arg;
};

struct resolver {
	struct loop *loop;
	struct thread threads[THREADS];
	TAILQ_HEAD(, look_up) queue;
	size_t waiting;
};

/* ---- on the thread ------------------------------------------------------------- */

static void
job_add(struct job *j, const struct sockaddr *sa)
{
	struct ip ip;

	if (j->n == RESOLVE_ADDRESSES_MAX || ip_from_sockaddr(sa, &ip) < 0)
		return;
	for (size_t i = 0; i < j->n; i++)
		if (ip_equal(&j->ips[i], &ip))
			return;
	j->ips[j->n++] = ip;
}

static void
run_batch(void *state, struct worker_job *jobs)
{
	(void)state;
	for (struct worker_job *next = jobs; next; next = next->next) {
		struct job *j = (struct job *)next;
		const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
		struct addrinfo *list = NULL;

		/*
		 * This thread's own copy of the settings, read anew.  No search
		 * list: the name that was checked is the name that is asked for.
		 */
		if (res_init() == 0) {
			_res.retrans = RETRANS_S;
			_res.retry = RETRIES;
			_res.options &= ~(unsigned long)(RES_DEFNAMES | RES_DNSRCH);
		}
		j->error = getaddrinfo(j->name, NULL, &hints, &list);
		for (struct addrinfo *a = list; a; a = a->ai_next)
			job_add(j, a->ai_addr);
		if (list)
			freeaddrinfo(list);
	}
}

static const struct worker_ops thread_ops = {
	.name = "resolve", .run_batch = run_batch,
};

/* ---- on the loop ----------------------------------------------------------------- */

static void on_done(struct worker_job *job);

static void
job_drop(struct worker_job *job)
{
	mem_free(job);
}

static void
next_job(struct resolver *r)
{
	for (size_t i = 0; i < THREADS && !TAILQ_EMPTY(&r->queue); i++) {
		struct thread *t = &r->threads[i];

		if (t->busy)
			continue;
		/* A machine without a thread to spare: the time-out says it. */
		if (!t->worker)
			t->worker = worker_start(r->loop, &thread_ops, NULL, NULL);
		if (!t->worker)
			continue;
		struct look_up *up = TAILQ_FIRST(&r->queue);

		TAILQ_REMOVE(&r->queue, up, entry);
		up->queued = false;
		up->job->thread = t;
		up->job->job.done = on_done;
		t->busy = true;
		worker_submit(t->worker, &up->job->job);
	}
}

static void
look_up_free(struct look_up *up)
{
	loop_cancel(&up->timer);
	up->resolver->waiting--;
	if (up->queued) {
		TAILQ_REMOVE(&up->resolver->queue, up, entry);
		mem_free(up->job);
	} else if (up->job) {
		up->job->up = NULL;	/* its thread still has it */
	}
	mem_free(up);
}

static void
look_up_end(struct look_up *up, const struct ip *ips, size_t n,
	const struct err *err)
{
	resolve_cb *cb = up->cb;
	void *arg = up->arg;

	op_finish(&up->op);
	look_up_free(up);
	cb(arg, ips, n, err);
}

static void
on_done(struct worker_job *job)
{
	struct job *j = (struct job *)job;
	struct resolver *r = j->thread->resolver;
	struct look_up *up = j->up;
	struct err err = { ERR_NONE, "" };

	j->thread->busy = false;
	next_job(r);
	if (up) {
		up->job = NULL;
		if (j->n == 0)
			err_set(&err, j->error == EAI_AGAIN ? ERR_UNAVAILABLE :
				ERR_NOT_FOUND, "the name %s could not be resolved: %s",
				j->name, j->error ? gai_strerror(j->error) :
				"it has no address");
		look_up_end(up, j->ips, j->n, j->n ? NULL : &err);
	}
	mem_free(j);
}

static void
on_late(void *arg)
{
	struct look_up *up = arg;
	struct err err = up->err;

	up->timer = NULL;
	if (err.code == ERR_NONE)
		err_set(&err, ERR_TIMEOUT, "the name %s was not resolved in time",
			up->job->name);
	look_up_end(up, NULL, 0, &err);
}

static void
look_up_cancel(struct op *op)
{
	look_up_free((struct look_up *)op);
}

static const struct op_type look_up_type = { "resolve", look_up_cancel };

struct op *
resolve_start(struct resolver *r, const char *name, msec_t timeout,
	resolve_cb *cb, void *arg)
{
	struct look_up *up = mem_alloc(sizeof(*up));
	struct job *j = mem_alloc(sizeof(*j));

	op_init(&up->op, &look_up_type);
	up->resolver = r;
	up->cb = cb;
	up->arg = arg;
	up->job = j;
	up->queued = true;
	j->up = up;
	TAILQ_INSERT_TAIL(&r->queue, up, entry);
	r->waiting++;
	if (mem_copy_str(j->name, sizeof(j->name), name) < 0)
		err_set(&up->err, ERR_INVALID, "the name is too long");
	else if (r->waiting > RESOLVE_WAITING_MAX)
		err_set(&up->err, ERR_LIMIT, "too many names are being resolved");
	else
		next_job(r);
	up->timer = loop_after(r->loop, up->err.code ? 0 : timeout, "resolve",
		on_late, up);
	return &up->op;
}

struct resolver *
resolver_new(struct loop *loop)
{
	struct resolver *r = mem_alloc(sizeof(*r));

	r->loop = loop;
	TAILQ_INIT(&r->queue);
	for (size_t i = 0; i < THREADS; i++)
		r->threads[i].resolver = r;
	return r;
}

void
resolver_free(struct resolver **rp)
{
	if (!rp || !*rp)
		return;
	struct resolver *r = STEAL(*rp);

	REQUIRE(r->waiting == 0);
	for (size_t i = 0; i < THREADS; i++)
		worker_leave(&r->threads[i].worker, job_drop);
	mem_free(r);
}
