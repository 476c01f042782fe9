/* Commands about a session's own conversations, and /restart. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

static void
start(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	world_boot(w);
}

static const char *
said(struct world *w, const char *user, const char *text)
{
	fake_say(w->platform, user, text);
	assert_true(world_settle(w, 30000));
	return fake_last(w->platform, user);
}

static void
assert_says(struct world *w, const char *text, const char *part)
{
	const char *last = said(w, "1001", text);

	if (!strstr(last, part))
		fail_msg("%s: \"%s\" instead of \"%s\"", text, last, part);
}

/* Words of the newest request to the model. */
static bool
request_has(struct world *w, const char *part)
{
	CLEANUP_FREE char *text = fake_model_request_text(w->model,
	    fake_model_calls(w->model) - 1);

	return strstr(text, part) != NULL;
}

static void
a_title_is_set_shown_and_unique(void **state)
{
	struct world w;

	(void)state;
	start(&w, 1);
	assert_says(&w, "/title", "has no title");
	said(&w, "1001", "hello");
	assert_says(&w, "/title", "has no title");
	assert_says(&w, "/title  The\ngarden ", "called \"The garden\" now");
	assert_says(&w, "/title", "called \"The garden\"");
	said(&w, "1001", "/new");
	said(&w, "1001", "more");
	assert_says(&w, "/title the GARDEN", "another conversation is called");
	world_done(&w);
}

static void
a_conversation_is_left_and_found_again(void **state)
{
	struct world w;

	(void)state;
	start(&w, 2);
	said(&w, "1001", "about apples");
	said(&w, "1001", "/title apples");
	said(&w, "1001", "/new");
	said(&w, "1001", "about pears");
	assert_false(request_has(&w, "apples"));
	assert_says(&w, "/sessions", "2. apples");
	assert_says(&w, "/resume", "1. ");
	assert_says(&w, "/resume plums", "there is no conversation 'plums' here");
	assert_says(&w, "/resume APPLES", "Back in apples");
	assert_says(&w, "/resume apples", "in that conversation already");
	said(&w, "1001", "and now?");
	assert_true(request_has(&w, "about apples"));
	assert_false(request_has(&w, "about pears"));
	/* The number is the one that the list showed. */
	assert_says(&w, "/resume 2", "Back in ");
	said(&w, "1001", "and here?");
	assert_true(request_has(&w, "about pears"));
	/* It is what a restart finds. */
	world_crash(&w);
	world_boot(&w);
	said(&w, "1001", "still?");
	assert_true(request_has(&w, "about pears"));
	world_done(&w);
}

/* Nobody reaches what another one said, not by id, title or number. */
static void
conversations_of_others_cannot_be_reached(void **state)
{
	struct world w;
	char id[64] = "";

	(void)state;
	start(&w, 3);
	said(&w, "1002", "a secret");
	said(&w, "1002", "/title secret");
	const char *list = said(&w, "1002", "/sessions"), *at = strstr(list, "2026");

	assert_non_null(at);
	memcpy(id, at, strcspn(at, " ("));
	said(&w, "1001", "hello");
	assert_says(&w, "/resume secret", "there is no conversation");
	CLEANUP_FREE char *by_id = mem_printf("/resume %s", id);

	assert_says(&w, by_id, "there is no conversation");
	assert_says(&w, "/resume 2", "there is no conversation");
	assert_null(strstr(said(&w, "1001", "/sessions"), "secret"));
	world_done(&w);
}

static void
the_last_exchanges_are_taken_back(void **state)
{
	struct world w;

	(void)state;
	start(&w, 4);
	assert_says(&w, "/undo", "nothing to take back");
	said(&w, "1001", "one");
	said(&w, "1001", "two");
	said(&w, "1001", "three");
	assert_says(&w, "/undo x", "takes a number");
	assert_says(&w, "/undo 2", "2 exchanges, from \"two\" on");
	said(&w, "1001", "four");
	assert_true(request_has(&w, "one"));
	assert_false(request_has(&w, "two"));
	assert_false(request_has(&w, "three"));
	assert_says(&w, "/undo 50", "2 exchanges, from \"one\" on");
	assert_says(&w, "/undo", "nothing to take back");
	world_done(&w);
}

