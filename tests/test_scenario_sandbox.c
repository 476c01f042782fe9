/* What a person hears of the sandbox. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

static void
a_sandbox_that_is_closed_is_told_to_its_person_only(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 1);
	world_boot(&w);
	fake_say(w.platform, "1002", "hello");
	assert_true(world_settle(&w, 5000));
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 9" });
	fake_model_script(w.model, &(struct fake_answer){ .text = "done" });
	fake_say(w.platform, "1001", "run it");
	world_pass(&w, 2000);
	assert_int_equal(fake_sandbox.n, 1);
	assert_non_null(fake_sandbox.alarm);
	fake_sandbox.alarm(fake_sandbox.alarm_arg,
	    fake_sandbox.commands[0].sandbox, "a process could not be ended");
	world_pass(&w, 1000);
	assert_true(fake_saw(w.platform, "1001", "could not be ended"));
	assert_false(fake_saw(w.platform, "1002", "could not be ended"));
	assert_true(world_settle(&w, 20000));
	world_done(&w);
}

/*
 * How far a pull is, is one message that changes.  Red if each word is a message of
 * its own, if the newest is not the one that stays, or if another chat hears it.
 */
static void
a_pull_is_one_message_that_changes(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 1);
	world_boot(&w);
	fake_model_script(w.model, &(struct fake_answer){ .call = "sleep 60" });
	fake_model_script(w.model, &(struct fake_answer){ .text = "done" });
	fake_say(w.platform, "1001", "run it");
	world_pass(&w, 2000);
	assert_int_equal(fake_sandbox.n, 1);
	for (int i = 0; i <= 4; i++) {
		CLEANUP_FREE char *text = mem_printf("pulling image x: %d of 4 MiB",
		    i);
		fake_sandbox.news(fake_sandbox.news_arg,
		    fake_sandbox.commands[0].sandbox, text, i == 0);
		/* The last two come at once. */
		if (i != 3)
			world_pass(&w, 10000);
	}
	CLEANUP_FREE char *screen = fake_screen(w.platform, "1001");
	const char *at = strstr(screen, "pulling image x: 4 of 4 MiB.");
	if (!at || strstr(at + 1, "pulling") || strstr(screen, "pulling") != at)
		fail_msg("%s", screen);
	assert_false(fake_saw(w.platform, "1002", "pulling"));
	assert_true(world_settle(&w, 80000));
	world_done(&w);
}

/* "1001" in his own chat and in a group, "1002" in hers. */
static void
who_shares_a_sandbox_is_as_configured(void **state)
{
	static const enum sandbox_scope scopes[] = { SCOPE_SESSION, SCOPE_USER,
		SCOPE_SHARED };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		struct world w;
		const struct fake_command *c = fake_sandbox.commands;

		world_init(&w, 1);
		w.opts.scope = scopes[i];
		world_boot(&w);
		for (int k = 0; k < 3; k++) {
			fake_model_script(w.model, &(struct fake_answer){ .call = "ls" });
			fake_model_script(w.model, &(struct fake_answer){ .text = "done" });
			if (k == 1)
				fake_say_in(w.platform, "1001", "-77", "run it");
			else
				fake_say(w.platform, k ? "1002" : "1001", "run it");
			assert_true(world_settle(&w, 20000));
		}
		assert_int_equal(fake_sandbox.n, 3);
		assert_int_equal(strcmp(c[0].sandbox, c[1].sandbox) == 0,
		    scopes[i] != SCOPE_SESSION);
		assert_int_equal(strcmp(c[0].sandbox, c[2].sandbox) == 0,
		    scopes[i] == SCOPE_SHARED);
		world_done(&w);
	}
}

static void
new_takes_from_nobody_else_and_wipes_when_asked(void **state)
{
	static const struct {
		enum sandbox_scope scope;
		const char *say, *answer;
		size_t ended;
		const char *wiped;
	} rows[] = {
		{ SCOPE_SESSION, "/new", "Files in the workspace stay", 1, NULL },
		{ SCOPE_SESSION, "/new --wipe", "are being removed", 0, "1001" },
		{ SCOPE_SESSION, "/new \u2014wipe", "are being removed", 0, "1001" },
		{ SCOPE_SESSION, "/new --wipeit", "Files in the workspace stay", 1,
		  NULL },
		{ SCOPE_USER, "/new", "serves other conversations", 0, NULL },
		{ SCOPE_USER, "/new --wipe", "are being removed", 0, "user:fake:1001" },
		{ SCOPE_SHARED, "/new", "serves other conversations", 0, NULL },
		{ SCOPE_SHARED, "/new --wipe", "shared by everybody", 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_init(&w, 1);
		w.opts.scope = rows[i].scope;
		world_boot(&w);
		fake_say(w.platform, "1001", rows[i].say);
		assert_true(world_settle(&w, 5000));
		assert_true(fake_saw(w.platform, "1001", rows[i].answer));
		assert_int_equal(fake_sandbox.ended_processes, rows[i].ended);
		assert_int_equal(fake_sandbox.wiped != NULL, rows[i].wiped != NULL);
		if (rows[i].wiped)
			assert_non_null(strstr(fake_sandbox.wiped, rows[i].wiped));
		world_done(&w);
	}
}

/* Rules 1.10: what belongs to the session goes on, and is named; what has ended
 * is not. */
static void
stop_names_what_still_runs(void **state)
{
	static const char *const args[] = {
		"{\"command\":\"serve one\",\"background\":true}",
		"{\"command\":\"serve two\",\"background\":true}",
	};
	struct world w;

	(void)state;
	world_init(&w, 1);
	world_boot(&w);
	for (size_t i = 0; i < ARRAY_LEN(args); i++) {
		fake_model_script(w.model, &(struct fake_answer){
		    .tool = "terminal", .call = args[i] });
		fake_model_script(w.model, &(struct fake_answer){ .text = "started" });
		fake_say(w.platform, "1001", "do it");
		assert_true(world_settle(&w, 5000));
		if (i == 0)
			fake_sandbox_end(fake_sandbox_process(), 0, "");
	}
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 5000));
	CLEANUP_FREE char *list = mem_printf("Still running in the background:\n"
	    "%s serve two", fake_sandbox_process()->process);
	assert_true(fake_saw(w.platform, "1001", list));
	assert_int_equal(fake_sandbox.ended_processes, 0);
	fake_sandbox_end(fake_sandbox_process(), 0, "");
	fake_say(w.platform, "1001", "/stop");
	assert_true(world_settle(&w, 5000));
	assert_true(fake_saw(w.platform, "1001", "Nothing was running."));
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_sandbox_that_is_closed_is_told_to_its_person_only),
		cmocka_unit_test(a_pull_is_one_message_that_changes),
		cmocka_unit_test(who_shares_a_sandbox_is_as_configured),
		cmocka_unit_test(new_takes_from_nobody_else_and_wipes_when_asked),
		cmocka_unit_test(stop_names_what_still_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
