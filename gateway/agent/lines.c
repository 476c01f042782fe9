#include "gateway/agent/lines.h"

#include <string.h>

#include "base/mem.h"

#define ALIKE_MAX 300

void
lines_split(struct lines *l, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t size = 0;

	memset(l, 0, sizeof(*l));
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (l->n == size) {
			size = size ? size * 2 : 64;
			l->v = mem_grow(l->v, size, sizeof(*l->v));
		}
		l->v[l->n++] = (struct line){ p, (size_t)((nl ? nl : end) - p) };
		l->open = !nl;
		p = nl ? nl + 1 : end;
	}
}

void
lines_done(struct lines *l)
{
	mem_free(l->v);
	memset(l, 0, sizeof(*l));
}

bool
line_equal(struct line a, struct line b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

size_t
line_indent(struct line a)
{
	size_t n = 0;

	while (n < a.len && blank(a.p[n]))
		n++;
	return n;
}

struct line
line_trim(struct line a)
{
	size_t n = line_indent(a);

	a.p += n;
	a.len -= n;
	while (a.len > 0 && blank(a.p[a.len - 1]))
		a.len--;
	return a;
}

unsigned
line_alike(struct line a, struct line b, size_t *work)
{
	unsigned short row[ALIKE_MAX + 1];

	if (a.len > ALIKE_MAX)
		a.len = ALIKE_MAX;
	if (b.len > ALIKE_MAX)
		b.len = ALIKE_MAX;
	*work += 1;
	if (line_equal(a, b))
		return 100;
	size_t most = a.len > b.len ? a.len : b.len;
	size_t least = a.len > b.len ? b.len : a.len;

	if (least * 100 < most * 50)
		return 0;	/* so unlike that nobody asks how much */
	*work += a.len * b.len;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = (unsigned short)j;
	for (size_t i = 1; i <= a.len; i++) {
		unsigned short left_up = row[0];

		row[0] = (unsigned short)i;
		for (size_t j = 1; j <= b.len; j++) {
			unsigned short up = row[j];
			unsigned short best = (unsigned short)(left_up +
			    (a.p[i - 1] != b.p[j - 1]));

			if (up + 1 < best)
				best = (unsigned short)(up + 1);
			if (row[j - 1] + 1 < best)
				best = (unsigned short)(row[j - 1] + 1);
			row[j] = best;
			left_up = up;
		}
	}
	return (unsigned)(100 - row[b.len] * 100 / most);
}
