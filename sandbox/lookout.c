#include "sandbox/lookout.h"

#include <string.h>

#include "base/mem.h"

#define STRIKES_MAX 3

struct lookout {
	char *patterns[LOOKOUT_PATTERNS_MAX];
	size_t npatterns;
	size_t overlap;		/* of two pieces of a long line */
	struct buf line;
	bool matched;		/* this line, in an earlier piece */
	bool later;		/* not the first piece of its line */
	struct buf lines;	/* to be told */
	unsigned nlines, more;
	bool told, dropped, off;
	msec_t until;		/* end of the window after the last telling */
	unsigned strikes;
};

struct lookout *
lookout_new(const char *const *patterns)
{
	struct lookout *l = mem_alloc(sizeof(*l));

	for (; *patterns && l->npatterns < LOOKOUT_PATTERNS_MAX; patterns++) {
		size_t len = strlen(*patterns);

		REQUIRE(len > 0 && len <= LOOKOUT_PATTERN_MAX);
		l->patterns[l->npatterns++] = mem_str(*patterns);
		if (len - 1 > l->overlap)
			l->overlap = len - 1;
	}
	REQUIRE(l->npatterns > 0);
	buf_init(&l->line, LOOKOUT_LINE_MAX);
	buf_init(&l->lines, LOOKOUT_BYTES_MAX);
	return l;
}

void
lookout_free(struct lookout **lp)
{
	if (!*lp)
		return;
	struct lookout *l = STEAL(*lp);

	for (size_t i = 0; i < l->npatterns; i++)
		mem_free(l->patterns[i]);
	buf_done(&l->line);
	buf_done(&l->lines);
	mem_free(l);
}

static bool
matches(const struct lookout *l)
{
	for (size_t i = 0; i < l->npatterns; i++)
		if (memmem(l->line.data, l->line.len, l->patterns[i],
		    strlen(l->patterns[i])))
			return true;
	return false;
}

/* A line counts once, however many pieces it has. */
static void
look_at_line(struct lookout *l)
{
	if (l->matched || !matches(l))
		return;
	l->matched = true;
	if (l->nlines >= LOOKOUT_LINES_MAX) {
		l->more++;
		return;
	}
	/* A later piece may begin inside a secret, which no masker would know. */
	if (l->later)
		buf_add_str(&l->lines, "[far behind in a long line]");
	else
		buf_add(&l->lines, l->line.data, l->line.len);
	buf_add_char(&l->lines, '\n');
	l->nlines++;
}

void
lookout_feed(struct lookout *l, const char *text, size_t len)
{
	if (l->off)
		return;
	while (len > 0) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;
		size_t room = l->line.max - l->line.len;

		if (n > room)
			nl = NULL;
		n = n < room ? n : room;
		buf_add(&l->line, text, n);
		text += n;
		len -= n;
		if (nl) {
			look_at_line(l);
			buf_clear(&l->line);
			l->matched = l->later = false;
			text++;
			len--;
		} else if (l->line.len == l->line.max) {
			look_at_line(l);
			buf_drain(&l->line, l->line.len - l->overlap);
			l->later = true;
		}
	}
}

/* Windows with drops in a row; a quiet one in between starts anew. */
static void
count_strikes(struct lookout *l, msec_t now)
{
	bool row = l->told && l->dropped && now - l->until < LOOKOUT_WINDOW_MS;

	l->strikes = row ? l->strikes + 1 : 0;
	l->dropped = false;
}

enum lookout_say
lookout_look(struct lookout *l, msec_t now, struct buf *ret_lines,
	unsigned *ret_more)
{
	if (l->off || l->nlines + l->more == 0)
		return LOOKOUT_QUIET;
	if (l->told && now < l->until) {
		l->dropped = true;
		l->more += l->nlines;
		l->nlines = 0;
		buf_clear(&l->lines);
		return LOOKOUT_QUIET;
	}
	if (l->nlines == 0)
		return LOOKOUT_QUIET;
	count_strikes(l, now);
	buf_add(ret_lines, l->lines.data, l->lines.len);
	*ret_more = l->more;
	l->nlines = l->more = 0;
	buf_clear(&l->lines);
	l->told = true;
	l->until = now + LOOKOUT_WINDOW_MS;
	l->off = l->strikes >= STRIKES_MAX;
	return l->off ? LOOKOUT_OFF : LOOKOUT_TELL;
}

enum breaker_say
breaker_look(struct breaker *b, msec_t now)
{
	if (b->tripped) {
		b->kept++;
		return BREAKER_KEEPS;
	}
	if (b->n == BREAKER_TELLINGS && now - b->told[b->next] < BREAKER_SPAN_MS) {
		b->tripped = true;
		b->kept = 1;
		b->n = b->next = 0;
		return BREAKER_TRIPS;
	}
	b->told[b->next] = now;
	b->next = (b->next + 1) % BREAKER_TELLINGS;
	b->n += b->n < BREAKER_TELLINGS;
	return BREAKER_PASS;
}

unsigned
breaker_release(struct breaker *b)
{
	b->tripped = false;
	return b->kept;
}
