/* Events do not depend on where the bytes are cut; sizes stay in bounds. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/sse.h"

#define EVENT_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
on_event(void *arg, const struct sse_event *event)
{
	struct buf *seen = arg;

	REQUIRE(event->len <= EVENT_MAX && event->data[event->len] == '\0');
	REQUIRE(strlen(event->name) < SSE_NAME_MAX);
	buf_printf(seen, "[%s|%zu|", event->name, event->len);
	buf_add(seen, event->data, event->len);
	buf_add_str(seen, "]");
	return true;
}

static enum sse_status
read_in(const char *bytes, size_t size, size_t step, struct buf *seen)
{
	enum sse_status status = SSE_MORE;
	struct sse sse;

	sse_init(&sse, EVENT_MAX);
	for (size_t at = 0; at < size && status == SSE_MORE; at += step)
		status = sse_feed(&sse, bytes + at,
		    size - at < step ? size - at : step, on_event, seen);
	if (status == SSE_MORE)
		status = sse_end(&sse, on_event, seen);
	sse_done(&sse);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (size > 1 << 16)
		return 0;

	CLEANUP_BUF struct buf whole, parts;

	buf_init(&whole, 1 << 24);
	buf_init(&parts, 1 << 24);
	enum sse_status a = read_in(bytes, size, size + 1, &whole);

	for (size_t step = 1; step <= 3; step++) {
		buf_clear(&parts);
		enum sse_status b = read_in(bytes, size, step, &parts);

		/* a line over the bound is noticed at another byte */
		if (a == SSE_MORE && b == SSE_MORE)
			REQUIRE(whole.len == parts.len &&
			    memcmp(whole.data, parts.data, whole.len) == 0);
	}
	return 0;
}
