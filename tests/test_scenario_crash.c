/* kill -9 and restarts on the hand-moved clock (rules 2.5, 3.1). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

/*
 * A question, a command with an effect, an answer; the process dies at a given
 * millisecond.  Afterwards the person has the answer, a report or a notice, at
 * most one unlabelled answer, and the command ran at most once.
 */
static void
crash_at(msec_t at)
{
	struct world w;

	world_init(&w, (uint64_t)at + 7);
	w.platform->delay = 20;
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 20,
	    .call = "sleep 1" });
	fake_model_script(w.model, &(struct fake_answer){ .delay = 20,
	    .text = "the answer" });
	fake_say(w.platform, "1001", "do it once");
	world_pass(&w, at);
	size_t ran = fake_sandbox_ran("sleep 1");

	world_crash(&w);
	/* A run that is resumed asks for the same command again. */
	for (size_t i = fake_model_calls(w.model); i == 0; i++)
		fake_model_script(w.model, &(struct fake_answer){
		    .text = "the answer" });
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	if (ran == 0)
		assert_true(fake_sandbox_ran("sleep 1") <= 1);
	else
		assert_int_equal(fake_sandbox_ran("sleep 1"), 1);
	assert_true(fake_count(w.platform, "1001") >= 1);
	size_t answers = 0;

	for (size_t i = 0; i < fake_count(w.platform, "1001"); i++)
		answers += strcmp(fake_text(w.platform, "1001", i),
		    "the answer") == 0;
	if (answers > 1)
		fprintf(stderr, "crash at %lld ms: %zu answers\n",
		    (long long)at, answers);
	assert_true(answers <= 1);
	if (answers == 0)
		assert_true(fake_saw(w.platform, "1001", "outcome is unknown") ||
		    fake_saw(w.platform, "1001", "may not have arrived") ||
		    fake_saw(w.platform, "1001", "echo: "));
	world_done(&w);
}

static void
a_kill_at_any_moment_loses_nothing_and_repeats_nothing(void **state)
{
	(void)state;
	for (msec_t at = 0; at <= 60; at += 2)
		crash_at(at);
	for (msec_t at = 60; at <= 1200; at += 60)
		crash_at(at);
}

/* Killed while an answer was on the wire, and again `again` ms into each start. */
static void
crash_again(msec_t again)
{
	struct world w;

	world_init(&w, (uint64_t)again + 300);
	w.platform->delay = 5;
	world_boot(&w);
	fake_platform_trouble(w.platform, &(struct fake_trouble){ .delay = 60000 });
	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 1000);
	world_crash(&w);
	for (int i = 0; i < 2; i++) {
		world_boot(&w);
		world_pass(&w, again);
		world_crash(&w);
	}
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	assert_true(fake_saw(w.platform, "1001", "may not have arrived"));
	world_stop(&w);
	size_t told = fake_count(w.platform, "1001");

	world_boot(&w);		/* and then no more */
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_count(w.platform, "1001"), told);
	world_done(&w);
}

static void
a_second_kill_does_not_swallow_the_notice(void **state)
{
	(void)state;
	for (msec_t again = 0; again <= 20; again++)
		crash_again(again);
}

/* The same for an answer that was given up; the model knows it once. */
static void
an_answer_given_up_is_told_after_a_kill(void **state)
{
	(void)state;
	for (msec_t at = 0; at <= 20; at++) {
		struct world w;

		world_init(&w, (uint64_t)at + 400);
		w.platform->delay = 5;
		world_boot(&w);
		fake_platform_trouble(w.platform, &(struct fake_trouble){
		    .delay = 5, .outcome = SEND_NO, .error = SEND_ERR_REFUSED });
		fake_say(w.platform, "1001", "hello");
		while (w.platform->nsent == 0)
			world_pass(&w, 1);
		world_pass(&w, at);
		world_crash(&w);
		world_boot(&w);
		assert_true(world_settle(&w, 60000));
		assert_true(fake_saw(w.platform, "1001", "could not deliver") ||
		    fake_saw(w.platform, "1001", "may not have arrived"));
		world_done(&w);
	}
}

