/* Longer answers than once: what they cover, when they end, what they never do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

#define FIRST "rm -r gone"
#define SECOND "rm -r other"

static void
boot(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	fake_sandbox.isolated = false;
	world_boot(w);
}

static void
ask(struct world *w, const char *user, const char *command)
{
	fake_model_script(w->model, &(struct fake_answer){ .call = command });
	fake_say(w->platform, user, "please");
	world_pass(w, 1000);
}

/* The id of the open question; "" if nothing is asked. */
static const char *
asked(struct world *w)
{
	const struct fake_sent *sent = fake_asked(w->platform, "ea:once:");

	return sent ? sent->buttons0 + strlen("ea:once:") : "";
}

static void
press(struct world *w, const char *user, const char *word)
{
	CLEANUP_FREE char *data = mem_printf("ea:%s:%s", word, asked(w));

	fake_press(w->platform, user, data);
	assert_true(world_settle(w, 5000));
}

/* Was this asked about, or did it run at once? */
static bool
runs_unasked(struct world *w, const char *user, const char *command)
{
	size_t before = fake_sandbox_ran(command);

	ask(w, user, command);
	bool ran = fake_sandbox_ran(command) > before;

	if (!ran)
		fake_say(w->platform, user, "no");
	assert_true(world_settle(w, 5000));
	return ran;
}

static void
a_session_is_asked_once_for_the_same_reason(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 1);
	ask(&w, "1001", FIRST);
	press(&w, "1001", "session");
	assert_int_equal(fake_sandbox_ran(FIRST), 1);
	assert_true(runs_unasked(&w, "1001", SECOND));
	assert_false(runs_unasked(&w, "1001", "docker stop web"));
	assert_false(runs_unasked(&w, "1002", SECOND));
	world_done(&w);
}

static void
a_new_conversation_and_a_restart_end_it(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 2);
	ask(&w, "1001", FIRST);
	press(&w, "1001", "session");
	fake_say(w.platform, "1001", "/new");
	assert_true(world_settle(&w, 5000));
	assert_false(runs_unasked(&w, "1001", SECOND));
	ask(&w, "1001", FIRST);
	press(&w, "1001", "session");
	assert_true(runs_unasked(&w, "1001", SECOND));
	world_stop(&w);
	world_boot(&w);
	assert_false(runs_unasked(&w, "1001", SECOND));
	world_done(&w);
}

/* Rules 3.9: on a clock that goes on while the machine sleeps. */
static void
an_hour_ends_after_an_hour_also_asleep(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 3);
	ask(&w, "1001", FIRST);
	fake_say(w.platform, "1001", "/approve hour");
	assert_true(world_settle(&w, 5000));
	world_pass(&w, 3500000);
	assert_true(runs_unasked(&w, "1001", SECOND));
	sim_suspend(w.loop, 200000);
	assert_false(runs_unasked(&w, "1001", SECOND));
	world_done(&w);
}

/* Committed before it is used, and used only as what was stored. */
static void
always_is_written_before_it_counts(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 4);
	w.kept.delay = 4000;
	ask(&w, "1001", FIRST);
	CLEANUP_FREE char *data = mem_printf("ea:always:%s", asked(&w));

	fake_press(w.platform, "1001", data);
	world_pass(&w, 3000);
	assert_int_equal(fake_sandbox_ran(FIRST), 0);
	assert_int_equal(w.kept.n, 0);
	fake_press(w.platform, "1001", data);	/* once more: nothing new */
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(FIRST), 1);
	assert_int_equal(w.kept.n, 1);
	assert_string_equal(w.kept.entries[0], FIRST);
	assert_true(runs_unasked(&w, "1001", FIRST));
	assert_true(runs_unasked(&w, "1002", FIRST));
	assert_false(runs_unasked(&w, "1001", SECOND));
	assert_false(runs_unasked(&w, "1001", FIRST " " SECOND));
	world_done(&w);
}

static void
always_that_cannot_be_stored_is_a_single_yes(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 5);
	w.kept.fails = true;
	ask(&w, "1001", FIRST);
	press(&w, "1001", "always");
	assert_int_equal(fake_sandbox_ran(FIRST), 1);
	assert_true(fake_saw(w.platform, "1001", "disk full"));
	assert_false(runs_unasked(&w, "1001", FIRST));
	world_done(&w);
}

/* The person changed his mind while the file was written: the run is gone, the
 * entry is what he wanted. */
static void
always_outlives_a_run_that_is_withdrawn(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 6);
	w.kept.delay = 4000;
	ask(&w, "1001", FIRST);
	CLEANUP_FREE char *data = mem_printf("ea:always:%s", asked(&w));

	fake_press(w.platform, "1001", data);
	world_pass(&w, 1000);
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 1000));
	world_pass(&w, 5000);
	assert_int_equal(fake_sandbox_ran(FIRST), 0);
	assert_true(runs_unasked(&w, "1001", FIRST));
	world_done(&w);
}

