#include "platforms/text/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "platforms/text/markdown_inline.h"

struct fence { char c; size_t n; };

static bool
is_blank(const char *s, size_t from, size_t to)
{
	for (; from < to; from++)
		if (s[from] != ' ' && s[from] != '\t' && s[from] != '\r')
			return false;
	return true;
}

static size_t
skip_spaces(const char *s, size_t from, size_t to)
{
	while (from < to && (s[from] == ' ' || s[from] == '\t'))
		from++;
	return from;
}

static size_t
run_length(const char *s, size_t from, size_t to, char c)
{
	size_t n = 0;

	while (from + n < to && s[from + n] == c)
		n++;
	return n;
}

/* ---- kinds of lines ------------------------------------------------------------ */

static bool
line_opens_fence(const char *s, struct md_line *l, struct fence *f)
{
	size_t at = skip_spaces(s, l->start, l->end);

	if (at == l->end || (s[at] != '`' && s[at] != '~'))
		return false;
	f->c = s[at];
	f->n = run_length(s, at, l->end, f->c);
	at += f->n;
	if (f->n < 3 || (f->c == '`' && memchr(s + at, '`', l->end - at)))
		return false;
	l->kind = MD_FENCE_OPEN;
	l->content = (uint32_t)skip_spaces(s, at, l->end);
	return true;
}

static bool
line_closes_fence(const char *s, const struct md_line *l, const struct fence *f)
{
	size_t at = skip_spaces(s, l->start, l->end);
	size_t n = run_length(s, at, l->end, f->c);

	return n >= f->n && is_blank(s, at + n, l->end);
}

static bool
line_is_rule(const char *s, size_t at, size_t end)
{
	size_t n = 0;
	char c = s[at];

	if (c != '-' && c != '*' && c != '_')
		return false;
	for (; at < end; at++) {
		if (s[at] == c)
			n++;
		else if (s[at] != ' ' && s[at] != '\t' && s[at] != '\r')
			return false;
	}
	return n >= 3;
}

static bool
line_is_heading(const char *s, struct md_line *l, size_t at)
{
	size_t n = run_length(s, at, l->end, '#');
	size_t end = l->end;

	if (n == 0 || n > 6 || (at + n < l->end && s[at + n] != ' '))
		return false;
	l->kind = MD_HEADING;
	l->content = (uint32_t)skip_spaces(s, at + n, l->end);
	while (end > l->content && (s[end - 1] == ' ' || s[end - 1] == '\r'))
		end--;
	size_t close = end;
	while (close > l->content && s[close - 1] == '#')
		close--;
	if (close < end && close > l->content && s[close - 1] == ' ')
		end = close;
	while (end > l->content && s[end - 1] == ' ')
		end--;
	l->content_end = (uint32_t)end;
	return true;
}

static bool
line_is_item(const char *s, struct md_line *l, size_t at)
{
	size_t n = 1;

	if (strchr("-*+", s[at])) {
		l->bullet = true;
	} else {
		n = 0;
		while (at + n < l->end && n < 9 && s[at + n] >= '0' &&
		    s[at + n] <= '9')
			n++;
		if (n == 0 || at + n >= l->end ||
		    (s[at + n] != '.' && s[at + n] != ')'))
			return false;
		n++;
	}
	if (at + n >= l->end || s[at + n] != ' ') {
		l->bullet = false;
		return false;
	}
	l->kind = MD_ITEM;
	l->content = (uint32_t)skip_spaces(s, at + n, l->end);
	return true;
}

static void
line_is_quote(const char *s, struct md_line *l, size_t at)
{
	l->kind = MD_QUOTE;
	/* ">> x": the platforms know one level */
	while (at < l->end && s[at] == '>') {
		at++;
		if (at < l->end && s[at] == ' ')
			at++;
	}
	l->content = (uint32_t)at;
}

static void
line_classify(const char *s, struct md_line *l)
{
	size_t at = skip_spaces(s, l->start, l->end);
	bool flush = at - l->start <= 3;

	if (is_blank(s, l->start, l->end))
		l->kind = MD_BLANK;
	else if (flush && line_is_rule(s, at, l->end))
		l->kind = MD_RULE;
	else if (flush && line_is_heading(s, l, at))
		return;
	else if (flush && s[at] == '>')
		line_is_quote(s, l, at);
	else if (!line_is_item(s, l, at))
		l->kind = MD_PARA;
}

/* ---- tables ----------------------------------------------------------------------- */

bool
md_cell(const struct md *md, const struct md_line *line, uint32_t *at,
	uint32_t *ret_start, uint32_t *ret_end)
{
	const char *s = md->text;
	size_t i = *at;
	size_t end = line->end;

	while (end > i && (s[end - 1] == ' ' || s[end - 1] == '\r'))
		end--;
	if (i == line->start) {
		i = skip_spaces(s, i, end);
		if (i < end && s[i] == '|')
			i++;
	}
	if (i >= end)
		return false;
	size_t from = skip_spaces(s, i, end);
	for (i = from; i < end && s[i] != '|'; i++)
		if (s[i] == '\\' && i + 1 < end)
			i++;
	size_t to = i < end ? i : end;
	*at = (uint32_t)(i < end ? i + 1 : end);
	while (to > from && s[to - 1] == ' ')
		to--;
	*ret_start = (uint32_t)from;
	*ret_end = (uint32_t)to;
	return true;
}

static size_t
count_cells(const struct md *md, const struct md_line *l)
{
	uint32_t at = l->start, a, b;
	size_t n = 0;

	while (md_cell(md, l, &at, &a, &b))
		n++;
	return n;
}

