/*
 * Whether and when a failed model call is made again.  Pure: the caller brings
 * the random number and keeps the time.
 */
#ifndef GATEHOUSE_RETRY_H
#define GATEHOUSE_RETRY_H

#include <stdint.h>

#include "gateway/agent/model.h"

struct retry {
	unsigned tries;		/* made again so far */
	msec_t waited;		/* in all these waits */
};

void retry_init(struct retry *r);	/* also after a call that went well */
/* ms to wait before the next try (counted as made), or -1: give up. */
msec_t retry_next(struct retry *r, const struct model_result *res,
	uint64_t random);

#endif
