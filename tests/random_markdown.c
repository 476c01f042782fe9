#include "tests/random_markdown.h"

#include "base/buf.h"
#include "base/mem.h"

static uint64_t rng = 1;

void
random_seed(uint64_t seed)
{
	rng = seed;
}

unsigned
random_draw(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng % n);
}

char *
random_markdown(bool tables)
{
	static const char *const bits[] = { "word ", "word", "longer words here ",
		"**", "*", "_", "~~", "`", "``", "[", "](http://x.example/a_b)",
		"(", ")", "!", "\\", "\n", "\n", "\n\n", "\n- ", "\n1. ", "\n# ",
		"\n> ", "\n```\n", "\n```c\n", "\n~~~\n", "\n---\n", "<", "&", ">",
		"\U0001f600", "\u00e9", "\u4e2d\u6587", "https://y.example/_z_ ",
		"**bold words** ", "_it_ ", "`code span` ", "[text here](http://z) ",
		" ", "#", "-", "+ ", "\r\n", "\t", "e\u0301", "|" };
	struct buf b;
	unsigned n = 1 + random_draw(120);

	buf_init(&b, 1u << 20);
	while (n--) {
		if (tables && random_draw(20) == 0)
			buf_add_str(&b, "\n|a|b|\n|-|-|\n|1|**2**|\n|3|4|\n");
		buf_add_str(&b, bits[random_draw(ARRAY_LEN(bits) - 1)]);
	}
	return buf_take(&b);
}
