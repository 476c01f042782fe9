/*
 * Changes to stored conversations that a person asks for: rename, delete,
 * prune.  Runs in the owner (through the control socket) or, when there is
 * none, in the command itself.
 *
 * A request: {action: "rename", ref, title} | {action: "delete", ref} |
 * {action: "prune", before (Unix ms), max}.  ref is what store_conversation()
 * takes.  The result: {session_id, erased: number of conversations}.
 */
#ifndef GATEHOUSE_SESSION_EDIT_H
#define GATEHOUSE_SESSION_EDIT_H

#include <stdbool.h>

#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"
#include "gateway/owner.h"
#include "store/store.h"

/*
 * even_open: also a conversation with a run under way, because no owner lives
 * whose run that could be.  A cancelled prune has erased what it got to.
 */
struct op *session_edit_start(struct loop *loop, struct store *store,
	const struct json *req, bool even_open, store_json_cb *cb, void *arg);

/* The owner's side of cmd "sessions": answers the call, or gives it up. */
void session_edit_call(struct loop *loop, struct store *store,
	struct owner_call *call, const struct json *req);
void session_edit_gone(struct owner_call *call);

#endif
