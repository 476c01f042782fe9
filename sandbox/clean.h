/*
 * Raw bytes of a command to text that is safe in a chat and in a model
 * request: valid UTF-8, no escape sequences, no control characters but tab and
 * line feed.  Incremental: cut anywhere, the result is the same.  Pure.
 *
 * A carriage return means what it means on a terminal, roughly: what follows
 * replaces the line so far (progress bars leave their last state).  A line
 * longer than CLEAN_LINE is not held back; a return in it is a line break.
 */
#ifndef GATEHOUSE_CLEAN_H
#define GATEHOUSE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/utf8.h"

#define CLEAN_LINE 4096
#define CLEAN_PIECE 16384	/* at most so many bytes a call */
#define CLEAN_OUT (3 * CLEAN_PIECE + 2 * CLEAN_LINE + 64)	/* out needs this max */

struct clean {
	struct utf8_stream utf8;
	struct buf text;	/* decoded, before the stripper */
	struct buf line;	/* held until its end or CLEAN_LINE */
	int state;
	size_t seq;		/* bytes of the escape sequence so far */
	bool cr;
	bool flushed;		/* the start of this line is out already */
};

void clean_init(struct clean *c);
void clean_done(struct clean *c);
void clean_feed(struct clean *c, const char *data, size_t len, struct buf *out);
/* What is held, now: the line so far. It can't be replaced any more. */
void clean_flush(struct clean *c, struct buf *out);
void clean_end(struct clean *c, struct buf *out);

#endif
