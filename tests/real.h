/*
 * For tests with real processes: a loop and a launcher, and waiting for a
 * condition with a limit that only a fault reaches.
 */
#ifndef GATEHOUSE_TEST_REAL_H
#define GATEHOUSE_TEST_REAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/child.h"
#include "base/loop.h"

/* When a wait is given up: far more than a loaded machine takes. */
#define REAL_LATE_MS 120000

struct real {
	struct loop *loop;
	struct launcher *launcher;
	bool gone;
	char gone_text[512];
};

void real_setup(struct real *real);
void real_attach(struct real *real);	/* after another launcher_start() */
void real_teardown(struct real *real);
/* Turns the loop until *flag; false if REAL_LATE_MS passed. */
bool real_until(struct real *real, const bool *flag);
void real_turn(struct real *real, msec_t ms);
/* Processes whose environment or arguments hold the mark. */
unsigned real_count(const char *mark);
/* Children of a process. */
unsigned real_children(pid_t pid);
/* Waits until there are none (true) or REAL_LATE_MS have passed. */
bool real_none_left(const char *mark);

#endif
