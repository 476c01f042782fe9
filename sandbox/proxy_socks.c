#include "sandbox/proxy_socks.h"

#include <string.h>

#include "base/mem.h"

enum { VERSION = 5, NO_AUTHENTICATION = 0, COMMAND_CONNECT = 1 };
enum { TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4 };

enum socks_result
socks_greeting(const unsigned char *data, size_t len, size_t *ret_len)
{
	if (len >= 1 && data[0] != VERSION)
		return SOCKS_BAD;
	if (len < 2 || len < 2u + data[1])
		return SOCKS_MORE;
	*ret_len = 2u + data[1];
	return memchr(data + 2, NO_AUTHENTICATION, data[1]) ? SOCKS_DONE :
		SOCKS_BAD;
}

static enum socks_result
bad(enum socks_reply *ret_reply, enum socks_reply reply, struct err *err,
	const char *why)
{
	*ret_reply = reply;
	err_set(err, ERR_INVALID, "%s", why);
	return SOCKS_BAD;
}

/* Length of the whole request; 0: not to be told yet. */
static size_t
request_len(const unsigned char *data, size_t len)
{
	if (data[3] == TYPE_IPV4)
		return 4 + 4 + 2;
	if (data[3] == TYPE_IPV6)
		return 4 + 16 + 2;
	return len > 4 ? 4 + 1 + data[4] + 2u : 0;
}

static int
read_target(const unsigned char *data, size_t whole, struct egress_target *ret,
	struct err *err)
{
	unsigned long port = (unsigned long)data[whole - 2] << 8 | data[whole - 1];
	char text[IP_TEXT_MAX];
	struct ip ip = { .v6 = data[3] == TYPE_IPV6 };

	if (data[3] == TYPE_NAME)
		return egress_target(ret, (const char *)data + 5, data[4], port, err);
	/* By its text, so that a mapped address becomes what it is. */
	memcpy(ip.b, data + 4, ip.v6 ? 16 : 4);
	ip_text(&ip, text);
	return egress_target(ret, text, strlen(text), port, err);
}

enum socks_result
socks_request(const unsigned char *data, size_t len, struct egress_target *ret,
	size_t *ret_len, enum socks_reply *ret_reply, struct err *err)
{
	if (len < 4)
		return SOCKS_MORE;
	if (data[0] != VERSION || data[2] != 0)
		return bad(ret_reply, SOCKS_FAILED, err, "this is no SOCKS5 request");
	if (data[1] != COMMAND_CONNECT)
		return bad(ret_reply, SOCKS_COMMAND, err, "only CONNECT is done: no "
			"BIND, no UDP");
	if (data[3] != TYPE_IPV4 && data[3] != TYPE_NAME && data[3] != TYPE_IPV6)
		return bad(ret_reply, SOCKS_ADDRESS_TYPE, err, "an unknown kind of "
			"address");
	size_t whole = request_len(data, len);
	if (whole == 0 || len < whole)
		return SOCKS_MORE;
	*ret_len = whole;
	if (read_target(data, whole, ret, err) < 0) {
		*ret_reply = SOCKS_NOT_ALLOWED;
		return SOCKS_BAD;
	}
	return SOCKS_DONE;
}
