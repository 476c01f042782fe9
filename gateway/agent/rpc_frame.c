#include "gateway/agent/rpc_frame.h"

#include <string.h>

#include "base/ids.h"
#include "base/mem.h"

#define MAC_HEX (2 * SHA256_LEN)

static void
make_mac(char out[MAC_HEX + 1], const unsigned char *token, char way,
    const char *json, size_t len)
{
	CLEANUP_BUF struct buf b;

	buf_init(&b, RPC_LINE_MAX + 2);
	buf_add_char(&b, way);
	buf_add(&b, json, len);
	ids_hmac_hex(token, RPC_TOKEN_LEN, b.data, b.len, out);
}

enum rpc_verdict
rpc_frame_read(struct rpc_call *ret, const unsigned char token[RPC_TOKEN_LEN],
    uint64_t expected, const char *line, size_t len)
{
	char mac[MAC_HEX + 1];

	if (len < MAC_HEX + 3 || len > RPC_LINE_MAX || line[MAC_HEX] != ' ')
		return RPC_NOT_A_FRAME;
	const char *json = line + MAC_HEX + 1;

	len -= MAC_HEX + 1;
	make_mac(mac, token, 'q', json, len);
	if (!ids_equal(mac, line, MAC_HEX))
		return RPC_FORGED;
	CLEANUP_JSON struct json *root = json_parse(json, len, NULL);
	int64_t seq = json_get_int(root, "seq", -1);
	const char *tool = json_str(json_get(root, "tool"));
	const struct json *args = json_get(root, "args");

	if (!tool || !json_is_object(args) || seq < 0)
		return RPC_NOT_A_FRAME;
	if ((uint64_t)seq != expected)
		return RPC_REPLAYED;
	*ret = (struct rpc_call){ (uint64_t)seq, tool, args, STEAL(root) };
	return RPC_GOOD;
}

void
rpc_frame_reply(struct buf *out, const unsigned char token[RPC_TOKEN_LEN],
    uint64_t seq, const char *result)
{
	char mac[MAC_HEX + 1];
	CLEANUP_FREE char *json = mem_printf("{\"seq\":%llu,\"result\":%s}",
	    (unsigned long long)seq, result);

	make_mac(mac, token, 'r', json, strlen(json));
	buf_printf(out, "%s ", mac);
	buf_add_str(out, json);
	buf_add_char(out, '\n');
}
