/*
 * Markdown as the HTML that Telegram's Bot API takes (parse_mode HTML): few
 * tags, properly nested, text escaped.  core.telegram.org/bots/api#html-style
 */
#ifndef GATEHOUSE_TEXT_TELEGRAM_HTML_H
#define GATEHOUSE_TEXT_TELEGRAM_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define TELEGRAM_TEXT_MAX 4096

/* Appends; false if it did not fit or nothing visible is in it. */
bool telegram_html(struct buf *out, const char *text, size_t len);

/*
 * What counts against TELEGRAM_TEXT_MAX, valid for both ways of sending: the
 * larger of the source's and the visible text's UTF-16 units (reports differ
 * whether the server counts those or code points, which are fewer), and a
 * seventh of the HTML's bytes, so that a chunk stays below 28 KiB.
 */
size_t telegram_text_len(const char *text, size_t len);

#endif
