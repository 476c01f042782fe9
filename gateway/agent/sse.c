#include "gateway/agent/sse.h"

#include <string.h>

#include "base/mem.h"

void
sse_init(struct sse *sse, size_t max_event)
{
	memset(sse, 0, sizeof(*sse));
	buf_init(&sse->line, max_event);
	buf_init(&sse->data, max_event);
}

void
sse_done(struct sse *sse)
{
	buf_done(&sse->line);
	buf_done(&sse->data);
}

static enum sse_status
give_event(struct sse *sse, sse_event_cb *cb, void *arg)
{
	struct sse_event event = {
		.name = sse->name, .data = sse->data.data, .len = sse->data.len,
	};
	bool more = !sse->has_data || cb(arg, &event);

	sse->has_data = false;
	sse->name[0] = '\0';
	buf_clear(&sse->data);
	return more ? SSE_MORE : SSE_STOPPED;
}

static bool
take_data(struct sse *sse, const char *value, size_t len)
{
	if (sse->has_data && !buf_add_char(&sse->data, '\n'))
		return false;
	sse->has_data = true;
	return buf_add(&sse->data, value, len);
}

static void
take_name(struct sse *sse, const char *value, size_t len)
{
	/* no event that we know has such a name */
	if (len >= sizeof(sse->name))
		len = 0;
	memcpy(sse->name, value, len);
	sse->name[len] = '\0';
}

static bool
field_is(const char *field, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(field, name, len) == 0;
}

static enum sse_status
take_line(struct sse *sse, const char *line, size_t len, sse_event_cb *cb,
	void *arg)
{
	if (!sse->started && len >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
		line += 3;
		len -= 3;
	}
	sse->started = true;
	if (len == 0)
		return give_event(sse, cb, arg);

	const char *colon = memchr(line, ':', len);
	size_t name_len = colon ? (size_t)(colon - line) : len;
	const char *value = line + name_len + (colon ? 1 : 0);
	size_t value_len = (size_t)(line + len - value);

	if (value_len > 0 && *value == ' ') {
		value++;
		value_len--;
	}
	if (field_is(line, name_len, "data"))
		return take_data(sse, value, value_len) ? SSE_MORE : SSE_TOO_LONG;
	if (field_is(line, name_len, "event"))
		take_name(sse, value, value_len);
	return SSE_MORE;
}

/* Length of the text before the line's end, or len. */
static size_t
line_length(const char *bytes, size_t len)
{
	const char *lf = memchr(bytes, '\n', len);
	size_t n = lf ? (size_t)(lf - bytes) : len;
	const char *cr = memchr(bytes, '\r', n);

	return cr ? (size_t)(cr - bytes) : n;
}

/* One whole line: what was held of it, and its rest. */
static enum sse_status
end_line(struct sse *sse, const char *rest, size_t len, sse_event_cb *cb,
	void *arg)
{
	enum sse_status status;

	if (sse->line.len == 0)
		return take_line(sse, rest, len, cb, arg);
	if (!buf_add(&sse->line, rest, len))
		return SSE_TOO_LONG;
	status = take_line(sse, sse->line.data, sse->line.len, cb, arg);
	buf_clear(&sse->line);
	return status;
}

enum sse_status
sse_feed(struct sse *sse, const char *bytes, size_t len, sse_event_cb *cb,
	void *arg)
{
	while (len > 0) {
		if (sse->after_cr && *bytes == '\n') {
			sse->after_cr = false;
			bytes++;
			len--;
			continue;
		}
		sse->after_cr = false;

		size_t n = line_length(bytes, len);

		if (n == len)
			return buf_add(&sse->line, bytes, len) ? SSE_MORE :
			    SSE_TOO_LONG;
		sse->after_cr = bytes[n] == '\r';

		enum sse_status status = end_line(sse, bytes, n, cb, arg);

		if (status != SSE_MORE)
			return status;
		bytes += n + 1;
		len -= n + 1;
	}
	return SSE_MORE;
}

enum sse_status
sse_end(struct sse *sse, sse_event_cb *cb, void *arg)
{
	enum sse_status status = SSE_MORE;

	if (sse->line.len > 0)
		status = end_line(sse, "", 0, cb, arg);
	return status == SSE_MORE ? give_event(sse, cb, arg) : status;
}
