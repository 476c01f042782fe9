/* Answers shown while they come, by edits of one message (rules 2.1, 2.3, 2.4). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

#define CURSOR " \xe2\x96\x89"
#define WORDS "Working on your question now. "

static void
previews_on(struct world *w)
{
	w->served.previews = true;
	w->opts.delivery.preview_min = 24;
	w->opts.delivery.cursor = CURSOR;
}

static void
start(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	previews_on(w);
	world_boot(w);
}

static void
assert_screen(struct world *w, const char *want)
{
	CLEANUP_FREE char *screen = fake_screen(w->platform, "1001");

	assert_string_equal(screen, want);
}

static size_t
count_sends(const struct world *w, bool edits)
{
	size_t n = 0;

	for (size_t i = 0; i < w->platform->nsent; i++) {
		const struct fake_sent *s = &w->platform->sent[i];

		n += !s->is_typing && !s->is_press && s->is_edit == edits;
	}
	return n;
}

static void
trouble(struct world *w, enum send_outcome outcome, enum send_error error,
    msec_t wait)
{
	fake_platform_trouble(w->platform, &(struct fake_trouble){
	    .outcome = outcome, .error = error, .retry_after = wait });
}

/* Six pieces over six seconds; the result says WORDS once: that is what counts. */
static void
stream(struct world *w)
{
	fake_model_script(w->model, &(struct fake_answer){ .partial = WORDS,
	    .chunks = 6, .delay = 6000, .text = "The end." });
	fake_say(w->platform, "1001", "go");
}

static const char whole[] = WORDS "The end.";

static void
an_answer_grows_in_one_message(void **state)
{
	struct world w;

	(void)state;
	start(&w, 1);
	stream(&w);
	world_pass(&w, 500);
	assert_screen(&w, "Working on your question now." CURSOR);
	world_pass(&w, 2500);
	assert_screen(&w, WORDS WORDS WORDS "Working on your question now." CURSOR);
	assert_true(world_settle(&w, 30000));
	assert_screen(&w, whole);
	assert_int_equal(count_sends(&w, false), 1);
	/* Nothing is left to be done, whatever happens now. */
	world_crash(&w);
	world_boot(&w);
	world_pass(&w, 600000);
	assert_screen(&w, whole);
	world_done(&w);
}

static void
a_short_answer_and_one_of_a_platform_without_previews_are_sent_once(void **state)
{
	struct world w;

	(void)state;
	start(&w, 2);
	fake_say(w.platform, "1001", "hi");
	assert_true(world_settle(&w, 30000));
	assert_int_equal(count_sends(&w, true), 0);
	assert_screen(&w, "echo: hi");
	world_stop(&w);
	w.served.previews = false;
	world_boot(&w);
	stream(&w);
	assert_true(world_settle(&w, 30000));
	assert_int_equal(count_sends(&w, true), 0);
	assert_int_equal(count_sends(&w, false), 2);
	world_done(&w);
}

/* Case C092: not one edit before the wait is over, then one with all of it. */
static void
an_edit_that_meets_a_flood_wait_is_patient(void **state)
{
	struct world w;

	(void)state;
	start(&w, 3);
	trouble(&w, SEND_YES, SEND_ERR_NONE, 0);
	trouble(&w, SEND_NO, SEND_ERR_RATE, 9000);
	fake_model_script(w.model, &(struct fake_answer){ .partial = "0123456789 ",
	    .chunks = 15, .delay = 15000, .text = "The end." });
	fake_say(w.platform, "1001", "go");
	while (count_sends(&w, true) == 0)
		world_pass(&w, 100);
	msec_t t0 = w.platform->sent[w.platform->nsent - 1].at;
	size_t before = count_sends(&w, true) + count_sends(&w, false);

	world_pass(&w, 8900 - (loop_now(w.loop) - t0));
	assert_int_equal(count_sends(&w, true) + count_sends(&w, false), before);
	world_pass(&w, 1200);
	assert_int_equal(count_sends(&w, true) + count_sends(&w, false),
	    before + 1);
	assert_true(world_settle(&w, 30000));
	assert_int_equal(count_sends(&w, false), 1);
	CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");

	assert_string_equal(screen, "0123456789 The end.");
	assert_null(strstr(screen, CURSOR));
	world_done(&w);
}

