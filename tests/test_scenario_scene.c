/* Between the yes and the start: what has changed meanwhile asks anew. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

#define SCRIPT "bash /tmp/x.sh"

static void
ask(struct world *w, uint64_t seed, const char *command)
{
	world_init(w, seed);
	fake_sandbox.isolated = false;
	fake_sandbox.script = "echo one";
	world_boot(w);
	fake_model_script(w->model, &(struct fake_answer){ .call = command });
	fake_say(w->platform, "1001", "please");
	world_pass(w, 1000);
}

static void
change(int what)
{
	if (what == 0)
		fake_sandbox.dir_ino++;
	else if (what == 1)
		fake_sandbox.exports++;
	else
		fake_sandbox.script = "rm -r ~";
}

static void
a_change_before_the_start_asks_anew_with_the_reason(void **state)
{
	static const char *const reasons[] = { "is another directory now",
		"exported variables", "/tmp/x.sh has changed" };

	(void)state;
	for (int what = 0; what < 3; what++) {
		struct world w;

		ask(&w, (uint64_t)what + 1, SCRIPT);
		CLEANUP_FREE char *first = mem_str(
		    fake_asked(w.platform, "ea:once:")->buttons0);

		change(what);
		fake_press(w.platform, "1001", first);
		world_pass(&w, 1000);
		assert_int_equal(fake_sandbox_ran(SCRIPT), 0);
		assert_int_equal(fake_sandbox.changed, 1);
		assert_true(fake_saw(w.platform, "1001", reasons[what]));
		const char *second = fake_asked(w.platform, "ea:once:")->buttons0;

		assert_string_not_equal(first, second);
		fake_press(w.platform, "1001", first);	/* was used up */
		world_pass(&w, 1000);
		assert_int_equal(fake_sandbox_ran(SCRIPT), 0);
		fake_press(w.platform, "1001", second);
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_sandbox_ran(SCRIPT), 1);
		world_done(&w);
	}
}

/* Whoever changes it each time gets no end of questions, and no start. */
static void
what_never_rests_is_not_run(void **state)
{
	struct world w;

	(void)state;
	ask(&w, 10, SCRIPT);
	for (int i = 0; i < 3; i++) {
		CLEANUP_FREE char *yes = mem_str(
		    fake_asked(w.platform, "ea:once:")->buttons0);

		change(0);
		fake_press(w.platform, "1001", yes);
		world_pass(&w, 1000);
	}
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(SCRIPT), 0);
	assert_int_equal(fake_sandbox.changed, 3);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "another directory"));
	world_done(&w);
}

/* A grant is a yes to what runs now, not to what was looked at a moment ago. */
static void
a_granted_command_is_bound_to_its_scene_too(void **state)
{
	struct world w;

	(void)state;
	ask(&w, 20, SCRIPT);
	fake_say(w.platform, "1001", "/approve session");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(SCRIPT), 1);
	fake_model_script(w.model, &(struct fake_answer){ .call = SCRIPT });
	fake_say(w.platform, "1001", "again");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_sandbox_ran(SCRIPT), 2);
	fake_sandbox.script = NULL;	/* can't be read any more: asked again */
	fake_model_script(w.model, &(struct fake_answer){ .call = SCRIPT });
	fake_say(w.platform, "1001", "again");
	world_pass(&w, 1000);
	assert_int_equal(fake_sandbox_ran(SCRIPT), 2);
	world_done(&w);
}

static void
a_script_is_shown_or_said_not_to_be(void **state)
{
	struct world w;

	(void)state;
	ask(&w, 30, SCRIPT);
	assert_true(fake_saw(w.platform, "1001", "/tmp/x.sh holds (8 bytes):\n"
	    "echo one"));
	fake_say(w.platform, "1001", "no");
	assert_true(world_settle(&w, 5000));
	fake_sandbox.script = NULL;
	fake_model_script(w.model, &(struct fake_answer){ .call = SCRIPT });
	fake_say(w.platform, "1001", "again");
	world_pass(&w, 1000);
	const struct fake_sent *sent = fake_asked(w.platform, "ea:once:");

	assert_non_null(strstr(sent->text, "/tmp/x.sh: contents not shown"));
	assert_null(strstr(sent->buttons, "session"));
	assert_null(strstr(sent->buttons, "always"));
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_change_before_the_start_asks_anew_with_the_reason),
		cmocka_unit_test(what_never_rests_is_not_run),
		cmocka_unit_test(a_granted_command_is_bound_to_its_scene_too),
		cmocka_unit_test(a_script_is_shown_or_said_not_to_be),
	};

	return cmocka_run_group_tests_name("scenario scene", tests, NULL, NULL);
}
