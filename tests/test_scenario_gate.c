/* Approvals on the hand-moved clock: exactly one outcome, and no is the default. */
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

static struct json *kept;

static void
on_approvals(void *arg, const struct json *rows, const struct err *err)
{
	(void)arg;
	assert_null(err);
	kept = json_clone(rows);
}

static void
start(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	fake_sandbox.isolated = false;
	world_boot(w);
	fake_model_script(w->model, &(struct fake_answer){ .call = "rm -r gone" });
	fake_say(w->platform, "1001", "please");
	world_pass(w, 1000);
}

/* Data of the yes (or no) button of the open question. */
static char *
press_data(struct world *w, const char *kind)
{
	for (size_t i = w->platform->nsent; i-- > 0;)
		if (strncmp(w->platform->sent[i].buttons0, "ea:once:", 8) == 0)
			return mem_printf("ea:%s:%s", kind,
			    w->platform->sent[i].buttons0 + 8);
	return mem_str("");
}

static void
yes_runs_exactly_what_was_shown(void **state)
{
	struct world w;

	(void)state;
	start(&w, 1);
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	assert_true(fake_saw(w.platform, "1001", "rm -r gone"));
	CLEANUP_FREE char *yes = press_data(&w, "once");

	fake_press(w.platform, "1001", yes);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 1);
	fake_press(w.platform, "1001", yes);	/* pressed again, and late */
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 1);
	world_done(&w);
}

static void
answers_by_command_and_by_plain_word(void **state)
{
	static const char *const yes[] = { "/approve", "yes", "Y" };
	static const char *const no[] = { "/deny too risky", "no", "n",
		"/deny all" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(yes) + ARRAY_LEN(no); i++) {
		struct world w;
		bool want = i < ARRAY_LEN(yes);

		start(&w, i + 1);
		fake_say(w.platform, "1001",
		    want ? yes[i] : no[i - ARRAY_LEN(yes)]);
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_sandbox_ran("rm -r gone"), want);
		assert_int_equal(fake_model_calls(w.model), 2);
		world_done(&w);
	}
}

/* The same harmless words elsewhere: the call's directory is judged, too. */
static void
a_workdir_is_judged_where_it_leads(void **state)
{
	static const char *const dirs[] = { "/root/.ssh", "../root/.ssh",
		"sub/../../root/.ssh" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		CLEANUP_FREE char *args = mem_printf("{\"command\":\"echo k >> "
		    "authorized_keys\",\"workdir\":\"%s\"}", dirs[i]);
		struct world w;

		world_init(&w, i + 1);
		fake_sandbox.isolated = false;
		world_boot(&w);
		fake_model_script(w.model, &(struct fake_answer){
		    .tool = "terminal", .call = args });
		fake_say(w.platform, "1001", "please");
		world_pass(&w, 1000);
		assert_int_equal(fake_sandbox_ran("echo k >> authorized_keys"), 0);
		assert_true(fake_saw(w.platform, "1001", dirs[i]));
		world_done(&w);
	}
}

/* No question, no mode, no isolation lifts the hardline floor. */
static void
what_is_never_allowed_is_neither_asked_nor_run(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct world w;

		world_init(&w, (uint64_t)i + 1);
		fake_sandbox.isolated = i & 1;
		w.opts.gate.off = i & 2;
		world_boot(&w);
		fake_model_script(w.model, &(struct fake_answer){
		    .call = "mkfs.ext4 /dev/sda1" });
		fake_say(w.platform, "1001", "please");
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_sandbox_ran("mkfs.ext4 /dev/sda1"), 0);
		assert_false(fake_saw(w.platform, "1001", "Allow this command"));
		CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

		assert_non_null(strstr(text, "never allowed"));
		world_done(&w);
	}
}

