#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

static struct json *
parse(const char *text)
{
	struct err err = { .code = ERR_NONE };
	struct json *j = json_parse(text, strlen(text), &err);

	if (!j)
		fprintf(stderr, "%s: %s\n", text, err.text);
	assert_non_null(j);
	return j;
}

static enum err_code
refused(const char *text, size_t len)
{
	struct err err = { .code = ERR_NONE };

	assert_null(json_parse(text, len, &err));
	assert_int_not_equal(err.code, ERR_NONE);
	assert_true(err.text[0] != '\0');
	return err.code;
}

static void
getters_give_members_or_the_fallback(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j =
	    parse("{\"s\":\"x\",\"n\":1.5,\"i\":-7,\"b\":true,\"z\":null,"
		"\"a\":[10,{\"k\":\"deep\"}]}");

	assert_string_equal(json_get_str(j, "s", "no"), "x");
	assert_string_equal(json_get_str(j, "n", "no"), "no");
	assert_null(json_get_str(j, "none", NULL));
	assert_null(json_get(j, "S"));
	assert_int_equal(json_get_int(j, "i", 0), -7);
	assert_int_equal(json_get_int(j, "n", 3), 3);
	assert_int_equal(json_get_int(j, "s", 3), 3);
	assert_true(json_get_num(j, "n", 0) == 1.5);
	assert_true(json_get_bool(j, "b", false));
	assert_true(json_get_bool(j, "s", true));
	assert_true(json_is_null(json_get(j, "z")));
	assert_true(json_is_null(json_get(j, "none")));
	assert_string_equal(json_str(json_path(j, "a.1.k")), "deep");
	assert_null(json_path(j, "a.2.k"));
	assert_null(json_path(j, "a.x"));
	assert_null(json_path(j, "s.x"));
	assert_null(json_path(j, ""));
	assert_int_equal(json_len(json_get(j, "a")), 2);
	assert_int_equal(json_len(j), 6);
	assert_int_equal(json_len(json_get(j, "s")), 0);
	assert_null(json_get(NULL, "s"));
	assert_null(json_at(json_get(j, "a"), 2));
}

static void
iteration_gives_keys_in_order(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j = parse("{\"a\":1,\"b\":2}");
	CLEANUP_JSON struct json *list = parse("[1]");
	char keys[8] = "";

	for (const struct json *c = json_first(j); c; c = json_next(c))
		strcat(keys, json_key(c));
	assert_string_equal(keys, "ab");
	assert_null(json_key(json_first(list)));
	assert_null(json_first(json_first(list)));
}

