/*
 * loop.h on libevent.  The base is touched by one thread only, so it has no
 * locks; other threads come in by an eventfd (worker.h).
 */
#include <event2/event.h>
#include <signal.h>
#include <time.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

#define WATCHDOG_MS 100
#define STALL_MS 50

struct loop {
	struct event_base *base;
	uint64_t random;
	size_t timers, watches, signals;
	bool stopped;

	struct event *watchdog;
	msec_t expected;	/* when the watchdog should fire */
	struct loop_stats stats;
	const char *slowest;	/* since the watchdog last fired */
	msec_t slowest_ms;
};

struct timer {
	struct loop *loop;
	struct event *ev;
	const char *name;
	loop_cb *cb;
	void *arg;
};

struct watch {
	struct loop *loop;
	struct event *ev;
	int fd;
	const char *name;
	loop_fd_cb *cb;
	void *arg;
};

struct sigwatch {
	struct loop *loop;
	struct event *ev;
	const char *name;
	loop_cb *cb;
	void *arg;
};

static msec_t
clock_ms(clockid_t id)
{
	struct timespec ts;

	REQUIRE(clock_gettime(id, &ts) == 0);
	return (msec_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static struct timeval
to_timeval(msec_t ms)
{
	if (ms < 0)
		ms = 0;
	return (struct timeval){ ms / 1000, (ms % 1000) * 1000 };
}

/* ---- dispatch: who held the loop, and for how long ------------------------ */

static msec_t
dispatch_begin(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

static void
dispatch_end(struct loop *loop, const char *name, msec_t began)
{
	msec_t took = clock_ms(CLOCK_MONOTONIC) - began;

	loop->stats.callbacks++;
	if (took > loop->slowest_ms) {
		loop->slowest_ms = took;
		loop->slowest = name;
	}
}

static void
on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	msec_t now = clock_ms(CLOCK_MONOTONIC), late = now - loop->expected;

	(void)fd;
	(void)what;
	if (late > loop->stats.stall_max)
		loop->stats.stall_max = late;
	if (late > STALL_MS) {
		loop->stats.stalls++;
		log_warn("loop", NULL, "stalled_ms=%lld slowest=%s slowest_ms=%lld",
		    (long long)late, loop->slowest ? loop->slowest : "none",
		    (long long)loop->slowest_ms);
	}
	loop->slowest = NULL;
	loop->slowest_ms = 0;
	loop->expected = now + WATCHDOG_MS;
	struct timeval tv = to_timeval(WATCHDOG_MS);

	REQUIRE(event_add(loop->watchdog, &tv) == 0);
}

void
loop_watchdog_start(struct loop *loop)
{
	struct timeval tv = to_timeval(WATCHDOG_MS);

	if (loop->watchdog)
		return;
	loop->watchdog = evtimer_new(loop->base, on_watchdog, loop);
	REQUIRE(loop->watchdog);
	loop->expected = clock_ms(CLOCK_MONOTONIC) + WATCHDOG_MS;
	REQUIRE(event_add(loop->watchdog, &tv) == 0);
}

struct loop_stats
loop_stats(struct loop *loop, bool reset)
{
	struct loop_stats stats = loop->stats;

	if (reset)
		loop->stats = (struct loop_stats){ .callbacks = stats.callbacks };
	return stats;
}

/* ---- life ----------------------------------------------------------------- */

struct loop *
loop_new(void)
{
	struct loop *loop = mem_alloc(sizeof(*loop));
	struct event_config *config = event_config_new();

	/*
	 * No cached or coarse time: a timer must never fire before loop_now()
	 * has reached its time.
	 */
	REQUIRE(config);
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK |
	    EVENT_BASE_FLAG_IGNORE_ENV | EVENT_BASE_FLAG_NO_CACHE_TIME |
	    EVENT_BASE_FLAG_PRECISE_TIMER);
	loop->base = event_base_new_with_config(config);
	event_config_free(config);
	REQUIRE(loop->base);
	ids_random(&loop->random, sizeof(loop->random));
	return loop;
}

void
loop_free(struct loop **loopp)
{
	if (!loopp || !*loopp)
		return;
	struct loop *loop = STEAL(*loopp);

	REQUIRE(loop->timers == 0 && loop->watches == 0 && loop->signals == 0);
	if (loop->watchdog)
		event_free(loop->watchdog);
	event_base_free(loop->base);
	mem_free(loop);
}

int
loop_run(struct loop *loop)
{
	int rc = 0;

	if (!loop->stopped)
		rc = event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
	loop->stopped = false;
	return rc < 0 ? -1 : 0;
}

void
loop_stop(struct loop *loop)
{
	loop->stopped = true;
	event_base_loopbreak(loop->base);
}

msec_t
loop_now(struct loop *loop)
{
	(void)loop;
	return clock_ms(CLOCK_MONOTONIC);
}

msec_t
loop_wall(struct loop *loop)
{
	(void)loop;
	return clock_ms(CLOCK_REALTIME);
}

msec_t
loop_boottime(struct loop *loop)
{
	(void)loop;
	return clock_ms(CLOCK_BOOTTIME);
}

/* splitmix64 */
uint64_t
loop_random(struct loop *loop)
{
	uint64_t z = loop->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* ---- timers --------------------------------------------------------------- */

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct timer t = *(struct timer *)arg;
	msec_t began = dispatch_begin();

	(void)fd;
	(void)what;
	event_free(t.ev);
	mem_free(arg);
	t.loop->timers--;
	t.cb(t.arg);
	dispatch_end(t.loop, t.name, began);
}

struct timer *
loop_after(struct loop *loop, msec_t ms, const char *name, loop_cb *cb,
	void *arg)
{
	struct timer *t = mem_alloc(sizeof(*t));
	struct timeval tv = to_timeval(ms);

	*t = (struct timer){ .loop = loop, .name = name, .cb = cb, .arg = arg };
	t->ev = evtimer_new(loop->base, on_timer, t);
	REQUIRE(t->ev && event_add(t->ev, &tv) == 0);
	loop->timers++;
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

	t->loop->timers--;
	event_free(t->ev);
	mem_free(t);
}

/* ---- descriptors ---------------------------------------------------------- */

static void
on_fd(evutil_socket_t fd, short what, void *arg)
{
	struct watch w = *(struct watch *)arg;	/* the callback may unwatch */
	msec_t began = dispatch_begin();

	(void)fd;
	w.cb(w.arg, (what & EV_READ ? LOOP_READ : 0u) |
	    (what & EV_WRITE ? LOOP_WRITE : 0u));
	dispatch_end(w.loop, w.name, began);
}

void
loop_watch_set(struct watch *w, unsigned events)
{
	REQUIRE(event_del(w->ev) == 0);
	if (events == 0)
		return;
	short what = EV_PERSIST;

	if (events & LOOP_READ)
		what |= EV_READ;
	if (events & LOOP_WRITE)
		what |= EV_WRITE;
	REQUIRE(event_assign(w->ev, w->loop->base, w->fd, what, on_fd, w) == 0);
	REQUIRE(event_add(w->ev, NULL) == 0);
}

struct watch *
loop_watch(struct loop *loop, int fd, unsigned events, const char *name,
	loop_fd_cb *cb, void *arg)
{
	struct watch *w = mem_alloc(sizeof(*w));

	REQUIRE(fd >= 0);
	*w = (struct watch){ .loop = loop, .fd = fd, .name = name, .cb = cb,
	    .arg = arg };
	w->ev = event_new(loop->base, fd, EV_PERSIST, on_fd, w);
	REQUIRE(w->ev);
	loop->watches++;
	loop_watch_set(w, events);
	return w;
}

void
loop_unwatch(struct watch **wp)
{
	if (!wp || !*wp)
		return;
	struct watch *w = STEAL(*wp);

	w->loop->watches--;
	event_free(w->ev);
	mem_free(w);
}

/* ---- signals -------------------------------------------------------------- */

static void
on_signal(evutil_socket_t signo, short what, void *arg)
{
	struct sigwatch s = *(struct sigwatch *)arg;
	msec_t began = dispatch_begin();

	(void)signo;
	(void)what;
	s.cb(s.arg);
	dispatch_end(s.loop, s.name, began);
}

struct sigwatch *
loop_signal(struct loop *loop, int signo, const char *name, loop_cb *cb,
	void *arg)
{
	struct sigwatch *s = mem_alloc(sizeof(*s));

	*s = (struct sigwatch){ .loop = loop, .name = name, .cb = cb, .arg = arg };
	s->ev = evsignal_new(loop->base, signo, on_signal, s);
	REQUIRE(s->ev && event_add(s->ev, NULL) == 0);
	loop->signals++;
	return s;
}

void
loop_signal_free(struct sigwatch **sp)
{
	if (!sp || !*sp)
		return;
	struct sigwatch *s = STEAL(*sp);

	s->loop->signals--;
	event_free(s->ev);
	mem_free(s);
}
