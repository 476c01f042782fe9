#include "tests/loop_sim.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/mem.h"

#define SPIN_MAX 1000000	/* callbacks in one instant */
#define WATCHES_MAX 256
#define REAL_MAX_MS 30000

struct timer {
	TAILQ_ENTRY(timer) entry;
	struct loop *loop;
	msec_t due;
	uint64_t tie;
	const char *name;
	loop_cb *cb;
	void *arg;
};

struct watch {
	TAILQ_ENTRY(watch) entry;
	struct loop *loop;
	int fd;
	unsigned events;
	unsigned pending;	/* to be told in this round */
	loop_fd_cb *cb;
	void *arg;
};

struct sigwatch {
	TAILQ_ENTRY(sigwatch) entry;
	struct loop *loop;
	int signo;
	loop_cb *cb;
	void *arg;
};

struct loop {
	msec_t now, wall_offset, boot_offset;
	uint64_t seed, random, order, made;
	bool stopped;
	struct loop_stats stats;
	TAILQ_HEAD(, timer) timers;	/* sorted by due, tie */
	TAILQ_HEAD(, watch) watches;
	TAILQ_HEAD(, sigwatch) signals;
};

static uint64_t
splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct loop *
loop_sim_new(uint64_t seed)
{
	struct loop *loop = mem_alloc(sizeof(*loop));

	loop->now = 1000000;
	loop->wall_offset = SIM_WALL_START - loop->now;
	loop->boot_offset = 0;
	loop->seed = seed;
	loop->random = seed ^ 0x5eed;
	loop->order = seed;
	TAILQ_INIT(&loop->timers);
	TAILQ_INIT(&loop->watches);
	TAILQ_INIT(&loop->signals);
	return loop;
}

struct loop *
loop_new(void)
{
	const char *seed = getenv("SIM_SEED");

	return loop_sim_new(seed ? strtoull(seed, NULL, 10) : 1);
}

void
loop_free(struct loop **loopp)
{
	struct timer *t;
	bool left;

	if (!loopp || !*loopp)
		return;
	struct loop *loop = STEAL(*loopp);

	TAILQ_FOREACH(t, &loop->timers, entry)
		fprintf(stderr, "timer left: %s\n", t->name);
	left = !TAILQ_EMPTY(&loop->timers) || !TAILQ_EMPTY(&loop->watches) ||
	    !TAILQ_EMPTY(&loop->signals);
	REQUIRE(!left);
	mem_free(loop);
}

/* ---- clocks --------------------------------------------------------------- */

msec_t
loop_now(struct loop *loop)
{
	return loop->now;
}

msec_t
loop_wall(struct loop *loop)
{
	return loop->now + loop->wall_offset;
}

msec_t
loop_boottime(struct loop *loop)
{
	return loop->now + loop->boot_offset;
}

uint64_t
loop_random(struct loop *loop)
{
	return splitmix(&loop->random);
}

void
sim_set_wall(struct loop *loop, msec_t unix_ms)
{
	loop->wall_offset = unix_ms - loop->now;
}

void
sim_suspend(struct loop *loop, msec_t ms)
{
	loop->wall_offset += ms;
	loop->boot_offset += ms;
}

/* ---- timers --------------------------------------------------------------- */

struct timer *
loop_after(struct loop *loop, msec_t ms, const char *name, loop_cb *cb,
	void *arg)
{
	struct timer *t = mem_alloc(sizeof(*t)), *next;

	t->loop = loop;
	t->due = loop->now + (ms > 0 ? ms : 0);
	t->tie = loop->seed ? splitmix(&loop->order) : ++loop->made;
	t->name = name;
	t->cb = cb;
	t->arg = arg;
	TAILQ_FOREACH(next, &loop->timers, entry) {
		if (next->due > t->due ||
		    (next->due == t->due && next->tie > t->tie))
			break;
	}
	if (next)
		TAILQ_INSERT_BEFORE(next, t, entry);
	else
		TAILQ_INSERT_TAIL(&loop->timers, t, entry);
	return t;
}