static bool
is_table_rule(const struct md *md, const struct md_line *l)
{
	uint32_t at = l->start, a, b;
	const char *s = md->text;

	if (!memchr(s + l->start, '|', l->end - l->start))
		return false;
	while (md_cell(md, l, &at, &a, &b)) {
		if (a < b && s[a] == ':')
			a++;
		if (a < b && s[b - 1] == ':')
			b--;
		if (a == b || run_length(s, a, b, '-') != b - a)
			return false;
	}
	return true;
}

/* A table needs its second line to be known, so it is found afterwards. */
static void
find_tables(struct md *md)
{
	for (size_t i = 0; i + 1 < md->nlines; i++) {
		struct md_line *head = &md->lines[i];
		struct md_line *rule = &md->lines[i + 1];

		if (head->kind != MD_PARA || rule->kind != MD_PARA ||
		    !memchr(md->text + head->start, '|', head->end - head->start) ||
		    !is_table_rule(md, rule) ||
		    count_cells(md, head) != count_cells(md, rule))
			continue;
		head->kind = MD_TABLE_HEAD;
		rule->kind = MD_TABLE_RULE;
		for (i += 2; i < md->nlines && md->lines[i].kind == MD_PARA; i++) {
			struct md_line *row = &md->lines[i];

			if (!memchr(md->text + row->start, '|',
			    row->end - row->start))
				break;
			row->kind = MD_TABLE_ROW;
		}
		i--;
	}
}

/* ---- the whole ---------------------------------------------------------------------- */

static void
split_lines(struct md *md)
{
	size_t room = 0;
	size_t at = 0;
	struct fence fence = { 0, 0 };

	while (at < md->len) {
		const char *nl = memchr(md->text + at, '\n', md->len - at);
		size_t end = nl ? (size_t)(nl - md->text) : md->len;

		if (md->nlines == room) {
			room = room ? room * 2 : 32;
			md->lines = mem_grow(md->lines, room, sizeof(*md->lines));
		}
		struct md_line *l = &md->lines[md->nlines++];
		*l = (struct md_line){ .start = (uint32_t)at,
			.end = (uint32_t)end, .content = (uint32_t)at,
			.content_end = (uint32_t)end };
		at = end + 1;
		if (fence.n) {
			bool over = line_closes_fence(md->text, l, &fence);

			l->kind = over ? MD_FENCE_CLOSE : MD_FENCE_CODE;
			if (over)
				fence.n = 0;
		} else if (!line_opens_fence(md->text, l, &fence)) {
			fence.n = 0;
			line_classify(md->text, l);
		}
	}
}

static bool
same_block(const struct md_line *a, const struct md_line *b)
{
	switch ((enum md_line_kind)b->kind) {
	case MD_PARA:
	case MD_QUOTE:
		return a->kind == b->kind;
	case MD_FENCE_CODE:
	case MD_FENCE_CLOSE:
	case MD_TABLE_RULE:
	case MD_TABLE_ROW:
		return true;
	case MD_BLANK:
	case MD_HEADING:
	case MD_ITEM:
	case MD_RULE:
	case MD_FENCE_OPEN:
	case MD_TABLE_HEAD:
		break;
	}
	return false;
}

static void
parse_line(struct md *md, size_t *room, size_t i)
{
	const struct md_line *l = &md->lines[i];
	uint32_t at = l->start, a, b;

	switch ((enum md_line_kind)l->kind) {
	case MD_PARA:		/* the last line parses its paragraph */
		if (i + 1 == md->nlines || md->lines[i + 1].block != l->block)
			md_inline(md, room, md->lines[l->block].start, l->end);
		break;
	case MD_HEADING:
	case MD_ITEM:
	case MD_QUOTE:
		md_inline(md, room, l->content, l->content_end);
		break;
	case MD_TABLE_HEAD:
	case MD_TABLE_ROW:
		while (md_cell(md, l, &at, &a, &b))
			md_inline(md, room, a, b);
		break;
	case MD_BLANK:
	case MD_RULE:
	case MD_FENCE_OPEN:
	case MD_FENCE_CODE:
	case MD_FENCE_CLOSE:
	case MD_TABLE_RULE:
		break;
	}
}

static int
span_order(const void *pa, const void *pb)
{
	const struct md_span *a = pa;
	const struct md_span *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

void
md_parse(struct md *md, const char *text, size_t len)
{
	size_t room = 0;

	REQUIRE(len <= MD_TEXT_MAX);
	memset(md, 0, sizeof(*md));
	md->text = text;
	md->len = len;
	split_lines(md);
	find_tables(md);
	for (size_t i = 0; i < md->nlines; i++)
		md->lines[i].block = i && same_block(&md->lines[i - 1],
			&md->lines[i]) ? md->lines[i - 1].block : (uint32_t)i;
	for (size_t i = 0; i < md->nlines; i++)
		parse_line(md, &room, i);
	if (md->nspans)
		qsort(md->spans, md->nspans, sizeof(*md->spans), span_order);
}

void
md_done(struct md *md)
{
	mem_free(md->lines);
	mem_free(md->spans);
	memset(md, 0, sizeof(*md));
}

size_t
md_line_at(const struct md *md, size_t at)
{
	size_t lo = 0, hi = md->nlines;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (md->lines[mid].start <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

size_t
md_span_from(const struct md *md, size_t at)
{
	size_t lo = 0, hi = md->nspans;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (md->spans[mid].start < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
