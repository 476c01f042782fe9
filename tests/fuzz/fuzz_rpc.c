/* Frames of a script, as anybody in its sandbox may write them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "gateway/agent/rpc_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Signed with the right token, so that what is behind the MAC is reached. */
static void
signed_frame(const unsigned char *token, const char *json, size_t len)
{
	CLEANUP_BUF struct buf b, line;
	char mac[2 * SHA256_LEN + 1];
	struct rpc_call call = { 0 };

	buf_init(&b, RPC_LINE_MAX + 1);
	buf_init(&line, RPC_LINE_MAX + 100);
	buf_add_char(&b, 'q');
	buf_add(&b, json, len);
	ids_hmac_hex(token, RPC_TOKEN_LEN, b.data, b.len, mac);
	buf_printf(&line, "%s ", mac);
	buf_add(&line, json, len);
	enum rpc_verdict v = rpc_frame_read(&call, token, 1, line.data, line.len);

	REQUIRE(v != RPC_FORGED);
	if (v == RPC_GOOD) {
		REQUIRE(call.seq == 1 && call.tool && json_is_object(call.args));
		json_free(&call.root);
		/* another token, another number: nothing */
		unsigned char other[RPC_TOKEN_LEN] = { 1 };

		REQUIRE(rpc_frame_read(&call, other, 1, line.data, line.len) ==
		    RPC_FORGED);
		REQUIRE(rpc_frame_read(&call, token, 2, line.data, line.len) ==
		    RPC_REPLAYED);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char token[RPC_TOKEN_LEN] = "token of the fuzzer";
	char *copy = mem_dup(size ? (const void *)data : "", size + !size);
	struct rpc_call call = { 0 };

	REQUIRE(rpc_frame_read(&call, token, 1, copy, size) != RPC_GOOD);
	if (size <= 65536)
		signed_frame(token, copy, size);
	mem_free(copy);
	return 0;
}
