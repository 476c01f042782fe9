#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/gate/confirm.h"
#include "gateway/gate/words.h"

/* Only the whole text is an answer: "yes, but ..." is a new wish. */
static void
only_a_whole_word_is_an_answer(void **state)
{
	static const struct {
		const char *text;
		int answer;	/* -1: none */
	} rows[] = {
		{ "yes", GATE_ANSWER_ONCE }, { " Yes\n", GATE_ANSWER_ONCE },
		{ "APPROVE", GATE_ANSWER_ONCE }, { "ok", GATE_ANSWER_ONCE },
		{ "okay", GATE_ANSWER_ONCE }, { "confirm", GATE_ANSWER_ONCE },
		{ "y", GATE_ANSWER_ONCE },
		{ "\xf0\x9f\x91\x8d", GATE_ANSWER_ONCE },
		{ "no", GATE_ANSWER_NO }, { "deny", GATE_ANSWER_NO },
		{ "reject", GATE_ANSWER_NO }, { "cancel", GATE_ANSWER_NO },
		{ "N", GATE_ANSWER_NO },
		{ "\xf0\x9f\x91\x8e", GATE_ANSWER_NO },
		{ "always", GATE_ANSWER_ALWAYS },
		{ "session", GATE_ANSWER_SESSION },
		{ "yes, but use the copy", -1 }, { "yes!", -1 }, { "", -1 },
		{ "continue", -1 }, { "yes please", -1 }, { "not ok", -1 },
		{ "nope", -1 }, { "ye", -1 }, { "hour", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum gate_answer got;
		bool is = words_plain(rows[i].text, &got);

		assert_int_equal(is ? (int)got : -1, rows[i].answer);
	}
}

/* A word that isn't known must not become a yes to something else. */
static void
arguments_are_read_whole_or_refused(void **state)
{
	static const struct {
		const char *args;
		bool yes, all;
		const char *id;
		enum gate_answer answer;
		const char *reason, *unknown;
	} rows[] = {
		{ "", true, false, "", GATE_ANSWER_ONCE, "", "" },
		{ "all", true, true, "", GATE_ANSWER_ONCE, "", "" },
		{ "all session", true, true, "", GATE_ANSWER_SESSION, "", "" },
		{ "session", true, false, "", GATE_ANSWER_SESSION, "", "" },
		{ "ALWAYS abcd1234", true, false, "abcd1234",
		    GATE_ANSWER_ALWAYS, "", "" },
		{ "abcd1234 hour", true, false, "abcd1234", GATE_ANSWER_HOUR,
		    "", "" },
		{ "once", true, false, "", GATE_ANSWER_ONCE, "", "" },
		{ "abcd123", true, false, "", GATE_ANSWER_ONCE, "", "abcd123" },
		{ "not this", true, false, "", GATE_ANSWER_ONCE, "", "not" },
		{ "", false, false, "", GATE_ANSWER_NO, "", "" },
		{ "all too risky", false, true, "", GATE_ANSWER_NO, "too risky",
		    "" },
		{ "abcd1234 no", false, false, "abcd1234", GATE_ANSWER_NO, "no",
		    "" },
		{ "session  x", false, false, "", GATE_ANSWER_NO, "session  x",
		    "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct words_args a = words_args_parse(rows[i].args, rows[i].yes);

		assert_int_equal(a.all, rows[i].all);
		assert_string_equal(a.id, rows[i].id);
		assert_int_equal(a.answer, rows[i].answer);
		assert_string_equal(a.reason, rows[i].reason);
		assert_string_equal(a.unknown, rows[i].unknown);
	}
}

static void
a_confirmation_ages_in_a_minute(void **state)
{
	const msec_t now = 1700000000000;

	(void)state;
	assert_true(confirm_is_danger("Please CONFIRM forced reboot now"));
	assert_true(confirm_is_danger("yes, delete everything"));
	assert_false(confirm_is_danger("yes, delete it"));
	assert_false(confirm_is_stale(now - 59000, now));
	assert_false(confirm_is_stale(now + 1000, now));
	assert_true(confirm_is_stale(now - 61000, now));
	assert_true(confirm_is_stale(now + 60000, now));
	assert_true(confirm_is_stale(-1, now));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_whole_word_is_an_answer),
		cmocka_unit_test(arguments_are_read_whole_or_refused),
		cmocka_unit_test(a_confirmation_ages_in_a_minute),
	};

	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
