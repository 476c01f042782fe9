#include "platforms/text/split.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/text/markdown.h"

#define DEPTH_MAX 16		/* spans that are closed and opened again */
#define TRIES_MAX 64

struct split {
	const char *s;
	size_t len;
	bool plain;
	size_t limit;
	text_len_cb *cost;
	struct md md;		/* unless plain */
	uint32_t *inner;	/* by offset: innermost span over it, plus 1 */
	uint32_t *parent;	/* by span: its outer span, plus 1 */
	struct buf out;		/* the chunk being composed */
};

static bool
is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* An offset lies over a span if start < offset < end. */
static void
map_spans(struct split *sp)
{
	const struct md *md = &sp->md;
	uint32_t top = 0;
	size_t next = 0;

	sp->inner = mem_array(sp->len + 1, sizeof(*sp->inner));
	sp->parent = mem_array(md->nspans + 1, sizeof(*sp->parent));
	for (size_t at = 0; at <= sp->len; at++) {
		while (top && md->spans[top - 1].end <= at)
			top = sp->parent[top - 1];
		sp->inner[at] = top;
		if (next < md->nspans && md->spans[next].start == at) {
			sp->parent[next] = top;
			top = (uint32_t)++next;
		}
	}
}

/* ---- where a cut may be -------------------------------------------------------- */

static bool
is_regional(uint32_t cp)
{
	return cp >= 0x1f1e6 && cp <= 0x1f1ff;
}

static bool
joins_before(uint32_t cp)
{
	return cp == 0x200d || cp == 0xfe0f || cp == 0x20e3 ||
		(cp >= 0x300 && cp <= 0x36f) || (cp >= 0x1f3fb && cp <= 0x1f3ff);
}

static uint32_t
point_before(const char *s, size_t at)
{
	size_t from = at;
	uint32_t cp = 0;

	while (from > 0 && at - from < 4) {
		from--;
		if (((unsigned char)s[from] & 0xc0) != 0x80)
			break;
	}
	utf8_next(s + from, at - from, &cp);
	return cp;
}

static bool
on_boundary(const struct split *sp, size_t at)
{
	return at >= sp->len || ((unsigned char)sp->s[at] & 0xc0) != 0x80;
}

/* Not inside what is seen as one character. */
static bool
on_character(const struct split *sp, size_t at)
{
	uint32_t cp = 0;

	if (!on_boundary(sp, at))
		return false;
	utf8_next(sp->s + at, sp->len - at, &cp);
	if (cp < 0x300)
		return !(cp == '\n' && at && sp->s[at - 1] == '\r');
	uint32_t before = point_before(sp->s, at);
	if (joins_before(cp) || before == 0x200d)
		return false;
	if (!is_regional(cp) || !is_regional(before))
		return true;
	size_t n = 0;		/* flags are pairs */
	for (size_t i = at; i >= 4 && is_regional(point_before(sp->s, i)); i -= 4)
		n++;
	return n % 2 == 0;
}

static bool
span_allows(const struct split *sp, size_t at)
{
	const char *s = sp->s;

	if (!sp->inner[at])
		return true;
	const struct md_span *in = &sp->md.spans[sp->inner[at] - 1];
	if (at <= in->text || at >= in->text_end)
		return false;
	if (in->kind == MD_CODE)
		return s[at - 1] != '`' && s[at] != '`';
	/* markers must keep touching what they mark */
	return !is_space(s[at]) && !strchr("*_~`", s[at - 1]) &&
		!strchr("*_~`", s[at]);
}

/* Whether what is open at `at` can be closed and opened again there. */
static bool
cut_ok(const struct split *sp, size_t at)
{
	if (at == 0 || at >= sp->len)
		return true;
	if (!on_character(sp, at))
		return false;
	if (sp->plain)
		return true;
	size_t i = md_line_at(&sp->md, at);
	const struct md_line *l = &sp->md.lines[i];
	switch ((enum md_line_kind)l->kind) {
	case MD_FENCE_CLOSE:
	case MD_TABLE_RULE:
		return false;
	case MD_FENCE_CODE:
		return at != l->start || sp->md.lines[i - 1].kind == MD_FENCE_CODE;
	case MD_FENCE_OPEN:
	case MD_RULE:
	case MD_TABLE_HEAD:
		return at == l->start;
	case MD_TABLE_ROW:
		return at == l->start &&
			sp->md.lines[i - 1].kind == MD_TABLE_ROW;
	case MD_BLANK:
		return true;
	case MD_PARA:
	case MD_HEADING:
	case MD_ITEM:
	case MD_QUOTE:
		break;
	}
	if (at == l->start)
		return span_allows(sp, at);
	return at > l->content && sp->s[at - 1] != '\\' &&
		!strchr("`~", sp->s[at]) && span_allows(sp, at);
}