/* A notice that could not go out for an hour goes out with the next connection. */
static void
a_notice_outlives_an_outage(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 17);
	world_boot(&w);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_UNKNOWN });
	for (int i = 0; i < 20; i++)
		fake_platform_trouble(w.platform, &(struct fake_trouble){
		    .outcome = SEND_NO, .error = SEND_ERR_TRANSIENT });
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 3600000));
	assert_false(fake_saw(w.platform, "1001", "may not have arrived"));
	w.platform->host.on_state(w.platform->host.arg, "fake", PLATFORM_BACKOFF,
	    "no network");
	w.platform->ntrouble = w.platform->trouble_at = 0;
	w.platform->host.on_state(w.platform->host.arg, "fake", PLATFORM_UP, "");
	assert_true(world_settle(&w, 60000));
	assert_true(fake_saw(w.platform, "1001", "may not have arrived"));
	world_done(&w);
}

/* Killed again `again` ms into each start after more than a day. */
static void
park_and_crash(msec_t again)
{
	struct world w;

	world_init(&w, (uint64_t)again + 600);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 600000 });
	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 1000);
	world_crash(&w);
	sim_advance(w.loop, 25 * 3600000LL);
	for (int i = 0; i < 2; i++) {
		world_boot(&w);
		world_pass(&w, again);
		world_crash(&w);
	}
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	assert_true(fake_saw(w.platform, "1001", "were put aside") ||
	    fake_saw(w.platform, "1001", "may not have arrived"));
	world_done(&w);
}

static void
a_kill_does_not_swallow_what_was_put_aside(void **state)
{
	(void)state;
	for (msec_t again = 0; again <= 15; again++)
		park_and_crash(again);
}

static void
old_words(msec_t at)
{
	struct world w;

	world_init(&w, (uint64_t)at + 500);
	w.opts.pending_max_ms = 600000;
	world_boot(&w);
	w.platform->stamp_ms = -3600000;
	unsigned id = fake_say(w.platform, "1001", "old words");
	world_pass(&w, at);
	world_crash(&w);
	world_boot(&w);
	world_pass(&w, 100);
	fake_say_again(w.platform, "1001", "old words", id);	/* not confirmed */
	assert_true(world_settle(&w, 30000));
	assert_int_equal(fake_model_calls(w.model), 0);
	assert_true(fake_saw(w.platform, "1001", "60 minutes ago") ||
	    fake_saw(w.platform, "1001", "may not have arrived"));
	size_t n = fake_count(w.platform, "1001");

	fake_say_again(w.platform, "1001", "old words", id);
	assert_true(world_settle(&w, 30000));
	assert_int_equal(fake_count(w.platform, "1001"), n);
	w.platform->stamp_ms = 0;
	fake_say(w.platform, "1001", "new words");
	assert_true(world_settle(&w, 30000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: new words");
	world_done(&w);
}

/* Case C001, the opt-in: what waited too long is told so, whatever ends when. */
static void
a_message_that_waited_too_long_is_told_so(void **state)
{
	struct world w;

	(void)state;
	for (msec_t at = 0; at <= 12; at++)
		old_words(at);
	world_init(&w, 499);		/* unset: all is answered */
	world_boot(&w);
	w.platform->stamp_ms = -36000000;
	fake_say(w.platform, "1001", "old words");
	assert_true(world_settle(&w, 30000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: old words");
	world_done(&w);
}

/*
 * Rules 3.1: the row comes before the act.  A command whose end nobody saw is
 * reported by name, and its run does not go on: the model is not asked again.
 */
static void
a_command_cut_by_the_crash_is_reported_not_resumed(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 5);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 9" });
	fake_say(w.platform, "1001", "do it once");
	world_pass(&w, 500);
	assert_int_equal(fake_sandbox_ran("sleep 9"), 1);
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_model_calls(w.model), 1);
	assert_int_equal(fake_sandbox_ran("sleep 9"), 1);
	assert_true(fake_saw(w.platform, "1001", "outcome is unknown"));
	assert_true(fake_saw(w.platform, "1001", "sleep 9"));
	fake_say(w.platform, "1001", "what happened?");
	assert_true(world_settle(&w, 60000));
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "unknown"));
	world_done(&w);
}

