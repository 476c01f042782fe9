/* The last bytes of a stream, in memory that is bounded at birth. */
#ifndef GATEHOUSE_RING_H
#define GATEHOUSE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct ring {
	char *data;
	size_t size;		/* allocated so far, at most max */
	size_t max;
	size_t at;		/* where the next byte goes, once full */
	size_t len;
	uint64_t total;		/* bytes ever added */
};

void ring_init(struct ring *r, size_t max);
void ring_done(struct ring *r);
void ring_add(struct ring *r, const char *data, size_t len);
/* Appends what is kept, oldest first; starts at a whole UTF-8 letter. */
void ring_copy(const struct ring *r, struct buf *out);

#endif
