/*
 * Half surrogate pairs in JSON text.  Some servers cut text between UTF-16
 * units, so that one delta ends in "\ud83d" and the next begins with "\ude00"
 * (seen from mock-llm).  UTF-8 has no form for a half, and json.h makes it
 * U+FFFD; so each half is marked before parsing and joined after it.
 */
#ifndef GATEHOUSE_SURROGATE_H
#define GATEHOUSE_SURROGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * True if the JSON text holds a half: out is then the text with each half as a
 * mark of noncharacters, which surrogate_join() understands.
 */
bool surrogate_mark(struct buf *out, const char *json, size_t len);

/* One stream of text pieces; starts zeroed. */
struct surrogate { uint16_t high; };

/* Appends the piece; a high half at its end is held until the next one. */
bool surrogate_join(struct surrogate *s, const char *text, size_t len,
	struct buf *out);
bool surrogate_end(struct surrogate *s, struct buf *out);

#endif
