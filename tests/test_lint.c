/* What is said of a file's syntax: only what is new. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/lint.h"
#include "gateway/config_yaml.h"

static void
names_decide_who_checks(void **state)
{
	(void)state;
	assert_true(lint_knows("/a/b.py"));
	assert_true(lint_knows("/a/b.min.JSON"));
	assert_true(lint_knows("/a/.x.yml"));
	assert_false(lint_knows("/a/py"));
	assert_false(lint_knows("/a.py/b"));
	assert_false(lint_knows("/a/b.txt"));
	assert_false(lint_knows("/a/b."));
}

static void
expect(void (*check)(struct buf *, const char *, size_t), const char *text,
    const char *want)
{
	CLEANUP_BUF struct buf out;

	buf_init(&out, 4096);
	check(&out, text, strlen(text));
	if (!*want)
		assert_string_equal(out.data, "");
	else if (!strstr(out.data, want))
		fail_msg("%s: %s", text, out.data);
}

static void
json_and_yaml_are_checked_here(void **state)
{
	(void)state;
	expect(lint_json, "{\"a\": [1, 2]}\n", "");
	expect(lint_json, "{\n\"a\": [1, 2\n}\n", "line 3: ");
	expect(lint_json, "{\"a\": 1", "early");
	expect(lint_json, "", "JSON");
	expect(ytree_fault, "a: 1\nb: [x, y]\n---\nc: &q 1\nd: *q\n", "");
	expect(ytree_fault, "", "");
	expect(ytree_fault, "a: 1\nb: [x\nc: 2\n", "line 3: ");
	expect(ytree_fault, "a: 'open\n", "line ");
	expect(ytree_fault, "a: \xff\n", "line 1: ");
	/* its parser takes minutes for a file of these */
	CLEANUP_FREE char *deep = mem_alloc(200001);
	memset(deep, '[', 200000);
	expect(ytree_fault, deep, "nested");
}

static void
only_what_is_new_is_said(void **state)
{
	static const struct { const char *before, *after, *want; } rows[] = {
		{ "", "", "" },
		{ "", "line 3: bad\n", "line 3: bad\n" },
		{ "line 3: bad\n", "", "" },
		/* moved down by lines that were added above it */
		{ "line 3: bad\n", "line 17: bad\n", "" },
		{ "line 3: bad\n", "line 3: worse\nline 12: bad\n",
		  "line 3: worse\n" },
		{ "line 3: x1\n", "line 3: y1\n", "line 3: y1\n" },
		{ "a", "a", "" },
		{ "line 3: bad1x\n", "line 3: bad2\n", "line 3: bad2\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf out;

		buf_init(&out, 4096);
		lint_new(&out, rows[i].before, rows[i].after);
		assert_string_equal(out.data, rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_decide_who_checks),
		cmocka_unit_test(json_and_yaml_are_checked_here),
		cmocka_unit_test(only_what_is_new_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
