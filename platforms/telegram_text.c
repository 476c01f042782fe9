#include "platforms/telegram_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define ENTITIES_MAX 256
#define FORMATTED_MAX (64u << 10)	/* longer texts come unformatted */

enum entity_kind { ENT_BOLD, ENT_ITALIC, ENT_STRIKE, ENT_CODE, ENT_PRE, ENT_LINK,
	ENT_QUOTE };

struct entity {
	size_t start;		/* bytes */
	size_t end;
	enum entity_kind kind;
	const char *extra;	/* url or language, "" if none */
};

struct entities {
	struct entity list[ENTITIES_MAX];
	size_t n;
};

static bool
kind_of(const char *type, enum entity_kind *ret)
{
	static const struct { const char *type; enum entity_kind kind; } known[] = {
		{ "bold", ENT_BOLD }, { "italic", ENT_ITALIC },
		{ "strikethrough", ENT_STRIKE }, { "code", ENT_CODE },
		{ "pre", ENT_PRE }, { "text_link", ENT_LINK },
		{ "blockquote", ENT_QUOTE },
		{ "expandable_blockquote", ENT_QUOTE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(type, known[i].type)) {
			*ret = known[i].kind;
			return true;
		}
	}
	return false;
}

static int
outer_first(const void *pa, const void *pb)
{
	const struct entity *a = pa;
	const struct entity *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static void
collect(struct entities *es, const char *text, size_t len,
	const struct json *entities, size_t from)
{
	int64_t units = (int64_t)utf8_units16(text, len);
	const struct json *j;

	for (j = json_first(entities); j && es->n < ENTITIES_MAX;
	    j = json_next(j)) {
		int64_t at = json_get_int(j, "offset", -1);
		int64_t n = json_get_int(j, "length", -1);
		enum entity_kind kind;

		if (at < 0 || n <= 0 || at > units || n > units - at ||
		    !kind_of(json_get_str(j, "type", ""), &kind))
			continue;
		struct entity e = { .kind = kind,
			.start = utf8_offset16(text, len, (size_t)at),
			.end = utf8_offset16(text, len, (size_t)(at + n)),
			.extra = json_get_str(j, kind == ENT_LINK ? "url" :
				"language", "") };
		if (e.start >= from && e.start < e.end)
			es->list[es->n++] = e;
	}
	qsort(es->list, es->n, sizeof(es->list[0]), outer_first);
}

/* Drops what crosses another entity or lies inside code. */
static void
keep_nested(struct entities *es)
{
	size_t stack[ENTITIES_MAX];
	size_t depth = 0;
	size_t kept = 0;

	for (size_t i = 0; i < es->n; i++) {
		struct entity e = es->list[i];

		while (depth && es->list[stack[depth - 1]].end <= e.start)
			depth--;
		if (depth) {
			const struct entity *top = &es->list[stack[depth - 1]];

			if (e.end > top->end || top->kind == ENT_CODE ||
			    top->kind == ENT_PRE)
				continue;
		}
		stack[depth++] = kept;
		es->list[kept++] = e;
	}
	es->n = kept;
}

/* A run of backticks longer than any inside the code. */
static void
add_ticks(struct buf *out, const char *s, size_t len, size_t least)
{
	size_t longest = 0;
	size_t run = 0;

	for (size_t i = 0; i < len; i++) {
		run = s[i] == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	for (size_t i = 0; i < (longest >= least ? longest + 1 : least); i++)
		buf_add_char(out, '`');
}

static void
add_mark(struct buf *out, const char *text, const struct entity *e, bool open)
{
	switch (e->kind) {
	case ENT_BOLD:
		buf_add_str(out, "**");
		break;
	case ENT_ITALIC:
		buf_add_char(out, '_');
		break;
	case ENT_STRIKE:
		buf_add_str(out, "~~");
		break;
	case ENT_CODE:
		add_ticks(out, text + e->start, e->end - e->start, 1);
		break;
	case ENT_PRE:
		if ((open ? e->start > 0 && text[e->start - 1] != '\n' :
		    text[e->end - 1] != '\n'))
			buf_add_char(out, '\n');
		add_ticks(out, text + e->start, e->end - e->start, 3);
		if (open)
			buf_printf(out, "%s\n", e->extra);
		else if (text[e->end] && text[e->end] != '\n')
			buf_add_char(out, '\n');
		break;
	case ENT_LINK:
		if (open)
			buf_add_char(out, '[');
		else
			buf_printf(out, "](%s)", e->extra);
		break;
	case ENT_QUOTE:
		if (open)
			buf_add_str(out, "> ");
		break;
	}
}

static void
add_text(struct buf *out, const char *s, size_t len, unsigned quotes)
{
	for (size_t i = 0; i < len; i++) {
		buf_add_char(out, s[i]);
		if (s[i] == '\n' && quotes)
			buf_add_str(out, "> ");
	}
}

void
telegram_text_markdown(struct buf *out, const char *text,
	const struct json *entities, size_t from)
{
	struct entities es = { .n = 0 };
	size_t stack[ENTITIES_MAX];
	size_t depth = 0;
	size_t len = strlen(text);
	size_t at = 0;
	size_t next = 0;
	unsigned quotes = 0;

	if (len <= FORMATTED_MAX)
		collect(&es, text, len, entities, from);
	keep_nested(&es);
	while (next < es.n || depth) {
		bool open = next < es.n && (!depth ||
			es.list[next].start < es.list[stack[depth - 1]].end);
		const struct entity *e =
			&es.list[open ? next : stack[depth - 1]];
		size_t stop = open ? e->start : e->end;

		add_text(out, text + at, stop - at, quotes);
		at = stop;
		add_mark(out, text, e, open);
		if (open)
			stack[depth++] = next++;
		else
			depth--;
		if (e->kind == ENT_QUOTE)
			quotes = open ? quotes + 1 : quotes - 1;
	}
	add_text(out, text + at, len - at, 0);
}
