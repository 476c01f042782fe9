/*
 * Splits text with inline reasoning (<think>...</think> before the answer) as
 * it comes, cut anywhere, into the answer and the reasoning.  Only a tag with
 * nothing but white space before it opens reasoning: an answer that speaks
 * about the tag keeps its words.
 */
#ifndef GATEHOUSE_THINK_H
#define GATEHOUSE_THINK_H

#include <stddef.h>

#include "base/buf.h"

enum think_state { THINK_BEFORE, THINK_INSIDE, THINK_ANSWER };

struct think {
	enum think_state state;
	const char *close;	/* the tag that ends it */
	struct buf held;	/* may be (part of) a tag */
	size_t blocks;		/* of reasoning so far */
};

void think_init(struct think *t);
void think_done(struct think *t);
void think_feed(struct think *t, const char *text, size_t len,
	struct buf *answer, struct buf *reasoning);
/* The text is over: what is held back is given out. */
void think_end(struct think *t, struct buf *answer, struct buf *reasoning);

#endif
