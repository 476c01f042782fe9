#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/replace.h"

static struct replace_found found;
static struct err err;

/* The text after; NULL: refused, see err. */
static char *
replaced(const char *text, const char *old, const char *new, bool all)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	err.code = ERR_NONE;
	if (replace_apply(&out, text, strlen(text), old, new, all, &found,
	    &err) == 0)
		return buf_take(&out);
	buf_done(&out);
	return NULL;
}

static const struct {
	enum replace_strategy strategy;
	const char *text, *old, *new, *want;
} rows[] = {
	{ REPLACE_EXACT, "a b c", "b", "x", "a x c" },
	{ REPLACE_EXACT, "a\nb\n", "b\n", "", "a\n" },
	{ REPLACE_LINE_TRIMMED, "if (x) {\n\treturn 1;  \n}\n",
	  "if (x) {\n    return 1;\n}", "if (y) {\n    return 2;\n}",
	  "if (y) {\n    return 2;\n}\n" },
	/* the new text is indented as what it replaces */
	{ REPLACE_LINE_TRIMMED, "f:\n\t\ta = 1\n\t\tb = 2\n", "a = 1\nb = 2\n",
	  "a = 3\nif b:\n\tc\n", "f:\n\t\ta = 3\n\t\tif b:\n\t\t\tc\n" },
	{ REPLACE_WHITESPACE, "int  x   =  1;\nint y;\n", "int x = 1;\n",
	  "int x = 2;\n", "int x = 2;\nint y;\n" },
	{ REPLACE_ESCAPES, "print(\"a\tb\")\n", "print(\\\"a\\tb\\\")",
	  "print(\\\"c\\\")", "print(\"c\")\n" },
	{ REPLACE_UNICODE, "say \xe2\x80\x9chi\xe2\x80\x9d \xe2\x80\x94 now\nx\n",
	  "say \"hi\" - now\n", "say \"ho\"\n", "say \"ho\"\nx\n" },
	{ REPLACE_BLOCK_ANCHOR, "begin\n one two three four\n five\nend\nrest\n",
	  "begin\n one two thre fuor\n five\nend\n", "gone\n", "gone\nrest\n" },
	{ REPLACE_CONTEXT, "alpha beta gamma\ndelta epsilon zeta\ntheta\neta\n",
	  "alpha beta gamna\ndelta epsilon zetta\nthetta\n", "x\n", "x\neta\n" },
	/* no line feed at the end of the file */
	{ REPLACE_LINE_TRIMMED, "a\n  b  ", "b\n", "c\n", "a\n  c" },
};

static void
each_strategy_finds_what_it_is_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *got = replaced(rows[i].text, rows[i].old,
		    rows[i].new, false);

		if (!got)
			fail_msg("row %zu: %s", i, err.text);
		assert_string_equal(got, rows[i].want);
		assert_string_equal(replace_name(found.strategy),
		    replace_name(rows[i].strategy));
	}
}

static size_t
lines_found(enum replace_strategy strategy, const char *text, const char *old)
{
	struct replace_found f = { .strategy = strategy };

	replace_find_lines(&f, text, strlen(text), old, strlen(old));
	size_t n = f.n;

	replace_found_done(&f);
	return n;
}

/* What they find line_trimmed finds before them; alone they are stricter. */
static void
indentation_and_boundary_do_what_they_say(void **state)
{
	(void)state;
	assert_int_equal(lines_found(REPLACE_INDENTATION, "\t\ta = 1\n\tb\n",
	    "a = 1\n    b\n"), 1);
	assert_int_equal(lines_found(REPLACE_INDENTATION, "\ta = 1  \n",
	    "a = 1\n"), 0);
	assert_int_equal(lines_found(REPLACE_BOUNDARY, "  a  \nb\n\tc\n",
	    "a\nb\nc\n"), 1);
	assert_int_equal(lines_found(REPLACE_BOUNDARY, "a\n b\nc\n",
	    "a\nb\nc\n"), 0);
}

static void
two_places_are_no_place(void **state)
{
	(void)state;
	assert_null(replaced("a\nb\na\n", "a", "x", false));
	assert_non_null(strstr(err.text, "2 times"));
	CLEANUP_FREE char *all = replaced("a\nb\na\n", "a", "x", true);

	assert_string_equal(all, "x\nb\nx\n");
	assert_int_equal(found.n, 2);
	assert_null(replaced("  a b\n\ta b\n", "a b \n", "x\n", false));
	assert_non_null(strstr(err.text, "2 times"));
}

