/* Any body, in any cuts, gives a legal result; the cuts change nothing. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/assembly.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_result(const struct model_result *r)
{
	REQUIRE((r->error == MODEL_ERR_NONE) == (r->err == NULL));
	REQUIRE(utf8_valid(r->text, strlen(r->text)));
	REQUIRE(utf8_valid(r->reasoning, strlen(r->reasoning)));
	REQUIRE(r->finish != FINISH_TOOLS || r->ncalls > 0);
	for (size_t i = 0; i < r->ncalls; i++) {
		REQUIRE(r->calls[i].id[0] && r->calls[i].arguments[0]);
		REQUIRE(utf8_valid(r->calls[i].arguments,
		    strlen(r->calls[i].arguments)));
		for (size_t k = 0; k < i; k++)
			REQUIRE(strcmp(r->calls[i].id, r->calls[k].id) != 0);
	}
}

static void
read_in(const char *bytes, size_t size, size_t step, struct buf *out)
{
	struct assembly *a = assembly_new(NULL, "m");
	struct model_result r;
	size_t len, before = 0;

	for (size_t at = 0; at < size; at += step) {
		bool more = assembly_feed(a, bytes + at,
		    size - at < step ? size - at : step);

		assembly_text(a, &len);
		REQUIRE(len >= before);
		before = len;
		if (!more)
			break;
	}
	assembly_end(a, NULL);
	assembly_result(a, &r);
	check_result(&r);
	buf_printf(out, "%d %d %zu %s|%s", r.error, r.finish, r.ncalls, r.text,
	    r.reasoning);
	for (size_t i = 0; i < r.ncalls; i++)
		buf_printf(out, "|%s|%s", r.calls[i].name, r.calls[i].arguments);
	assembly_free(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (size > 1 << 16)
		return 0;

	CLEANUP_BUF struct buf whole, parts;

	buf_init(&whole, 1 << 24);
	buf_init(&parts, 1 << 24);
	read_in(bytes, size, size + 1, &whole);
	read_in(bytes, size, 1, &parts);
	REQUIRE(whole.len == parts.len &&
	    memcmp(whole.data, parts.data, whole.len) == 0);
	return 0;
}
