/*
 * Blocking or long work on one thread beside the loop, each piece an op: files
 * beneath a workspace, a patch of a big file.  Pieces run one after the other.
 */
#ifndef GATEHOUSE_OFFLOAD_H
#define GATEHOUSE_OFFLOAD_H

#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"

struct offload;

struct offload_work {
	void (*run)(void *data);		/* on the thread */
	void (*done)(void *arg, void *data);	/* on the loop; not after a cancel */
	void (*drop)(void *data);	/* on the loop, at last, always: frees data */
};

/* NULL with the reason. */
struct offload *offload_new(struct loop *loop, struct err *err);
/* Requires that every op has ended or was cancelled; waits for what runs. */
void offload_free(struct offload **o);
/* The op contract. Cancel: it still runs if it has begun, and is dropped. */
struct op *offload_start(struct offload *o, const struct offload_work *work,
	void *data, void *arg);

#endif
