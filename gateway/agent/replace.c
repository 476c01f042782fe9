#include "gateway/agent/replace.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/lines.h"

#define CLOSEST 3
#define CLOSEST_MIN 55
#define CLOSEST_WORK (20u << 20)

const char *
replace_name(enum replace_strategy s)
{
	static const char *const names[] = {
		"exact", "line_trimmed", "whitespace_normalized",
		"indentation_flexible", "escape_normalized", "trimmed_boundary",
		"unicode_normalized", "block_anchor", "context_aware",
	};

	return s < REPLACE_STRATEGIES ? names[s] : "?";
}

void
replace_found_done(struct replace_found *f)
{
	mem_free(f->list);
	f->list = NULL;
}

void
replace_found_add(struct replace_found *f, size_t from, size_t to)
{
	if (f->n > 0 && from < f->list[f->n - 1].to)
		return;
	if (f->n == REPLACE_MATCHES_MAX) {
		f->more = true;
		return;
	}
	f->list = mem_grow(f->list, f->n + 1, sizeof(*f->list));
	f->list[f->n++] = (struct replace_match){ from, to };
}

static void
find_exact(struct replace_found *f, const char *text, size_t len,
    const char *old, size_t old_len)
{
	const char *p = text, *end = text + len;

	while (old_len > 0 &&
	    (p = memmem(p, (size_t)(end - p), old, old_len))) {
		size_t at = (size_t)(p - text);

		replace_found_add(f, at, at + old_len);
		p += old_len;
	}
}

/* Backslash escapes become what they stand for; caller frees. */
static char *
unescape(const char *s, size_t len, size_t *ret_len)
{
	static const char from[] = "ntr\\'\"", to[] = "\n\t\r\\'\"";
	char *out = mem_alloc(len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		const char *known = s[i] == '\\' && i + 1 < len && s[i + 1] ?
		    strchr(from, s[i + 1]) : NULL;

		if (known)
			i++;
		out[n++] = known ? to[known - from] : s[i];
	}
	*ret_len = n;
	return out;
}

void
replace_find(struct replace_found *ret, const char *text, size_t len,
    const char *old, size_t old_len)
{
	memset(ret, 0, sizeof(*ret));
	find_exact(ret, text, len, old, old_len);
	for (int s = REPLACE_LINE_TRIMMED; s < REPLACE_STRATEGIES && ret->n == 0;
	    s++) {
		ret->strategy = (enum replace_strategy)s;
		if (s == REPLACE_ESCAPES) {
			size_t n;
			CLEANUP_FREE char *plain = unescape(old, old_len,
			    &n);

			if (n != old_len)
				find_exact(ret, text, len, plain, n);
			continue;
		}
		replace_find_lines(ret, text, len, old, old_len);
	}
	if (ret->n == 0)
		ret->strategy = REPLACE_EXACT;
}

/* ---- putting the new text in ------------------------------------------------------- */

/* Of the first line that isn't blank. */
static struct line
indent_of(const char *s, size_t len)
{
	struct lines l;
	struct line found = { s, 0 };

	lines_split(&l, s, len);
	for (size_t i = 0; i < l.n; i++) {
		if (line_trim(l.v[i]).len > 0) {
			found = (struct line){ l.v[i].p, line_indent(l.v[i]) };
			break;
		}
	}
	lines_done(&l);
	return found;
}

static void
add_reindented(struct buf *out, const char *new, size_t len, struct line have,
    struct line want)
{
	struct lines l;

	lines_split(&l, new, len);
	for (size_t i = 0; i < l.n; i++) {
		struct line line = l.v[i];

		if (line_trim(line).len > 0 && line.len >= have.len &&
		    memcmp(line.p, have.p, have.len) == 0) {
			buf_add(out, want.p, want.len);
			line.p += have.len;
			line.len -= have.len;
		}
		buf_add(out, line.p, line.len);
		if (i + 1 < l.n || !l.open)
			buf_add_char(out, '\n');
	}
	lines_done(&l);
}

