/*
 * Frames between a script and the tools: a line each way, `MAC JSON`.  The MAC
 * (HMAC-SHA-256 in hex, over "q" or "r" and the JSON) is made with a token that
 * only the script's process got, so the token itself is never sent, and a frame
 * of anybody else, or one seen before, is nothing.  Foreign bytes. Pure.
 *
 *   q {"seq":1,"tool":"terminal","args":{...}}
 *   r {"seq":1,"result":{...}}
 */
#ifndef GATEHOUSE_RPC_FRAME_H
#define GATEHOUSE_RPC_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

#define RPC_TOKEN_LEN 32
#define RPC_LINE_MAX (2u << 20)

enum rpc_verdict {
	RPC_GOOD,
	RPC_NOT_A_FRAME,
	RPC_FORGED,		/* not made with this token */
	RPC_REPLAYED,		/* seq isn't the next one */
};

struct rpc_call {
	uint64_t seq;
	const char *tool;	/* into root */
	const struct json *args;	/* an object, into root */
	struct json *root;	/* yours: json_free() */
};

/* line: without its line feed. ret is set only if GOOD. */
enum rpc_verdict rpc_frame_read(struct rpc_call *ret,
	const unsigned char token[RPC_TOKEN_LEN], uint64_t expected,
	const char *line, size_t len);
/* Appends the answer's line. result: JSON text. */
void rpc_frame_reply(struct buf *out, const unsigned char token[RPC_TOKEN_LEN],
	uint64_t seq, const char *result);

#endif
