/*
 * A backend on the hand-moved clock.  It holds the invariants that the shared
 * half owes every backend: no command while an earlier tree of that box is
 * being killed, no second box over a workspace, no close of a box in use,
 * no removal of files under an open one, no more boxes than it may hold.
 */
#ifndef GATEHOUSE_TESTS_FAKE_BACKEND_H
#define GATEHOUSE_TESTS_FAKE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/backend.h"
#include "sandbox/disk.h"

/* How commands behave from now on; times in ms from the step before. */
struct fake_plan {
	msec_t probe_ms, open_ms, close_ms;
	msec_t start_ms;	/* until started */
	msec_t run_ms;		/* until the shell has ended; -1: never */
	msec_t dead_ms;		/* until all is dead after that; -1: never */
	msec_t kill_ms;		/* until dead after a kill; -1: deaf */
	int status;		/* wait status */
	unsigned leftovers;
	const char *output;
	const char *giveback;	/* with NULs: giveback_len */
	size_t giveback_len;
	enum err_code dead_code;	/* dead with an error of this code */
	bool never_starts;	/* dead comes at once, without started */
	bool empty_fails;
	const char *probe_err;
	unsigned fail_at;	/* this call of ours (from 1) fails; 0: none */
};

struct fake {
	struct fake_plan plan;
	struct sandbox_props props;
	unsigned calls;		/* start, probe, open, spawn, close */
	unsigned boxes, procs, spawns, opens, closes, kills;
	char last_script[65536];
	char last_env[16384];	/* NAME=value lines */
	unsigned pauses, emptied, measured;
	struct box_usage usage;	/* what is measured */
	bool too_deep;		/* not whole */
	bool reaps;		/* boxes outlive the process; from the next start on */
	unsigned reaped;
	char input[4096];	/* what the last feed got; "\x04" at its end */
	size_t input_max;	/* more is refused; 0: no bound */
	struct disk_space disk;	/* total 0: not known */
};

extern struct fake fake;

void fake_reset(void);		/* a well-behaved backend, isolated */
/* The newest process prints this. */
void fake_print(const char *text);
/* Kills take effect at last: every deaf tree dies now. */
void fake_let_die(void);

#endif
