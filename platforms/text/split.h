/*
 * Cuts a text into chunks that a platform takes.  A chunk of Markdown stands
 * on its own: what is open at a cut (fence, bold, link, table head, quote) is
 * closed and opened again.  Cuts are at the end of a line if there is one in
 * the second half, else behind white space, else between characters; never
 * inside a code point.
 */
#ifndef GATEHOUSE_TEXT_SPLIT_H
#define GATEHOUSE_TEXT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

/* What a text costs of the limit; see struct platform, text_len. */
typedef size_t text_len_cb(const char *text, size_t len);

/* [start, end) of the source; text has in addition what was closed and opened. */
struct text_chunk {
	const char *text;	/* a string, borrowed for the call */
	size_t len;
	size_t start;
	size_t end;
};
typedef void text_chunk_cb(void *arg, const struct text_chunk *chunk);

/*
 * plain: text is no Markdown; the chunks joined are the source.  In both modes
 * the ranges follow each other without a gap, except that a stretch of white
 * space that would be a message of its own is left out.  A limit smaller than
 * a character gets that character.
 */
void text_split(const char *text, size_t len, bool plain, size_t limit,
	text_len_cb *cost, text_chunk_cb *cb, void *arg);

#endif