/* ---- what is open at a cut ------------------------------------------------------ */

static void
add_source(struct split *sp, size_t from, size_t to)
{
	buf_add(&sp->out, sp->s + from, to - from);
}

static const struct md_line *
block_of(const struct split *sp, const struct md_line *l)
{
	return &sp->md.lines[l->block];
}

static size_t
open_spans(const struct split *sp, size_t at, const struct md_span *spans[DEPTH_MAX])
{
	size_t n = 0;

	for (uint32_t i = sp->inner[at]; i; i = sp->parent[i - 1]) {
		if (n == DEPTH_MAX)
			return 0;
		spans[n++] = &sp->md.spans[i - 1];
	}
	return n;
}

static bool
same_fence(const struct split *sp, const struct md_line *l)
{
	return l->kind == MD_FENCE_CODE && block_of(sp, l)->kind == MD_FENCE_OPEN;
}

/* What a chunk that starts at `at` needs before its text. */
static void
add_prefix(struct split *sp, size_t at)
{
	const struct md_span *spans[DEPTH_MAX];

	if (sp->plain || at == 0 || at >= sp->len || !cut_ok(sp, at))
		return;
	const struct md_line *l = &sp->md.lines[md_line_at(&sp->md, at)];
	const struct md_line *first = block_of(sp, l);
	if (same_fence(sp, l)) {
		add_source(sp, first->start, first->end);
		buf_add_char(&sp->out, '\n');
		return;
	}
	if (l->kind == MD_TABLE_ROW) {	/* head and rule */
		add_source(sp, first->start, first[1].end);
		buf_add_char(&sp->out, '\n');
		return;
	}
	if (at == l->start && l->kind != MD_PARA)
		return;
	if (l->kind == MD_HEADING || l->kind == MD_QUOTE)
		add_source(sp, l->start, l->content);
	size_t n = open_spans(sp, at, spans);
	while (n--)
		add_source(sp, spans[n]->start, spans[n]->text);
	/* in mid-line it was no marker of a list, heading or quote */
	if (at != l->start && !sp->inner[at] && l->kind != MD_HEADING &&
	    l->kind != MD_QUOTE && (strchr("#>-+", sp->s[at]) ||
	    (sp->s[at] == '*' && at + 1 < sp->len && is_space(sp->s[at + 1]))))
		buf_add_char(&sp->out, '\\');
}

/* The chunk's text up to `at`, and what closes what is open there. */
static void
add_body(struct split *sp, size_t from, size_t at)
{
	const struct md_span *spans[DEPTH_MAX];
	size_t text_end = at;

	if (sp->plain || at >= sp->len || !cut_ok(sp, at)) {
		add_source(sp, from, at);
		return;
	}
	const struct md_line *l = &sp->md.lines[md_line_at(&sp->md, at)];
	if (same_fence(sp, l)) {
		const struct md_line *open = block_of(sp, l);
		size_t i = open->start;

		add_source(sp, from, at);
		if (sp->s[at - 1] != '\n')
			buf_add_char(&sp->out, '\n');
		while (sp->s[i] == ' ' || sp->s[i] == '\t')
			i++;
		for (char c = sp->s[i]; sp->s[i] == c; i++)
			buf_add_char(&sp->out, c);
		return;
	}
	size_t n = open_spans(sp, at, spans);
	while (n && text_end > from && is_space(sp->s[text_end - 1]))
		text_end--;
	add_source(sp, from, text_end);
	for (size_t i = 0; i < n; i++)
		add_source(sp, spans[i]->text_end, spans[i]->end);
	add_source(sp, text_end, at);
}

static size_t
compose(struct split *sp, size_t from, size_t to)
{
	buf_clear(&sp->out);
	add_prefix(sp, from);
	add_body(sp, from, to);
	return sp->cost(sp->out.data, sp->out.len);
}

/* The same without closing and opening: when nothing else fits. */
static size_t
compose_bare(struct split *sp, size_t from, size_t to)
{
	buf_clear(&sp->out);
	add_source(sp, from, to);
	return sp->cost(sp->out.data, sp->out.len);
}

