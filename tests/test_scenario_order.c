/*
 * Order: what was said after a command is not touched by it, what waits does
 * not cut what goes out, what moves keeps its session; and what happens while
 * nothing can be saved (rules 1.4, 1.8, 1.9, 2.3, 3.5).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/fault_vfs.h"
#include "tests/world.h"

static void
start(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	world_boot(w);
}

static size_t
count_text(const struct world *w, const char *chat, const char *part)
{
	size_t n = 0;

	for (size_t i = 0; i < fake_count(w->platform, chat); i++)
		n += strstr(fake_text(w->platform, chat, i), part) != NULL;
	return n;
}

static bool
request_has(const struct world *w, size_t at, const char *part)
{
	CLEANUP_FREE char *text = fake_model_request_text(w->model, at);

	return strstr(text, part) != NULL;
}

/* Both came in one getUpdates answer, e.g. after a night without network. */
static void
words_after_new_belong_to_the_new_conversation(void **state)
{
	static const char *const texts[] = { "old words", "/new", "new words" };
	struct world w;

	(void)state;
	start(&w, 1);
	fake_say_batch(w.platform, "1001", texts, 3);
	assert_true(world_settle(&w, 10000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: new words");
	assert_int_equal(count_text(&w, "1001", "A new conversation"), 1);
	assert_false(request_has(&w, fake_model_calls(w.model) - 1, "old words"));
	assert_int_equal(w.platform->committed_ok, 1);
	assert_int_equal(w.platform->committed_failed, 0);
	/* and the same in two batches, the second before the first commit */
	fake_say(w.platform, "1001", "/new");
	fake_say(w.platform, "1001", "third words");
	assert_true(world_settle(&w, 10000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: third words");
	world_done(&w);
}

static void
words_after_a_stop_in_the_same_batch_are_answered(void **state)
{
	static const char *const texts[] = { "first", "/stop", "second" };
	struct world w;

	(void)state;
	start(&w, 2);
	fake_say_batch(w.platform, "1001", texts, 3);
	assert_true(world_settle(&w, 10000));
	assert_non_null(strstr(fake_last(w.platform, "1001"), "second"));
	assert_int_equal(fake_model_calls(w.model), 1);
	assert_int_equal(fake_count(w.platform, "1001"), 2);
	world_done(&w);
}

static void
a_stop_ends_also_what_is_not_committed_yet(void **state)
{
	struct world w;

	(void)state;
	start(&w, 3);
	fake_say(w.platform, "1001", "work");
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 0);
	assert_string_equal(fake_last(w.platform, "1001"), "Stopped.");
	world_stop(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 0);
	fake_say(w.platform, "1001", "again");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 1);
	world_done(&w);
}

/* Case C014: both parts in one getUpdates answer, and a third text. */
static void
a_long_paste_in_one_batch_is_glued_and_nothing_else_is(void **state)
{
	char *big = mem_alloc(4097);
	struct world w;

	(void)state;
	memset(big, 'x', 4096);
	const char *const texts[] = { big, "tail", "another" };

	start(&w, 4);
	fake_say_batch(w.platform, "1001", texts, 3);
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 1);
	assert_true(request_has(&w, 0, "xxxxtail"));
	assert_false(request_has(&w, 0, "tailanother"));
	const char *const cut[] = { "before", big };

	fake_say_batch(w.platform, "1001", cut, 2);
	world_pass(&w, 900);		/* the last one may go on: it waits */
	assert_int_equal(fake_model_calls(w.model), 1);
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_model_calls(w.model), 2);
	mem_free(big);
	world_done(&w);
}

static const char *
long_answer(void)
{
	static char text[700];

	for (size_t i = 0; i + 1 < sizeof(text); i++)
		text[i] = i % 30 == 29 ? ' ' : (char)('a' + i % 26);
	memcpy(text + sizeof(text) - 8, "the end", 8);
	return text;
}

/* display.busy_input_mode: queue. */
static void
in_queue_mode_every_answer_is_whole(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 5);
	w.opts.busy = BUSY_QUEUE;
	world_boot(&w);
	w.platform->delay = 1000;
	fake_model_script(w.model, &(struct fake_answer){ .delay = 3000,
	    .text = long_answer() });
	fake_say(w.platform, "1001", "one");
	world_pass(&w, 1000);
	fake_say(w.platform, "1001", "two");
	world_pass(&w, 2600);		/* its first chunk is on the wire */
	fake_say(w.platform, "1001", "three");
	assert_true(world_settle(&w, 60000));
	assert_int_equal(count_text(&w, "1001", "the end"), 1);
	/* "two" ran while the answer went out; "three" joined or followed. */
	assert_true(fake_model_calls(w.model) >= 2);
	assert_true(request_has(&w, fake_model_calls(w.model) - 1, "three"));
	fake_model_script(w.model, &(struct fake_answer){
	    .text = long_answer() });
	fake_say(w.platform, "1001", "four");
	world_pass(&w, 1500);		/* no run any more, two chunks wait */
	fake_say(w.platform, "1001", "five");
	assert_true(world_settle(&w, 60000));
	assert_int_equal(count_text(&w, "1001", "the end"), 2);
	assert_true(fake_saw(w.platform, "1001", "echo: five"));
	world_done(&w);
}