struct timer *
loop_defer(struct loop *loop, const char *name, loop_cb *cb, void *arg)
{
	return loop_after(loop, 0, name, cb, arg);
}

void
loop_cancel(struct timer **tp)
{
	if (!tp || !*tp)
		return;
	struct timer *t = STEAL(*tp);

	TAILQ_REMOVE(&t->loop->timers, t, entry);
	mem_free(t);
}

void
sim_run_until_idle(struct loop *loop)
{
	struct timer *t;
	size_t spins = 0;

	while ((t = TAILQ_FIRST(&loop->timers)) && t->due <= loop->now &&
	    !loop->stopped) {
		struct timer fired = *t;

		TAILQ_REMOVE(&loop->timers, t, entry);
		mem_free(t);
		loop->stats.callbacks++;
		if (++spins > SPIN_MAX) {
			fprintf(stderr, "the clock stands still at %s\n", fired.name);
			REQUIRE(spins <= SPIN_MAX);
		}
		fired.cb(fired.arg);
	}
}

void
sim_advance(struct loop *loop, msec_t ms)
{
	msec_t target = loop->now + ms;
	struct timer *t;

	REQUIRE(ms >= 0);
	sim_run_until_idle(loop);
	while ((t = TAILQ_FIRST(&loop->timers)) && t->due <= target &&
	    !loop->stopped) {
		loop->now = t->due;
		sim_run_until_idle(loop);
	}
	if (!loop->stopped)
		loop->now = target;
}

bool
sim_run_all(struct loop *loop, msec_t max_ms)
{
	msec_t target = loop->now + max_ms, next;

	sim_run_until_idle(loop);
	while ((next = sim_next_ms(loop)) >= 0 && loop->now + next <= target &&
	    !loop->stopped)
		sim_advance(loop, next);
	return TAILQ_EMPTY(&loop->timers);
}

size_t
sim_timers(struct loop *loop)
{
	struct timer *t;
	size_t n = 0;

	TAILQ_FOREACH(t, &loop->timers, entry)
		n++;
	return n;
}

const char *
sim_next_timer(struct loop *loop)
{
	struct timer *t = TAILQ_FIRST(&loop->timers);

	return t ? t->name : NULL;
}

msec_t
sim_next_ms(struct loop *loop)
{
	struct timer *t = TAILQ_FIRST(&loop->timers);

	return t ? t->due - loop->now : -1;
}

/* ---- descriptors ---------------------------------------------------------- */

struct watch *
loop_watch(struct loop *loop, int fd, unsigned events, const char *name,
	loop_fd_cb *cb, void *arg)
{
	struct watch *w = mem_alloc(sizeof(*w));

	REQUIRE(fd >= 0 && name);
	*w = (struct watch){ .loop = loop, .fd = fd, .events = events, .cb = cb,
	    .arg = arg };
	TAILQ_INSERT_TAIL(&loop->watches, w, entry);
	return w;
}

void
loop_watch_set(struct watch *w, unsigned events)
{
	w->events = events;
	w->pending &= events;
}

void
loop_unwatch(struct watch **wp)
{
	if (!wp || !*wp)
		return;
	struct watch *w = STEAL(*wp);

	TAILQ_REMOVE(&w->loop->watches, w, entry);
	mem_free(w);
}

size_t
sim_watches(struct loop *loop)
{
	struct watch *w;
	size_t n = 0;

	TAILQ_FOREACH(w, &loop->watches, entry)
		n++;
	return n;
}

/* Tells every watch with something pending; a callback may unwatch others. */
static size_t
tell(struct loop *loop)
{
	struct watch *w = TAILQ_FIRST(&loop->watches);
	size_t told = 0;

	while (w && !loop->stopped) {
		unsigned events = w->pending;

		w->pending = 0;
		if (events == 0) {
			w = TAILQ_NEXT(w, entry);
			continue;
		}
		told++;
		loop->stats.callbacks++;
		w->cb(w->arg, events);
		w = TAILQ_FIRST(&loop->watches);
	}
	return told;
}

