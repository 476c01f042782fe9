#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/dotenv.h"

static struct dotenv env;
static struct report rep;

static int
setup(void **state)
{
	(void)state;
	dotenv_init(&env);
	report_init(&rep);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	dotenv_done(&env);
	report_done(&rep);
	return 0;
}

static void
parse(const char *text)
{
	dotenv_parse(&env, ".env", text, strlen(text), &rep);
}

static void
expect(const char *name, const char *value)
{
	const struct dotenv_var *var = dotenv_find(&env, name);

	assert_non_null(var);
	assert_string_equal(var->value, value);
}

/* C201: every row is NAME=<form> and the value that must come out. */
static void
values_are_literal(void **state)
{
	static const struct { const char *form, *value; } rows[] = {
		{ "scheme$100000$abc$def", "scheme$100000$abc$def" },
		{ "${HOME}", "${HOME}" },
		{ "a#b", "a#b" },
		{ "a #b", "a" },
		{ "#b", "" },
		{ "", "" },
		{ "  x y  ", "x y" },
		{ "a=b=c", "a=b=c" },
		{ "'a \"$b\" #c'", "a \"$b\" #c" },
		{ "\"a 'b' #c $d\"", "a 'b' #c $d" },
		{ "\"a\\\"b\\\\c\\nd\\q\"", "a\"b\\c\nd\\q" },
		{ "'it\\'s\\n'", "it's\\n" },
		{ "\"x\"   # comment", "x" },
		{ "'two\nlines'", "two\nlines" },
		{ "a\\nb", "a\\nb" },
		{ "\xc3\xbc", "\xc3\xbc" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static const char *const ends[] = { "", "\n", "\r\n" };

		for (size_t k = 0; k < ARRAY_LEN(ends); k++) {
			char *text = mem_printf("A=%s%s", rows[i].form, ends[k]);

			parse(text);
			expect("A", rows[i].value);
			mem_free(text);
		}
	}
	assert_int_equal(rep.errors, 0);
}

static void
every_spelling_of_a_line_is_read(void **state)
{
	(void)state;
	parse("# first\n\n  export A=1\n\tB = 2\nexport\tC=3\r\nexport=4\r\n");
	expect("A", "1");
	expect("B", "2");
	expect("C", "3");
	expect("export", "4");
	assert_int_equal(rep.n, 0);
	assert_int_equal(dotenv_find(&env, "C")->line, 5);
}

static void
a_byte_order_mark_changes_nothing(void **state)
{
	(void)state;
	parse("\xef\xbb\xbfTOKEN=x\n");
	expect("TOKEN", "x");
	dotenv_parse(&env, ".env", "\xff\xfeT\0=\0", 6, &rep);
	assert_int_equal(rep.errors, 1);
	assert_non_null(strstr(rep.items[0].text, "UTF-8"));
}

static void
what_cannot_be_read_is_an_error_with_its_line(void **state)
{
	(void)state;
	parse("A=1\nnonsense\n2B=1\nC='open\nD=2\n");
	assert_int_equal(rep.errors, 3);
	assert_int_equal(rep.items[0].line, 2);
	assert_int_equal(rep.items[1].line, 3);
	assert_int_equal(rep.items[2].line, 4);
	assert_null(dotenv_find(&env, "C"));
	expect("A", "1");
}

static void
no_message_shows_a_value(void **state)
{
	(void)state;
	parse("A='hunter2secret' more\nB 'hunter2secret'\nC=\"hunter2secret\n");
	assert_int_equal(rep.errors, 3);
	for (size_t i = 0; i < rep.n; i++)
		assert_null(strstr(rep.items[i].text, "hunter2"));
}

static void
the_later_of_two_lines_counts_and_is_named(void **state)
{
	(void)state;
	parse("A=1\nA=2\n");
	expect("A", "2");
	assert_int_equal(rep.warnings, 1);
	assert_int_equal(rep.items[0].line, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(values_are_literal),
		T(every_spelling_of_a_line_is_read),
		T(a_byte_order_mark_changes_nothing),
		T(what_cannot_be_read_is_an_error_with_its_line),
		T(no_message_shows_a_value),
		T(the_later_of_two_lines_counts_and_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
