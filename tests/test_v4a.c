#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/udiff.h"
#include "gateway/agent/v4a.h"

static struct err err;

static char *
applied(const char *patch, const char *text)
{
	struct v4a v;
	struct buf out;

	buf_init(&out, 4 << 20);
	if (v4a_parse(&v, patch, strlen(patch), &err) < 0 || v.n != 1 ||
	    v4a_apply(&out, &v.files[0], text, strlen(text), &err) < 0) {
		v4a_done(&v);
		buf_done(&out);
		return NULL;
	}
	v4a_done(&v);
	return buf_take(&out);
}

#define UPDATE "*** Begin Patch\n*** Update File: a.c\n"
#define END "*** End Patch\n"

static const struct {
	const char *patch, *text, *want;
} rows[] = {
	{ UPDATE " a\n-b\n+B\n c\n" END, "a\nb\nc\n", "a\nB\nc\n" },
	{ UPDATE "@@ f()\n-x\n+y\n" END, "x\nf()\nx\n", "x\nf()\ny\n" },
	/* the line behind @@ may be among the lines */
	{ UPDATE "@@ f()\n f()\n-x\n+y\n" END, "f()\nx\n", "f()\ny\n" },
	{ UPDATE "-a\n+A\n@@\n-c\n+C\n" END, "a\nb\nc\n", "A\nb\nC\n" },
	{ UPDATE "@@ a\n+n\n" END, "a\nb\n", "a\nn\nb\n" },
	{ UPDATE "+n\n" END, "a\n", "a\nn\n" },
	{ UPDATE "-a\n" END, "a", "" },
	{ UPDATE "-b\n+c\n" END, "a\nb", "a\nc" },
	{ UPDATE " a\n\n-b\n+c\n" END, "a\n\nb\n", "a\n\nc\n" },
	{ UPDATE "@@ -1,2 +1,2 @@\n-a\n+b\n" END, "a\n", "b\n" },
	{ UPDATE "-x\n+y\n*** End of File\n" END, "x\nx\n", "x\ny\n" },
	{ "*** Update File: a.c\n-a\n+b\n", "a\n", "b\n" },	/* no frame */
};

static void
hunks_are_applied(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *got = applied(rows[i].patch, rows[i].text);

		if (!got)
			fail_msg("row %zu: %s", i, err.text);
		assert_string_equal(got, rows[i].want);
	}
}

static const struct {
	const char *patch, *text, *words;
} wrong[] = {
	{ "", "", "names no file" },
	{ "*** Begin Patch\n+a\n" END, "", "line 2" },
	{ UPDATE "-nope\n+x\n" END, "a\n", "hunk 1" },
	{ UPDATE "@@ nowhere\n+x\n" END, "a\n", "behind @@" },
	{ UPDATE " a\n" END, "a\n", "changes nothing" },
	{ UPDATE "-a\n+b\n" END, "a\na\n", "2 times" },
	{ UPDATE "-a\n+b\n@@\n-a\n+c\n" END, "a\n", "hunk 2" },
	{ UPDATE "what\n" END, "a\n", "must begin with" },
	{ "*** Update File: ../a\n-a\n+b\n" END, "a\n", ".." },
	{ "*** Update File: a/../../b\n-a\n+b\n" END, "a\n", ".." },
	{ "*** Update File:\n-a\n+b\n" END, "a\n", "path" },
	{ "*** Rename File: a\n" END, "", "none of" },
	{ "*** Move File: a b\n" END, "", "FROM -> TO" },
	{ "*** Delete File: a\n-x\n" END, "", "takes no lines" },
	{ "*** Add File: a\nx\n" END, "", "begins with +" },
	{ UPDATE "-a\n+b\n*** Update File: a.c\n-c\n+d\n" END, "a\n", "twice" },
};

static void
what_is_wrong_is_said_with_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char *got = applied(wrong[i].patch, wrong[i].text);

		if (got || !strstr(err.text, wrong[i].words))
			fail_msg("row %zu: %s", i, got ? got : err.text);
	}
}

static void
every_kind_is_read(void **state)
{
	static const char patch[] = "*** Begin Patch\n*** Add File: n/x\n+one\n"
	    "+\n*** Delete File: gone\n*** Move File: a b -> c d\n"
	    "*** Update File: u\r\n*** Move to: v\n-a\n+b\n*** End Patch\nrest";
	struct v4a v;

	(void)state;
	assert_int_equal(v4a_parse(&v, patch, sizeof(patch) - 1, &err), 0);
	assert_int_equal(v.n, 4);
	assert_int_equal(v.files[0].kind, V4A_ADD);
	assert_string_equal(v.files[0].hunks[0].new.data, "one\n\n");
	assert_int_equal(v.files[1].kind, V4A_DELETE);
	assert_string_equal(v.files[2].path, "a b");
	assert_string_equal(v.files[2].to, "c d");
	assert_string_equal(v.files[3].path, "u");
	assert_string_equal(v.files[3].to, "v");
	v4a_done(&v);
}

