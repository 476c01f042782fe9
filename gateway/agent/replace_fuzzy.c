/* Strategies that look for a block of lines: see replace.h. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/lines.h"
#include "gateway/agent/replace.h"

#define WORK_MAX (60u << 20)	/* cells: about 0.2 s */
#define ONLY_MIN 50		/* block_anchor: the middle, if the only candidate */
#define SEVERAL_MIN 70
#define CONTEXT_LINES 3	/* context_aware: of the old text, not blank */
#define LINE_MIN 80		/* context_aware: a line that counts */

struct block {
	struct lines file, old;
	size_t work;
	/* Normalised copies, where the strategy compares these. */
	struct buf store;
	struct line *nfile, *nold;
};

/* ---- normal forms ------------------------------------------------------------------ */

static void
add_collapsed(struct buf *out, struct line a)
{
	bool gap = false;

	a = line_trim(a);
	for (size_t i = 0; i < a.len; i++) {
		if (a.p[i] == ' ' || a.p[i] == '\t') {
			gap = true;
			continue;
		}
		if (gap)
			buf_add_char(out, ' ');
		gap = false;
		buf_add_char(out, a.p[i]);
	}
}

/* Quotes, dashes and blanks that editors and models put in for plain ones. */
static const char *
plain(uint32_t cp)
{
	switch (cp) {
	case 0x2018: case 0x2019: case 0x201a: case 0x2032:
		return "'";
	case 0x201c: case 0x201d: case 0x201e: case 0x2033:
		return "\"";
	case 0x2010: case 0x2011: case 0x2012: case 0x2013: case 0x2014:
	case 0x2212:
		return "-";
	case 0x2026:
		return "...";
	case 0xa0: case 0x2007: case 0x2009: case 0x202f: case 0x3000:
		return " ";
	case 0x200b: case 0xfeff:
		return "";
	default:
		return NULL;
	}
}

static void
add_plain(struct buf *out, struct line a)
{
	uint32_t cp;

	while (a.len > 0 && (a.p[a.len - 1] == ' ' || a.p[a.len - 1] == '\t'))
		a.len--;
	for (size_t i = 0; i < a.len;) {
		size_t n = utf8_next(a.p + i, a.len - i, &cp);
		const char *p = n > 1 ? plain(cp) : NULL;

		if (p)
			buf_add_str(out, p);
		else
			buf_add(out, a.p + i, n ? n : 1);
		i += n ? n : 1;
	}
}

static struct line *
normalise(const struct lines *l, struct buf *store,
    void (*add)(struct buf *out, struct line a))
{
	size_t *at = mem_array(l->n + 1, sizeof(*at));
	struct line *v = mem_array(l->n + 1, sizeof(*v));

	for (size_t i = 0; i < l->n; i++) {
		at[i] = store->len;
		add(store, l->v[i]);
	}
	at[l->n] = store->len;
	for (size_t i = 0; i < l->n; i++)	/* only now does data stay */
		v[i] = (struct line){ store->data + at[i], at[i + 1] - at[i] };
	mem_free(at);
	return v;
}

/* ---- equal after all --------------------------------------------------------------- */

static struct line
left_trim(struct line a)
{
	size_t n = line_indent(a);

	return (struct line){ a.p + n, a.len - n };
}

static bool
same(const struct block *b, enum replace_strategy s, size_t i, size_t k)
{
	struct line f = b->nfile ? b->nfile[i + k] : b->file.v[i + k];
	struct line o = b->nold ? b->nold[k] : b->old.v[k];
	bool edge = k == 0 || k + 1 == b->old.n;

	if (s == REPLACE_LINE_TRIMMED || (s == REPLACE_BOUNDARY && edge))
		return line_equal(line_trim(f), line_trim(o));
	if (s == REPLACE_INDENTATION)
		return line_equal(left_trim(f), left_trim(o));
	return line_equal(f, o);
}

static bool
block_equal(const struct block *b, enum replace_strategy s, size_t i)
{
	for (size_t k = 0; k < b->old.n; k++)
		if (!same(b, s, i, k))
			return false;
	return true;
}

/* ---- alike ------------------------------------------------------------------------- */

static bool
anchored(struct block *b, size_t i)
{
	size_t last = b->old.n - 1;

	return line_equal(line_trim(b->file.v[i]), line_trim(b->old.v[0])) &&
	    line_equal(line_trim(b->file.v[i + last]), line_trim(b->old.v[last]));
}

