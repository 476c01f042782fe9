/*
 * The directory of a sandbox below the state directory:
 *
 *   sandboxes/<id>/workspace	what its commands see
 *   sandboxes/<id>/key		sandbox_key_text(); its mtime: last used
 *   sandboxes/<id>/trash-<hex>	a workspace that is being removed
 *
 * Moved away first and emptied then, so a new workspace can begin at once and
 * what a crash leaves half removed is found by the next prune.
 */
#ifndef GATEHOUSE_WORKSPACE_H
#define GATEHOUSE_WORKSPACE_H

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"
#include "sandbox/backend.h"

struct cell;
struct sandboxes;
struct slot;

#define WORKSPACE_TRASH "trash-"

int workspace_make(const struct cell *cell, struct err *err);
void workspace_used(const struct cell *cell);	/* now */
/* When the sandbox with this directory was last used; 0: not known. */
msec_t workspace_last_used(const char *dir);
/* The backend that its files belong to, from its key. */
struct slot *workspace_slot(struct sandboxes *sb, const char *dir);

/*
 * Removes the workspace in dir, which no box may be open over, or what else
 * `trash` names there; the directory itself, too, if nothing is left in it.
 * Cancelled: the rest is left to the next prune.
 */
struct op *workspace_remove(struct sandboxes *sb, struct slot *slot,
	const char *dir, const char *trash, box_usage_cb *cb, void *arg);

#endif