/* The wait holds the final text, too, and outlives the process. */
static void
a_flood_wait_ends_in_the_same_message(void **state)
{
	struct world w;

	(void)state;
	for (int crash = 0; crash < 2; crash++) {
		start(&w, 4);
		trouble(&w, SEND_YES, SEND_ERR_NONE, 0);
		trouble(&w, SEND_NO, SEND_ERR_RATE, 60000);
		stream(&w);
		world_pass(&w, 20000);
		if (crash) {
			world_crash(&w);
			world_boot(&w);
		}
		assert_true(world_settle(&w, 200000));
		assert_screen(&w, whole);
		assert_int_equal(count_sends(&w, false), 1);
		world_done(&w);
	}
}

/* Case C093: past the limit of one message no edit repeats the last one. */
static void
a_preview_at_the_limit_rests_until_the_end(void **state)
{
	struct world w;
	const char *last = "";

	(void)state;
	start(&w, 5);
	fake_model_script(w.model, &(struct fake_answer){ .partial =
	    "Twenty thousand characters come by and by, a hundred at a time, "
	    "and the screen has room for two hundred.\n", .chunks = 190,
	    .delay = 60000 });
	fake_say(w.platform, "1001", "go");
	assert_true(world_settle(&w, 300000));
	for (size_t i = 0; i < w.platform->nsent; i++) {
		const struct fake_sent *s = &w.platform->sent[i];

		if (s->is_typing)
			continue;
		assert_string_not_equal(s->text, s->is_edit ? last : "");
		last = s->text;
	}
	assert_true(count_sends(&w, true) <= 6);
	CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");

	assert_null(strstr(screen, CURSOR));
	world_done(&w);
}

/* Case C096: edits fail for a while; the whole text is there once at the end. */
static void
edits_that_fail_do_not_stand_for_the_answer(void **state)
{
	static const struct {
		enum send_outcome outcome;
		enum send_error error;
		int times;
	} kinds[] = {
		{ SEND_NO, SEND_ERR_TRANSIENT, 5 },
		{ SEND_UNKNOWN, SEND_ERR_NONE, 5 },
		{ SEND_NO, SEND_ERR_REFUSED, 2 },
		{ SEND_NO, SEND_ERR_FORMAT, 2 },
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		start(&w, 6);
		w.platform->deaf = true;
		trouble(&w, SEND_YES, SEND_ERR_NONE, 0);
		for (int n = 0; n < kinds[i].times; n++)
			trouble(&w, kinds[i].outcome, kinds[i].error, 0);
		stream(&w);
		assert_true(world_settle(&w, 300000));
		CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");
		const char *at = strstr(screen, whole);

		assert_non_null(at);
		assert_null(strstr(at + strlen(whole), "The end."));
		assert_null(strstr(at, CURSOR));
		world_done(&w);
	}
}

/* Its message was deleted by somebody: the answer is a new one. */
static void
a_deleted_preview_is_replaced_by_a_new_message(void **state)
{
	struct world w;

	(void)state;
	start(&w, 7);
	trouble(&w, SEND_YES, SEND_ERR_NONE, 0);
	trouble(&w, SEND_NO, SEND_ERR_MSG_GONE, 0);
	trouble(&w, SEND_NO, SEND_ERR_MSG_GONE, 0);
	stream(&w);
	assert_true(world_settle(&w, 30000));
	assert_string_equal(fake_last(w.platform, "1001"), whole);
	assert_int_equal(count_sends(&w, false), 2);
	world_done(&w);
}

/* Nobody knows whether it is there: the answer does not depend on it. */
static void
a_preview_without_an_id_is_not_counted_on(void **state)
{
	struct world w;

	(void)state;
	start(&w, 8);
	w.platform->deaf = true;
	trouble(&w, SEND_UNKNOWN, SEND_ERR_NONE, 0);
	stream(&w);
	assert_true(world_settle(&w, 30000));
	assert_screen(&w, whole);
	world_done(&w);
}

static void
what_is_said_before_a_command_stays_as_its_own_message(void **state)
{
	struct world w;

	(void)state;
	start(&w, 9);
	fake_model_script(w.model, &(struct fake_answer){ .partial = WORDS,
	    .chunks = 2, .delay = 2000, .text = "First I look.",
	    .call = "sleep 3" });
	fake_model_script(w.model, &(struct fake_answer){ .partial = WORDS,
	    .chunks = 2, .delay = 2000, .text = "It is done." });
	fake_say(w.platform, "1001", "go");
	assert_true(world_settle(&w, 60000));
	assert_screen(&w, WORDS "First I look.|" WORDS "It is done.");
	assert_int_equal(count_sends(&w, false), 2);
	world_done(&w);
}

