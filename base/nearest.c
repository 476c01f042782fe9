#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 64

static bool
same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t
min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance. */
static size_t
distance(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= blen; j++)
		last[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t cost = !same(a[i - 1], b[j - 1]);

			row[j] = min(last[j - 1] + cost, min(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]))
				row[j] = min(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[blen];
}

const char *
nearest_name(const char *word, const char *const *names, size_t n)
{
	size_t len = strlen(word);
	size_t best = len < 4 ? 2 : min(len / 3, 4) + 1;
	const char *found = NULL;

	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t name_len = strlen(names[i]);

		if (name_len > WORD_MAX)
			continue;
		size_t d = distance(word, len, names[i], name_len);
		if (d < best) {
			best = d;
			found = names[i];
		}
	}
	return found;
}
