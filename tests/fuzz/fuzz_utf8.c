/* Repair gives valid text, in one piece or in two; cuts are between characters. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf whole, parts;
	struct utf8_stream st = { .held_len = 0 };
	const char *s = (const char *)data;
	size_t at = size > 0 ? data[0] % size : 0;

	buf_init(&whole, 3 * size);
	buf_init(&parts, 3 * size);
	REQUIRE(utf8_repair(&whole, s, size));
	REQUIRE(utf8_valid(whole.data, whole.len));
	REQUIRE(!utf8_valid(s, size) || whole.len == size);
	utf8_stream_feed(&st, s, at, &parts);
	utf8_stream_feed(&st, s + at, size - at, &parts);
	utf8_stream_end(&st, &parts);
	REQUIRE(parts.len == whole.len);
	REQUIRE(memcmp(parts.data, whole.data, whole.len) == 0);

	REQUIRE(utf8_points(s, size) == utf8_points(whole.data, whole.len));
	REQUIRE(utf8_units16(s, size) == utf8_units16(whole.data, whole.len));
	size_t cut = utf8_cut(whole.data, whole.len, at);

	REQUIRE(cut <= at && utf8_valid(whole.data, cut));
	size_t units = utf8_units16(whole.data, whole.len);

	REQUIRE(utf8_offset16(whole.data, whole.len, units) == whole.len);
	return 0;
}
