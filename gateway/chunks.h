/* An answer cut into outbox chunks for one place. */
#ifndef GATEHOUSE_CHUNKS_H
#define GATEHOUSE_CHUNKS_H

#include <stddef.h>

#include "gateway/route.h"
#include "platforms/platform.h"
#include "store/store.h"

struct chunks {
	struct outbox_chunk *list;
	size_t n, size;
};

/*
 * Whole, in order, each within the platform's limit; never 0.  platform NULL
 * (not running): one chunk a 3500 units, which fits everywhere we serve.
 * The list and its strings are valid until the next call or chunks_done().
 */
size_t chunks_make(struct chunks *c, const struct origin *to,
	const struct platform *platform, const char *text,
	const struct outbox_chunk **ret_chunks);
void chunks_done(struct chunks *c);

#endif
