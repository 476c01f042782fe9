/* What a person hears of the sandbox. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_sandbox_that_is_closed_is_told_to_its_person_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