/* Case C015: memory, too, knows the session by both names. */
static void
a_moved_group_keeps_its_session(void **state)
{
	struct world w;

	(void)state;
	start(&w, 6);
	fake_say_in(w.platform, "1001", "-500", "remember blue");
	assert_true(world_settle(&w, 10000));
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 60" });
	fake_sandbox.isolated = true;
	fake_say_in(w.platform, "1001", "-500", "work");
	world_pass(&w, 1000);
	fake_moved(w.platform, "-500", "-1009001");
	world_pass(&w, 1000);
	assert_false(fake_sandbox.commands[0].cancelled);
	fake_say_in(w.platform, "1001", "-1009001", "never mind");
	assert_true(world_settle(&w, 10000));
	assert_true(fake_sandbox.commands[0].cancelled);
	assert_int_equal(fake_model_live_max(w.model), 1);
	assert_true(request_has(&w, fake_model_calls(w.model) - 1,
	    "remember blue"));
	assert_string_equal(fake_last(w.platform, "-1009001"),
	    "echo: never mind");
	/* after a restart too, with its workspace; also who was at rest */
	for (int crash = 0; crash < 2; crash++) {
		if (crash)
			world_crash(&w);
		else
			world_stop(&w);
		world_boot(&w);
		size_t n = fake_sandbox.n;

		fake_model_script(w.model, &(struct fake_answer){
		    .call = "ls" });
		fake_say_in(w.platform, "1001", "-1009001", "look");
		assert_true(world_settle(&w, 10000));
		assert_int_equal(fake_sandbox.n, n + 1);
		assert_string_equal(fake_sandbox.commands[n].sandbox,
		    fake_sandbox.commands[0].sandbox);
		assert_true(request_has(&w, fake_model_calls(w.model) - 1,
		    "remember blue"));
	}
	world_done(&w);
}

static void
a_question_can_be_answered_in_the_moved_group(void **state)
{
	struct world w;
	const char *yes = NULL;

	(void)state;
	start(&w, 7);
	fake_sandbox.isolated = false;
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -rf x" });
	fake_say_in(w.platform, "1001", "-500", "work");
	world_pass(&w, 1000);
	fake_moved(w.platform, "-500", "-1009001");
	world_pass(&w, 1000);
	for (size_t i = 0; i < w.platform->nsent; i++)
		if (strncmp(w.platform->sent[i].buttons0, "ea:once:", 8) == 0)
			yes = w.platform->sent[i].buttons0;
	assert_non_null(yes);
	fake_press_in(w.platform, "1001", "-1009001", yes);
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_sandbox_ran("rm -rf x"), 1);
	world_done(&w);
}

/* delivery.unknown: repeat_labelled (rules 2.3). */
static void
an_unknown_send_is_repeated_with_a_label_if_the_operator_wants_that(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 8);
	w.opts.delivery.repeat_unknown = true;
	world_boot(&w);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .delay = 100, .outcome = SEND_UNKNOWN });
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_count(w.platform, "1001"), 2);
	assert_true(strstr(fake_text(w.platform, "1001", 0),
	    "it may be here twice") != NULL);
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hello");
	world_done(&w);
}

/* A platform that answers "500" for ever is not asked for ever. */
static void
repeats_of_unknown_sends_are_few_and_far_between(void **state)
{
	struct world w;
	size_t prompts = 0;

	(void)state;
	start(&w, 9);
	fake_sandbox.isolated = false;
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -rf x" });
	for (int i = 0; i < 20; i++)
		fake_platform_trouble(w.platform, &(struct fake_trouble){
		    .outcome = SEND_UNKNOWN });
	fake_say(w.platform, "1001", "work");
	assert_true(world_settle(&w, 200000));
	for (size_t i = 0; i < w.platform->nsent; i++)
		prompts += strncmp(w.platform->sent[i].buttons0, "ea:once:",
		    8) == 0;
	assert_int_equal(prompts, 4);
	assert_int_equal(fake_sandbox_ran("rm -rf x"), 0);
	world_done(&w);
}

/* No answer can come in during a drain: the run asks anew after the start. */
static void
a_drain_does_not_wait_for_a_person(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 10);
	w.opts.drain_ms = 60000;
	world_boot(&w);
	fake_sandbox.isolated = false;
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -rf x" });
	fake_say(w.platform, "1001", "work");
	world_pass(&w, 1000);
	msec_t before = loop_now(w.loop);

	world_stop(&w);
	assert_true(loop_now(w.loop) - before < 5000);
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -rf x" });
	world_boot(&w);
	world_pass(&w, 1000);
	fake_say(w.platform, "1001", "yes");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_sandbox_ran("rm -rf x"), 1);
	world_done(&w);
}

