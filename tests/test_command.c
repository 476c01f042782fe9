#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/command.h"

/* Case C029: every form that people type, before the model sees anything. */
static void
every_written_form_is_recognised(void **state)
{
	static const struct { const char *text; enum command_id id;
		const char *args; } rows[] = {
		{ "/stop", COMMAND_STOP, "" },
		{ "/STOP", COMMAND_STOP, "" },
		{ " /stop", COMMAND_STOP, "" },
		{ "/stop\nnow", COMMAND_STOP, "now" },
		{ "/deny  all  too risky ", COMMAND_DENY, "all  too risky " },
		{ "/reset", COMMAND_NEW, "" },
		{ "/v", COMMAND_VERSION, "" },
		{ "/pair ABC", COMMAND_UNKNOWN, "ABC" },
		{ "/etc/passwd is what?", COMMAND_NONE, "" },
		{ "/", COMMAND_NONE, "" },
		{ "/ stop", COMMAND_NONE, "" },
		{ "stop", COMMAND_NONE, "" },
		{ "please /stop", COMMAND_NONE, "" },
		{ "/1", COMMAND_NONE, "" },
		{ "/averyveryveryveryveryveryverylongword", COMMAND_NONE, "" },
		{ "", COMMAND_NONE, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct command c = command_parse(rows[i].text);

		assert_int_equal(c.id, rows[i].id);
		assert_string_equal(c.args, rows[i].args);
	}
}

static void
only_what_stops_acts_before_its_commit(void **state)
{
	(void)state;
	for (enum command_id id = COMMAND_START; id <= COMMAND_WHOAMI; id++) {
		const struct command_def *def = command_def(id);

		assert_non_null(def);
		assert_int_equal(def->at_once,
		    id == COMMAND_STOP || id == COMMAND_DENY);
	}
}

static void
help_names_every_command_and_a_slip_finds_its_neighbour(void **state)
{
	(void)state;
	CLEANUP_FREE char *help = command_help();

	for (enum command_id id = COMMAND_START; id <= COMMAND_WHOAMI; id++)
		assert_non_null(strstr(help, command_def(id)->name));
	assert_string_equal(command_nearest("stpo"), "stop");
	assert_string_equal(command_nearest("aprove"), "approve");
	assert_null(command_nearest("zzzzzzzzzz"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_written_form_is_recognised),
		cmocka_unit_test(only_what_stops_acts_before_its_commit),
		cmocka_unit_test(
		    help_names_every_command_and_a_slip_finds_its_neighbour),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
