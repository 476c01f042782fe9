/* Messages, runs and cancels on the hand-moved clock (rules 1.4 to 1.11). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

/* The text of the last request holds all of these, in this order. */
static void
expect_request(struct world *w, size_t at, const char *a, const char *b)
{
	CLEANUP_FREE char *text = fake_model_request_text(w->model, at);
	const char *first = strstr(text, a);

	if (!first || !strstr(first, b))
		fprintf(stderr, "request %zu lacks '%s' then '%s':\n%s\n", at, a,
		    b, text);
	assert_non_null(first);
	assert_non_null(strstr(first, b));
}

static void
a_message_is_answered_once(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 1);
	world_boot(&w);
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hello");
	assert_int_equal(fake_model_calls(w.model), 1);
	world_done(&w);
}

/* Case C100, C109: whatever the order of events, one run, both texts. */
static void
two_messages_at_once_give_one_answer_to_both(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;

		world_init(&w, seed);
		world_boot(&w);
		fake_model_script(w.model, &(struct fake_answer){ .delay = 10,
		    .text = "too early" });
		fake_say(w.platform, "1001", "first words");
		world_pass(&w, seed % 4);
		fake_say(w.platform, "1001", "second words");
		assert_true(world_settle(&w, 10000));
		assert_int_equal(fake_model_live_max(w.model), 1);
		assert_int_equal(fake_count(w.platform, "1001"), 1);
		expect_request(&w, fake_model_calls(w.model) - 1,
		    "first words", "second words");
		world_done(&w);
	}
}

/* Cancel at every step: model, tool, second model call, saving, sending. */
static void
a_new_message_at_any_moment_ends_the_old_run(void **state)
{
	(void)state;
	for (msec_t at = 0; at <= 120; at += 3) {
		struct world w;

		world_init(&w, (uint64_t)at + 1);
		world_boot(&w);
		w.platform->delay = 20;
		fake_sandbox.dying_ms = 7;
		fake_model_script(w.model, &(struct fake_answer){ .delay = 30,
		    .partial = "let me look", .call = "sleep 0" });
		fake_model_script(w.model, &(struct fake_answer){ .delay = 30,
		    .text = "old answer" });
		fake_say(w.platform, "1001", "old question");
		world_pass(&w, at);
		size_t calls = fake_model_calls(w.model);
		bool answered = fake_saw(w.platform, "1001", "old answer");

		/* What the old script still holds must not answer the new run. */
		for (size_t i = calls; i < 2; i++)
			fake_model_script(w.model, &(struct fake_answer){
			    .text = "new answer" });
		fake_model_script(w.model, &(struct fake_answer){
		    .text = "new answer" });
		fake_say(w.platform, "1001", "new question");
		assert_true(world_settle(&w, 60000));
		assert_int_equal(fake_model_live_max(w.model), 1);
		expect_request(&w, fake_model_calls(w.model) - 1, "old question",
		    "new question");
		if (!answered)
			assert_true(fake_count(w.platform, "1001") <= 2);
		assert_true(fake_sandbox_ran("sleep 0") <= 2);
		world_done(&w);
	}
}

/* Case C104: six calls of 20 s, and the person changes his mind. */
static void
a_chain_of_calls_ends_with_the_running_one(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 3);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 20",
	    .call2 = "echo never" });
	fake_say(w.platform, "1001", "do both");
	world_pass(&w, 5000);
	assert_int_equal(fake_sandbox_ran("sleep 20"), 1);
	fake_say(w.platform, "1001", "stop, wrong host");
	assert_true(world_settle(&w, 3000));
	assert_true(fake_sandbox.commands[0].cancelled);
	assert_int_equal(fake_sandbox_ran("echo never"), 0);
	expect_request(&w, 1, "may have had effects", "stop, wrong host");
	expect_request(&w, 1, "it was not run", "stop, wrong host");
	world_done(&w);
}

static void
no_command_starts_while_the_old_tree_dies(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 4);
	world_boot(&w);
	fake_sandbox.dying_ms = 800;
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 50" });
	fake_model_script(w.model, &(struct fake_answer){ .call = "echo two" });
	fake_say(w.platform, "1001", "one");
	world_pass(&w, 1000);
	fake_say(w.platform, "1001", "two");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("echo two"), 1);
	assert_true(fake_sandbox.commands[1].started -
	    fake_sandbox.commands[0].ended >= 800);
	world_done(&w);
}

