/* UTF-8: validation, repair, lengths in other units, cutting. Pure. */
#ifndef GATEHOUSE_UTF8_H
#define GATEHOUSE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Length of the valid sequence at s (1-4) and its code point; 0 if invalid or cut. */
size_t utf8_next(const char *s, size_t len, uint32_t *ret_cp);
bool utf8_valid(const char *s, size_t len);
size_t utf8_encode(uint32_t cp, char out[4]);	/* 0 for surrogates, > 10FFFF */
size_t utf8_points(const char *s, size_t len);
size_t utf8_units16(const char *s, size_t len);	/* UTF-16 code units */
/* Byte offset of UTF-16 unit `unit`; inside a pair: of its start. */
size_t utf8_offset16(const char *s, size_t len, size_t unit);
/* The largest prefix of at most max bytes that ends between code points. */
size_t utf8_cut(const char *s, size_t len, size_t max);
/* Appends s with invalid bytes as U+FFFD. */
bool utf8_repair(struct buf *out, const char *s, size_t len);

/*
 * Appends s without what a terminal would take for orders: C0 but line feed and
 * tab, DEL, C1 and invalid bytes are left out.  one_line: those two become
 * spaces.
 */
bool utf8_for_terminal(struct buf *out, const char *s, size_t len, bool one_line);

/*
 * Incremental decoder for streams cut anywhere: holds back an incomplete
 * sequence until its rest comes or utf8_stream_end() is called.
 */
struct utf8_stream { char held[4]; size_t held_len; };
bool utf8_stream_feed(struct utf8_stream *st, const char *s, size_t len,
	struct buf *out);
bool utf8_stream_end(struct utf8_stream *st, struct buf *out);

#endif
