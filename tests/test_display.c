#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/gate/display.h"

static const struct gate_display asked = { "abcd1234", 300000,
	"because", 3, NULL, NULL };

static char *
shown(const char *command, size_t len)
{
	struct gate_req req = {
		.command = command, .command_len = len, .workdir = "", .dir = "/w",
		.props = { .backend = "local" },
	};

	return gate_display(&req, &asked);
}

static void
nothing_that_changes_the_meaning_is_invisible(void **state)
{
	static const char cmd[] = "echo a\r\tb \xe2\x80\xae" "x\xe2\x80\x8b"
	    "y \x1b[2K \xff \xf3\xa0\x80\xa1";
	CLEANUP_FREE char *text = shown(cmd, sizeof(cmd) - 1);

	(void)state;
	assert_non_null(strstr(text, "a\\r\\tb"));
	assert_non_null(strstr(text, "\\u{202E}x\\u{200B}y"));
	assert_non_null(strstr(text, "\\u{001B}[2K"));
	assert_non_null(strstr(text, "\\xFF"));
	assert_non_null(strstr(text, "\\u{E0021}"));
	assert_null(strchr(text, '\x1b'));
}

/* A directory's name comes from the model, or from what a command handed back. */
static void
the_directory_is_named_and_hides_nothing(void **state)
{
	struct gate_req req = {
		.command = "rm x", .command_len = 4, .workdir = "",
		.dir = "/w/\xe2\x80\xaeg\n\nls", .props = { .backend = "local" },
	};
	CLEANUP_FREE char *text = gate_display(&req, &asked);

	(void)state;
	assert_non_null(strstr(text, "local in /w/\\u{202E}g\\u{000A}\\u{000A}ls?"));
}

static void
a_command_is_shown_whole_or_not_at_all(void **state)
{
	const size_t max = DISPLAY_MAX, len = 60000;
	CLEANUP_FREE char *big = mem_alloc(max + 1);
	CLEANUP_FREE char *fits = mem_alloc(len + 1);

	(void)state;
	memset(big, 'a', max);
	memset(fits, 'b', len);
	assert_null(shown(big, max));
	CLEANUP_FREE char *text = shown(fits, len);

	assert_non_null(text);
	assert_non_null(strstr(text, fits));
	assert_non_null(strstr(text, "/deny abcd1234"));
}

/* A tool's own wrapper would tell a person nothing; its content is escaped, too. */
static void
an_act_of_ours_is_shown_as_what_it_does(void **state)
{
	struct gate_req req = {
		.command = "wrapper", .command_len = 7, .workdir = "",
		.dir = "/w", .props = { .backend = "local" },
		.judged = "cat > a", .shown = "a:\n+one\xe2\x80\xaetwo",
		.what = "this change of files",
	};
	CLEANUP_FREE char *text = gate_display(&req, &asked);

	(void)state;
	assert_non_null(strstr(text, "Allow this change of files on local"));
	assert_non_null(strstr(text, "a:\n+one\\u{202E}two"));
	assert_null(strstr(text, "wrapper"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_changes_the_meaning_is_invisible),
		cmocka_unit_test(the_directory_is_named_and_hides_nothing),
		cmocka_unit_test(a_command_is_shown_whole_or_not_at_all),
		cmocka_unit_test(an_act_of_ours_is_shown_as_what_it_does),
	};

	return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