/* Case C102. */
static void
stop_ends_the_run_and_is_no_prompt(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 5);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 60" });
	fake_say(w.platform, "1001", "work");
	world_pass(&w, 1000);
	size_t calls = fake_model_calls(w.model);

	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 1000));
	assert_int_equal(fake_model_calls(w.model), calls);
	assert_true(fake_sandbox.commands[0].cancelled);
	assert_string_equal(fake_last(w.platform, "1001"), "Stopped.");
	world_stop(&w);
	world_boot(&w);		/* and it is not answered after a restart */
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls);
	world_done(&w);
}

static void
only_the_same_session_can_cancel(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 6);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 3" });
	fake_say(w.platform, "1001", "work");
	world_pass(&w, 500);
	fake_say(w.platform, "1002", "hi");
	fake_say(w.platform, "6666", "stranger");
	fake_say(w.platform, "6666", "/stop");
	fake_say(w.platform, "1001", "/status");
	assert_true(world_settle(&w, 10000));
	assert_false(fake_sandbox.commands[0].cancelled);
	assert_true(fake_saw(w.platform, "1002", "echo: hi"));
	assert_true(fake_saw(w.platform, "1001", "Running: terminal: sleep 3"));
	assert_int_equal(fake_count(w.platform, "6666"), 0);
	world_done(&w);
}

static void
a_redelivered_message_is_no_second_one(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 7);
	world_boot(&w);
	unsigned id = fake_say(w.platform, "1001", "hello");

	fake_say_again(w.platform, "1001", "hello", id);
	assert_true(world_settle(&w, 5000));
	fake_say_again(w.platform, "1001", "hello", id);
	assert_true(world_settle(&w, 5000));
	world_stop(&w);
	world_boot(&w);
	fake_say_again(w.platform, "1001", "hello", id);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	assert_int_equal(fake_model_calls(w.model), 1);
	world_done(&w);
}

static void
texts_of_one_batch_join_before_the_start(void **state)
{
	static const char *const texts[] = { "part one", "part two", "part three" };
	struct world w;

	(void)state;
	world_init(&w, 8);
	world_boot(&w);
	fake_say_batch(w.platform, "1001", texts, 3);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), 1);
	expect_request(&w, 0, "part one", "part three");
	world_done(&w);
}

/* Rules 1.9: a long text waits a second for its continuation. */
static void
a_long_paste_is_one_question(void **state)
{
	struct world w;
	char *big = mem_alloc(4097);

	(void)state;
	memset(big, 'x', 4096);
	world_init(&w, 9);
	world_boot(&w);
	fake_say(w.platform, "1001", big);
	world_pass(&w, 900);
	assert_int_equal(fake_model_calls(w.model), 0);
	fake_say(w.platform, "1001", "tail");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), 1);
	expect_request(&w, 0, "xxxxtail", "");
	mem_free(big);
	world_done(&w);
}

static void
after_three_cancelled_runs_messages_queue_once_told(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 10);
	world_boot(&w);
	for (int i = 0; i < 6; i++) {
		char text[16];

		snprintf(text, sizeof(text), "try %d", i);
		fake_model_script(w.model, &(struct fake_answer){
		    .delay = 3000, .text = "done" });
		fake_say(w.platform, "1001", text);
		world_pass(&w, 1000);
	}
	assert_true(world_settle(&w, 30000));
	/* 0, 1, 2 cancelled; 3 answers; 4 and 5 waited and are answered. */
	assert_int_equal(fake_model_calls(w.model), 5);
	assert_int_equal(fake_count(w.platform, "1001"), 3);
	assert_true(fake_saw(w.platform, "1001", "finish one answer first"));
	expect_request(&w, 4, "try 4", "try 5");
	world_done(&w);
}

/* Rules 1.8: an edit of an unanswered message replaces its words. */
static void
an_edit_before_the_answer_counts_as_a_new_message(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 11);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 5000,
	    .text = "to the wrong one" });
	unsigned id = fake_say(w.platform, "1001", "delete A");

	world_pass(&w, 1000);
	fake_edit(w.platform, "1001", id, "delete B");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "delete B"));
	assert_null(strstr(text, "delete A"));
	fake_edit(w.platform, "1001", id, "delete C");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), 2);
	world_done(&w);
}

static void
a_partial_answer_is_kept_as_cut(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 12);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 5000,
	    .partial = "The answer begins" });
	fake_say(w.platform, "1001", "one");
	world_pass(&w, 1000);
	fake_say(w.platform, "1001", "two");
	assert_true(world_settle(&w, 5000));
	expect_request(&w, 1, "The answer begins", "two");
	world_done(&w);
}

