/* "Did you mean ...?": the closest of some names. Pure. */
#ifndef GATEHOUSE_NEAREST_H
#define GATEHOUSE_NEAREST_H

#include <stddef.h>

/*
 * The name with the fewest edits (insert, delete, replace, swap of
 * neighbours; case doesn't count) if these are few for the word's length;
 * else NULL.  Of equals the first.
 */
const char *nearest_name(const char *word, const char *const *names, size_t n);

#endif