/* While it is being written, too: what was cut goes with its question. */
static void
the_last_question_is_asked_again(void **state)
{
	struct world w;

	(void)state;
	start(&w, 5);
	said(&w, "1001", "one");
	fake_model_script(w.model, &(struct fake_answer){ .text = "a bad answer" });
	said(&w, "1001", "two");
	assert_says(&w, "/retry", "echo: two");
	assert_true(request_has(&w, "one"));
	assert_false(request_has(&w, "a bad answer"));
	fake_model_script(w.model, &(struct fake_answer){ .partial = "too slow",
	    .delay = 60000 });
	fake_say(w.platform, "1001", "three");
	world_pass(&w, 1000);
	assert_says(&w, "/retry", "echo: three");
	assert_false(request_has(&w, "too slow"));
	assert_int_equal(fake_model_live(w.model), 0);
	/* Nothing of it is asked a third time by a restart. */
	size_t calls = fake_model_calls(w.model);

	world_crash(&w);
	world_boot(&w);
	world_pass(&w, 60000);
	assert_int_equal(fake_model_calls(w.model), calls);
	world_done(&w);
}

/* A retry that is killed before its run is answered after the restart. */
static void
a_retry_survives_a_kill(void **state)
{
	struct world w;

	(void)state;
	for (msec_t at = 0; at <= 40; at += 4) {
		start(&w, 6);
		said(&w, "1001", "one");
		fake_model_script(w.model, &(struct fake_answer){ .delay = 30,
		    .text = "again one" });
		fake_say(w.platform, "1001", "/retry");
		world_pass(&w, at);
		world_crash(&w);
		world_boot(&w);
		assert_true(world_settle(&w, 60000));
		size_t n = fake_count(w.platform, "1001");

		assert_true(n == 2 || (n == 1 && at == 0));
		world_done(&w);
	}
}

static void
words_after_a_switch_in_one_batch_belong_to_the_old_conversation(void **state)
{
	static const char *const both[] = { "/resume old", "and this?" };
	struct world w;

	(void)state;
	start(&w, 7);
	said(&w, "1001", "about apples");
	said(&w, "1001", "/title old");
	said(&w, "1001", "/new");
	said(&w, "1001", "about pears");
	fake_say_batch(w.platform, "1001", both, 2);
	assert_true(world_settle(&w, 30000));
	assert_true(request_has(&w, "about apples"));
	assert_false(request_has(&w, "about pears"));
	world_done(&w);
}

static void
a_chosen_model_is_used_until_it_is_dropped(void **state)
{
	struct world w;

	(void)state;
	start(&w, 8);
	said(&w, "1001", "hello");
	assert_string_equal(fake_model_asked(w.model), "");
	assert_says(&w, "/model", "The configured model is fake model");
	assert_says(&w, "/model a b", "one word");
	assert_says(&w, "/model big-one", "uses the model big-one");
	assert_says(&w, "/model", "uses big-one");
	said(&w, "1002", "hi");
	assert_string_equal(fake_model_asked(w.model), "");
	said(&w, "1001", "more");
	assert_string_equal(fake_model_asked(w.model), "big-one");
	world_crash(&w);
	world_boot(&w);
	said(&w, "1001", "and more");
	assert_string_equal(fake_model_asked(w.model), "big-one");
	said(&w, "1001", "/new");
	said(&w, "1001", "fresh");
	assert_string_equal(fake_model_asked(w.model), "");
	said(&w, "1001", "/model big-one");
	assert_says(&w, "/model default", "configured model again");
	said(&w, "1001", "last");
	assert_string_equal(fake_model_asked(w.model), "");
	world_done(&w);
}

/* ---- conversations that rest ----------------------------------------------------- */

static void
a_conversation_that_rested_ends_if_the_operator_wants_that(void **state)
{
	struct world w;

	(void)state;
	for (int on = 0; on < 2; on++) {
		world_init(&w, 12);
		w.opts.reset.all = (struct reset_policy){ .idle = on,
			.idle_ms = 3600000, .notify = true };
		world_boot(&w);
		said(&w, "1001", "about apples");
		world_pass(&w, 3500000);
		said(&w, "1001", "still here");
		assert_true(request_has(&w, "about apples"));
		world_pass(&w, 3700000);
		said(&w, "1001", "next day");
		assert_int_equal(request_has(&w, "about apples"), !on);
		assert_int_equal(request_has(&w, "ended because it rested"), on);
		assert_int_equal(fake_saw(w.platform, "1001", "rested too long"),
		    on);
		said(&w, "1001", "more");	/* once */
		assert_false(request_has(&w, "ended because it rested"));
		if (on) {
			assert_says(&w, "/resume 2", "Back in ");
			said(&w, "1001", "and?");
			assert_true(request_has(&w, "about apples"));
		}
		world_done(&w);
	}
}

/* Where a kind of chat has a policy of its own, the others keep theirs. */
static void
a_kind_of_chat_rests_by_its_own_rule(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 14);
	w.opts.reset.all = (struct reset_policy){ .idle = true,
		.idle_ms = 3600000 };
	w.opts.reset.has_dm = true;	/* never */
	world_boot(&w);
	said(&w, "1001", "about apples");
	fake_say_in(w.platform, "1001", "-500", "about pears");
	assert_true(world_settle(&w, 30000));
	world_pass(&w, 3700000);
	said(&w, "1001", "still here");
	assert_true(request_has(&w, "about apples"));
	fake_say_in(w.platform, "1001", "-500", "in the group");
	assert_true(world_settle(&w, 30000));
	assert_false(request_has(&w, "about pears"));
	world_done(&w);
}

