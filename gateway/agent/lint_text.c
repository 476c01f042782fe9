/* The checkers that need no program, and what is new of two findings. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "gateway/agent/lint.h"

void
lint_json(struct buf *out, const char *text, size_t len)
{
	struct err err;
	CLEANUP_JSON struct json *root = json_parse(text, len, &err);
	const char *near = root ? NULL : strstr(err.text, "byte ");
	unsigned long at = 0, line = 1;

	if (root)
		return;
	if (near && sscanf(near, "byte %lu", &at) == 1) {
		for (size_t i = 0; i < len && i < at; i++)
			line += text[i] == '\n';
		buf_printf(out, "line %lu: ", line);
	}
	buf_printf(out, "%s\n", err.text);
}

/* Digits move with the lines and count for nothing. */
static bool
same_but_numbers(const char *a, size_t alen, const char *b, size_t blen)
{
	const char *aend = a + alen, *bend = b + blen;

	for (;; a++, b++) {
		while (a < aend && isdigit((unsigned char)*a))
			a++;
		while (b < bend && isdigit((unsigned char)*b))
			b++;
		if (a == aend || b == bend)
			return a == aend && b == bend;
		if (*a != *b)
			return false;
	}
}

static bool
has_line(const char *text, const char *line, size_t len)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (same_but_numbers(text, n, line, len))
			return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

void
lint_new(struct buf *out, const char *before, const char *after)
{
	while (*after) {
		size_t n = strcspn(after, "\n");

		if (n > 0 && !has_line(before, after, n)) {
			buf_add(out, after, n);
			buf_add_char(out, '\n');
		}
		after += n + (after[n] == '\n');
	}
}