static void
what_makes_no_sense_is_said(void **state)
{
	(void)state;
	assert_null(replaced("a", "a", "a", false));
	assert_non_null(strstr(err.text, "same"));
	assert_null(replaced("a", "", "a", false));
	assert_non_null(strstr(err.text, "empty"));
	assert_null(replaced("a\n", "zzz", "a", false));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	/* blank lines alone are nowhere in particular */
	assert_null(replaced("a\n \nb\n", "  \n\t\n", "a", false));
	/* escapes that only the model has */
	assert_null(replaced("  say('it')\n  more\n", "say(\\'it\\')\nmore\nx",
	    "say(\\'x\\')\nmore\nx", false));
}

static void
escapes_of_the_model_do_not_get_in(void **state)
{
	(void)state;
	CLEANUP_FREE char *text = replaced("one two\nsay 'it is here now'\n"
	    "three four\n", "one two\nsay \\'it is here now\\'\nthree four\n",
	    "one two\nsay \\'no\\'\nthree four five\n", false);

	assert_true(!text || found.strategy == REPLACE_ESCAPES);
}

static unsigned seed = 7;

static unsigned
rnd(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* Lines of words that repeat; some of them indented, the last one open or not. */
static char *
random_lines(unsigned lines)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	for (unsigned i = 0; i < lines; i++)
		buf_printf(&out, "%.*sword%u = %u;%s", (int)rnd(5), "\t    ", rnd(9),
		    rnd(9), i + 1 < lines || rnd(3) ? "\n" : "");
	return buf_take(&out);
}

/* Any stretch of a text replaced, and the new one by the old again. */
static void
replaced_and_back_gives_the_text(void **state)
{
	unsigned done = 0;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		CLEANUP_FREE char *text = random_lines(1 + rnd(40));
		size_t len = strlen(text), from = rnd((unsigned)len);
		CLEANUP_FREE char *old = mem_strn(text + from,
		    1 + rnd((unsigned)(len - from)));
		CLEANUP_FREE char *new = mem_printf("new %u\n%s", i, rnd(2) ?
		    "  and\n" : "more");
		CLEANUP_FREE char *there = replaced(text, old, new, false);

		if (!there)	/* it stands in several places */
			continue;
		assert_int_equal(found.strategy, REPLACE_EXACT);
		CLEANUP_FREE char *back = replaced(there, new, old, false);
		if (!back)
			fail_msg("round %u: %s", i, err.text);
		assert_string_equal(back, text);
		done++;
	}
	assert_true(done > 1000);
}

static void
the_closest_lines_are_named(void **state)
{
	CLEANUP_BUF struct buf out;
	static const char text[] = "alpha\nint main(void)\nomega\n";

	(void)state;
	buf_init(&out, 1000);
	replace_closest(&out, text, sizeof(text) - 1, "int mian(viod)\n{", 16);
	assert_string_equal(out.data, "2|int main(void)");
	buf_clear(&out);
	replace_closest(&out, text, sizeof(text) - 1, "\n\n", 2);
	assert_int_equal(out.len, 0);
}

/* The loose ones have a budget: a big file comes to an end. */
static void
a_megabyte_ends(void **state)
{
	CLEANUP_BUF struct buf text, old;

	(void)state;
	buf_init(&text, 2 << 20);
	buf_init(&old, 1 << 20);
	for (int i = 0; text.len < 1 << 20; i++)
		buf_printf(&text, "line %d of a long and boring file\n", i % 977);
	for (int i = 0; i < 200; i++)
		buf_printf(&old, "line %d of another rather boring file\n", i);
	(void)replaced(text.data, old.data, "x", false);
	assert_true(err.code != ERR_NONE || found.n == 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_strategy_finds_what_it_is_for),
		cmocka_unit_test(indentation_and_boundary_do_what_they_say),
		cmocka_unit_test(two_places_are_no_place),
		cmocka_unit_test(what_makes_no_sense_is_said),
		cmocka_unit_test(escapes_of_the_model_do_not_get_in),
		cmocka_unit_test(replaced_and_back_gives_the_text),
		cmocka_unit_test(the_closest_lines_are_named),
		cmocka_unit_test(a_megabyte_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
