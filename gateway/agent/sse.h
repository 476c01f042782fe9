/*
 * Server-sent events: bytes cut anywhere become events.  Pure and bounded.
 * Knows nothing of what the events mean.  Comments (and id:, retry:) give no
 * event: whoever measures life by events doesn't see them.
 */
#ifndef GATEHOUSE_SSE_H
#define GATEHOUSE_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SSE_NAME_MAX 32

/* Borrowed during the callback; data is followed by a NUL. */
struct sse_event {
	const char *name;	/* of "event:", "" if there was none */
	const char *data;	/* lines of "data:" joined by \n */
	size_t len;
};
typedef bool sse_event_cb(void *arg, const struct sse_event *event);

enum sse_status {
	SSE_MORE,
	SSE_STOPPED,		/* the callback returned false */
	SSE_TOO_LONG,		/* an event is over the maximum */
};

struct sse {
	struct buf line;	/* start of a line whose end has not come */
	struct buf data;
	char name[SSE_NAME_MAX];
	bool has_data;
	bool started;		/* the first line, which may hold a BOM, is over */
	bool after_cr;		/* a \n now belongs to the \r before it */
};

void sse_init(struct sse *sse, size_t max_event);
void sse_done(struct sse *sse);
enum sse_status sse_feed(struct sse *sse, const char *bytes, size_t len,
	sse_event_cb *cb, void *arg);
/* The stream is over: an event without its blank line counts all the same. */
enum sse_status sse_end(struct sse *sse, sse_event_cb *cb, void *arg);

#endif
