/* The hunks of a V4A update put into a text: see v4a.h. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/lines.h"
#include "gateway/agent/replace.h"
#include "gateway/agent/v4a.h"

struct target {
	struct buf text;	/* as it is so far */
	size_t at;		/* behind the last hunk */
};

/* Behind the line that the hint names, at or after `from`; SIZE_MAX: none. */
static size_t
behind_hint(const struct target *t, const char *hint, size_t from)
{
	struct lines l;
	struct line want = line_trim((struct line){ hint, strlen(hint) });
	size_t found = SIZE_MAX;

	lines_split(&l, t->text.data + from, t->text.len - from);
	/* the whole line first, then a line that holds it */
	for (int whole = 1; whole >= 0 && found == SIZE_MAX; whole--) {
		for (size_t i = 0; i < l.n && found == SIZE_MAX; i++) {
			struct line line = line_trim(l.v[i]);

			if (whole ? line_equal(line, want) :
			    memmem(line.p, line.len, want.p, want.len) != NULL)
				found = (size_t)(l.v[i].p - t->text.data) +
				    l.v[i].len;
		}
	}
	lines_done(&l);
	if (found != SIZE_MAX && found < t->text.len)
		found++;		/* its line feed */
	return found;
}

static void
put(struct target *t, size_t from, size_t to, const char *new, size_t len)
{
	struct buf next;

	buf_init(&next, t->text.max);
	buf_add(&next, t->text.data, from);
	buf_add(&next, new, len);
	t->at = next.len;
	buf_add(&next, t->text.data + to, t->text.len - to);
	next.over |= t->text.over;
	buf_done(&t->text);
	t->text = next;
}

/* Only added lines: behind the hint, or at the end. */
static void
insert(struct target *t, const struct v4a_hunk *h, size_t from)
{
	size_t at = h->hint ? from : t->text.len;

	if (at > 0 && t->text.data[at - 1] != '\n') {
		put(t, at, at, "\n", 1);
		at++;
	}
	put(t, at, at, h->new.data, h->new.len);
}

static int
not_there(const struct v4a_hunk *h, const struct target *t, size_t number,
    struct err *err)
{
	CLEANUP_BUF struct buf close;

	buf_init(&close, 400);
	replace_closest(&close, t->text.data, t->text.len, h->old.data,
	    h->old.len);
	return err_set(err, ERR_NOT_FOUND, "hunk %zu: its lines were not found "
	    "%s%s%s", number, t->at > 0 ? "behind the hunk before it" :
	    "in the file", close.len ? "; the closest are:\n" : "", close.data);
}

static int
apply_hunk(struct target *t, const struct v4a_hunk *h, size_t number,
    struct err *err)
{
	struct replace_found found;
	size_t from = t->at;

	if (h->hint) {
		from = behind_hint(t, h->hint, t->at);
		if (from == SIZE_MAX)
			return err_set(err, ERR_NOT_FOUND, "hunk %zu: the line "
			    "\"%.120s\" behind @@ was not found", number, h->hint);
	}
	if (h->old.len == 0) {
		insert(t, h, from);
		return 0;
	}
	replace_find(&found, t->text.data + from, t->text.len - from, h->old.data,
	    h->old.len);
	if (found.n == 0 && h->hint)	/* the hint may be part of the lines */
		replace_find(&found, t->text.data + (from = t->at),
		    t->text.len - t->at, h->old.data, h->old.len);
	if (found.n == 0)
		return not_there(h, t, number, err);
	if (found.n > 1 && !h->hint && !h->at_end) {
		size_t n = found.n;

		replace_found_done(&found);
		return err_set(err, ERR_INVALID, "hunk %zu: its lines are there "
		    "%zu times; give more context, or a line above it behind @@",
		    number, n);
	}
	struct replace_match m = found.list[h->at_end ? found.n - 1 : 0];
	CLEANUP_BUF struct buf new;

	buf_init(&new, t->text.max);
	replace_one(&new, t->text.data + from, m, found.strategy, h->old.data,
	    h->old.len, h->new.data, h->new.len);
	put(t, from + m.from, from + m.to, new.data, new.len);
	replace_found_done(&found);
	return 0;
}

int
v4a_apply(struct buf *out, const struct v4a_file *file, const char *text,
    size_t len, struct err *err)
{
	struct target t = { .at = 0 };
	bool no_end = len > 0 && text[len - 1] != '\n';
	int rc = 0;

	buf_init(&t.text, out->max);
	buf_add(&t.text, text, len);
	if (no_end)	/* lines of a patch have one */
		buf_add_char(&t.text, '\n');
	for (size_t i = 0; i < file->nhunks && rc == 0; i++)
		rc = apply_hunk(&t, &file->hunks[i], i + 1, err);
	if (no_end && t.text.len > 0 && t.text.data[t.text.len - 1] == '\n')
		t.text.data[--t.text.len] = '\0';
	if (rc == 0 && (t.text.over || !buf_add(out, t.text.data, t.text.len)))
		rc = err_set(err, ERR_LIMIT, "the file would become too large");
	buf_done(&t.text);
	return rc;
}
