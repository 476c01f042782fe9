/*
 * Private to store/: writes that nobody waits for and that the engine refused
 * (full disk, I/O error, lock).  They stay in memory, in order, and go before
 * whatever comes next, so that no later write overtakes one that is to be.
 * The writer's thread.
 */
#ifndef GATEHOUSE_STORE_KEPT_H
#define GATEHOUSE_STORE_KEPT_H

#include "store/store_job.h"

struct kept {
	struct job *first, *last;
	size_t n, bytes;
	struct err why;			/* the last refusal */
};

/* Takes the job's arguments over; what is left of it only reports. */
void kept_add(struct kept *kept, struct job *job);
/* All of it took effect (true) or is given up. */
void kept_clear(struct kept *kept, bool done);

#endif
