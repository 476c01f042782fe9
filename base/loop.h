/*
 * The loop: time, timers, descriptors, signals.  Two implementations are
 * chosen at link time: loop_event.c (libevent) and tests/loop_sim.c (a clock
 * moved by hand, ties in seeded order).  No libevent type escapes.
 *
 * Everything here is called on the loop's thread only.  No callback runs
 * before the function that registered it has returned.
 */
#ifndef GATEHOUSE_LOOP_H
#define GATEHOUSE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t msec_t;		/* milliseconds */

struct loop;
struct timer;
struct watch;
struct sigwatch;

typedef void loop_cb(void *arg);
typedef void loop_fd_cb(void *arg, unsigned events);

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop *loop_new(void);
void loop_free(struct loop **loop);	/* requires: no timer, watch or signal left */

/* Runs until loop_stop(); returns 0, or -1 if the kernel's poller failed. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

msec_t loop_now(struct loop *loop);		/* CLOCK_MONOTONIC */
msec_t loop_wall(struct loop *loop);		/* Unix time; may jump */
msec_t loop_boottime(struct loop *loop);	/* counts suspend; for expiries */
uint64_t loop_random(struct loop *loop);	/* jitter, not secrets: see ids.h */

/*
 * One shot. `name` (static storage) is what the watchdog and traces print.
 * The handle is dead once the callback runs; loop_cancel sets it to NULL.
 */
struct timer *loop_after(struct loop *loop, msec_t ms, const char *name,
	loop_cb *cb, void *arg);
void loop_cancel(struct timer **timer);

/* The same with 0 ms: from a safe place, soon. */
struct timer *loop_defer(struct loop *loop, const char *name, loop_cb *cb,
	void *arg);

/* Level triggered. fd stays the caller's: unwatch before closing it. */
struct watch *loop_watch(struct loop *loop, int fd, unsigned events,
	const char *name, loop_fd_cb *cb, void *arg);
void loop_watch_set(struct watch *watch, unsigned events);	/* 0 pauses */
void loop_unwatch(struct watch **watch);

struct sigwatch *loop_signal(struct loop *loop, int signo, const char *name,
	loop_cb *cb, void *arg);
void loop_signal_free(struct sigwatch **sig);

/*
 * The watchdog: a 100 ms timer that measures how late it fires. Over 50 ms is
 * logged with the slowest callback's name. Both figures since the last reset.
 */
struct loop_stats {
	msec_t stall_max;
	uint64_t stalls;	/* times over 50 ms */
	uint64_t callbacks;	/* progress: the systemd ping needs it */
};
void loop_watchdog_start(struct loop *loop);
struct loop_stats loop_stats(struct loop *loop, bool reset);

#endif
