/*
 * The tools as a script can call them: takes the bytes it sends, judges each
 * frame, calls one tool at a time through the same gate as the model, and gives
 * back the answers.  How bytes travel is rpc_link.h's business.
 */
#ifndef GATEHOUSE_RPC_H
#define GATEHOUSE_RPC_H

#include "gateway/agent/rpc_frame.h"
#include "gateway/agent/tool.h"

struct rpc;

struct rpc_opts {
	unsigned max_calls;
	void *arg;
	void (*send)(void *arg, const char *line, size_t len);	/* an answer */
};

/* env: as of the script's own call; copied. */
struct rpc *rpc_new(const struct tool_env *env, const char *call_id,
	const struct rpc_opts *opts);
void rpc_free(struct rpc **rpc);		/* cancels the call under way */
const unsigned char *rpc_token(const struct rpc *rpc);	/* RPC_TOKEN_LEN bytes */
/* false: too many bad frames, or too much: no more is listened to. */
bool rpc_feed(struct rpc *rpc, const char *data, size_t len);
unsigned rpc_calls(const struct rpc *rpc);	/* that were made */

#endif
