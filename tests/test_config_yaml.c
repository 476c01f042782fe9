#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/config_yaml.h"

static struct report rep;
static struct ytree *root;

static int
setup(void **state)
{
	(void)state;
	report_init(&rep);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	ytree_free(&root);
	report_done(&rep);
	return 0;
}

static void
parse_n(const char *text, size_t len)
{
	ytree_free(&root);
	report_done(&rep);
	root = ytree_parse("f", text, len, &rep);
}

static void
parse(const char *text)
{
	parse_n(text, strlen(text));
	for (size_t i = 0; i < rep.n; i++)
		fprintf(stderr, "# %u:%u %s\n", rep.items[i].line,
			rep.items[i].column, rep.items[i].text);
}

static void
expect_error(const char *text, unsigned line, const char *words)
{
	parse(text);
	assert_null(root);
	assert_int_equal(rep.errors, 1);
	assert_int_equal(rep.items[0].line, line);
	assert_non_null(strstr(rep.items[0].text, words));
}

static const char *
text_at(const char *a, const char *b)
{
	const struct ytree *n = ytree_get(root, a);

	if (b)
		n = ytree_get(n, b);
	return n && n->kind == YTREE_TEXT ? n->text : NULL;
}

static void
a_tree_knows_kinds_quotes_and_places(void **state)
{
	const struct ytree *n;

	(void)state;
	parse("a: 1\nb:\n  c: 'x'\n  d: [1, two]\n");
	assert_non_null(root);
	assert_string_equal(text_at("a", NULL), "1");
	assert_false(ytree_get(root, "a")->quoted);
	n = ytree_get(ytree_get(root, "b"), "c");
	assert_true(n->quoted);
	assert_int_equal(n->line, 3);
	assert_int_equal(n->column, 3);
	n = ytree_get(ytree_get(root, "b"), "d");
	assert_int_equal(n->kind, YTREE_LIST);
	assert_string_equal(n->first->next->text, "two");
	assert_null(ytree_get(root, "z"));
}

static void
nothing_is_an_empty_map(void **state)
{
	static const char *const texts[] = { "", "\n", "# only\n", "---\n", "~\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		parse(texts[i]);
		assert_non_null(root);
		assert_int_equal(root->kind, YTREE_MAP);
		assert_null(root->first);
	}
}

static void
a_byte_order_mark_changes_nothing(void **state)
{
	static const char utf16[] = "\xff\xfe" "a\0:\0 \0b\0";

	(void)state;
	parse("e: ~\n");
	assert_true(ytree_is_null(ytree_get(root, "e")));
	parse("\xef\xbb\xbftelegram:\n  token: x\n");
	assert_string_equal(text_at("telegram", "token"), "x");
	assert_int_equal(ytree_get(root, "telegram")->column, 1);
	parse_n(utf16, sizeof(utf16) - 1);
	assert_null(root);
	assert_non_null(strstr(rep.items[0].text, "UTF-8"));
	expect_error("a: b\nc: \xff\xfa\n", 2, "UTF-8");
}

/* C203 and its kind: wherever a tab indents, the line is named. */
static void
tabs_are_refused_where_they_indent(void **state)
{
	(void)state;
	expect_error("telegram:\n\ttoken: x\n  allowed_users: [1001]\n", 2, "tab");
	expect_error("a:\n  b: 1\n\tc: 2\n", 3, "tab");
	expect_error("a:\n  - x\n\t- y\n", 3, "tab");
	expect_error("a:\n  b: word\n  \tc\n", 3, "tab");
	parse("a:\tx\nb: |\n  x\n  \ttext\nc: 'q\n  \tr'\n");
	assert_string_equal(text_at("a", NULL), "x");
	assert_string_equal(text_at("b", NULL), "x\n\ttext\n");
}

static void
mistakes_are_named_with_their_place(void **state)
{
	(void)state;
	expect_error("a: 1\nb: 2\na: 3\n", 3, "first on line 1");
	expect_error("a: {b: 1, c: 2, b: 3}\n", 1, "'b'");
	expect_error("- a\n- b\n", 1, "a list");
	expect_error("word\n", 1, "a single value");
	expect_error("a: 1\n---\nb: 2\n", 2, "second document");
	expect_error("[a, b]: 1\n", 1, "key");
	expect_error("a: *nowhere\n", 1, "anchor");
	expect_error("a: 'open\n", 2, "");
	expect_error("a: \"\\0\"\n", 1, "NUL");
}

static void
aliases_and_merges_are_copied(void **state)
{
	(void)state;
	parse("base: &b {x: 1, y: 2}\nuse: *b\nmore:\n  <<: *b\n  y: 3\n"
		"list: {<<: [*b, {z: 4}]}\n");
	assert_string_equal(text_at("use", "y"), "2");
	assert_string_equal(text_at("more", "x"), "1");
	assert_string_equal(text_at("more", "y"), "3");
	assert_string_equal(text_at("list", "z"), "4");
	expect_error("a: &a\n  b: *a\n", 2, "anchor");
	expect_error("m: {<<: [[1]]}\n", 1, "<<");
}

static void
aliases_of_aliases_are_bounded(void **state)
{
	struct buf text CLEANUP_BUF;

	(void)state;
	buf_init(&text, 65536);
	buf_add_str(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++) {
		buf_printf(&text, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			buf_printf(&text, "%s*a%d", k ? ", " : "", i - 1);
		buf_add_str(&text, "]\n");
	}
	parse(text.data);
	assert_null(root);
	assert_non_null(strstr(rep.items[0].text, "too many"));
}

static void
depth_is_bounded(void **state)
{
	struct buf text CLEANUP_BUF;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_add_str(&text, "a: ");
	for (int i = 0; i < 9000; i++)
		buf_add_char(&text, '[');
	parse(text.data);
	assert_null(root);
	assert_int_equal(rep.errors, 1);
}

static const char *
look(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "A") == 0 ? "va$l" : strcmp(name, "E") == 0 ? "" : NULL;
}

static void
only_name_references_are_expanded(void **state)
{
	static const struct { const char *in, *out; } rows[] = {
		{ "x${A}y", "xva$ly" }, { "${env:A}", "va$l" }, { "${A}${A}", "va$lva$l" },
		{ "$${A}", "${A}" }, { "$A", "$A" }, { "a$b", "a$b" }, { "$", "$" },
		{ "${", "${" }, { "${}", "${}" }, { "${1x}", "${1x}" },
		{ "${A B}", "${A B}" }, { "$$", "$$" }, { "${E}", "" },
		{ "${env:}", "${env:}" }, { "scheme$100000$abc", "scheme$100000$abc" },
	};
	char *missing = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *out = ytree_expand(rows[i].in, look, NULL, &missing);

		assert_non_null(out);
		assert_string_equal(out, rows[i].out);
		mem_free(out);
	}
	assert_null(ytree_expand("a${env:MISSING}b", look, NULL, &missing));
	assert_string_equal(missing, "MISSING");
	mem_free(missing);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_tree_knows_kinds_quotes_and_places),
		T(nothing_is_an_empty_map),
		T(a_byte_order_mark_changes_nothing),
		T(tabs_are_refused_where_they_indent),
		T(mistakes_are_named_with_their_place),
		T(aliases_and_merges_are_copied),
		T(aliases_of_aliases_are_bounded),
		T(depth_is_bounded),
		T(only_name_references_are_expanded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
