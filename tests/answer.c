#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tests/answer.h"

static const size_t steps[] = { 0, 2, 3, 7, 64, 1 };

void
answer_read(struct answer *a, const struct json *tools, const char *body,
	size_t len, size_t step, bool whole)
{
	struct err cut = { ERR_IO, "the connection was closed" };
	bool more = true;

	a->assembly = assembly_new(tools, "m at test");
	for (size_t at = 0; more && at < len;) {
		size_t n = step && step < len - at ? step : len - at;

		more = assembly_feed(a->assembly, body + at, n);
		at += n;
	}
	a->stopped = !more;
	assembly_end(a->assembly, whole ? NULL : &cut);
	assembly_result(a->assembly, &a->res);
}

void
answer_done(struct answer *a)
{
	assembly_free(&a->assembly);
}

/* All that a reading gave, but ids that were generated. */
static char *
describe(const struct answer *a)
{
	const struct model_result *r = &a->res;
	struct buf out;

	buf_init(&out, 1 << 20);
	buf_printf(&out, "%s %d <%s> <%s> %d %lld %lld",
	    model_error_name(r->error), r->finish, r->text, r->reasoning,
	    (int)r->ncalls, (long long)r->prompt_tokens,
	    (long long)r->completion_tokens);
	for (size_t i = 0; i < r->ncalls; i++)
		buf_printf(&out, " %s(%s)", r->calls[i].name,
		    r->calls[i].arguments);
	if (r->err)
		buf_printf(&out, " %s", r->err->text);
	return buf_take(&out);
}

void
answer_read_all(struct answer *a, const struct json *tools,
	const char *body, size_t len, bool whole)
{
	CLEANUP_FREE char *first = NULL;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		answer_read(a, tools, body, len, steps[i], whole);
		CLEANUP_FREE char *now = describe(a);

		if (!first)
			first = mem_str(now);
		assert_string_equal(now, first);
		if (i + 1 < ARRAY_LEN(steps))
			answer_done(a);
	}
}

char *
answer_fixture(const char *name, size_t *ret_len)
{
	const char *top = getenv("TOP_SRCDIR");
	CLEANUP_FREE char *path = mem_printf("%s/tests/fixtures/llm/%s",
	    top ? top : ".", name);
	FILE *f = fopen(path, "rb");
	char *data = mem_alloc(1 << 16);

	if (!f)
		fail_msg("%s can't be opened", path);
	*ret_len = fread(data, 1, (1 << 16) - 1, f);
	fclose(f);
	return data;
}
