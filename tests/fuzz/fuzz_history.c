/* Whatever was stored, the request is one that a strict server accepts. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const read_only[] = { "look", NULL };
	struct err err = { .text = "" };
	bool repaired;

	/* the first two bytes choose the window */
	if (size < 2 || size > 1 << 16)
		return 0;
	CLEANUP_JSON struct json *entries = json_parse((const char *)data + 2,
	    size - 2, NULL);

	if (!entries)
		return 0;
	struct history_opts opts = {
		.system = "S", .read_only = read_only,
		.max_messages = data[0], .max_bytes = (size_t)data[1] * 16,
		.now_wall = 1790000000000,
	};
	CLEANUP_JSON struct json *m = history_messages(entries, &opts, &repaired);

	REQUIRE(history_check(m, &err) == 0);
	return 0;
}
