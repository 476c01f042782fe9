/* Mode smart: a model may let one command through, and nothing else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

#define COMMAND "rm -r gone"

/* The run asks for a command, then the review gets this answer. */
static void
ask(struct world *w, uint64_t seed, const char *command,
    const struct fake_answer *review)
{
	world_init(w, seed);
	fake_sandbox.isolated = false;
	w->opts.gate.smart = true;
	w->opts.gate.reviewer = fake_model_as_model(w->model);
	world_boot(w);
	fake_model_script(w->model, &(struct fake_answer){ .call = command });
	if (review)
		fake_model_script(w->model, review);
	fake_say(w->platform, "1001", "please");
	world_pass(w, 1000);
}

static void
its_yes_is_for_this_command_and_said(void **state)
{
	struct world w;

	(void)state;
	ask(&w, 1, COMMAND, &(struct fake_answer){ .text = "APPROVE" });
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(COMMAND), 1);
	assert_null(fake_asked(w.platform, "ea:once:"));
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 2);

	assert_non_null(strstr(text, "auto-approved"));
	/* The next one of the same kind is looked at again. */
	fake_model_script(w.model, &(struct fake_answer){ .call = COMMAND });
	fake_model_script(w.model, &(struct fake_answer){ .text = "ESCALATE" });
	fake_say(w.platform, "1001", "again");
	world_pass(&w, 1000);
	assert_int_equal(fake_sandbox_ran(COMMAND), 1);
	assert_non_null(fake_asked(w.platform, "ea:once:"));
	world_done(&w);
}

static void
its_no_is_a_no(void **state)
{
	struct world w;

	(void)state;
	ask(&w, 2, COMMAND, &(struct fake_answer){ .text = "DENY" });
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(COMMAND), 0);
	assert_null(fake_asked(w.platform, "ea:once:"));
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 2);

	assert_non_null(strstr(text, "the reviewing model refused it"));
	world_done(&w);
}

/* Errors, delays, other words, cut answers and calls: a person is asked. */
static void
its_every_failure_asks(void **state)
{
	static const struct fake_answer reviews[] = {
		{ .error = MODEL_ERR_RETRY }, { .error = MODEL_ERR_AUTH },
		{ .text = "Sure, APPROVE" }, { .text = "" },
		{ .text = "APPROVE", .delay = 60000 },
		{ .text = "APPROVE", .finish = FINISH_LENGTH },
		{ .text = "APPROVE", .call = "ls" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reviews); i++) {
		struct world w;

		ask(&w, 10 + i, COMMAND, &reviews[i]);
		world_pass(&w, 31000);
		assert_int_equal(fake_sandbox_ran(COMMAND), 0);
		assert_non_null(fake_asked(w.platform, "ea:once:"));
		fake_say(w.platform, "1001", "yes");
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_sandbox_ran(COMMAND), 1);
		world_done(&w);
	}
}

/* Severe rules go to a person, the floor to nobody; the model isn't asked. */
static void
it_is_not_asked_about_what_is_severe(void **state)
{
	static const struct {
		const char *command;
		bool asks;
	} rows[] = {
		{ "cat ~/.ssh/id_rsa", true }, { "mkfs.ext4 /dev/sda1", false },
		{ "rm -r x\xe2\x80\xaey", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		ask(&w, 30 + i, rows[i].command, NULL);
		assert_int_equal(fake_asked(w.platform, "ea:once:") != NULL,
		    rows[i].asks);
		assert_int_equal(fake_sandbox_ran(rows[i].command), 0);
		assert_int_equal(fake_model_calls(w.model), rows[i].asks ? 1 : 2);
		world_done(&w);
	}
}

/* A new message ends the review; its late yes runs nothing. */
static void
a_review_can_be_cancelled(void **state)
{
	struct world w;

	(void)state;
	ask(&w, 40, COMMAND, &(struct fake_answer){ .text = "APPROVE",
	    .delay = 5000 });
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 1000));
	world_pass(&w, 10000);
	assert_int_equal(fake_sandbox_ran(COMMAND), 0);
	assert_int_equal(fake_model_live(w.model), 0);
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_yes_is_for_this_command_and_said),
		cmocka_unit_test(its_no_is_a_no),
		cmocka_unit_test(its_every_failure_asks),
		cmocka_unit_test(it_is_not_asked_about_what_is_severe),
		cmocka_unit_test(a_review_can_be_cancelled),
	};

	return cmocka_run_group_tests_name("scenario smart", tests, NULL, NULL);
}
