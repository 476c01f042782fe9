/*
 * An op is something under way that can be cancelled.  The contract, held by
 * tests/test_op.c for every start function:
 *
 * 1. A start function never calls back from inside itself, not even to report
 *    failure.
 * 2. It calls back exactly once; after op_cancel() never.
 * 3. It frees itself after the callback or in cancel.  The owner's pointer is
 *    dead when the callback runs: clearing it is the continuation's first act.
 * 4. Results are borrowed for the duration of the callback.
 * 5. Cancel is synchronous for the caller; work elsewhere is abandoned and its
 *    result dropped.  Cancelling drops an op's result, not its effect.
 * 6. Every op has a deadline, given at start.
 */
#ifndef GATEHOUSE_OP_H
#define GATEHOUSE_OP_H

#include <stddef.h>

struct op;

struct op_type {
	const char *name;
	void (*cancel)(struct op *op);	/* release all, free the op */
};

/* First member of every implementer's struct. */
struct op {
	unsigned magic;
	const struct op_type *type;
};

void op_init(struct op *op, const struct op_type *type);

/* Cancels and sets *op to NULL; NULL or *op == NULL is a no-op. */
void op_cancel(struct op **op);

/* Called by the implementer just before its callback: the handle dies here. */
void op_finish(struct op *op);

size_t op_live(void);		/* ops started and not ended; tests want 0 */

#endif
