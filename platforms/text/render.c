#include "platforms/text/render.h"

#include <string.h>

#include "base/mem.h"
#include "platforms/text/markdown_inline.h"

struct walk {
	const struct md *md;
	const struct text_style *style;
	void *ctx;
	unsigned depth[MD_KINDS];	/* how often a kind is open */
	uint32_t *stack;		/* open spans of one stretch */
	size_t nstack;
	size_t stack_room;
	bool full;
};

static void
put(struct walk *w, const char *s, size_t len)
{
	if (len && !w->full)
		w->full = !w->style->text(w->ctx, s, len);
}

static void
put_str(struct walk *w, const char *s)
{
	put(w, s, strlen(s));
}

/* [from, to) of the source without the backslashes that escape. */
static void
put_source(struct walk *w, size_t from, size_t to)
{
	const char *s = w->md->text;
	size_t start = from;

	for (size_t i = from; i + 1 < to; i++) {
		if (s[i] != '\\' || !md_is_punct(s[i + 1]))
			continue;
		put(w, s + start, i - start);
		start = ++i;
	}
	put(w, s + start, to - start);
}

static char *
span_url(const struct md *md, const struct md_span *sp)
{
	if (sp->kind != MD_LINK)
		return NULL;
	char *url = mem_strn(md->text + sp->url, sp->url_end - sp->url);
	size_t n = 0;

	for (size_t i = 0; url[i]; i++) {
		if (url[i] == '\\' && md_is_punct(url[i + 1]))
			i++;
		url[n++] = url[i];
	}
	url[n] = '\0';
	return url;
}

static void
kind_open(struct walk *w, enum md_span_kind kind, const char *url)
{
	if (w->depth[kind]++ == 0)
		w->style->open(w->ctx, kind, url);
}

static void
kind_close(struct walk *w, enum md_span_kind kind, const char *url)
{
	if (--w->depth[kind] == 0)
		w->style->close(w->ctx, kind, url);
}

static void
span_enter(struct walk *w, uint32_t i)
{
	const struct md_span *sp = &w->md->spans[i];
	CLEANUP_FREE char *url = span_url(w->md, sp);

	if (w->nstack == w->stack_room) {
		w->stack_room = w->stack_room ? w->stack_room * 2 : 8;
		w->stack = mem_grow(w->stack, w->stack_room, sizeof(*w->stack));
	}
	w->stack[w->nstack++] = i;
	kind_open(w, (enum md_span_kind)sp->kind, url);
	if (url && sp->text == sp->text_end)
		put_str(w, url);
}

static void
span_leave(struct walk *w)
{
	const struct md_span *sp = &w->md->spans[w->stack[--w->nstack]];
	CLEANUP_FREE char *url = span_url(w->md, sp);

	kind_close(w, (enum md_span_kind)sp->kind, url);
}

/* One stretch that was parsed as one: its spans lie whole inside. */
static void
put_inline(struct walk *w, size_t from, size_t to)
{
	const struct md *md = w->md;
	size_t next = md_span_from(md, from);
	size_t at = from;

	if (to > from && md->text[to - 1] == '\r')
		to--;
	while (at < to || w->nstack) {
		const struct md_span *top = w->nstack ?
			&md->spans[w->stack[w->nstack - 1]] : NULL;
		size_t stop = top && top->text_end < to ? top->text_end : to;
		bool enter = next < md->nspans && md->spans[next].start < stop;

		if (enter)
			stop = md->spans[next].start;
		if (top && top->kind == MD_CODE)
			put(w, md->text + at, stop - at);
		else
			put_source(w, at, stop);
		at = stop;
		if (enter) {
			at = md->spans[next].text;
			span_enter(w, (uint32_t)next++);
		} else if (top) {
			at = top->end;
			span_leave(w);
		}
	}
}

static void
put_item(struct walk *w, const struct md_line *l)
{
	const char *s = w->md->text;
	size_t from = l->content;

	if (!l->bullet) {
		put(w, s + l->start, l->content - l->start);
	} else {
		size_t indent = 0;

		while (s[l->start + indent] == ' ' || s[l->start + indent] == '\t')
			indent++;
		put(w, s + l->start, indent);
		if (l->end - from >= 4 && s[from] == '[' && s[from + 2] == ']' &&
		    s[from + 3] == ' ' && strchr(" xX", s[from + 1])) {
			put_str(w, s[from + 1] == ' ' ? "\u2610 " : "\u2611 ");
			from += 4;
		} else {
			put_str(w, "\u2022 ");
		}
	}
	put_inline(w, from, l->end);
}

