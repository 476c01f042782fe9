/*
 * Writes "always" into command_allowlist, away from the loop: one file is read,
 * changed and replaced (config_write.h) on a thread of its own.
 */
#ifndef GATEHOUSE_KEEPER_H
#define GATEHOUSE_KEEPER_H

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"

struct keeper;

/* file: config.yaml. NULL only if the thread can't be started. */
struct keeper *keeper_new(struct loop *loop, const char *file, struct err *err);
/* Blocks until what was given is written; no op may be left. */
void keeper_free(struct keeper **k);

typedef void keeper_cb(void *arg, const struct err *err);
/*
 * Adds an entry that isn't there yet; err NULL: it is on disk.  The op contract
 * holds; a cancelled one is written all the same.
 */
struct op *keeper_add(struct keeper *k, const char *entry, keeper_cb *cb,
	void *arg);

#endif
