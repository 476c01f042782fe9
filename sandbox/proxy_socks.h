/*
 * SOCKS5 as our proxy speaks it (RFC 1928): no authentication, CONNECT only,
 * names and addresses.  Pure; fuzzed by tests/fuzz/fuzz_proxy_socks.c.
 */
#ifndef GATEHOUSE_PROXY_SOCKS_H
#define GATEHOUSE_PROXY_SOCKS_H

#include <stddef.h>

#include "base/err.h"
#include "sandbox/egress.h"

#define PROXY_SOCKS_MAX 512	/* of greeting and request */

/* RFC 1928 section 6 */
enum socks_reply {
	SOCKS_OK, SOCKS_FAILED, SOCKS_NOT_ALLOWED, SOCKS_NET_UNREACHABLE,
	SOCKS_HOST_UNREACHABLE, SOCKS_REFUSED, SOCKS_TTL_EXPIRED,
	SOCKS_COMMAND, SOCKS_ADDRESS_TYPE,
};

enum socks_result { SOCKS_DONE, SOCKS_MORE, SOCKS_BAD };

/* ret_len: bytes it took. BAD: no method of the client's is ours, or no SOCKS5. */
enum socks_result socks_greeting(const unsigned char *data, size_t len,
	size_t *ret_len);
/* BAD: reply and err say why. */
enum socks_result socks_request(const unsigned char *data, size_t len,
	struct egress_target *ret, size_t *ret_len, enum socks_reply *ret_reply,
	struct err *err);

#endif
