/* Inline spans of one stretch of text; part of markdown.h. */
#ifndef GATEHOUSE_TEXT_MARKDOWN_INLINE_H
#define GATEHOUSE_TEXT_MARKDOWN_INLINE_H

#include "platforms/text/markdown.h"

/* Appends the spans of [from, to) to md->spans, in no order. */
void md_inline(struct md *md, size_t *room, size_t from, size_t to);
bool md_is_punct(char c);	/* ASCII only: what a backslash can escape */

#endif
