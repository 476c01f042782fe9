/*
 * `gatehouse sandbox prune`: deletes workspaces that were not used for long, in
 * the owner through the control socket, or, when there is none, here.
 */
#ifndef GATEHOUSE_SANDBOX_PRUNE_H
#define GATEHOUSE_SANDBOX_PRUNE_H

#include "base/json.h"
#include "gateway/owner.h"
#include "sandbox/sandbox.h"

struct cli_ctx;

int sandbox_prune_main(struct cli_ctx *ctx);

/* The owner's side of cmd "prune", {before: Unix ms}: answers the call, or
 * gives it up. */
void sandbox_prune_call(struct sandboxes *sb, struct owner_call *call,
	const struct json *req);
void sandbox_prune_gone(struct owner_call *call);

#endif
