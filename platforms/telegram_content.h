/* What is in a message besides its words: media, origin, quotes. Pure. */
#ifndef GATEHOUSE_TELEGRAM_CONTENT_H
#define GATEHOUSE_TELEGRAM_CONTENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"

/* A message about the chat itself ("pinned", "joined"): nobody's words. */
bool telegram_content_service(const struct json *message);

/*
 * Appends a line like "[document: name]" for what the message carries; false if
 * it carries nothing known.  out may be NULL.
 */
bool telegram_content_media(struct buf *out, const struct json *message);

/*
 * Appends a line that says where forwarded words come from, and one with what
 * is replied to if the model can't know it (not its own message, or a quote).
 */
void telegram_content_context(struct buf *out, const struct json *message,
	const struct json *reply, bool reply_to_bot);

#endif
