/* Command output: any bytes, cut in two ways, give the same valid text. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/clean.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
feed(struct buf *all, const char *data, size_t size, size_t piece)
{
	struct clean c;
	struct buf out;

	clean_init(&c);
	buf_init(&out, CLEAN_OUT);
	for (size_t i = 0; i < size; i += piece) {
		clean_feed(&c, data + i, size - i < piece ? size - i : piece,
		    &out);
		REQUIRE(!out.over);
		buf_add(all, out.data, out.len);
		buf_clear(&out);
	}
	clean_end(&c, &out);
	buf_add(all, out.data, out.len);
	buf_done(&out);
	clean_done(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, pieces;

	if (size < 2)
		return 0;
	buf_init(&whole, 4 << 20);
	buf_init(&pieces, 4 << 20);
	union { const uint8_t *in; const char *out; } u = { data + 1 };
	feed(&whole, u.out, size - 1, CLEAN_PIECE);
	feed(&pieces, u.out, size - 1, 1 + data[0] % 64);
	REQUIRE(whole.len == pieces.len &&
	    memcmp(whole.data, pieces.data, whole.len) == 0);
	REQUIRE(utf8_valid(whole.data, whole.len));
	for (size_t i = 0; i < whole.len; i++)
		REQUIRE((unsigned char)whole.data[i] >= 0x20 ||
		    whole.data[i] == '\n' || whole.data[i] == '\t');
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
