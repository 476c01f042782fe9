/*
 * Words: whose turn they belong to, what they decide, how long they are kept
 * (rules 1.8, 3.8, 4.4).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

static void
start(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	world_boot(w);
}

static bool
request_has(const struct world *w, size_t at, const char *part)
{
	CLEANUP_FREE char *text = fake_model_request_text(w->model, at);

	return strstr(text, part) != NULL;
}

/* Case C117: a command that acted already does not act after a restart. */
static void
a_redelivered_command_is_not_done_again(void **state)
{
	struct world w;
	unsigned reset;

	(void)state;
	start(&w, 15);
	fake_say(w.platform, "1001", "remember violet");
	assert_true(world_settle(&w, 10000));
	reset = fake_say(w.platform, "1001", "/new");
	assert_true(world_settle(&w, 10000));
	fake_say(w.platform, "1001", "remember green");
	assert_true(world_settle(&w, 10000));
	world_crash(&w);
	world_boot(&w);
	fake_say_again(w.platform, "1001", "/new", reset);
	assert_true(world_settle(&w, 10000));
	fake_say(w.platform, "1001", "which colour?");
	assert_true(world_settle(&w, 10000));
	assert_true(request_has(&w, fake_model_calls(w.model) - 1,
	    "remember green"));
	assert_false(request_has(&w, fake_model_calls(w.model) - 1,
	    "violet"));
	world_done(&w);
}

/* Case C126. */
static void
every_finished_turn_is_durable(void **state)
{
	static const char *const words[] = { "one", "two", "three" };
	struct world w;

	(void)state;
	start(&w, 16);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		fake_say(w.platform, "1001", words[i]);
		assert_true(world_settle(&w, 10000));
	}
	world_pass(&w, 5000);
	world_crash(&w);
	world_boot(&w);
	fake_say(w.platform, "1001", "four");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 4);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		CLEANUP_FREE char *echo = mem_printf("echo: %s", words[i]);

		assert_true(request_has(&w, 3, words[i]));
		assert_true(request_has(&w, 3, echo));
	}
	world_done(&w);
}

/* Rules 3.8: what is older than a day is put aside and said once. */
static void
what_waited_for_more_than_a_day_is_parked_and_said(void **state)
{
	struct world w;

	(void)state;
	start(&w, 17);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 60000,
	    .text = "never" });
	fake_say(w.platform, "1001", "long ago");
	world_pass(&w, 1000);
	size_t calls = fake_model_calls(w.model);

	world_crash(&w);
	sim_set_wall(w.loop, loop_wall(w.loop) + 26 * 3600 * 1000LL);
	world_boot(&w);
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	assert_true(fake_saw(w.platform, "1001", "put aside"));
	assert_int_equal(fake_model_calls(w.model), calls);
	world_done(&w);
}

/* Case C138. */
static void
yes_without_a_question_is_a_word(void **state)
{
	struct world w;

	(void)state;
	start(&w, 18);
	fake_say(w.platform, "1001", "yes");
	assert_true(world_settle(&w, 10000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: yes");
	world_done(&w);
}

/* Case C137: only the documented words approve. */
static void
words_that_are_no_clear_yes_withdraw_the_question(void **state)
{
	static const char *const words[] = { "yes, but use the copy",
		"continue", "how long is the log now?", "yes please" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct world w;

		start(&w, 19 + i);
		fake_sandbox.isolated = false;
		fake_model_script(w.model, &(struct fake_answer){
		    .call = "rm -rf x" });
		fake_say(w.platform, "1001", "work");
		world_pass(&w, 1000);
		fake_say(w.platform, "1001", words[i]);
		assert_true(world_settle(&w, 10000));
		assert_int_equal(fake_sandbox_ran("rm -rf x"), 0);
		assert_true(request_has(&w, 1, words[i]));
		fake_say(w.platform, "1001", "/approve");
		assert_true(world_settle(&w, 10000));
		assert_int_equal(fake_sandbox_ran("rm -rf x"), 0);
		world_done(&w);
	}
}

/* Case C097: an answer that did not arrive stays its own turn's. */
static void
an_undelivered_answer_shifts_no_other(void **state)
{
	struct world w;

	(void)state;
	start(&w, 25);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .delay = 100, .outcome = SEND_UNKNOWN });
	fake_say(w.platform, "1001", "test0");
	assert_true(world_settle(&w, 10000));
	for (int i = 1; i <= 3; i++) {
		CLEANUP_FREE char *say = mem_printf("test%d", i);
		CLEANUP_FREE char *echo = mem_printf("echo: test%d", i);

		fake_say(w.platform, "1001", say);
		assert_true(world_settle(&w, 10000));
		assert_string_equal(fake_last(w.platform, "1001"), echo);
	}
	assert_int_equal(fake_count(w.platform, "1001"), 4);
	world_done(&w);
}