/* Rules 1.10: also when the session has been at rest for long. */
static void
new_ends_processes_of_a_session_at_rest(void **state)
{
	struct world w;

	(void)state;
	start(&w, 11);
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 10000));
	world_pass(&w, 1200000);
	fake_say(w.platform, "1001", "/new");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_sandbox.ended_processes, 1);
	assert_int_equal(fake_sandbox.resets, 1);
	world_done(&w);
}

static int
count_lines(FILE *log, const char *with)
{
	char line[2000];
	int n = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		n += strstr(line, with) != NULL;
	fclose(log);
	return n;
}

/* Case C124, rules 3.5; red when each try writes a line to the full disk. */
static void
while_nothing_can_be_saved_each_chat_is_told_once(void **state)
{
	struct world w;
	unsigned first, second;
	FILE *log = tmpfile();

	(void)state;
	assert_non_null(log);
	start(&w, 12);
	log_open(fileno(log), LOG_INFO);
	fault_arm(FAULT_IO_ON, 1);
	first = fake_say(w.platform, "1001", "hello");
	world_pass(&w, 3000);
	second = fake_say(w.platform, "1002", "hi");
	world_pass(&w, 3000);
	fake_say_again(w.platform, "1001", "hello", first);
	world_pass(&w, 3000);
	assert_int_equal(count_text(&w, "1001", "can't save your message"), 1);
	assert_int_equal(count_text(&w, "1002", "can't save your message"), 1);
	assert_int_equal(fake_model_calls(w.model), 0);
	assert_int_equal(w.platform->committed_ok, 0);
	assert_int_equal(w.platform->committed_failed, 3);
	log_open(STDERR_FILENO, LOG_INFO);
	assert_int_equal(count_lines(log, "could not be recorded"), 2);
	fault_disarm();
	for (int i = 0; i < 100 && !store_health(w.store).ok; i++)
		world_pass(&w, 1000);
	fake_say_again(w.platform, "1001", "hello", first);
	fake_say_again(w.platform, "1002", "hi", second);
	assert_true(world_settle(&w, 10000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hello");
	assert_string_equal(fake_last(w.platform, "1002"), "echo: hi");
	world_done(&w);
}

/* An answer that can't be saved: told once, tried again, not in a tight loop. */
static void
an_answer_that_cannot_be_saved_comes_when_it_can(void **state)
{
	struct world w;

	(void)state;
	start(&w, 13);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 2000,
	    .text = "first try" });
	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 1000);
	fault_arm(FAULT_IO_ON, 1);
	world_pass(&w, 60000);
	assert_int_equal(count_text(&w, "1001", "could not save my answer"), 1);
	assert_true(fake_model_calls(w.model) <= 2);
	assert_false(fake_saw(w.platform, "1001", "first try"));
	fault_disarm();
	for (int i = 0; i < 100 && !store_health(w.store).ok; i++)
		world_pass(&w, 1000);
	world_pass(&w, 20000);
	assert_true(world_settle(&w, 60000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hello");
	world_done(&w);
}

/* What was sent is recorded in the end, however long the store is away. */
static void
a_mark_that_fails_is_written_later(void **state)
{
	struct world w;

	(void)state;
	start(&w, 14);
	w.platform->delay = 2000;
	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 1000);
	fault_arm(FAULT_IO_ON, 1);
	world_pass(&w, 20000);
	fault_disarm();
	for (int i = 0; i < 100 && !store_health(w.store).ok; i++)
		world_pass(&w, 1000);
	world_pass(&w, 10000);
	assert_true(world_settle(&w, 60000));
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    words_after_new_belong_to_the_new_conversation),
		cmocka_unit_test(
		    words_after_a_stop_in_the_same_batch_are_answered),
		cmocka_unit_test(a_stop_ends_also_what_is_not_committed_yet),
		cmocka_unit_test(
		    a_long_paste_in_one_batch_is_glued_and_nothing_else_is),
		cmocka_unit_test(in_queue_mode_every_answer_is_whole),
		cmocka_unit_test(a_moved_group_keeps_its_session),
		cmocka_unit_test(a_question_can_be_answered_in_the_moved_group),
		cmocka_unit_test(
		    an_unknown_send_is_repeated_with_a_label_if_the_operator_wants_that),
		cmocka_unit_test(
		    repeats_of_unknown_sends_are_few_and_far_between),
		cmocka_unit_test(a_drain_does_not_wait_for_a_person),
		cmocka_unit_test(new_ends_processes_of_a_session_at_rest),
		cmocka_unit_test(
		    while_nothing_can_be_saved_each_chat_is_told_once),
		cmocka_unit_test(
		    an_answer_that_cannot_be_saved_comes_when_it_can),
		cmocka_unit_test(a_mark_that_fails_is_written_later),
	};

	fault_install();
	return cmocka_run_group_tests_name("scenario order", tests, NULL, NULL);
}