bool
sim_ready(struct loop *loop, int fd, unsigned events)
{
	struct watch *w;

	TAILQ_FOREACH(w, &loop->watches, entry) {
		if (w->fd == fd)
			w->pending |= w->events & events;
	}
	return tell(loop) > 0;
}

static size_t
poll_real(struct loop *loop, int real_ms)
{
	struct pollfd fds[WATCHES_MAX];
	struct watch *w;
	nfds_t n = 0;
	int rc;

	TAILQ_FOREACH(w, &loop->watches, entry) {
		REQUIRE(n < WATCHES_MAX);
		fds[n++] = (struct pollfd){
			.fd = w->events ? w->fd : -1,
			.events = (short)((w->events & LOOP_READ ? POLLIN : 0) |
			    (w->events & LOOP_WRITE ? POLLOUT : 0)),
		};
	}
	do {
		rc = poll(fds, n, real_ms);
	} while (rc < 0 && errno == EINTR);
	REQUIRE(rc >= 0);
	n = 0;
	TAILQ_FOREACH(w, &loop->watches, entry) {
		short got = fds[n++].revents;

		REQUIRE(!(got & POLLNVAL));	/* closed while watched */
		if (got & (POLLIN | POLLHUP | POLLERR))
			w->pending |= w->events & LOOP_READ;
		if (got & (POLLOUT | POLLHUP | POLLERR))
			w->pending |= w->events & LOOP_WRITE;
	}
	return tell(loop);
}

size_t
sim_poll(struct loop *loop)
{
	return poll_real(loop, 0);
}

bool
sim_wait(struct loop *loop, int real_ms)
{
	bool ready = poll_real(loop, real_ms) > 0;

	sim_run_until_idle(loop);
	return ready;
}

void
sim_wait_until(struct loop *loop, bool (*cond)(void *arg), void *arg)
{
	sim_run_until_idle(loop);
	while (!cond(arg)) {
		bool ready = sim_wait(loop, REAL_MAX_MS);

		REQUIRE(ready || cond(arg));
	}
}

/* ---- signals, running ----------------------------------------------------- */

struct sigwatch *
loop_signal(struct loop *loop, int signo, const char *name, loop_cb *cb,
	void *arg)
{
	struct sigwatch *s = mem_alloc(sizeof(*s));

	REQUIRE(name);
	*s = (struct sigwatch){ .loop = loop, .signo = signo, .cb = cb,
	    .arg = arg };
	TAILQ_INSERT_TAIL(&loop->signals, s, entry);
	return s;
}

void
loop_signal_free(struct sigwatch **sp)
{
	if (!sp || !*sp)
		return;
	struct sigwatch *s = STEAL(*sp);

	TAILQ_REMOVE(&s->loop->signals, s, entry);
	mem_free(s);
}

bool
sim_signal(struct loop *loop, int signo)
{
	struct sigwatch *s;

	TAILQ_FOREACH(s, &loop->signals, entry) {
		if (s->signo == signo) {
			s->cb(s->arg);
			return true;
		}
	}
	return false;
}

/*
 * What is due, then ready descriptors, then a jump to the next timer; sleeps
 * for real only if there is no timer to jump to.
 */
int
loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		sim_run_until_idle(loop);
		if (loop->stopped || sim_poll(loop) > 0)
			continue;
		msec_t next = sim_next_ms(loop);

		if (next >= 0)
			sim_advance(loop, next);
		else
			REQUIRE(poll_real(loop, REAL_MAX_MS) > 0);
	}
	loop->stopped = false;
	return 0;
}

void
loop_stop(struct loop *loop)
{
	loop->stopped = true;
}

void
loop_watchdog_start(struct loop *loop)
{
	REQUIRE(loop);		/* a clock moved by hand is never late */
}

struct loop_stats
loop_stats(struct loop *loop, bool reset)
{
	struct loop_stats stats = loop->stats;

	if (reset)
		loop->stats = (struct loop_stats){ .callbacks = stats.callbacks };
	return stats;
}