/* Case C110: closing words of the stopped run come before the new words. */
static void
a_message_right_after_a_stop_sees_the_partial_answer(void **state)
{
	struct world w;

	(void)state;
	start(&w, 26);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 9000,
	    .partial = "half an answer" });
	fake_say(w.platform, "1001", "first");
	world_pass(&w, 5000);
	fake_say(w.platform, "1001", "/stop");
	fake_say(w.platform, "1001", "second");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 2);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);
	const char *half = strstr(text, "half an answer");

	assert_non_null(half);
	assert_non_null(strstr(half, "second"));
	world_done(&w);
}

/* Rules 1.8: in a shared session only words for the bot interrupt. */
static void
in_a_shared_session_only_who_addresses_the_bot_interrupts(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 27);
	w.opts.route.group_sessions_per_user = false;
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 5" });
	fake_say_in(w.platform, "1001", "-7", "work");
	world_pass(&w, 1000);
	fake_say_aside(w.platform, "1002", "-7", "by the way");
	world_pass(&w, 1000);
	assert_false(fake_sandbox.commands[0].cancelled);
	assert_true(world_settle(&w, 20000));
	assert_true(request_has(&w, fake_model_calls(w.model) - 1,
	    "[1002] by the way"));
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 6" });
	fake_say_in(w.platform, "1001", "-7", "more work");
	world_pass(&w, 1000);
	fake_say_in(w.platform, "1002", "-7", "bot, stop that");
	assert_true(world_settle(&w, 3000));
	assert_true(fake_sandbox.commands[1].cancelled);
	world_done(&w);
}

/* The one whose words wait longest is not asked for another's command. */
static void
the_newest_asker_decides_in_a_shared_session(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 28);
	w.opts.route.group_sessions_per_user = false;
	w.opts.busy = BUSY_QUEUE;
	world_boot(&w);
	fake_sandbox.isolated = false;
	fake_model_script(w.model, &(struct fake_answer){ .delay = 2000,
	    .text = "first answer" });
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -rf x" });
	fake_say_in(w.platform, "1001", "-7", "hello");
	world_pass(&w, 500);
	fake_say_in(w.platform, "1002", "-7", "remove it");
	world_pass(&w, 5000);
	fake_say_in(w.platform, "1001", "-7", "/approve");
	world_pass(&w, 1000);
	assert_int_equal(fake_sandbox_ran("rm -rf x"), 0);
	fake_say_in(w.platform, "1002", "-7", "/approve");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_sandbox_ran("rm -rf x"), 1);
	world_done(&w);
}

/* What is too long to be taken is said, not dropped in silence. */
static void
a_text_that_is_too_long_says_that_it_was_cut(void **state)
{
	char *big = mem_alloc(70001);
	struct world w;

	(void)state;
	memset(big, 'x', 70000);
	start(&w, 29);
	fake_model_script(w.model, &(struct fake_answer){ .text = "long" });
	fake_say(w.platform, "1001", big);
	assert_true(world_settle(&w, 10000));
	assert_true(request_has(&w, 0, "the message was cut here"));
	mem_free(big);
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redelivered_command_is_not_done_again),
		cmocka_unit_test(every_finished_turn_is_durable),
		cmocka_unit_test(
		    what_waited_for_more_than_a_day_is_parked_and_said),
		cmocka_unit_test(yes_without_a_question_is_a_word),
		cmocka_unit_test(
		    words_that_are_no_clear_yes_withdraw_the_question),
		cmocka_unit_test(an_undelivered_answer_shifts_no_other),
		cmocka_unit_test(
		    a_message_right_after_a_stop_sees_the_partial_answer),
		cmocka_unit_test(
		    in_a_shared_session_only_who_addresses_the_bot_interrupts),
		cmocka_unit_test(the_newest_asker_decides_in_a_shared_session),
		cmocka_unit_test(a_text_that_is_too_long_says_that_it_was_cut),
	};

	return cmocka_run_group_tests_name("scenario words", tests, NULL, NULL);
}
