/*
 * Sandboxes on the hand-moved clock over the fake backend, one set at a time,
 * and commands in the one sandbox `key`.
 */
#ifndef GATEHOUSE_TESTS_SANDBOX_SIM_H
#define GATEHOUSE_TESTS_SANDBOX_SIM_H

#include "sandbox/sandbox.h"
#include "tests/fake_backend.h"
#include "tests/loop_sim.h"

extern const struct sandbox_key key;
extern struct loop *loop;
extern struct sandboxes *sb;
extern unsigned alarms;
extern msec_t retention;		/* of the next make() */
extern bool plain_words;		/* the same */

struct ran {
	struct op *op;
	unsigned calls;
	int code;
	char output[2048], error[512], note[1024], cwd[256], process[32];
	bool started, lost;
	msec_t at;
};

void make(uint64_t seed, msec_t lifetime);
/* Wants everything to end within 11 s and nothing to be left. */
void end(void);
void begin_cmd(struct ran *r, const struct sandbox_cmd *cmd);
void begin_for(struct ran *r, const struct sandbox_key *who,
	const struct sandbox_cmd *cmd);
void begin(struct ran *r, const char *command);
void run(struct ran *r, const char *command);	/* and 1 s passes */
void on_flag(void *arg);		/* *(bool *)arg = true */

#endif
