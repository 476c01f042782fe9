/* SOCKS5 to the proxy: no byte more is taken than is there, a target is one
 * that the policy can judge, and a shorter piece is never a whole. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/proxy_socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egress_target t;
	struct err err = { ERR_NONE, "" };
	enum socks_reply reply = SOCKS_OK;
	size_t used = 0, part = 0;

	if (socks_greeting(data, size, &used) == SOCKS_DONE) {
		REQUIRE(used >= 3 && used <= size);
		REQUIRE(socks_greeting(data, used - 1, &part) == SOCKS_MORE);
		data += used;
		size -= used;
	}
	switch (socks_request(data, size, &t, &used, &reply, &err)) {
	case SOCKS_BAD:
		REQUIRE(reply != SOCKS_OK && err.code == ERR_INVALID);
		break;
	case SOCKS_MORE:
		REQUIRE(size < PROXY_SOCKS_MAX);
		break;
	case SOCKS_DONE:
		REQUIRE(used <= size && t.port && t.host[0] &&
			strlen(t.host) < EGRESS_HOST_MAX);
		for (const char *p = t.host; *p; p++)
			REQUIRE(*p > 32 && *p < 127 && *p != '@' && *p != '/');
		REQUIRE(socks_request(data, used - 1, &t, &part, &reply, &err) ==
			SOCKS_MORE);
		break;
	}
	return 0;
}
