/*
 * The head of an HTTP/1 request to our proxy (RFC 9110, 9112), read strictly:
 * what two readers could read in two ways is refused, and what goes on to the
 * server is written anew.  Pure; fuzzed by tests/fuzz/fuzz_proxy_head.c.
 */
#ifndef GATEHOUSE_PROXY_HEAD_H
#define GATEHOUSE_PROXY_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/egress.h"
#include "sandbox/proxy_body.h"

#define PROXY_HEAD_MAX 32768
#define PROXY_HEADERS_MAX 256

struct proxy_head {
	struct egress_target target;
	bool connect;		/* CONNECT: a tunnel; else one plain request */
	struct proxy_body body;	/* of a plain request */
	size_t len;		/* bytes of the head; the rest is body or tunnel */
};

enum proxy_head_result { PROXY_HEAD_DONE, PROXY_HEAD_MORE, PROXY_HEAD_BAD };

/*
 * forward: gets the head for the server (plain requests), with one Host, the
 * one of the URL, without what concerns the way to us.  BAD: err says why and
 * ret_status is what HTTP calls it (400, 431, 501).
 */
enum proxy_head_result proxy_head_read(const char *data, size_t len,
	struct proxy_head *ret, struct buf *forward, int *ret_status,
	struct err *err);

#endif