/* Longer than what is read: never, and kept whole for the operator. */
static void
too_long_to_be_read_is_never_and_kept(void **state)
{
	struct world w;
	struct buf long_one CLEANUP_BUF;

	(void)state;
	buf_init(&long_one, 200000);
	buf_add_str(&long_one, "echo ");
	while (long_one.len < 131072 + 5)
		buf_add_char(&long_one, 'x');
	world_init(&w, 11);
	fake_sandbox.isolated = true;
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = long_one.data });
	fake_say(w.platform, "1001", "please");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(long_one.data), 0);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "longer than 128 KiB"));
	kept = NULL;
	store_approvals(w.store, 10, on_approvals, NULL);
	while (!kept) {
		sim_wait(w.loop, 5000);
		sim_run_until_idle(w.loop);
	}
	const struct json *row = json_first(kept);

	assert_string_equal(json_get_str(row, "outcome", ""), "never");
	assert_string_equal(json_get_str(json_get(row, "row"), "command", ""),
	    long_one.data);
	json_free(&kept);
	world_done(&w);
}

/* A yes for the question before comes late: it is no yes for this one. */
static void
a_yes_older_than_the_question_approves_nothing(void **state)
{
	struct world w;

	(void)state;
	start(&w, 9);
	w.platform->stamp_ms = -60000;
	fake_say(w.platform, "1001", "/approve");
	world_pass(&w, 1000);
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	assert_true(fake_saw(w.platform, "1001", "before the question"));
	w.platform->stamp_ms = 0;
	fake_say(w.platform, "1001", "/approve");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 1);
	world_done(&w);
}

static void
silence_becomes_timeout_not_yes(void **state)
{
	struct world w;

	(void)state;
	start(&w, 2);
	world_pass(&w, 298000);
	assert_int_equal(fake_model_calls(w.model), 1);
	world_pass(&w, 3000);
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "nobody answered in time"));
	fake_say(w.platform, "1001", "/approve");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	world_done(&w);
}

/* The machine slept over the question: the answer comes too late. */
static void
a_question_expires_also_while_the_machine_sleeps(void **state)
{
	struct world w;

	(void)state;
	start(&w, 3);
	sim_suspend(w.loop, 600000);
	fake_say(w.platform, "1001", "/approve");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	world_done(&w);
}

static void
a_new_message_withdraws_the_question(void **state)
{
	struct world w;

	(void)state;
	start(&w, 4);
	CLEANUP_FREE char *yes = press_data(&w, "once");

	fake_say(w.platform, "1001", "forget it");
	assert_true(world_settle(&w, 5000));
	fake_press(w.platform, "1001", yes);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	world_done(&w);
}

static void
nobody_else_decides(void **state)
{
	struct world w;

	(void)state;
	start(&w, 5);
	CLEANUP_FREE char *yes = press_data(&w, "once");
	CLEANUP_FREE char *by_id = mem_printf("/approve %s", yes + 8);

	fake_press(w.platform, "1002", yes);
	fake_say(w.platform, "1002", by_id);
	fake_press(w.platform, "6666", yes);
	world_pass(&w, 2000);
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	assert_true(fake_saw(w.platform, "1002", "Only the person who asked"));
	fake_say(w.platform, "1001", by_id);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 1);
	world_done(&w);
}

/* block/buzz#4502: what is approved can be read whole, however long. */
static void
a_long_command_is_a_file_before_its_question(void **state)
{
	static const size_t lengths[] = { 100, 5000, 60000, 120000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		CLEANUP_FREE char *harmless = mem_alloc(lengths[i] + 1);

		memset(harmless, 'x', lengths[i]);
		CLEANUP_FREE char *command = mem_printf("echo %s; rm -r gone",
		    harmless);
		struct world w;

		world_init(&w, 60 + i);
		fake_sandbox.isolated = false;
		world_boot(&w);
		fake_model_script(w.model, &(struct fake_answer){
		    .call = command });
		fake_say(w.platform, "1001", "please");
		world_pass(&w, 2000);
		const struct fake_sent *asked = fake_asked(w.platform,
		    "ea:once:"), *file = NULL;

		assert_non_null(asked);
		for (size_t k = 0; k < w.platform->nsent; k++)
			if (w.platform->sent[k].is_file)
				file = &w.platform->sent[k];
		assert_int_equal(file != NULL, lengths[i] > 3500);
		assert_non_null(strstr(file ? file->text : asked->text, command));
		assert_true(!file || file < asked);
		assert_true(!file || strlen(asked->text) < 3000);
		CLEANUP_FREE char *yes = press_data(&w, "once");

		fake_press(w.platform, "1001", yes);
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_sandbox_ran(command), 1);
		world_done(&w);
	}
}

