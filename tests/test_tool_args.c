/* What a model writes as arguments, and what it is told about it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/tool_args.h"

static const struct tool tool = {
	.name = "try", .description = "",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"command\":{\"type\":\"string\"},"
	    "\"background\":{\"type\":\"boolean\"},"
	    "\"timeout\":{\"type\":\"integer\"},"
	    "\"ratio\":{\"type\":\"number\"},"
	    "\"patterns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	    "\"mode\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]},"
	    "\"any\":{}},\"required\":[\"command\"]}",
};
static const struct tool bare = {
	.name = "list_jobs", .description = "",
	.parameters = "{\"type\":\"object\",\"properties\":{}}",
};

static void
good(const struct tool *t, const char *text, const char *want)
{
	struct err err = { .text = "" };
	CLEANUP_JSON struct json *args = tool_args_parse(t, text, &err);

	if (!args)
		fail_msg("%s: %s", text, err.text);
	CLEANUP_FREE char *got = json_text(args);

	assert_string_equal(got, want);
}

static void
bad(const char *text, const char *word)
{
	struct err err = { .text = "" };
	struct json *args = tool_args_parse(&tool, text, &err);

	assert_null(args);
	if (!strstr(err.text, word))
		fail_msg("no '%s' in: %s", word, err.text);
}

/* C085 */
static void
no_arguments_in_every_spelling_run_a_tool_without_any(void **state)
{
	(void)state;
	good(&bare, "", "{}");
	good(&bare, " \n", "{}");
	good(&bare, "{}", "{}");
	good(&bare, "null", "{}");
	good(&bare, "{\"surplus\":1}", "{\"surplus\":1}");
}

/* C086 D */
static void
clear_meanings_in_other_types_are_taken(void **state)
{
	(void)state;
	good(&tool, "{\"command\":\"ls\",\"x\":null}",
	    "{\"command\":\"ls\",\"x\":null}");
	good(&tool, "\"{\\\"command\\\":\\\"ls\\\"}\"", "{\"command\":\"ls\"}");
	good(&tool, "{\"command\":\"5\",\"timeout\":\"5\",\"background\":\"true\"}",
	    "{\"command\":\"5\",\"timeout\":5,\"background\":true}");
	good(&tool, "{\"command\":\"l\",\"timeout\":null,\"ratio\":2}",
	    "{\"command\":\"l\",\"ratio\":2}");
	good(&tool, "{\"command\":\"l\",\"patterns\":\"x\"}",
	    "{\"command\":\"l\",\"patterns\":[\"x\"]}");
	good(&tool, "{\"command\":\"l\",\"patterns\":\"[1]\"}",
	    "{\"command\":\"l\",\"patterns\":[1]}");
	good(&tool, "{\"command\":\"l\",\"any\":[{}],\"mode\":\"b\"}",
	    "{\"command\":\"l\",\"any\":[{}],\"mode\":\"b\"}");
}

static void
what_is_wrong_is_said(void **state)
{
	(void)state;
	bad("", "'command' is missing. It takes: command (string, required), "
	    "background (boolean)");
	bad("{\"command\":null}", "'command' is missing");
	bad("{\"command\":5}", "'command' must be of type string, not integer");
	bad("{\"command\":[\"ls\"]}", "not array");
	bad("{\"command\":\"l\",\"timeout\":1.5}", "type integer, not number");
	bad("{\"command\":\"l\",\"timeout\":1e300}", "type integer, not number");
	bad("{\"command\":\"l\",\"timeout\":\"soon\"}", "not string");
	bad("{\"command\":\"l\",\"timeout\":\"true\"}", "not string");
	bad("{\"command\":\"l\",\"background\":1}", "type boolean");
	bad("{\"command\":\"l\",\"mode\":\"c\"}", "one of [\"a\",\"b\"]");
	bad("[]", "one JSON object");
	bad("\"ls\"", "one JSON object");
	/* C070: cut JSON is not repaired */
	bad("{\"command\":\"rm -rf /tmp/x", "no valid JSON");
	bad("{\"command\":\"l\"}{\"command\":\"m\"}", "no valid JSON");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_arguments_in_every_spelling_run_a_tool_without_any),
		cmocka_unit_test(clear_meanings_in_other_types_are_taken),
		cmocka_unit_test(what_is_wrong_is_said),
	};

	return cmocka_run_group_tests_name("tool_args", tests, NULL, NULL);
}
