/* A text as lines: where each begins and how long it is without its end. Pure. */
#ifndef GATEHOUSE_LINES_H
#define GATEHOUSE_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct line {
	const char *p;
	size_t len;		/* without the line feed */
};

struct lines {
	struct line *v;
	size_t n;
	bool open;		/* the last one has no line feed */
};

/* Borrows text. "" has no line. */
void lines_split(struct lines *l, const char *text, size_t len);
void lines_done(struct lines *l);
bool line_equal(struct line a, struct line b);
struct line line_trim(struct line a);		/* blanks at both ends */
size_t line_indent(struct line a);		/* leading blanks */

/*
 * How alike two lines are, 0 to 100: 100 less the share of edits.  Adds its
 * work to *work (cells); lines beyond 300 bytes are compared by their start.
 */
unsigned line_alike(struct line a, struct line b, size_t *work);

#endif
