/* The engine's multiplexed stream: pieces stay inside the input and add up. */
#include <stdint.h>

#include "base/mem.h"
#include "sandbox/docker_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t total)
{
	struct docker_frames f = { .head_len = 0 };
	size_t step = total ? 1u + input[0] % 61 : 1, seen = 0;

	for (size_t at = 0; at < total; at += step) {
		const char *data = (const char *)input + at, *piece;
		size_t len = total - at < step ? total - at : step, n;
		const char *end = data + len;
		int rc;

		while ((rc = docker_frames_next(&f, &data, &len, &piece, &n)) > 0) {
			REQUIRE(rc <= 2 && n > 0 && piece + n <= end);
			seen += n;
		}
		if (rc < 0)
			return 0;
		REQUIRE(len == 0);
	}
	REQUIRE(seen <= total);
	return 0;
}
