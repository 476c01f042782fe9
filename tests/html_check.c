#include "tests/html_check.h"

#include <stddef.h>
#include <string.h>

#define DEPTH 64

static const char *const plain_tags[] = { "b", "i", "s", "u", "code", "pre",
	"blockquote" };

static const char *
known_tag(const char *tag, size_t len, bool closing)
{
	if (closing && len == 1 && *tag == 'a')
		return "a";
	for (size_t i = 0; i < sizeof(plain_tags) / sizeof(plain_tags[0]); i++)
		if (strlen(plain_tags[i]) == len &&
		    !memcmp(plain_tags[i], tag, len))
			return plain_tags[i];
	if (closing)
		return NULL;
	if (len > 9 && !memcmp(tag, "a href=\"", 8) && tag[len - 1] == '"' &&
	    !memchr(tag + 8, '"', len - 9))
		return "a";
	if (len > 22 && !memcmp(tag, "code class=\"language-", 21) &&
	    tag[len - 1] == '"' && !memchr(tag + 21, '"', len - 22))
		return "code";
	return NULL;
}

static size_t
entity(const char *s, char *ret_c)
{
	static const struct { const char *name; char c; } known[] = {
		{ "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' },
		{ "&quot;", '"' },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].name);

		if (!strncmp(s, known[i].name, n)) {
			*ret_c = known[i].c;
			return n;
		}
	}
	return 0;
}

static const char *
open_tag(const char **stack, size_t depth, const char *name)
{
	for (size_t i = 0; i < depth; i++) {
		bool code = !strcmp(stack[i], "code") || !strcmp(stack[i], "pre");

		if (code && !(i + 1 == depth && !strcmp(stack[i], "pre") &&
		    !strcmp(name, "code")))
			return "a tag inside code";
		if (!strcmp(stack[i], name))
			return "a tag inside itself";
	}
	return NULL;
}

const char *
html_check(const char *html, struct buf *visible)
{
	const char *stack[DEPTH];
	size_t depth = 0;

	for (const char *p = html; *p;) {
		char c = *p;
		size_t n = 1;

		if (c == '<') {
			const char *end = strchr(p, '>');
			bool closing = p[1] == '/';

			if (!end)
				return "a tag without an end";
			const char *from = p + 1 + closing;
			const char *name = known_tag(from, (size_t)(end - from),
				closing);
			if (!name)
				return "an unknown tag";
			if (closing && (!depth || strcmp(stack[depth - 1], name)))
				return "a crossing end tag";
			if (closing) {
				depth--;
			} else {
				const char *bad = open_tag(stack, depth, name);

				if (bad || depth == DEPTH)
					return bad ? bad : "too deep";
				stack[depth++] = name;
			}
			p = end + 1;
			continue;
		}
		if (c == '>')
			return "a bare >";
		if (c == '&' && !(n = entity(p, &c)))
			return "a bare &";
		if (visible)
			buf_add_char(visible, c);
		p += n;
	}
	return depth ? "a tag is left open" : NULL;
}