/* Case C001: what waited is handled once, in order, after a cold start. */
static void
messages_accepted_before_the_crash_are_answered(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 2);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 60000 });
	fake_model_script(w.model, &(struct fake_answer){ .delay = 60000 });
	fake_say(w.platform, "1001", "m1");
	world_pass(&w, 1000);
	fake_say(w.platform, "1001", "m2");
	world_pass(&w, 1000);
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 2);

	assert_non_null(strstr(text, "m1"));
	assert_non_null(strstr(text, "m2"));
	world_done(&w);
}

/* Case C116: a run that kills the process is not resumed for ever. */
static void
a_run_is_resumed_three_times_then_closed_with_a_word(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 3);
	world_boot(&w);
	for (int i = 0; i < 4; i++)
		fake_model_script(w.model, &(struct fake_answer){
		    .delay = 600000 });
	fake_say(w.platform, "1001", "poison");
	for (int i = 0; i < 5; i++) {
		world_pass(&w, 1000);
		world_crash(&w);
		world_boot(&w);
	}
	assert_true(world_settle(&w, 200000));
	assert_true(fake_model_calls(w.model) <= 4);
	assert_true(fake_saw(w.platform, "1001", "I stop trying"));
	size_t calls = fake_model_calls(w.model);

	fake_model_script(w.model, &(struct fake_answer){ .text = "fine" });
	fake_say(w.platform, "1001", "another question");
	assert_true(world_settle(&w, 200000));
	assert_true(fake_model_calls(w.model) > calls);
	world_done(&w);
}

/* Case C112: SIGTERM lets a run finish within the limit, marks it otherwise. */
static void
a_drain_finishes_what_it_can_and_marks_the_rest(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 4);
	w.opts.drain_ms = 10000;
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 3000,
	    .text = "in time" });
	fake_say(w.platform, "1001", "quick");
	fake_model_script(w.model, &(struct fake_answer){ .delay = 60000 });
	world_pass(&w, 500);
	fake_say(w.platform, "1002", "slow");
	world_pass(&w, 500);
	world_stop(&w);
	assert_true(w.platform->paused);
	assert_string_equal(fake_last(w.platform, "1001"), "in time");
	assert_int_equal(fake_count(w.platform, "1002"), 0);
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	assert_string_equal(fake_last(w.platform, "1002"), "echo: slow");
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	world_done(&w);
}

/* Case C113: the answer was computed, its send takes long, SIGTERM comes. */
static void
an_answer_on_the_wire_at_shutdown_arrives_once(void **state)
{
	(void)state;
	for (msec_t delay = 500; delay <= 8000; delay += 2500) {
		struct world w;

		world_init(&w, (uint64_t)delay);
		world_boot(&w);
		w.platform->delay = delay;
		fake_say(w.platform, "1001", "hello");
		world_pass(&w, 200);
		world_stop(&w);
		w.platform->delay = 10;
		world_boot(&w);
		assert_true(world_settle(&w, 60000));
		if (fake_count(w.platform, "1001") != 1)
			fprintf(stderr, "delay %lld: %zu messages\n",
			    (long long)delay, fake_count(w.platform, "1001"));
		assert_int_equal(fake_count(w.platform, "1001"), 1);
		world_done(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_kill_at_any_moment_loses_nothing_and_repeats_nothing),
		cmocka_unit_test(a_second_kill_does_not_swallow_the_notice),
		cmocka_unit_test(an_answer_given_up_is_told_after_a_kill),
		cmocka_unit_test(a_notice_outlives_an_outage),
		cmocka_unit_test(a_kill_does_not_swallow_what_was_put_aside),
		cmocka_unit_test(a_message_that_waited_too_long_is_told_so),
		cmocka_unit_test(a_command_cut_by_the_crash_is_reported_not_resumed),
		cmocka_unit_test(messages_accepted_before_the_crash_are_answered),
		cmocka_unit_test(
		    a_run_is_resumed_three_times_then_closed_with_a_word),
		cmocka_unit_test(a_drain_finishes_what_it_can_and_marks_the_rest),
		cmocka_unit_test(an_answer_on_the_wire_at_shutdown_arrives_once),
	};

	return cmocka_run_group_tests_name("scenario crash", tests, NULL, NULL);
}