void
replace_one(struct buf *out, const char *text, struct replace_match m,
    enum replace_strategy strategy, const char *old, size_t old_len,
    const char *new, size_t new_len)
{
	CLEANUP_FREE char *plain = NULL;

	if (strategy == REPLACE_EXACT) {
		buf_add(out, new, new_len);
		return;
	}
	if (strategy == REPLACE_ESCAPES) {
		plain = unescape(new, new_len, &new_len);
		buf_add(out, plain, new_len);
		return;
	}
	/* The match ends with a line feed if the old text did and could. */
	bool ends = m.to > m.from && text[m.to - 1] == '\n';

	if (!ends && old_len > 0 && old[old_len - 1] == '\n' && new_len > 0 &&
	    new[new_len - 1] == '\n')
		new_len--;
	add_reindented(out, new, new_len, indent_of(old, old_len),
	    indent_of(text + m.from, m.to - m.from));
}

/* \' or \" in both texts of the model where the file has a plain quote. */
static bool
has_escape_drift(const char *text, struct replace_match m, const char *old,
    const char *new)
{
	static const char *const marks[] = { "\\'", "\\\"" };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(old, marks[i]) && strstr(new, marks[i]) &&
		    !memmem(text + m.from, m.to - m.from, marks[i], 2))
			return true;
	return false;
}

static int
check_found(const struct replace_found *f, const char *text, const char *old,
    const char *new, bool all, struct err *err)
{
	if (f->n == 0)
		return err_set(err, ERR_NOT_FOUND, "old_string was not found in "
		    "the file");
	if (f->n > 1 && !all)
		return err_set(err, ERR_INVALID, "old_string is there %zu%s times; "
		    "give more lines around it, or set replace_all", f->n,
		    f->more ? " or more" : "");
	if (f->more)
		return err_set(err, ERR_LIMIT, "old_string is there more than %d "
		    "times; use terminal (sed) for that", REPLACE_MATCHES_MAX);
	if (f->strategy != REPLACE_EXACT && f->strategy != REPLACE_ESCAPES &&
	    has_escape_drift(text, f->list[0], old, new))
		return err_set(err, ERR_INVALID, "old_string and new_string have "
		    "backslashes before quotes where the file has none: send "
		    "them again without these backslashes");
	return 0;
}

int
replace_apply(struct buf *out, const char *text, size_t len, const char *old,
    const char *new, bool all, struct replace_found *ret, struct err *err)
{
	size_t old_len = strlen(old), at = 0;

	memset(ret, 0, sizeof(*ret));
	if (old_len == 0)
		return err_set(err, ERR_INVALID, "old_string is empty; to write a "
		    "whole file use write_file");
	if (strcmp(old, new) == 0)
		return err_set(err, ERR_INVALID, "old_string and new_string are "
		    "the same: nothing would change");
	replace_find(ret, text, len, old, old_len);
	if (check_found(ret, text, old, new, all, err) < 0) {
		replace_found_done(ret);
		return -1;
	}
	for (size_t i = 0; i < ret->n; i++) {
		buf_add(out, text + at, ret->list[i].from - at);
		replace_one(out, text, ret->list[i], ret->strategy, old, old_len,
		    new, strlen(new));
		at = ret->list[i].to;
	}
	buf_add(out, text + at, len - at);
	replace_found_done(ret);
	if (out->over)
		return err_set(err, ERR_LIMIT, "the file would become too large");
	return 0;
}

/* ---- what it may have meant --------------------------------------------------------- */

void
replace_closest(struct buf *out, const char *text, size_t len, const char *old,
    size_t old_len)
{
	struct lines l, o;
	struct line want = { "", 0 };
	size_t best[CLOSEST], n = 0, work = 0;
	unsigned score[CLOSEST] = { 0 };

	lines_split(&l, text, len);
	lines_split(&o, old, old_len);
	for (size_t i = 0; i < o.n && want.len == 0; i++)
		want = line_trim(o.v[i]);
	for (size_t i = 0; want.len > 0 && i < l.n && work < CLOSEST_WORK; i++) {
		unsigned s = line_alike(line_trim(l.v[i]), want, &work);
		size_t at = n;

		if (s < CLOSEST_MIN || (n == CLOSEST && s <= score[n - 1]))
			continue;
		if (n == CLOSEST)
			at--;
		else
			n++;
		for (; at > 0 && score[at - 1] < s; at--) {
			best[at] = best[at - 1];
			score[at] = score[at - 1];
		}
		best[at] = i;
		score[at] = s;
	}
	for (size_t i = 0; i < n; i++) {
		struct line line = l.v[best[i]];

		buf_printf(out, "%s%zu|", i ? "\n" : "", best[i] + 1);
		utf8_repair(out, line.p, utf8_cut(line.p, line.len, 200));
	}
	lines_done(&l);
	lines_done(&o);
}
