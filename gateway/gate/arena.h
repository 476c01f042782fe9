/*
 * Memory of one classification: everything that the scanner and the rules make
 * lives until arena_done().  The total has a maximum given at birth; over it
 * `over` is set (memory is still given: the inputs are bounded) and the walker
 * stops at its next step, so no caller tests pointers.
 */
#ifndef GATEHOUSE_GATE_ARENA_H
#define GATEHOUSE_GATE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used;		/* bytes given out, all blocks */
	size_t max;
	bool over;		/* more than max was asked for */
};

void arena_init(struct arena *a, size_t max);
void arena_done(struct arena *a);
/* Zeroed, aligned for any object; never NULL. */
void *arena_alloc(struct arena *a, size_t size)
	__attribute__((returns_nonnull));
char *arena_strn(struct arena *a, const char *s, size_t len)
	__attribute__((returns_nonnull));
char *arena_str(struct arena *a, const char *s) __attribute__((returns_nonnull));
char *arena_join(struct arena *a, const char *x, const char *y, const char *z)
	__attribute__((returns_nonnull));

#endif
