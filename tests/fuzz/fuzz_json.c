/* What was parsed prints, and what was printed parses to the same text. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_strings(const struct json *node)
{
	const char *s = json_str(node);
	const char *key = json_key(node);

	REQUIRE(!s || utf8_valid(s, strlen(s)));
	REQUIRE(!key || utf8_valid(key, strlen(key)));
	for (const struct json *c = json_first(node); c; c = json_next(c))
		check_strings(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { .code = ERR_NONE };
	CLEANUP_JSON struct json *j = json_parse((const char *)data, size, &err);

	if (!j) {
		REQUIRE(err.code != ERR_NONE);
		return 0;
	}
	check_strings(j);
	CLEANUP_FREE char *text = json_text(j);
	CLEANUP_JSON struct json *again = json_parse(text, strlen(text), &err);

	REQUIRE(again);
	CLEANUP_FREE char *text2 = json_text(again);

	REQUIRE(strcmp(text, text2) == 0);
	return 0;
}
