/*
 * loop.h on a clock moved by hand.  Timers due at the same millisecond run in
 * an order drawn from the seed (seed 0: in the order they were made), so that
 * many seeds try many interleavings.  A watched descriptor fires when the test
 * says that it is ready, or when the test asks the kernel (sim_poll, sim_wait)
 * because a worker thread is behind it.
 *
 * A test ends with loop_free(), which refuses while a timer, watch or signal
 * is left.  loop_new() makes a loop with the seed in $SIM_SEED, or 1.
 */
#ifndef GATEHOUSE_TESTS_LOOP_SIM_H
#define GATEHOUSE_TESTS_LOOP_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

#define SIM_WALL_START 1790000000000	/* what loop_wall() says at first */

struct loop *loop_sim_new(uint64_t seed);

/* Moves all clocks by ms, running what falls due on the way, in time order. */
void sim_advance(struct loop *loop, msec_t ms);
/* Runs what is due now, and what that makes due, without moving the clock. */
void sim_run_until_idle(struct loop *loop);
/* Jumps from timer to timer until none is left or max_ms passed; true: none. */
bool sim_run_all(struct loop *loop, msec_t max_ms);

/* The wall clock jumps, and keeps running from there. */
void sim_set_wall(struct loop *loop, msec_t unix_ms);
/* The machine sleeps: wall and boottime move, loop_now() and timers do not. */
void sim_suspend(struct loop *loop, msec_t ms);

/* fd is ready once; false if nobody watches it for these events. */
bool sim_ready(struct loop *loop, int fd, unsigned events);
bool sim_signal(struct loop *loop, int signo);

/* Asks the kernel about every watched descriptor; how many callbacks ran. */
size_t sim_poll(struct loop *loop);
/*
 * Sleeps for real until a watched descriptor is ready (or real_ms passed), then
 * runs its callbacks and all that is due; false: nothing was ready.
 */
bool sim_wait(struct loop *loop, int real_ms);
/* sim_wait until cond(arg) is true; aborts the test after 30 real seconds. */
void sim_wait_until(struct loop *loop, bool (*cond)(void *arg), void *arg);

size_t sim_timers(struct loop *loop);	/* pending */
size_t sim_watches(struct loop *loop);
const char *sim_next_timer(struct loop *loop);	/* its name; NULL: none */
msec_t sim_next_ms(struct loop *loop);	/* until it; -1: none */

#endif
