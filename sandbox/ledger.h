/*
 * What we own, in the store: a row a sandbox while it is open.  Rows of an
 * earlier process of ours are cleared at the start: what such a backend opened
 * has ended with that process; where boxes survive, once they are ended.  Does nothing without a store.
 */
#ifndef GATEHOUSE_LEDGER_H
#define GATEHOUSE_LEDGER_H

#include "base/op.h"

struct cell;
struct sandboxes;
struct slot;

#define LEDGER_KIND "sandbox"

/* Clears the rows of ended processes; the op ends by itself. */
struct op *ledger_clear_old(struct sandboxes *sb);
/* Nothing of dead processes is left on this backend: nor are their rows. */
void ledger_reaped(struct slot *slot);
void ledger_opened(const struct cell *cell);
void ledger_closed(const struct cell *cell);

#endif
