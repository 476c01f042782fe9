/* A Telegram text with entities as Markdown. Offsets are UTF-16. Pure. */
#ifndef GATEHOUSE_TELEGRAM_TEXT_H
#define GATEHOUSE_TELEGRAM_TEXT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

/*
 * Appends text with its formatting written as Markdown.  Entities that start
 * before byte `from` are left out (a command word is never decorated), as are
 * those that don't fit the text or cross another one.
 */
void telegram_text_markdown(struct buf *out, const char *text,
	const struct json *entities, size_t from);

#endif