static void
a_depth_bomb_is_refused_before_it_is_parsed(void **state)
{
	(void)state;
	size_t n = 2000000;
	char *bomb = mem_alloc(n + 1);

	memset(bomb, '[', n);
	assert_int_equal(refused(bomb, n), ERR_LIMIT);
	for (size_t i = 0; i < n; i += 5)
		memcpy(bomb + i, "{\"a\":", 5);
	assert_int_equal(refused(bomb, n), ERR_LIMIT);
	mem_free(bomb);

	char nest[2 * (JSON_DEPTH_MAX + 1) + 1];

	memset(nest, '[', JSON_DEPTH_MAX);
	memset(nest + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	nest[2 * JSON_DEPTH_MAX] = '\0';
	CLEANUP_JSON struct json *j = parse(nest);

	memset(nest, '[', JSON_DEPTH_MAX + 1);
	memset(nest + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	assert_int_equal(refused(nest, sizeof(nest) - 1), ERR_LIMIT);
}

static void
brackets_in_strings_are_not_depth(void **state)
{
	(void)state;
	char text[300] = "[\"";

	for (int i = 0; i < 100; i++)
		strcat(text, "[{");
	strcat(text, "\\\"[\"]");
	CLEANUP_JSON struct json *j = parse(text);

	assert_int_equal(json_len(j), 1);
}

static void
too_many_values_are_refused(void **state)
{
	(void)state;
	size_t n = 2 * (JSON_NODES_MAX + 2);
	char *many = mem_alloc(n);

	for (size_t i = 0; i < n; i += 2)
		memcpy(many + i, "1,", 2);
	many[0] = '[';
	assert_int_equal(refused(many, n), ERR_LIMIT);
	mem_free(many);
}

static void
what_is_not_json_is_refused_and_said(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", " ", "{", "[1,", "\"abc", "{\"a\"}", "nul", "{} x", "{}{}",
		"[1]]", "[\"\\u12\"]", "[\"\\ux\"]", "[\"\\", "[\"\\u", "-", "[-Infinity]",
		"NaN", "{'a':1}", "[\"a\\q\"]", "\x01{}", "<html>",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(refused(bad[i], strlen(bad[i])), ERR_INVALID);
	assert_int_equal(refused("{}\0x", 4), ERR_INVALID);
	CLEANUP_JSON struct json *j = parse(" \r\n\t[ 1 ] \n");

	assert_int_equal(json_len(j), 1);
}

static void
half_surrogates_and_nul_become_replacement_characters(void **state)
{
	(void)state;
	static const struct { const char *json, *want; } cases[] = {
		{ "\"\\ud83d\"", "\xEF\xBF\xBD" },
		{ "\"a\\uDE00b\"", "a\xEF\xBF\xBD" "b" },
		{ "\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80" },
		{ "\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD\xF0\x9F\x98\x80" },
		{ "\"\\ud83d\\n\"", "\xEF\xBF\xBD\n" },
		{ "\"\\ud83dx\\ude00\"", "\xEF\xBF\xBDx\xEF\xBF\xBD" },
		{ "\"\\\\ud83d\"", "\\ud83d" },
		{ "\"a\\u0000b\"", "a\xEF\xBF\xBD" "b" },
		{ "\"\\u0001\"", "\x01" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP_JSON struct json *j = parse(cases[i].json);

		assert_string_equal(json_str(j), cases[i].want);
	}
	CLEANUP_JSON struct json *raw = json_parse("\"a\0b\"", 5, NULL);

	assert_string_equal(json_str(raw), "a\xEF\xBF\xBD" "b");
	CLEANUP_JSON struct json *key = parse("{\"k\\ud800\":1}");

	assert_int_equal(json_get_int(key, "k\xEF\xBF\xBD", 0), 1);
}

static void
bytes_that_are_no_utf8_are_replaced(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j = parse("[\"a\xFF\", \"\xED\xA0\x80\"]");

	assert_string_equal(json_str(json_at(j, 0)), "a\xEF\xBF\xBD");
	assert_true(utf8_valid(json_str(json_at(j, 1)),
	    strlen(json_str(json_at(j, 1)))));
	CLEANUP_JSON struct json *made = json_object();

	json_set_str(made, "k\xFF", "v\xC3");
	CLEANUP_FREE char *text = json_text(made);

	assert_string_equal(text, "{\"k\xEF\xBF\xBD\":\"v\xEF\xBF\xBD\"}");
}

static void
the_first_of_two_members_wins(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j = parse("{\"a\":1,\"a\":2}");

	assert_int_equal(json_get_int(j, "a", 0), 1);
	json_remove(j, "a");
	assert_null(json_get(j, "a"));
}

static void
numbers_a_double_cannot_hold_are_not_taken(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j = parse("{\"huge\":1e999,\"big\":9007199254740993,"
	    "\"ok\":9007199254740991,\"neg\":-9007199254740991,\"f\":1.0,\"h\":0.5}");
	int64_t id = 42;

	assert_int_equal(json_get_int(j, "huge", 5), 5);
	assert_true(json_get_num(j, "huge", 5) == 5);
	assert_false(json_id(json_get(j, "huge"), &id));
	assert_int_equal(json_get_int(j, "big", 5), 5);
	assert_false(json_id(json_get(j, "big"), &id));
	assert_int_equal(id, 42);
	assert_true(json_id(json_get(j, "ok"), &id));
	assert_int_equal(id, 9007199254740991);
	assert_int_equal(json_get_int(j, "neg", 0), -9007199254740991);
	assert_int_equal(json_get_int(j, "f", 0), 1);
	assert_false(json_id(json_get(j, "h"), &id));
}

static void
ids_are_numbers_or_strings_of_digits(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j = parse("[\"-1001234567890123\","
	    "\"9223372036854775807\",\"9223372036854775808\",\"12a\",\"\",\"-\","
	    "\" 1\",\"+1\",\"99999999999999999999\",null]");
	int64_t id;

	assert_true(json_id(json_at(j, 0), &id));
	assert_int_equal(id, -1001234567890123);
	assert_true(json_id(json_at(j, 1), &id));
	assert_int_equal(id, INT64_MAX);
	for (size_t i = 2; i < json_len(j); i++)
		assert_false(json_id(json_at(j, i), &id));
}

static void
built_trees_print_exactly(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *j = json_object();

	json_set_int(j, "id", INT64_MAX);
	json_set_int(j, "min", INT64_MIN);
	json_set_int(j, "edge", 9007199254740991);
	json_set_int(j, "ms", 1790000000123);
	json_set_take(j, "t", parse("0.7"));
	json_set_bool(j, "b", true);
	json_set_null(j, "z");
	json_set_str(j, "none", NULL);
	json_set_str(j, "s", "old");
	json_set_str(j, "s", "a\"\n");
	json_set_take(j, "list", json_add_take(json_array(), json_string("x")));
	CLEANUP_FREE char *text = json_text(j);

	assert_string_equal(text, "{\"id\":9223372036854775807,"
	    "\"min\":-9223372036854775808,\"edge\":9007199254740991,"
	    "\"ms\":1790000000123,\"t\":0.7,\"b\":true,\"z\":null,\"none\":null,"
	    "\"s\":\"a\\\"\\n\",\"list\":[\"x\"]}");
	assert_true(json_is_number(json_get(j, "id")));
	assert_int_equal(json_get_int(j, "id", 0), INT64_MAX);
	CLEANUP_JSON struct json *copy = json_clone(j);
	CLEANUP_FREE char *again = json_text(copy);

	assert_string_equal(again, text);
	CLEANUP_FREE char *pretty = json_text_pretty(j);

	assert_non_null(strchr(pretty, '\n'));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getters_give_members_or_the_fallback),
		cmocka_unit_test(iteration_gives_keys_in_order),
		cmocka_unit_test(a_depth_bomb_is_refused_before_it_is_parsed),
		cmocka_unit_test(brackets_in_strings_are_not_depth),
		cmocka_unit_test(too_many_values_are_refused),
		cmocka_unit_test(what_is_not_json_is_refused_and_said),
		cmocka_unit_test(half_surrogates_and_nul_become_replacement_characters),
		cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
		cmocka_unit_test(the_first_of_two_members_wins),
		cmocka_unit_test(numbers_a_double_cannot_hold_are_not_taken),
		cmocka_unit_test(ids_are_numbers_or_strings_of_digits),
		cmocka_unit_test(built_trees_print_exactly),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