static void
put_fence(struct walk *w, size_t i, size_t end)
{
	const struct md *md = w->md;
	const struct md_line *open = &md->lines[i];
	size_t indent = 0;
	size_t lang = 0;

	while (md->text[open->start + indent] == ' ')
		indent++;
	while (open->content + lang < open->end &&
	    !strchr(" \t\r{", md->text[open->content + lang]))
		lang++;
	w->style->fence(w->ctx, true, md->text + open->content, lang);
	for (size_t k = i + 1; k < end && md->lines[k].kind == MD_FENCE_CODE; k++) {
		const struct md_line *l = &md->lines[k];
		size_t at = l->start;

		while (at < l->end && at - l->start < indent && md->text[at] == ' ')
			at++;
		if (k > i + 1)
			put_str(w, "\n");
		put(w, md->text + at, l->end - at);
	}
	w->style->fence(w->ctx, false, NULL, 0);
}

/* One row: its first cell bold, the others named by their column. */
static void
put_row(struct walk *w, const struct md_line *head, const struct md_line *row)
{
	uint32_t hat = head->start, rat = row->start, ha, hb, ra, rb;
	bool any = false;

	for (size_t col = 0; md_cell(w->md, row, &rat, &ra, &rb); col++) {
		bool named = md_cell(w->md, head, &hat, &ha, &hb) && ha < hb;

		if (ra == rb)
			continue;
		if (any)
			put_str(w, "\n");
		any = true;
		if (col == 0) {
			kind_open(w, MD_BOLD, NULL);
			put_inline(w, ra, rb);
			kind_close(w, MD_BOLD, NULL);
			continue;
		}
		put_str(w, "\u2022 ");
		if (named) {
			put_inline(w, ha, hb);
			put_str(w, ": ");
		}
		put_inline(w, ra, rb);
		if (w->full)
			return;
	}
}

static void
put_table(struct walk *w, size_t i, size_t end)
{
	const struct md_line *head = &w->md->lines[i];

	if (end - i <= 2) {	/* no row (yet): the names of the columns */
		put_row(w, head, head);
		return;
	}
	for (size_t k = i + 2; k < end && !w->full; k++) {
		if (k > i + 2)
			put_str(w, "\n\n");
		put_row(w, head, &w->md->lines[k]);
	}
}

static void
put_block(struct walk *w, size_t i, size_t end)
{
	const struct md_line *l = &w->md->lines[i];

	switch ((enum md_line_kind)l->kind) {
	case MD_BLANK:
		break;
	case MD_PARA:
		put_inline(w, l->start, w->md->lines[end - 1].end);
		break;
	case MD_HEADING:
		kind_open(w, MD_BOLD, NULL);
		put_inline(w, l->content, l->content_end);
		kind_close(w, MD_BOLD, NULL);
		break;
	case MD_ITEM:
		put_item(w, l);
		break;
	case MD_QUOTE:
		w->style->quote(w->ctx, true);
		for (size_t k = i; k < end; k++) {
			if (k > i)
				put_str(w, "\n");
			put_inline(w, w->md->lines[k].content,
				w->md->lines[k].content_end);
		}
		w->style->quote(w->ctx, false);
		break;
	case MD_RULE:
		put_str(w, "\u2014\u2014\u2014");
		break;
	case MD_FENCE_OPEN:
		put_fence(w, i, end);
		break;
	case MD_TABLE_HEAD:
		put_table(w, i, end);
		break;
	case MD_FENCE_CODE:
	case MD_FENCE_CLOSE:
	case MD_TABLE_RULE:
	case MD_TABLE_ROW:
		REQUIRE(!"a block starts with its first line");
		break;
	}
}

void
text_render(const struct md *md, const struct text_style *style, void *ctx)
{
	struct walk w = { .md = md, .style = style, .ctx = ctx };

	for (size_t i = 0; i < md->nlines && !w.full;) {
		size_t end = i + 1;

		while (end < md->nlines && md->lines[end].block == i)
			end++;
		put_block(&w, i, end);
		if (md->lines[end - 1].end < md->len)
			put_str(&w, "\n");
		i = end;
	}
	mem_free(w.stack);
}

/* ---- plain ------------------------------------------------------------------------ */

static bool
plain_text(void *ctx, const char *s, size_t len)
{
	return buf_add(ctx, s, len);
}

static void
plain_open(void *ctx, enum md_span_kind kind, const char *url)
{
	(void)ctx;
	(void)kind;
	(void)url;
}

static void
plain_close(void *ctx, enum md_span_kind kind, const char *url)
{
	struct buf *out = ctx;
	size_t n = url ? strlen(url) : 0;

	if (kind != MD_LINK)
		return;
	/* not when the text is the address already */
	if (out->len < n || memcmp(out->data + out->len - n, url, n))
		buf_printf(out, " (%s)", url);
}

static void
plain_fence(void *ctx, bool open, const char *lang, size_t lang_len)
{
	(void)ctx;
	(void)open;
	(void)lang;
	(void)lang_len;
}

static void
plain_quote(void *ctx, bool open)
{
	if (open)
		buf_add_str(ctx, "> ");
}

void
text_plain(struct buf *out, const char *text, size_t len)
{
	static const struct text_style style = { plain_text, plain_open,
		plain_close, plain_fence, plain_quote };
	struct md md;

	md_parse(&md, text, len);
	text_render(&md, &style, out);
	md_done(&md);
}
