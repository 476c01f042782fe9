/*
 * Requests to the proxy: the verdict on a whole head does not depend on how it
 * came in, and what goes on to the server is itself a request in one reading,
 * with one Host, the one that was checked, and one length.
 */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "sandbox/proxy_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned
count(const char *text, const char *name)
{
	unsigned n = 0;

	for (const char *p = text; (p = strcasestr(p, name)); p++)
		n++;
	return n;
}

static void
check_forward(const struct proxy_head *head, const char *text, size_t len)
{
	char host[EGRESS_HOST_MAX + 16];
	char ip[IP_TEXT_MAX];

	REQUIRE(strlen(text) == len && len > 4);
	REQUIRE(strcmp(text + len - 4, "\r\n\r\n") == 0);
	REQUIRE(strstr(text, "\r\n\r\n") == text + len - 4);
	REQUIRE(count(text, "\r\nhost:") == 1);
	REQUIRE(count(text, "\r\nconnection: close\r\n") == 1);
	REQUIRE(count(text, "\r\ncontent-length:") +
		count(text, "\r\ntransfer-encoding:") <= 1);
	ip_text(&head->target.ip, ip);
	REQUIRE(mem_format(host, sizeof(host), "\r\nHost: %s%s", head->target.literal &&
		head->target.ip.v6 ? "[" : "", head->target.literal ? ip :
		head->target.host) == 0);
	REQUIRE(strstr(text, host));
}

static void
check_body(struct proxy_body body, const char *data, size_t len)
{
	struct proxy_body bytes = body;
	ptrdiff_t whole = proxy_body_feed(&body, data, len), sum = 0;

	for (size_t i = 0; i < len && sum >= 0; i++) {
		ptrdiff_t n = proxy_body_feed(&bytes, data + i, 1);
		sum = n < 0 ? -1 : sum + n;
	}
	REQUIRE(whole == sum && whole <= (ptrdiff_t)len);
	REQUIRE(whole < 0 || proxy_body_ended(&body) == proxy_body_ended(&bytes));
	REQUIRE(whole < 0 || (size_t)whole == len || proxy_body_ended(&body));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct proxy_head head, again;
	struct buf forward CLEANUP_BUF;
	struct err err = { ERR_NONE, "" };
	int status = 0;

	buf_init(&forward, 2 * PROXY_HEAD_MAX);
	enum proxy_head_result res = proxy_head_read(text, size, &head, &forward,
		&status, &err);
	if (res == PROXY_HEAD_BAD) {
		REQUIRE(status >= 400 && err.code == ERR_INVALID);
		return 0;
	}
	if (res == PROXY_HEAD_MORE) {
		REQUIRE(size < PROXY_HEAD_MAX && forward.len == 0);
		return 0;
	}
	REQUIRE(head.len <= size && head.target.port && !forward.over);
	if (!head.connect)
		check_forward(&head, forward.data, forward.len);
	check_body(head.body, text + head.len, size - head.len);
	/* A byte less is never a whole head. */
	buf_clear(&forward);
	REQUIRE(proxy_head_read(text, head.len - 1, &again, &forward, &status,
		&err) == PROXY_HEAD_MORE);
	return 0;
}
