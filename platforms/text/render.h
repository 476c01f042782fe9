/*
 * Walks a Markdown text for a platform's own notation.  Lists become bullets,
 * headings bold, tables groups of lines (bold first cell, then "column: value"),
 * because chat platforms have none of them.  open and close nest properly and
 * no kind is opened inside itself.
 */
#ifndef GATEHOUSE_TEXT_RENDER_H
#define GATEHOUSE_TEXT_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "platforms/text/markdown.h"

struct text_style {
	/* Visible text, not escaped. False: no room, stop. */
	bool (*text)(void *ctx, const char *s, size_t len);
	/* url: of links, backslashes removed; NULL else. */
	void (*open)(void *ctx, enum md_span_kind kind, const char *url);
	void (*close)(void *ctx, enum md_span_kind kind, const char *url);
	void (*fence)(void *ctx, bool open, const char *lang, size_t lang_len);
	void (*quote)(void *ctx, bool open);
};

void text_render(const struct md *md, const struct text_style *style, void *ctx);

/* What a person would see without any formatting; links as "text (url)". */
void text_plain(struct buf *out, const char *text, size_t len);

#endif