/* The file is refused: nobody could read it, so nobody is taken to agree. */
static void
a_file_that_does_not_arrive_is_a_denial(void **state)
{
	CLEANUP_FREE char *harmless = mem_alloc(5001);
	struct world w;

	(void)state;
	memset(harmless, 'x', 5000);
	CLEANUP_FREE char *command = mem_printf("echo %s; rm -r gone", harmless);

	world_init(&w, 70);
	fake_sandbox.isolated = false;
	world_boot(&w);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_NO, .error = SEND_ERR_REFUSED });
	fake_model_script(w.model, &(struct fake_answer){ .call = command });
	fake_say(w.platform, "1001", "please");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(command), 0);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "no approver could be reached"));
	world_done(&w);
}

/* Named approvers decide, from wherever they are; the asker doesn't then. */
static void
named_approvers_decide_instead_of_the_asker(void **state)
{
	static const char *const named[] = { "telegram:1001", "fake:1002", NULL };
	struct world w;

	(void)state;
	world_init(&w, 50);
	fake_sandbox.isolated = false;
	w.opts.approvers = named;
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -r gone" });
	fake_say_in(w.platform, "1001", "-5", "please");
	world_pass(&w, 1000);
	assert_true(fake_saw(w.platform, "-5", "named approvers"));
	CLEANUP_FREE char *yes = press_data(&w, "once");

	fake_press_in(w.platform, "1001", "-5", yes);
	fake_press_in(w.platform, "1003", "-5", yes);
	world_pass(&w, 1000);
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	fake_press_in(w.platform, "1002", "-5", yes);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 1);
	world_done(&w);
}

static void
a_prompt_that_cannot_be_delivered_is_a_denial_with_its_cause(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 6);
	fake_sandbox.isolated = false;
	world_boot(&w);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_NO, .error = SEND_ERR_REFUSED });
	fake_model_script(w.model, &(struct fake_answer){ .call = "rm -r gone" });
	fake_say(w.platform, "1001", "please");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "no approver could be reached"));
	assert_null(strstr(text, "a person refused it"));
	world_done(&w);
}

/* Rules 4.4: a yes that waited through a restart runs nothing. */
static void
an_open_question_is_expired_by_a_restart(void **state)
{
	struct world w;

	(void)state;
	start(&w, 7);
	CLEANUP_FREE char *yes = press_data(&w, "once");

	world_crash(&w);
	/* The resumed run may ask anew: that is another question. */
	fake_model_script(w.model, &(struct fake_answer){ .delay = 60000,
	    .text = "resumed" });
	world_boot(&w);
	fake_press(w.platform, "1001", yes);
	world_pass(&w, 2000);
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	bool edited = false, told = false;

	for (size_t i = 0; i < w.platform->nsent; i++) {
		const struct fake_sent *s = &w.platform->sent[i];
		bool says = strstr(s->text, "expired, the gateway was restarted");

		edited |= s->is_edit && says && strstr(s->text, "rm -r gone");
		told |= s->is_press && says;
	}
	assert_true(edited);
	assert_true(told);
	assert_true(world_settle(&w, 120000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	world_done(&w);
}

static void
the_gate_blocks_only_the_run_that_waits(void **state)
{
	struct world w;

	(void)state;
	start(&w, 8);
	fake_say(w.platform, "1002", "hi");
	world_pass(&w, 1000);
	assert_string_equal(fake_last(w.platform, "1002"), "echo: hi");
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran("rm -r gone"), 0);
	world_done(&w);
}

/* Press, time-out and cancel in all orders around the limit. */
static void
races_around_the_limit_have_one_outcome(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct world w;

		start(&w, seed);
		world_pass(&w, 298900);
		for (int i = 0; i < 3; i++) {
			if ((seed + (uint64_t)i) % 3 == 0)
				fake_say(w.platform, "1001", "/approve");
			else if ((seed + (uint64_t)i) % 3 == 1)
				fake_say(w.platform, "1001", "/deny");
			else
				world_pass(&w, (msec_t)(seed * 7));
		}
		assert_true(world_settle(&w, 10000));
		assert_true(fake_sandbox_ran("rm -r gone") <= 1);
		assert_int_equal(fake_model_calls(w.model), 2);
		world_done(&w);
	}
}