/* The command ends before the edit of the text before it is through. */
static void
a_quick_command_does_not_mix_two_texts(void **state)
{
	struct world w;

	(void)state;
	for (int n = 0; n < 4; n++) {
		start(&w, 10);
		w.platform->delay = n * 400;
		fake_model_script(w.model, &(struct fake_answer){ .text =
		    "Let me look at the files first.", .call = "ls" });
		fake_model_script(w.model, &(struct fake_answer){ .text =
		    "Here is what I found in them." });
		fake_say(w.platform, "1001", "go");
		assert_true(world_settle(&w, 60000));
		assert_screen(&w, "Let me look at the files first.|"
		    "Here is what I found in them.");
		world_done(&w);
	}
}

static void
a_cancelled_preview_says_so(void **state)
{
	struct world w;

	(void)state;
	start(&w, 11);
	stream(&w);
	world_pass(&w, 2500);
	fake_say(w.platform, "1001", "no, this");
	assert_true(world_settle(&w, 30000));
	CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");

	assert_non_null(strstr(screen, "now.\n\n[cut off]|echo: "));
	assert_null(strstr(screen, CURSOR));
	assert_null(strstr(screen, "The end."));
	world_done(&w);

	start(&w, 12);
	stream(&w);
	world_pass(&w, 2500);
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 30000));
	assert_true(fake_saw(w.platform, "1001", "now.\n\n[stopped]"));
	world_done(&w);
}

/* At any moment, also while the first message or an edit is on the wire. */
static void
a_cancel_at_any_moment_leaves_no_cursor(void **state)
{
	struct world w;

	(void)state;
	for (msec_t at = 0; at <= 7000; at += 250) {
		start(&w, (uint64_t)at + 13);
		w.platform->delay = 300;
		stream(&w);
		world_pass(&w, at);
		fake_say(w.platform, "1001", "other");
		assert_true(world_settle(&w, 30000));
		CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");

		assert_null(strstr(screen, CURSOR));
		assert_non_null(strstr(screen, "other"));
		world_done(&w);
	}
}

/* Rules 1.5: the answer waited for its edit; a new message takes it back. */
static void
a_withdrawn_answer_leaves_a_marked_preview(void **state)
{
	struct world w;

	(void)state;
	start(&w, 14);
	trouble(&w, SEND_YES, SEND_ERR_NONE, 0);
	trouble(&w, SEND_NO, SEND_ERR_RATE, 20000);
	stream(&w);
	world_pass(&w, 12000);
	fake_say(w.platform, "1001", "other");
	assert_true(world_settle(&w, 60000));
	CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");

	assert_null(strstr(screen, CURSOR));
	assert_null(strstr(screen, "The end."));
	assert_non_null(strstr(screen, "[interrupted]|echo: "));
	CLEANUP_FREE char *request = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(request, "Working on"));
	world_done(&w);
}

/* Rules 2.4: after a kill at any moment no cursor stays, no answer is doubled. */
static void
a_kill_at_any_moment_puts_the_preview_right(void **state)
{
	struct world w;

	(void)state;
	for (msec_t at = 0; at <= 8000; at += 200) {
		world_init(&w, (uint64_t)at + 100);
		previews_on(&w);
		w.platform->delay = 150;
		world_boot(&w);
		stream(&w);
		world_pass(&w, at);
		world_crash(&w);
		world_boot(&w);
		assert_true(world_settle(&w, 60000));
		CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");
		const char *end = strstr(screen, "The end.");

		if (end)
			assert_null(strstr(end + 1, "The end."));
		else
			assert_non_null(strstr(screen, "echo: go"));
		assert_true(!strstr(screen, CURSOR) ||
		    strstr(screen, "may stand here unfinished"));
		world_done(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_grows_in_one_message),
		cmocka_unit_test(
		    a_short_answer_and_one_of_a_platform_without_previews_are_sent_once),
		cmocka_unit_test(an_edit_that_meets_a_flood_wait_is_patient),
		cmocka_unit_test(a_flood_wait_ends_in_the_same_message),
		cmocka_unit_test(a_preview_at_the_limit_rests_until_the_end),
		cmocka_unit_test(edits_that_fail_do_not_stand_for_the_answer),
		cmocka_unit_test(a_deleted_preview_is_replaced_by_a_new_message),
		cmocka_unit_test(a_preview_without_an_id_is_not_counted_on),
		cmocka_unit_test(what_is_said_before_a_command_stays_as_its_own_message),
		cmocka_unit_test(a_quick_command_does_not_mix_two_texts),
		cmocka_unit_test(a_cancelled_preview_says_so),
		cmocka_unit_test(a_cancel_at_any_moment_leaves_no_cursor),
		cmocka_unit_test(a_withdrawn_answer_leaves_a_marked_preview),
		cmocka_unit_test(a_kill_at_any_moment_puts_the_preview_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
