/* The unified diff of two texts, for people and models to read. Pure. */
#ifndef GATEHOUSE_UDIFF_H
#define GATEHOUSE_UDIFF_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Appends "--- a/NAME", "+++ b/NAME" and the hunks; nothing if they are equal.
 * old NULL: a new file; new NULL: a deleted one.  Right, but not the shortest
 * where the texts differ in very many lines.
 */
void udiff(struct buf *out, const char *name, const char *old, size_t old_len,
	const char *new, size_t new_len);

#endif
