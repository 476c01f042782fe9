/*
 * The whole core on the hand-moved clock: real store (a file in a temporary
 * directory), real sessions, runs, gate, intake and delivery; fake platform,
 * model and sandbox with the invariants inside.
 */
#ifndef GATEHOUSE_TESTS_WORLD_H
#define GATEHOUSE_TESTS_WORLD_H

#include "gateway/gateway.h"
#include "tests/fake_model.h"
#include "tests/fake_platform.h"
#include "tests/fake_sandbox.h"
#include "tests/loop_sim.h"

struct world {
	char dir[64];
	struct loop *loop;
	struct store *store;
	struct sandboxes *sandboxes;
	struct fake_model *model;
	struct fake_platform *platform;
	struct gateway *gw;
	struct gateway_opts opts;	/* may be changed before world_boot() */
	struct gateway_platform served;
	bool stopped;
	struct {		/* command_allowlist as it would be on disk */
		char *entries[16];
		size_t n;
		msec_t delay;
		bool fails;
	} kept;
};

/* Users 1001, 1002, 1003 may talk.  $SIM_SEED times 1000 is added to the seed. */
void world_init(struct world *w, uint64_t seed);
void world_boot(struct world *w);
/* Lets ms of simulated time pass; commits of the real store are waited for. */
void world_pass(struct world *w, msec_t ms);
/* Until nothing is under way, at most max_ms; false: still busy. */
bool world_settle(struct world *w, msec_t max_ms);
/* SIGTERM and a clean end; the database stays. */
void world_stop(struct world *w);
/* kill -9: nothing is closed, the next world_boot() finds what was committed. */
void world_crash(struct world *w);
/* After a FAULT_POWER: what was not on the disk is gone (tests/fault_vfs.h). */
void world_power_loss(struct world *w);
void world_done(struct world *w);	/* also checks that no op is left */

#endif
