/*
 * Emphasis, code, links: CommonMark's delimiter algorithm on one stretch of
 * text.  What is inside a code span or a bare URL is never markup.
 */
#include "platforms/text/markdown_inline.h"

#include <string.h>

#include "base/mem.h"

#define NONE UINT32_MAX
#define TICKS_MAX 32		/* longer runs of backticks are text */
#define URL_MAX 2048

struct delim {
	uint32_t at;
	uint32_t len;		/* what is left of the run */
	uint32_t whole;
	uint32_t prev;
	uint32_t next;
	char c;
	bool opens;
	bool closes;
};

struct bracket {
	uint32_t at;
	uint32_t last_delim;	/* the newest before it */
	bool image;
	bool dead;		/* a link may not hold a link */
};

struct scan {
	struct md *md;
	size_t *room;
	const char *s;
	size_t from;
	size_t to;
	struct delim *delims;
	uint32_t ndelims;
	uint32_t delims_room;
	uint32_t last;		/* newest delimiter of the list, or NONE */
	struct bracket *brackets;
	size_t nbrackets;
	size_t brackets_room;
	bool no_ticks[TICKS_MAX + 1];	/* no closing run of that length is left */
};

bool
md_is_punct(char c)
{
	return c > ' ' && c < 127 && !(c >= '0' && c <= '9') &&
		!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z');
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
add_span(struct scan *sc, struct md_span span)
{
	struct md *md = sc->md;

	if (md->nspans == *sc->room) {
		*sc->room = *sc->room ? *sc->room * 2 : 32;
		md->spans = mem_grow(md->spans, *sc->room, sizeof(*md->spans));
	}
	md->spans[md->nspans++] = span;
}

/* ---- emphasis --------------------------------------------------------------- */

static void
delim_drop(struct scan *sc, uint32_t i)
{
	struct delim *d = &sc->delims[i];

	if (d->prev != NONE)
		sc->delims[d->prev].next = d->next;
	if (d->next != NONE)
		sc->delims[d->next].prev = d->prev;
	else
		sc->last = d->prev;
}

static void
delim_add(struct scan *sc, size_t at, size_t len)
{
	char c = sc->s[at];
	char before = at > sc->from ? sc->s[at - 1] : ' ';
	char after = at + len < sc->to ? sc->s[at + len] : ' ';
	bool left = !is_space(after) && (!md_is_punct(after) ||
		is_space(before) || md_is_punct(before));
	bool right = !is_space(before) && (!md_is_punct(before) ||
		is_space(after) || md_is_punct(after));

	if (c == '~' && len != 2)
		return;
	if (sc->ndelims == sc->delims_room) {
		sc->delims_room = sc->delims_room ? sc->delims_room * 2 : 16;
		sc->delims = mem_grow(sc->delims, sc->delims_room,
			sizeof(*sc->delims));
	}
	struct delim *d = &sc->delims[sc->ndelims];
	*d = (struct delim){ .at = (uint32_t)at, .len = (uint32_t)len,
		.whole = (uint32_t)len, .prev = sc->last, .next = NONE, .c = c,
		.opens = left, .closes = right };
	if (c == '_') {		/* snake_case is a word */
		d->opens = left && (!right || md_is_punct(before));
		d->closes = right && (!left || md_is_punct(after));
	}
	if (!d->opens && !d->closes)
		return;
	if (sc->last != NONE)
		sc->delims[sc->last].next = sc->ndelims;
	sc->last = sc->ndelims++;
}

static bool
delims_match(const struct delim *open, const struct delim *close)
{
	if (open->c != close->c || !open->opens)
		return false;
	if (open->c == '~' || (!open->closes && !close->opens))
		return true;
	return (open->whole + close->whole) % 3 != 0 ||
		(open->whole % 3 == 0 && close->whole % 3 == 0);
}

static size_t
bottom_slot(const struct delim *d)
{
	size_t c = d->c == '*' ? 0 : d->c == '_' ? 1 : 2;

	return (c * 2 + d->opens) * 3 + d->whole % 3;
}

static void
pair_up(struct scan *sc, uint32_t o, uint32_t c)
{
	struct delim *open = &sc->delims[o];
	struct delim *close = &sc->delims[c];
	uint32_t n = open->len >= 2 && close->len >= 2 ? 2 : 1;

	while (close->prev != o)
		delim_drop(sc, close->prev);
	open->len -= n;
	add_span(sc, (struct md_span){
		.start = open->at + open->len,
		.text = open->at + open->len + n,
		.text_end = close->at,
		.end = close->at + n,
		.kind = open->c == '~' ? MD_STRIKE : n == 2 ? MD_BOLD : MD_ITALIC,
	});
	close->at += n;
	close->len -= n;
	if (open->len == 0)
		delim_drop(sc, o);
}

/* Pairs all delimiters behind `bottom` (NONE: all) and forgets them. */
static void
pair_delims(struct scan *sc, uint32_t bottom)
{
	uint32_t floor[18];	/* no opener at or before it */
	uint32_t c = sc->last;

	for (size_t i = 0; i < ARRAY_LEN(floor); i++)
		floor[i] = bottom;
	if (c == bottom)
		return;
	while (sc->delims[c].prev != bottom)
		c = sc->delims[c].prev;
	while (c != NONE) {
		struct delim *close = &sc->delims[c];
		uint32_t o = close->prev;

		if (!close->closes) {
			c = close->next;
			continue;
		}
		uint32_t *low = &floor[bottom_slot(close)];
		while (o != NONE && o != bottom && o != *low &&
		    !delims_match(&sc->delims[o], close))
			o = sc->delims[o].prev;
		if (o != NONE && o != bottom && o != *low) {
			pair_up(sc, o, c);
			if (close->len == 0) {
				uint32_t next = close->next;

				delim_drop(sc, c);
				c = next;
			}
			continue;
		}
		*low = close->prev;
		uint32_t next = close->next;
		if (!close->opens)
			delim_drop(sc, c);
		c = next;
	}
	while (sc->last != bottom && sc->last != NONE)
		delim_drop(sc, sc->last);
}

/* ---- code, links, bare URLs --------------------------------------------------- */

/* Returns where scanning goes on. */
static size_t
scan_ticks(struct scan *sc, size_t at)
{
	size_t n = 0;

	while (at + n < sc->to && sc->s[at + n] == '`')
		n++;
	if (n > TICKS_MAX || sc->no_ticks[n])
		return at + n;
	for (size_t i = at + n; i < sc->to;) {
		size_t run = 0;

		if (sc->s[i] != '`') {
			i++;
			continue;
		}
		while (i + run < sc->to && sc->s[i + run] == '`')
			run++;
		if (run == n) {
			add_span(sc, (struct md_span){ .kind = MD_CODE,
				.start = (uint32_t)at, .text = (uint32_t)(at + n),
				.text_end = (uint32_t)i, .end = (uint32_t)(i + n) });
			return i + n;
		}
		i += run;
	}
	sc->no_ticks[n] = true;
	return at + n;
}

static void
bracket_push(struct scan *sc, size_t at, bool image)
{
	if (sc->nbrackets == sc->brackets_room) {
		sc->brackets_room = sc->brackets_room ? sc->brackets_room * 2 : 8;
		sc->brackets = mem_grow(sc->brackets, sc->brackets_room,
			sizeof(*sc->brackets));
	}
	sc->brackets[sc->nbrackets++] = (struct bracket){
		.at = (uint32_t)at, .last_delim = sc->last, .image = image };
}

/* "(url)" or "(url "title")" at `at`; returns what follows it, 0 if none. */
static size_t
scan_target(const struct scan *sc, size_t at, size_t *ret_url, size_t *ret_end)
{
	const char *s = sc->s;
	size_t max = at + URL_MAX < sc->to ? at + URL_MAX : sc->to;
	size_t i = at + 1;
	int depth = 0;

	while (i < max && s[i] == ' ')
		i++;
	*ret_url = i;
	for (; i < max && (unsigned char)s[i] > ' ' && s[i] != '<'; i++) {
		if (s[i] == '\\' && i + 1 < max && md_is_punct(s[i + 1]))
			i++;
		else if (s[i] == '(')
			depth++;
		else if (s[i] == ')' && depth-- == 0)
			break;
	}
	*ret_end = i;
	while (i < max && s[i] == ' ')
		i++;
	if (i < max && i > *ret_end && (s[i] == '"' || s[i] == '\'')) {
		char quote = s[i++];

		while (i < max && s[i] != quote && s[i] != '\n')
			i++;
		if (i == max || s[i] != quote)
			return 0;
		i++;
	}
	return i < max && s[i] == ')' ? i + 1 : 0;
}

static size_t
scan_close_bracket(struct scan *sc, size_t at)
{
	size_t url, url_end;

	if (!sc->nbrackets)
		return at + 1;
	struct bracket b = sc->brackets[--sc->nbrackets];
	if (b.dead || at + 1 >= sc->to || sc->s[at + 1] != '(')
		return at + 1;
	size_t next = scan_target(sc, at + 1, &url, &url_end);
	if (!next || url == url_end)
		return at + 1;
	pair_delims(sc, b.last_delim);
	add_span(sc, (struct md_span){ .kind = MD_LINK, .start = b.at,
		.text = b.at + 1 + b.image, .text_end = (uint32_t)at,
		.end = (uint32_t)next, .url = (uint32_t)url,
		.url_end = (uint32_t)url_end });
	/* each is marked once: an outer one of a dead one is dead */
	for (size_t i = sc->nbrackets; i-- && !sc->brackets[i].dead;)
		sc->brackets[i].dead = true;
	return next;
}

/* Length of a bare http(s) URL at `at`, less what closes around it. */
static size_t
bare_url(const struct scan *sc, size_t at)
{
	const char *s = sc->s;
	size_t i = at;
	size_t left = sc->to - at;

	if (at > sc->from && ((unsigned char)s[at - 1] >= 0x80 ||
	    !(md_is_punct(s[at - 1]) || is_space(s[at - 1]))))
		return 0;
	if (left > 8 && !memcmp(s + at, "https://", 8))
		i += 8;
	else if (left > 7 && !memcmp(s + at, "http://", 7))
		i += 7;
	else
		return 0;
	while (i < sc->to && (unsigned char)s[i] > ' ' &&
	    !strchr("<>\"`*[]|\\", s[i]))
		i++;
	while (i > at && strchr("_~.,:;!?')", s[i - 1]))
		i--;
	return i - at;
}

static size_t
scan_one(struct scan *sc, size_t i)
{
	const char *s = sc->s;
	size_t n = 1;

	switch (s[i]) {
	case '\\':
		return i + 1 < sc->to && md_is_punct(s[i + 1]) ? i + 2 : i + 1;
	case '`':
		return scan_ticks(sc, i);
	case '*':
	case '_':
	case '~':
		while (i + n < sc->to && s[i + n] == s[i])
			n++;
		delim_add(sc, i, n);
		return i + n;
	case '!':
		if (i + 1 >= sc->to || s[i + 1] != '[')
			return i + 1;
		bracket_push(sc, i, true);
		return i + 2;
	case '[':
		bracket_push(sc, i, false);
		return i + 1;
	case ']':
		return scan_close_bracket(sc, i);
	case 'h':
		n = bare_url(sc, i);
		return n ? i + n : i + 1;
	default:
		return i + 1;
	}
}

void
md_inline(struct md *md, size_t *room, size_t from, size_t to)
{
	struct scan sc = { .md = md, .room = room, .s = md->text, .from = from,
		.to = to, .last = NONE };

	for (size_t i = from; i < to;)
		i = scan_one(&sc, i);
	pair_delims(&sc, NONE);
	mem_free(sc.delims);
	mem_free(sc.brackets);
}
