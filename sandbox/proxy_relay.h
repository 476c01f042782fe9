/*
 * Bytes between a client in a sandbox and a server, both ways, until both have
 * ended or nothing moves any more.  A side that doesn't read stops the other:
 * at most RELAY_CHUNK bytes wait for each.
 */
#ifndef GATEHOUSE_PROXY_RELAY_H
#define GATEHOUSE_PROXY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "sandbox/proxy_body.h"

#define RELAY_CHUNK 65536
#define RELAY_IDLE_MS 300000	/* nothing moved */
#define RELAY_HALF_IDLE_MS 60000	/* the same, after one side has ended */
#define RELAY_SURPLUS_MS 2000	/* the same, after a request too many, or when
				 * nobody is left to read the answer */

struct relay;

struct relay_start {
	int client, server;	/* become the relay's; non-blocking */
	const void *to_client, *to_server;	/* goes first; copied */
	size_t to_client_len, to_server_len;	/* at most RELAY_CHUNK */
	/*
	 * NULL: all that the client sends goes on.  Else this body and no byte
	 * more: who sends more gets the rest of its answer and is cut off.
	 */
	const struct proxy_body *body;
	bool surplus;		/* it did already */
};

struct relay_result {
	uint64_t up, down;	/* bytes to the server, to the client */
	const char *why;	/* static: "closed", "idle", ... */
};

/* Once; the relay has been freed. Never from inside relay_new(). */
typedef void relay_cb(void *arg, const struct relay_result *res);
struct relay *relay_new(struct loop *loop, const struct relay_start *start,
	relay_cb *cb, void *arg);
void relay_free(struct relay **relay);	/* closes both, no callback */
/* Some command has ended. If the client has sent its last byte, it was probably
 * its: the server's silence is not waited for any more. */
void relay_owner_ended(struct relay *relay);

#endif
