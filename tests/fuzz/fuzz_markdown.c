/* First byte: the limit. Chunks are bounded and valid, their HTML is strict. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/text/render.h"
#include "platforms/text/split.h"
#include "platforms/text/telegram_html.h"
#include "tests/html_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen { const char *text; size_t end; size_t limit; };

static void
on_chunk(void *arg, const struct text_chunk *c)
{
	struct seen *seen = arg;
	CLEANUP_BUF struct buf html, plain;

	REQUIRE(c->start >= seen->end && c->end > c->start);
	REQUIRE(utf8_valid(c->text, c->len));
	REQUIRE(telegram_text_len(c->text, c->len) <= seen->limit ||
		utf8_points(seen->text + c->start, c->end - c->start) == 1);
	seen->end = c->end;
	buf_init(&html, 1u << 20);
	buf_init(&plain, 1u << 20);
	telegram_html(&html, c->text, c->len);
	text_plain(&plain, c->text, c->len);
	REQUIRE(html.over || !html_check(html.data, NULL));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf text;

	buf_init(&text, 4 * size);
	if (size < 1)
		return 0;
	/* the callers' text is valid UTF-8 without NUL */
	if (memchr(data + 1, 0, size - 1) ||
	    !utf8_repair(&text, (const char *)data + 1, size - 1))
		return 0;
	for (int plain = 0; plain < 2; plain++) {
		struct seen seen = { text.data, 0, 2 + data[0] };

		text_split(text.data, text.len, plain, seen.limit,
			telegram_text_len, on_chunk, &seen);
	}
	return 0;
}