/* Neither a run nor words that a kill left unanswered are torn off. */
static void
nothing_under_way_is_ended_by_the_clock(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 13);
	w.opts.reset.all = (struct reset_policy){ .idle = true, .idle_ms = 60000 };
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 600000 });
	fake_say(w.platform, "1001", "about apples");
	world_pass(&w, 300000);
	fake_say(w.platform, "1001", "and pears");
	assert_true(world_settle(&w, 30000));
	assert_true(request_has(&w, "about apples"));
	fake_model_script(w.model, &(struct fake_answer){ .delay = 600000 });
	fake_say(w.platform, "1001", "about plums");
	world_pass(&w, 1000);
	world_crash(&w);
	sim_advance(w.loop, 300000);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 600000 });
	world_boot(&w);
	fake_say(w.platform, "1001", "and more");
	assert_true(world_settle(&w, 30000));
	assert_true(request_has(&w, "about plums"));
	world_done(&w);
}

/* ---- restart ------------------------------------------------------------------- */

static unsigned restarts;

static void
on_restart(void *arg)
{
	(void)arg;
	restarts++;
}

/*
 * Case C115: the run goes on to its end, then one restart; the update that
 * asked for it may come again, and so may the person.
 */
static void
a_restart_is_done_once(void **state)
{
	struct world w;

	(void)state;
	restarts = 0;
	world_init(&w, 9);
	w.opts.on_restart = on_restart;
	w.opts.drain_ms = 20000;
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 3000,
	    .text = "the long answer" });
	fake_say(w.platform, "1002", "work");
	world_pass(&w, 500);
	unsigned event = fake_say(w.platform, "1001", "/restart");

	world_pass(&w, 100);
	assert_int_equal(restarts, 1);
	world_stop(&w);
	assert_string_equal(fake_last(w.platform, "1002"), "the long answer");
	world_boot(&w);
	world_pass(&w, 1000);
	assert_string_equal(fake_last(w.platform, "1001"), "I am back.");
	fake_say_again(w.platform, "1001", "/restart", event);
	world_pass(&w, 1000);
	assert_int_equal(restarts, 1);
	assert_string_equal(fake_last(w.platform, "1001"), "I am back.");
	assert_says(&w, "/restart", "less than a minute ago");
	assert_int_equal(restarts, 1);
	world_pass(&w, 60000);
	assert_says(&w, "/restart", "I restart");
	assert_int_equal(restarts, 2);
	assert_says(&w, "/restart", "");
	world_stop(&w);
	/* Said once. */
	world_boot(&w);
	world_pass(&w, 1000);
	size_t n = fake_count(w.platform, "1001");
	world_stop(&w);
	world_boot(&w);
	world_pass(&w, 1000);
	assert_int_equal(fake_count(w.platform, "1001"), n);
	world_done(&w);
}

static void
who_may_restart_is_the_operators_choice(void **state)
{
	static const char *const approvers[] = { "1002", NULL };
	struct world w;

	(void)state;
	restarts = 0;
	world_init(&w, 10);
	w.opts.on_restart = on_restart;
	w.opts.approvers = approvers;
	world_boot(&w);
	assert_says(&w, "/restart", "Only the people in approvals.approvers");
	said(&w, "1002", "/restart");
	assert_int_equal(restarts, 1);
	world_done(&w);
	world_init(&w, 11);
	world_boot(&w);
	assert_says(&w, "/restart", "Nothing would start me again");
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_title_is_set_shown_and_unique),
		cmocka_unit_test(a_conversation_is_left_and_found_again),
		cmocka_unit_test(conversations_of_others_cannot_be_reached),
		cmocka_unit_test(the_last_exchanges_are_taken_back),
		cmocka_unit_test(the_last_question_is_asked_again),
		cmocka_unit_test(a_retry_survives_a_kill),
		cmocka_unit_test(
		    words_after_a_switch_in_one_batch_belong_to_the_old_conversation),
		cmocka_unit_test(a_chosen_model_is_used_until_it_is_dropped),
		cmocka_unit_test(
		    a_conversation_that_rested_ends_if_the_operator_wants_that),
		cmocka_unit_test(a_kind_of_chat_rests_by_its_own_rule),
		cmocka_unit_test(nothing_under_way_is_ended_by_the_clock),
		cmocka_unit_test(a_restart_is_done_once),
		cmocka_unit_test(who_may_restart_is_the_operators_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
