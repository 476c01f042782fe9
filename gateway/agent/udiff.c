#include "gateway/agent/udiff.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/lines.h"

#define CONTEXT 3
#define CELLS_MAX (4u << 20)	/* lines that differ, old times new */

struct diff {
	struct lines a, b;
	char *ops;		/* ' ' both, '-' old only, '+' new only */
	size_t n;
};

/* The longest common subsequence of a[0..n) and b[0..m), as ops. */
static void
add_middle(struct diff *d, const struct line *a, size_t n, const struct line *b,
    size_t m)
{
	if (n == 0 || m == 0 || n > CELLS_MAX / m) {
		memset(d->ops + d->n, '-', n);
		memset(d->ops + d->n + n, '+', m);
		d->n += n + m;
		return;
	}
	unsigned *t = mem_array((n + 1) * (m + 1), sizeof(*t));
	size_t w = m + 1, i, j;

	for (i = n; i-- > 0;) {
		for (j = m; j-- > 0;) {
			unsigned down = t[(i + 1) * w + j], right = t[i * w + j + 1];

			t[i * w + j] = line_equal(a[i], b[j]) ?
			    t[(i + 1) * w + j + 1] + 1 :
			    down > right ? down : right;
		}
	}
	for (i = j = 0; i < n || j < m;) {
		if (i < n && j < m && line_equal(a[i], b[j])) {
			d->ops[d->n++] = ' ';
			i++, j++;
		} else if (j == m || (i < n &&
		    t[(i + 1) * w + j] >= t[i * w + j + 1])) {
			d->ops[d->n++] = '-';
			i++;
		} else {
			d->ops[d->n++] = '+';
			j++;
		}
	}
	mem_free(t);
}

static bool
same_line(const struct diff *d, size_t i, size_t j)
{
	bool a_open = d->a.open && i + 1 == d->a.n;
	bool b_open = d->b.open && j + 1 == d->b.n;

	return a_open == b_open && line_equal(d->a.v[i], d->b.v[j]);
}

static void
compare(struct diff *d)
{
	size_t n = d->a.n, m = d->b.n, head = 0, tail = 0;

	d->ops = mem_alloc(n + m + 1);
	while (head < n && head < m && same_line(d, head, head))
		head++;
	while (tail < n - head && tail < m - head &&
	    same_line(d, n - 1 - tail, m - 1 - tail))
		tail++;
	/* "x" and "x\n" at the end differ though the lines are equal. */
	if (tail == 0 && head < n && head < m && d->a.open != d->b.open &&
	    line_equal(d->a.v[n - 1], d->b.v[m - 1])) {
		memset(d->ops, ' ', head);
		d->n = head;
		add_middle(d, d->a.v + head, n - 1 - head, d->b.v + head,
		    m - 1 - head);
		d->ops[d->n++] = '-';
		d->ops[d->n++] = '+';
		return;
	}
	memset(d->ops, ' ', head);
	d->n = head;
	add_middle(d, d->a.v + head, n - head - tail, d->b.v + head,
	    m - head - tail);
	memset(d->ops + d->n, ' ', tail);
	d->n += tail;
}

static void
add_line(struct buf *out, char op, const struct lines *l, size_t i)
{
	buf_add_char(out, op);
	buf_add(out, l->v[i].p, l->v[i].len);
	buf_add_char(out, '\n');
	if (l->open && i + 1 == l->n)
		buf_add_str(out, "\\ No newline at end of file\n");
}

/* ops[from..to) with i and j old and new lines before it. */
static void
add_hunk(struct buf *out, const struct diff *d, size_t from, size_t to, size_t i,
    size_t j)
{
	size_t olds = 0, news = 0;

	for (size_t k = from; k < to; k++) {
		olds += d->ops[k] != '+';
		news += d->ops[k] != '-';
	}
	buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", olds ? i + 1 : i, olds,
	    news ? j + 1 : j, news);
	for (size_t k = from; k < to; k++) {
		char op = d->ops[k];

		if (op == '+')
			add_line(out, op, &d->b, j);
		else
			add_line(out, op, &d->a, i);
		i += op != '+';
		j += op != '-';
	}
}

static void
add_hunks(struct buf *out, const struct diff *d)
{
	size_t i = 0, j = 0;	/* lines before k */

	for (size_t k = 0; k < d->n;) {
		if (d->ops[k] == ' ') {
			k++, i++, j++;
			continue;
		}
		size_t back = k < CONTEXT ? k : CONTEXT, end = k, quiet = 0;

		/* no overlap with an earlier hunk: they are CONTEXT * 2 apart */
		while (end < d->n && quiet <= 2 * CONTEXT)
			quiet = d->ops[end++] == ' ' ? quiet + 1 : 0;
		size_t stop = quiet > CONTEXT ? end - (quiet - CONTEXT) : end;

		add_hunk(out, d, k - back, stop, i - back, j - back);
		for (; k < stop; k++) {
			i += d->ops[k] != '+';
			j += d->ops[k] != '-';
		}
	}
}

void
udiff(struct buf *out, const char *name, const char *old, size_t old_len,
    const char *new, size_t new_len)
{
	struct diff d = { .n = 0 };

	if (old && new && old_len == new_len && memcmp(old, new, old_len) == 0)
		return;
	lines_split(&d.a, old ? old : "", old ? old_len : 0);
	lines_split(&d.b, new ? new : "", new ? new_len : 0);
	buf_printf(out, "--- %s%s\n+++ %s%s\n", old ? "a" : "/dev/null",
	    old ? name : "", new ? "b" : "/dev/null", new ? name : "");
	compare(&d);
	add_hunks(out, &d);
	mem_free(d.ops);
	lines_done(&d.a);
	lines_done(&d.b);
}
