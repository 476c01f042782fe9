/*
 * A piece of text found in a file and replaced, although the model may have
 * remembered it not quite right.  Nine strategies are tried from exact to
 * loose; the first that finds anything decides.  Pure; the loose ones have a
 * budget of work, so that a big file can't take for ever.
 */
#ifndef GATEHOUSE_REPLACE_H
#define GATEHOUSE_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define REPLACE_MATCHES_MAX 1000

enum replace_strategy {
	REPLACE_EXACT,
	REPLACE_LINE_TRIMMED,
	REPLACE_WHITESPACE,
	REPLACE_INDENTATION,
	REPLACE_ESCAPES,
	REPLACE_BOUNDARY,
	REPLACE_UNICODE,
	REPLACE_BLOCK_ANCHOR,
	REPLACE_CONTEXT,
	REPLACE_STRATEGIES
};
const char *replace_name(enum replace_strategy s);	/* "line_trimmed" */

struct replace_match {
	size_t from, to;		/* bytes of the text */
};

struct replace_found {
	enum replace_strategy strategy;
	struct replace_match *list;	/* in order, not overlapping */
	size_t n;
	bool more;			/* than REPLACE_MATCHES_MAX */
};

/* n 0: nothing like it is there. Free with replace_found_done(). */
void replace_find(struct replace_found *ret, const char *text, size_t len,
	const char *old, size_t old_len);
void replace_found_done(struct replace_found *f);

/*
 * Appends text with old replaced by new, at its only place or (all) at every
 * one; the new text is indented as what it replaces.  *ret gets the strategy
 * and count; its list is freed.  -1 with what the model must change.
 */
int replace_apply(struct buf *out, const char *text, size_t len, const char *old,
	const char *new, bool all, struct replace_found *ret, struct err *err);

/* As match.from..to would be replaced: re-indented, line ends kept. */
void replace_one(struct buf *out, const char *text, struct replace_match m,
	enum replace_strategy strategy, const char *old, size_t old_len,
	const char *new, size_t new_len);

/* "the closest lines are:\n12|...": for a message. Nothing if none is close. */
void replace_closest(struct buf *out, const char *text, size_t len,
	const char *old, size_t old_len);

/* replace_fuzzy.c: strategies that compare line by line; for replace.c only. */
void replace_find_lines(struct replace_found *ret, const char *text, size_t len,
	const char *old, size_t old_len);
void replace_found_add(struct replace_found *f, size_t from, size_t to);

#endif