/* Cases C081, C084, C070 as the run meets them. */
static void
odd_answers_of_a_model_end_in_plain_words(void **state)
{
	static const struct fake_answer empty = { .text = "" };
	struct world w;

	(void)state;
	world_init(&w, 13);
	world_boot(&w);
	for (int i = 0; i < 3; i++)
		fake_model_script(w.model, &empty);
	fake_say(w.platform, "1001", "say nothing");
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_model_calls(w.model), 3);
	assert_true(fake_saw(w.platform, "1001", "gave no answer"));

	fake_model_script(w.model, &(struct fake_answer){ .tool = "no_such",
	    .call = "{}" });
	fake_model_script(w.model, &(struct fake_answer){ .tool = "terminal",
	    .call = "{\"cmd\":1}" });
	fake_model_script(w.model, &(struct fake_answer){ .tool = "terminal",
	    .call = "not json" });
	fake_say(w.platform, "1001", "call wrongly");
	assert_true(world_settle(&w, 60000));
	assert_true(fake_saw(w.platform, "1001", "three wrong tool calls"));

	fake_model_script(w.model, &(struct fake_answer){ .call = "half a",
	    .finish = FINISH_LENGTH });
	fake_model_script(w.model, &(struct fake_answer){ .text = "recovered" });
	fake_say(w.platform, "1001", "too long");
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_sandbox_ran("half a"), 0);
	assert_string_equal(fake_last(w.platform, "1001"), "recovered");
	world_done(&w);
}

static void
a_failing_model_is_tried_again_then_explained(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 14);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){
	    .error = MODEL_ERR_RETRY });
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 120000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hello");
	fake_model_script(w.model, &(struct fake_answer){
	    .error = MODEL_ERR_AUTH });
	fake_say(w.platform, "1001", "again");
	assert_true(world_settle(&w, 120000));
	assert_true(fake_saw(w.platform, "1001", "refused the key"));
	assert_int_equal(fake_model_calls(w.model), 3);
	/* The failure is no speech of anybody in the next request. */
	fake_say(w.platform, "1001", "third");
	assert_true(world_settle(&w, 120000));
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 3);

	assert_null(strstr(text, "refused the key"));
	assert_non_null(strstr(text, "again"));
	world_done(&w);
}

static void
typing_shows_while_it_works_and_stops_with_the_answer(void **state)
{
	struct world w;
	size_t typing = 0, after = 0;

	(void)state;
	world_init(&w, 15);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 20000,
	    .text = "slow" });
	w.platform->delay = 3000;
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 60000));
	world_pass(&w, 60000);
	msec_t answer = 0;

	for (size_t i = 0; i < w.platform->nsent; i++)
		if (strcmp(w.platform->sent[i].text, "slow") == 0)
			answer = w.platform->sent[i].at;
	for (size_t i = 0; i < w.platform->nsent; i++) {
		typing += w.platform->sent[i].is_typing;
		after += w.platform->sent[i].is_typing &&
		    w.platform->sent[i].at > answer;
	}
	assert_true(typing >= 4 && typing <= 6);
	assert_int_equal(after, 0);
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_answered_once),
		cmocka_unit_test(two_messages_at_once_give_one_answer_to_both),
		cmocka_unit_test(a_new_message_at_any_moment_ends_the_old_run),
		cmocka_unit_test(a_chain_of_calls_ends_with_the_running_one),
		cmocka_unit_test(no_command_starts_while_the_old_tree_dies),
		cmocka_unit_test(stop_ends_the_run_and_is_no_prompt),
		cmocka_unit_test(only_the_same_session_can_cancel),
		cmocka_unit_test(a_redelivered_message_is_no_second_one),
		cmocka_unit_test(texts_of_one_batch_join_before_the_start),
		cmocka_unit_test(a_long_paste_is_one_question),
		cmocka_unit_test(
		    after_three_cancelled_runs_messages_queue_once_told),
		cmocka_unit_test(
		    an_edit_before_the_answer_counts_as_a_new_message),
		cmocka_unit_test(a_partial_answer_is_kept_as_cut),
		cmocka_unit_test(odd_answers_of_a_model_end_in_plain_words),
		cmocka_unit_test(a_failing_model_is_tried_again_then_explained),
		cmocka_unit_test(
		    typing_shows_while_it_works_and_stops_with_the_answer),
	};

	return cmocka_run_group_tests_name("scenario run", tests, NULL, NULL);
}
