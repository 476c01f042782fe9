/* Brace expansion: a{b,c}d and {1..9}, on the parts of a word. */
#include <stdlib.h>
#include <string.h>

#include "gateway/gate/walk.h"

#define BRACE_WORDS_MAX 256

struct cell {
	const struct sh_part *part;	/* a whole expansion, or NULL: one byte */
	char c;
	bool quoted;
};

struct braces {
	struct walk *w;
	struct sh_word **tail;
	size_t words;
	unsigned depth;
};

static bool
has_brace(const struct sh_word *word)
{
	for (const struct sh_part *p = word->parts; p; p = p->next)
		if (p->type == SH_LIT && !p->quoted && p->len > 0 &&
		    memchr(p->text, '{', p->len))
			return true;
	return false;
}

static size_t
cells_of(struct walk *w, const struct sh_word *word, struct cell **ret)
{
	size_t n = 0;
	for (const struct sh_part *p = word->parts; p; p = p->next)
		n += p->type == SH_LIT && p->len > 0 ? p->len : 1;
	struct cell *v = arena_alloc(w->arena, (n + 1) * sizeof(*v)), *at = v;
	for (const struct sh_part *p = word->parts; p; p = p->next) {
		if (p->type != SH_LIT || p->len == 0) {
			*at++ = (struct cell){ .part = p, .quoted = true };
			continue;
		}
		for (size_t i = 0; i < p->len; i++)
			*at++ = (struct cell){ .c = p->text[i], .quoted = p->quoted };
	}
	*ret = v;
	return n;
}

static void
emit(struct braces *b, const struct cell *v, size_t n)
{
	struct arena *a = b->w->arena;
	struct sh_word *word = arena_alloc(a, sizeof(*word));
	struct sh_part **tail = &word->parts;
	for (size_t i = 0; i < n;) {
		struct sh_part *p = arena_alloc(a, sizeof(*p));
		size_t k = i;
		if (v[i].part) {
			*p = *v[i].part;
			p->next = NULL;
			k++;
		} else {
			while (k < n && !v[k].part && v[k].quoted == v[i].quoted)
				k++;
			char *s = arena_alloc(a, k - i + 1);
			for (size_t j = i; j < k; j++)
				s[j - i] = v[j].c;
			p->type = SH_LIT;
			p->quoted = v[i].quoted;
			p->text = s;
			p->len = k - i;
			p->op = "";
		}
		*tail = p;
		tail = &p->next;
		i = k;
	}
	*b->tail = word;
	b->tail = &word->next;
	if (++b->words > BRACE_WORDS_MAX)
		walk_too_complex(b->w, "a brace expansion that is too long");
}

/* A {...} with a top-level comma or "..": [open, close]. */
static bool
find_brace(const struct cell *v, size_t n, size_t *ret_open, size_t *ret_close,
	bool *ret_comma)
{
	for (size_t open = 0; open < n; open++) {
		if (v[open].quoted || v[open].c != '{')
			continue;
		size_t level = 0;
		bool comma = false, dots = false;
		for (size_t i = open + 1; i < n; i++) {
			if (v[i].quoted)
				continue;
			if (v[i].c == '{') {
				level++;
			} else if (v[i].c == '}' && level > 0) {
				level--;
			} else if (v[i].c == '}') {
				if (!comma && !dots)
					break;
				*ret_open = open;
				*ret_close = i;
				*ret_comma = comma;
				return true;
			} else if (level == 0 && v[i].c == ',') {
				comma = true;
			} else if (level == 0 && v[i].c == '.' && i + 1 < n &&
			    v[i + 1].c == '.') {
				dots = true;
			}
		}
		if (open > 32)
			return false;	/* bounded work; the rest stays text */
	}
	return false;
}

static void
expand(struct braces *b, const struct cell *v, size_t n)
{
	static const struct sh_part number = { .type = SH_ARITH };
	size_t open, close, from;
	bool comma;
	if (b->w->stop)
		return;
	if (b->depth > 16) {
		walk_too_complex(b->w, "braces in braces");
		return;
	}
	if (!find_brace(v, n, &open, &close, &comma)) {
		emit(b, v, n);
		return;
	}
	b->depth++;
	struct cell *x = arena_alloc(b->w->arena, (n + 1) * sizeof(*x));
	memcpy(x, v, open * sizeof(*x));
	from = open + 1;
	if (!comma) {		/* a sequence: some number or letter */
		x[open] = (struct cell){ .part = &number, .quoted = true };
		memcpy(x + open + 1, v + close + 1, (n - close - 1) * sizeof(*x));
		expand(b, x, open + n - close);
		b->depth--;
		return;
	}
	size_t level = 0;
	for (size_t i = open + 1; i <= close; i++) {
		bool plain = !v[i].quoted;
		if (plain && v[i].c == '{')
			level++;
		else if (plain && v[i].c == '}' && level > 0)
			level--;
		else if (i == close || (plain && level == 0 && v[i].c == ',')) {
			memcpy(x + open, v + from, (i - from) * sizeof(*x));
			memcpy(x + open + i - from, v + close + 1,
				(n - close - 1) * sizeof(*x));
			expand(b, x, open + i - from + n - close - 1);
			from = i + 1;
		}
	}
	b->depth--;
}

bool
brace_expand(struct walk *w, const struct sh_word *word,
	struct sh_word **ret_words)
{
	struct braces b = { .w = w, .tail = ret_words };
	struct cell *v;
	if (!has_brace(word))
		return false;
	size_t n = cells_of(w, word, &v);
	if (n > 4096) {
		walk_too_complex(w, "braces in a word that is too long");
		return false;
	}
	expand(&b, v, n);
	return true;
}
