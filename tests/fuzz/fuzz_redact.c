/* A known value never survives; text around masks is left as it was. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char secret[] = "aaaabaaa";
	CLEANUP_BUF struct buf out;

	redact_add_secret(secret);
	buf_init(&out, 11 * size + 100);
	REQUIRE(redact_text(&out, (const char *)data, size));
	REQUIRE(!memmem(out.data, out.len, secret, sizeof(secret) - 1));
	if (!memmem(out.data, out.len, "[redacted]", 10)) {
		REQUIRE(out.len == size);
		REQUIRE(size == 0 || memcmp(out.data, data, size) == 0);
	}
	return 0;
}
