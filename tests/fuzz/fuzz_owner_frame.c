/* A stream of frames, however it is cut, gives the same frames. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/owner_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds pieces of `step` bytes; gives the frames printed one after another. */
static void
feed(const uint8_t *data, size_t size, size_t step, struct buf *out)
{
	struct buf in CLEANUP_BUF;
	struct json *frame;
	struct err err;
	int r = 0;

	buf_init(&in, 2 * OWNER_FRAME_MAX);
	for (size_t i = 0; i < size && r >= 0; i += step) {
		buf_add(&in, data + i, size - i < step ? size - i : step);
		while ((r = owner_frame_next(&in, &frame, &err)) == 1) {
			REQUIRE(json_is_object(frame));
			REQUIRE(owner_frame_add(out, frame));
			json_free(&frame);
		}
	}
	if (r < 0)
		buf_add_str(out, "bad");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > OWNER_FRAME_MAX)
		return 0;

	struct buf whole CLEANUP_BUF, bytes CLEANUP_BUF;

	buf_init(&whole, 8 * OWNER_FRAME_MAX);
	buf_init(&bytes, 8 * OWNER_FRAME_MAX);
	feed(data, size, size ? size : 1, &whole);
	feed(data, size, 1, &bytes);
	REQUIRE(whole.len == bytes.len);
	REQUIRE(memcmp(whole.data, bytes.data, whole.len) == 0);
	return 0;
}
