/*
 * Looks out for words in the output of a background process, line by line,
 * and says when somebody should be told.  A chatty program must not flood a
 * conversation: one telling in 15 s, and who breaks that bound in three
 * windows in a row is not watched any longer.  Pure; the caller brings the time.
 */
#ifndef GATEHOUSE_LOOKOUT_H
#define GATEHOUSE_LOOKOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/loop.h"

#define LOOKOUT_PATTERNS_MAX 16
#define LOOKOUT_PATTERN_MAX 200	/* bytes of one */
#define LOOKOUT_WINDOW_MS 15000
#define LOOKOUT_LINES_MAX 20	/* told at once */
#define LOOKOUT_LINE_MAX 2048	/* bytes of a line; a longer one is read in pieces */
#define LOOKOUT_BYTES_MAX (LOOKOUT_LINES_MAX * (LOOKOUT_LINE_MAX + 1))

struct lookout;

/* Plain substrings, NULL-terminated; at least one. Copied. */
struct lookout *lookout_new(const char *const *patterns);
void lookout_free(struct lookout **l);
/* Clean text as it comes, cut anywhere. */
void lookout_feed(struct lookout *l, const char *text, size_t len);

enum lookout_say {
	LOOKOUT_QUIET,		/* nothing new, or too soon */
	LOOKOUT_TELL,
	LOOKOUT_OFF,		/* tell, and that it is the last time */
};
/*
 * After feeding: whether to tell now. ret_lines gets the lines, as they were
 * printed, at most LOOKOUT_BYTES_MAX: to be masked before anything is cut.
 * ret_more: how many more matched since the last telling.
 */
enum lookout_say lookout_look(struct lookout *l, msec_t now,
	struct buf *ret_lines, unsigned *ret_more);

/* Of all that is watched: 15 tellings in 10 s silence it for 30 s. */
#define BREAKER_TELLINGS 15
#define BREAKER_SPAN_MS 10000
#define BREAKER_SILENCE_MS 30000
struct breaker {
	msec_t told[BREAKER_TELLINGS];	/* a ring of the newest */
	unsigned next, n;
	bool tripped;
	unsigned kept;		/* tellings it kept back */
};
enum breaker_say { BREAKER_PASS, BREAKER_TRIPS, BREAKER_KEEPS };
enum breaker_say breaker_look(struct breaker *b, msec_t now);
/* After BREAKER_SILENCE_MS: how many were kept back. */
unsigned breaker_release(struct breaker *b);

#endif