/* Compounds, what is severe, what hides: once at most (C143, C145). */
static void
a_longer_answer_is_offered_only_where_it_may_be_given(void **state)
{
	static const struct {
		const char *command;
		bool session, always;
	} rows[] = {
		{ FIRST, true, true }, { FIRST "; ls", true, false },
		{ "bash -c 'rm -r x'", true, false },
		{ "frobnicate", true, false },
		{ "cat ~/.ssh/id_rsa", false, false },
		{ "rm -r x\xe2\x80\xaey", false, false },
		{ "rm -r 'a\\b'", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		boot(&w, 10 + i);
		ask(&w, "1001", rows[i].command);
		const struct fake_sent *sent = fake_asked(w.platform, "ea:once:");

		assert_non_null(sent);
		assert_int_equal(strstr(sent->buttons, "ea:session:") != NULL,
		    rows[i].session);
		assert_int_equal(strstr(sent->buttons, "ea:always:") != NULL,
		    rows[i].always);
		/* By hand it can't be had either. */
		if (!rows[i].session)
			fake_say(w.platform, "1001", "/approve session");
		if (!rows[i].always)
			fake_say(w.platform, "1001", "/approve always");
		world_pass(&w, 1000);
		assert_int_equal(fake_sandbox_ran(rows[i].command), 0);
		assert_int_equal(w.kept.n, 0);
		fake_say(w.platform, "1001", "no");
		assert_true(world_settle(&w, 5000));
		world_done(&w);
	}
}

static void
yolo_lifts_questions_and_never_the_floor(void **state)
{
	static const char *const deny[] = { "git push *", NULL };
	struct world w;

	(void)state;
	world_init(&w, 30);
	fake_sandbox.isolated = false;
	w.opts.gate.deny = deny;
	world_boot(&w);
	fake_say(w.platform, "1001", "/yolo");
	assert_true(world_settle(&w, 1000));
	assert_true(runs_unasked(&w, "1001", FIRST));
	assert_true(runs_unasked(&w, "1001", "cat ~/.ssh/id_rsa"));
	assert_false(runs_unasked(&w, "1001", "mkfs.ext4 /dev/sda1"));
	assert_false(runs_unasked(&w, "1001", "git push origin x"));
	assert_false(runs_unasked(&w, "1002", FIRST));
	fake_say(w.platform, "1001", "/status");
	world_pass(&w, 1000);
	assert_true(fake_saw(w.platform, "1001", "/yolo is on"));
	fake_say(w.platform, "1001", "/yolo");
	assert_true(world_settle(&w, 1000));
	assert_false(runs_unasked(&w, "1001", FIRST));
	world_done(&w);
}

/* In a group the word must be the reply to the very question. */
static void
a_plain_word_in_a_group_counts_as_a_reply_only(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 40);
	fake_model_script(w.model, &(struct fake_answer){ .call = FIRST });
	fake_say_in(w.platform, "1001", "-5", "please");
	world_pass(&w, 1000);
	const struct fake_sent *sent = fake_asked(w.platform, "ea:once:");
	CLEANUP_FREE char *question = mem_str(sent->msg_id);

	fake_say_aside(w.platform, "1002", "-5", "yes");	/* to the others */
	world_pass(&w, 500);
	assert_int_equal(fake_sandbox_ran(FIRST), 0);
	w.platform->reply_to = question;
	fake_say_in(w.platform, "1001", "-5", "ok");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(FIRST), 1);
	world_done(&w);
}

/* The message that asked says what became of it, and has no buttons any more. */
static void
the_question_is_edited_to_its_outcome(void **state)
{
	static const struct {
		const char *say, *shown;
	} rows[] = {
		{ "/approve", "allowed by fake:1001" },
		{ "/approve session", "allowed-session by fake:1001" },
		{ "/deny why", "denied by fake:1001" },
		{ "/stop", "withdrawn" }, { "how long is the log?", "withdrawn" },
		{ NULL, "timeout" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		bool seen = false;

		boot(&w, 50 + i);
		ask(&w, "1001", FIRST);
		const struct fake_sent *q = fake_asked(w.platform, "ea:once:");
		CLEANUP_FREE char *question = mem_str(q->msg_id);

		if (rows[i].say)
			fake_say(w.platform, "1001", rows[i].say);
		else
			world_pass(&w, 301000);
		assert_true(world_settle(&w, 10000));
		for (size_t k = 0; k < w.platform->nsent; k++) {
			const struct fake_sent *s = &w.platform->sent[k];

			seen |= s->is_edit && !s->buttons0[0] &&
			    strcmp(s->msg_id, question) == 0 &&
			    strstr(s->text, FIRST) && strstr(s->text, rows[i].shown);
		}
		assert_true(seen);
		world_done(&w);
	}
}

static void
a_late_press_is_told_what_happened(void **state)
{
	struct world w;

	(void)state;
	boot(&w, 60);
	ask(&w, "1001", FIRST);
	press(&w, "1001", "deny");
	press(&w, "1001", "once");
	assert_int_equal(fake_sandbox_ran(FIRST), 0);
	bool told = false;

	for (size_t i = 0; i < w.platform->nsent; i++)
		told |= w.platform->sent[i].is_press &&
		    strstr(w.platform->sent[i].text, "denied by fake:1001");
	assert_true(told);
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_asked_once_for_the_same_reason),
		cmocka_unit_test(a_new_conversation_and_a_restart_end_it),
		cmocka_unit_test(an_hour_ends_after_an_hour_also_asleep),
		cmocka_unit_test(always_is_written_before_it_counts),
		cmocka_unit_test(always_that_cannot_be_stored_is_a_single_yes),
		cmocka_unit_test(always_outlives_a_run_that_is_withdrawn),
		cmocka_unit_test(
		    a_longer_answer_is_offered_only_where_it_may_be_given),
		cmocka_unit_test(yolo_lifts_questions_and_never_the_floor),
		cmocka_unit_test(a_plain_word_in_a_group_counts_as_a_reply_only),
		cmocka_unit_test(the_question_is_edited_to_its_outcome),
		cmocka_unit_test(a_late_press_is_told_what_happened),
	};

	return cmocka_run_group_tests_name("scenario grant", tests, NULL, NULL);
}