static unsigned
middle_alike(struct block *b, size_t i)
{
	unsigned sum = 0;

	for (size_t k = 1; k + 1 < b->old.n; k++)
		sum += line_alike(line_trim(b->file.v[i + k]),
		    line_trim(b->old.v[k]), &b->work);
	return sum / (unsigned)(b->old.n - 2);
}

/*
 * How many lines are alike, blank ones not counted; 0 if these are less than
 * half.
 */
static unsigned
context_alike(struct block *b, size_t i)
{
	size_t alike = 0, count = 0;

	for (size_t k = 0; k < b->old.n; k++) {
		struct line o = line_trim(b->old.v[k]);

		if (o.len == 0)
			continue;
		count++;
		alike += line_alike(line_trim(b->file.v[i + k]), o, &b->work) >=
		    LINE_MIN;
		/* it can't be reached any more */
		if (count - alike > b->old.n / 2)
			return 0;
	}
	/* one or two lines that are alike are no place, but a coincidence */
	return count >= CONTEXT_LINES && alike * 2 >= count ?
	    (unsigned)alike : 0;
}

/* ---- the search -------------------------------------------------------------------- */

static void
add_block(struct replace_found *f, const struct block *b, const char *text,
    size_t len, size_t i)
{
	struct line last = b->file.v[i + b->old.n - 1];
	size_t from = (size_t)(b->file.v[i].p - text);
	size_t to = (size_t)(last.p - text) + last.len;

	/* The old text ended with a line feed: so does what it stands for. */
	if (!b->old.open && to < len)
		to++;
	replace_found_add(f, from, to);
}

static void
find_anchored(struct replace_found *f, struct block *b, const char *text,
    size_t len)
{
	size_t last = b->file.n - b->old.n, candidates = 0;

	if (b->old.n < 3)
		return;
	for (size_t i = 0; i <= last; i++)
		candidates += anchored(b, i);
	for (size_t i = 0; i <= last && b->work < WORK_MAX; i++)
		if (anchored(b, i) && middle_alike(b, i) >=
		    (candidates == 1 ? ONLY_MIN : SEVERAL_MIN))
			add_block(f, b, text, len, i);
}

/* Only the best places: beside each of them some that are worse are alike, too. */
static void
find_context(struct replace_found *f, struct block *b, const char *text,
    size_t len)
{
	size_t places = b->file.n - b->old.n + 1;
	unsigned *score = mem_array(places, sizeof(*score));
	unsigned best = 1;

	for (size_t i = 0; i < places && b->work < WORK_MAX; i++) {
		score[i] = context_alike(b, i);
		if (score[i] > best)
			best = score[i];
	}
	for (size_t i = 0; i < places && b->work < WORK_MAX; i++)
		if (score[i] == best)
			add_block(f, b, text, len, i);
	mem_free(score);
}

static void
find_block(struct replace_found *f, struct block *b, const char *text, size_t len)
{
	if (b->old.n == 0 || b->old.n > b->file.n)
		return;
	if (f->strategy == REPLACE_BLOCK_ANCHOR) {
		find_anchored(f, b, text, len);
		return;
	}
	if (f->strategy == REPLACE_CONTEXT) {
		find_context(f, b, text, len);
		return;
	}
	for (size_t i = 0; i + b->old.n <= b->file.n; i++)
		if (block_equal(b, f->strategy, i))
			add_block(f, b, text, len, i);
}

/* Only blank lines would match anywhere. */
static bool
is_blank(const struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (line_trim(l->v[i]).len > 0)
			return false;
	return true;
}

void
replace_find_lines(struct replace_found *ret, const char *text, size_t len,
    const char *old, size_t old_len)
{
	struct block b = { .work = 0 };

	lines_split(&b.file, text, len);
	lines_split(&b.old, old, old_len);
	buf_init(&b.store, 4 * (len + old_len) + 1);
	if (!is_blank(&b.old)) {
		void (*add)(struct buf *, struct line) =
		    ret->strategy == REPLACE_WHITESPACE ? add_collapsed :
		    ret->strategy == REPLACE_UNICODE ? add_plain : NULL;
		struct buf second;

		buf_init(&second, 4 * old_len + 1);
		if (add) {
			b.nfile = normalise(&b.file, &b.store, add);
			b.nold = normalise(&b.old, &second, add);
		}
		find_block(ret, &b, text, len);
		buf_done(&second);
	}
	mem_free(b.nfile);
	mem_free(b.nold);
	buf_done(&b.store);
	lines_done(&b.file);
	lines_done(&b.old);
}