enum event { PRESS, DENY, LIMIT, NEW_MESSAGE, STOP, CRASH, CLEAN_STOP, EVENTS };

/* True: from now on nothing may run any more, whoever says yes. */
static bool
happens(struct world *w, enum event e, const char *yes, const char *no)
{
	switch (e) {
	case PRESS:
		fake_press(w->platform, "1001", yes);
		return false;
	case DENY:
		fake_press(w->platform, "1001", no);
		return true;
	case LIMIT:
		world_pass(w, 300001);
		return true;
	case NEW_MESSAGE:
		fake_say(w->platform, "1001", "something else");
		return true;
	case STOP:
		fake_say(w->platform, "1001", "/stop");
		return true;
	case CRASH:
		world_crash(w);
		world_boot(w);
		return true;
	case CLEAN_STOP:
		world_stop(w);
		world_boot(w);
		return true;
	case EVENTS:
		break;
	}
	return false;
}

/*
 * Every order of two events and a press between or after them, with no time, an
 * instant or a second between: the command runs at most once, and only if the
 * press came before anything that ends the question.  Without SOAK each fifth.
 */
static void
every_order_of_press_end_and_restart(void **state)
{
	int step = getenv("SOAK") ? 1 : 5;

	(void)state;
	for (int n = 0; n < EVENTS * EVENTS * 3 * 3; n += step) {
		enum event pair[] = { (enum event)(n % EVENTS),
			(enum event)(n / EVENTS % EVENTS) };
		int place = n / (EVENTS * EVENTS) % 3, gap = n / (EVENTS * EVENTS * 3);
		const msec_t gaps[] = { 0, 1, 1000 };
		bool ended = false, may = false;
		struct world w;

		start(&w, (uint64_t)n + 100);
		CLEANUP_FREE char *yes = press_data(&w, "once");
		CLEANUP_FREE char *no = press_data(&w, "deny");

		for (int i = 0, k = 0; i < 3; i++) {
			enum event e = i == place ? PRESS : pair[k++];

			may |= e == PRESS && !ended;
			ended |= happens(&w, e, yes, no);
			world_pass(&w, gaps[gap]);
		}
		/* A run that a restart resumed may ask anew: nobody answers. */
		assert_true(world_settle(&w, 700000));
		size_t ran = fake_sandbox_ran("rm -r gone");

		assert_true(ran <= 1);
		assert_true(may || ran == 0);
		world_done(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yes_runs_exactly_what_was_shown),
		cmocka_unit_test(answers_by_command_and_by_plain_word),
		cmocka_unit_test(a_workdir_is_judged_where_it_leads),
		cmocka_unit_test(what_is_never_allowed_is_neither_asked_nor_run),
		cmocka_unit_test(too_long_to_be_read_is_never_and_kept),
		cmocka_unit_test(a_yes_older_than_the_question_approves_nothing),
		cmocka_unit_test(silence_becomes_timeout_not_yes),
		cmocka_unit_test(a_question_expires_also_while_the_machine_sleeps),
		cmocka_unit_test(a_new_message_withdraws_the_question),
		cmocka_unit_test(nobody_else_decides),
		cmocka_unit_test(a_long_command_is_a_file_before_its_question),
		cmocka_unit_test(a_file_that_does_not_arrive_is_a_denial),
		cmocka_unit_test(named_approvers_decide_instead_of_the_asker),
		cmocka_unit_test(
		    a_prompt_that_cannot_be_delivered_is_a_denial_with_its_cause),
		cmocka_unit_test(an_open_question_is_expired_by_a_restart),
		cmocka_unit_test(the_gate_blocks_only_the_run_that_waits),
		cmocka_unit_test(races_around_the_limit_have_one_outcome),
		cmocka_unit_test(every_order_of_press_end_and_restart),
	};

	return cmocka_run_group_tests_name("scenario gate", tests, NULL, NULL);
}
