/*
 * How a script's calls travel.  Where the backend passes a descriptor on, a
 * socket that the script inherits; elsewhere two FIFOs in a private directory
 * of the sandbox: one command of ours copies what the script writes to its
 * output, another one a call brings the answer.  No mount and no network for
 * either.
 */
#ifndef GATEHOUSE_RPC_LINK_H
#define GATEHOUSE_RPC_LINK_H

#include "gateway/agent/tool.h"

struct rpc_link;

struct rpc_link_opts {
	bool files;		/* also where a socket could be had */
	msec_t timeout_ms;	/* of the script */
	const char *call_id;
	void *arg;
	/* Bytes from the script; false: no more are wanted, and it is told. */
	bool (*feed)(void *arg, const char *data, size_t len);
	/* It can't work: no answer will reach the script. */
	void (*broken)(void *arg, const char *why);
	/* Nothing of it is left in the sandbox. */
	void (*ended)(void *arg);
};

/* NULL with the reason. env: copied. */
struct rpc_link *rpc_link_new(const struct tool_env *env,
	const struct rpc_link_opts *opts, struct err *err);
void rpc_link_free(struct rpc_link **link);
void rpc_link_send(struct rpc_link *link, const char *line, size_t len);
/* Something of it still runs in the sandbox; ended() will come. */
bool rpc_link_busy(const struct rpc_link *link);
/* For sandbox_cmd.rpc; 0: none. */
int rpc_link_fd(const struct rpc_link *link);
/* What the script's side needs: "fd=5" or "dir=/tmp/..."; no blank. Caller frees. */
char *rpc_link_where(const struct rpc_link *link);

#endif