/* ---- forth and back --------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static unsigned
rnd(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

static void
random_text(struct buf *out, unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		buf_printf(out, "%*sword%u %u\n", (int)rnd(5), "", rnd(9),
		    i * 1000 + rnd(900));
	if (rnd(4) == 0 && out->len > 0)
		buf_drain(out, 0), out->data[--out->len] = '\0';
}

static void
random_edit(struct buf *out, const struct buf *text)
{
	const char *p = text->data;

	while (*p) {
		size_t n = strcspn(p, "\n");
		n += p[n] == '\n';
		if (rnd(10) == 0)
			buf_printf(out, "new %u\n", rnd(1000000));
		if (rnd(10) != 0)
			buf_add(out, p, n);
		p += n;
	}
}

/* A unified diff as V4A: headers replaced; back: the signs swapped. */
static char *
as_v4a(const char *diff, bool back)
{
	struct buf out;
	const char *p = diff;

	buf_init(&out, 4 << 20);
	buf_add_str(&out, UPDATE);
	for (int skip = 2; *p; skip--) {
		size_t n = strcspn(p, "\n") + 1;
		char op = *p;

		if (back && skip <= 0 && (op == '+' || op == '-'))
			op = op == '+' ? '-' : '+';
		if (skip <= 0 && op == '@') {
			buf_add_str(&out, "@@\n");
		} else if (skip <= 0 && op != '\\') {
			buf_add_char(&out, op);
			buf_add(&out, p + 1, n - 1);
		}
		p += n;
	}
	buf_add_str(&out, END);
	return buf_take(&out);
}

static void
applied_and_reversed_gives_the_file(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		CLEANUP_BUF struct buf a, b, diff;

		buf_init(&a, 1 << 20);
		buf_init(&b, 1 << 20);
		buf_init(&diff, 4 << 20);
		random_text(&a, 1 + rnd(60));
		random_edit(&b, &a);
		/* how the last line ends is no part of a V4A patch */
		if (a.len == 0 || b.len == 0 ||
		    (a.data[a.len - 1] == '\n') != (b.data[b.len - 1] == '\n'))
			continue;
		udiff(&diff, "f", a.data, a.len, b.data, b.len);
		if (diff.len == 0)
			continue;
		CLEANUP_FREE char *forth = as_v4a(diff.data, false);
		CLEANUP_FREE char *back = as_v4a(diff.data, true);
		CLEANUP_FREE char *got = applied(forth, a.data);
		if (!got)
			fail_msg("round %d: %s\n%s", i, err.text, forth);
		assert_string_equal(got, b.data);
		CLEANUP_FREE char *again = applied(back, b.data);
		if (!again)
			fail_msg("round %d back: %s\n%s", i, err.text, back);
		assert_string_equal(again, a.data);
	}
}

static void
a_diff_reads_as_usual(void **state)
{
	CLEANUP_BUF struct buf out;

	(void)state;
	buf_init(&out, 10000);
	udiff(&out, "f", "a\nb\nc\n", 6, "a\nB\nc", 5);
	assert_string_equal(out.data, "--- af\n+++ bf\n@@ -1,3 +1,3 @@\n a\n-b\n"
	    "+B\n-c\n+c\n\\ No newline at end of file\n");
	buf_clear(&out);
	udiff(&out, "f", NULL, 0, "x\n", 2);
	assert_string_equal(out.data, "--- /dev/null\n+++ bf\n@@ -0,0 +1,1 @@\n"
	    "+x\n");
	buf_clear(&out);
	udiff(&out, "f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 18,
	    "1\n2\n3\n4\nx\n6\n7\n8\n9\n", 18);
	assert_string_equal(out.data, "--- af\n+++ bf\n@@ -2,7 +2,7 @@\n 2\n 3\n"
	    " 4\n-5\n+x\n 6\n 7\n 8\n");
	buf_clear(&out);
	udiff(&out, "f", "a", 1, "a", 1);
	assert_int_equal(out.len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hunks_are_applied),
		cmocka_unit_test(what_is_wrong_is_said_with_its_line),
		cmocka_unit_test(every_kind_is_read),
		cmocka_unit_test(applied_and_reversed_gives_the_file),
		cmocka_unit_test(a_diff_reads_as_usual),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