/* ---- choosing ---------------------------------------------------------------------- */

static size_t
next_boundary(const struct split *sp, size_t at)
{
	do
		at++;
	while (!on_boundary(sp, at));
	return at;
}

/*
 * The largest `to` that fits (or nearly: a sixty-fourth of the limit may stay
 * unused), as far as cost rises with length; from if none.  Composing is what
 * takes time, so the next guess goes by what the last one cost per byte.
 */
static size_t
largest_fit(struct split *sp, size_t from,
	size_t (*fn)(struct split *, size_t, size_t))
{
	size_t lo = from;		/* fits */
	size_t hi = sp->len - from > sp->limit * 4 ? from + sp->limit * 4 + 1 :
		sp->len + 1;		/* does not */
	size_t guess = from + sp->limit;

	for (unsigned i = 1; hi - lo > 1; i++) {
		size_t mid = guess > lo && guess < hi && i % 4 ? guess :
			lo + (hi - lo) / 2;

		while (mid > lo && !on_boundary(sp, mid))
			mid--;
		if (mid == lo) {	/* between lo and the guess starts no character */
			mid = next_boundary(sp, lo);
			if (mid >= hi)
				break;
		}
		size_t cost = fn(sp, from, mid);
		if (cost <= sp->limit) {
			lo = mid;
			if (cost >= sp->limit - sp->limit / 64)
				break;
		} else {
			hi = mid;
		}
		guess = from + (mid - from) * sp->limit / (cost ? cost : 1);
	}
	return lo;
}

static bool
in_code(const struct split *sp, size_t at)
{
	return !sp->plain && sp->inner[at] &&
		sp->md.spans[sp->inner[at] - 1].kind == MD_CODE;
}

/* The best cut in (from, max]; from if there is none. */
static size_t
best_cut(const struct split *sp, size_t from, size_t max)
{
	size_t half = from + (max - from) / 2;

	for (size_t at = max; at > half; at--)
		if (sp->s[at - 1] == '\n' && cut_ok(sp, at))
			return at;
	for (int code = 0; code < 2; code++)
		for (size_t at = max; at > from + 1; at--)
			if (is_space(sp->s[at - 1]) && cut_ok(sp, at) &&
			    in_code(sp, at) == code)
				return at;
	for (size_t at = max; at > from; at--)
		if (cut_ok(sp, at))
			return at;
	return from;
}

static size_t
bare_cut(struct split *sp, size_t from)
{
	size_t max = largest_fit(sp, from, compose_bare);
	size_t at = max;

	while (at > from && !on_character(sp, at))
		at--;
	if (at == from)
		at = max > from ? max : next_boundary(sp, from);
	compose_bare(sp, from, at);
	return at;
}

/* Leaves the chunk in sp->out; returns where the next one starts. */
static size_t
next_chunk(struct split *sp, size_t from)
{
	if (sp->len - from <= sp->limit * 4 &&
	    compose(sp, from, sp->len) <= sp->limit)
		return sp->len;
	size_t max = largest_fit(sp, from, compose);
	for (int i = 0; i < TRIES_MAX && max > from; i++) {
		size_t at = best_cut(sp, from, max);

		if (at == from)
			break;
		if (compose(sp, from, at) <= sp->limit)
			return at;
		max = at - 1;
	}
	return bare_cut(sp, from);
}

static bool
all_space(const char *s, size_t from, size_t to)
{
	while (from < to && is_space(s[from]))
		from++;
	return from == to;
}

void
text_split(const char *text, size_t len, bool plain, size_t limit,
	text_len_cb *cost, text_chunk_cb *cb, void *arg)
{
	struct split sp = { .s = text, .len = len, .plain = plain,
		.limit = limit, .cost = cost };

	REQUIRE(limit > 0 && len <= MD_TEXT_MAX);
	buf_init(&sp.out, 4 * MD_TEXT_MAX);
	if (!plain) {
		md_parse(&sp.md, text, len);
		map_spans(&sp);
	}
	for (size_t at = 0; at < len;) {
		size_t next = next_chunk(&sp, at);

		if (!all_space(text, at, next))
			cb(arg, &(struct text_chunk){ .text = sp.out.data,
				.len = sp.out.len, .start = at, .end = next });
		at = next;
	}
	md_done(&sp.md);
	mem_free(sp.inner);
	mem_free(sp.parent);
	buf_done(&sp.out);
}
