/*
 * What a sandbox claims, tried from inside: each trial is a command that
 * succeeds only if the thing is denied.
 */
#ifndef GATEHOUSE_DOCTOR_TRIAL_H
#define GATEHOUSE_DOCTOR_TRIAL_H

#include <stdint.h>

#include "base/op.h"
#include "sandbox/sandbox.h"

struct doctor_trial {
	const char *claim;	/* "host files can't be written" */
	uint32_t bit;		/* of sandbox_isolation; 0: of every isolated one */
	const char *script;	/* ends with 0 if denied; else says what worked */
	const char *cure;
	const char *network;	/* only where it is this; NULL: any */
	const char *level;	/* the same of sandbox_props.level */
};

extern const struct doctor_trial doctor_trials[];
extern const unsigned doctor_ntrials;

/*
 * The shell text of a trial: the script with STATE (state directory), PID (our
 * own) and PORT (where we listen on 127.0.0.1) set.  Caller frees.
 */
char *doctor_trial_command(const struct doctor_trial *trial, const char *state,
	int pid, int port);

/* A listening socket on 127.0.0.1; *ret_port. -1 if there is no loopback. */
int doctor_trial_listen(int *ret_port);

#endif
