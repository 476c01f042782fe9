/* The tool `terminal`: what it refuses, and what its results say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

static struct world w;

static int
setup(void **state)
{
	(void)state;
	world_init(&w, 1);
	world_boot(&w);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	world_done(&w);
	return 0;
}

/* The result of one call with these arguments (JSON); caller frees. */
static struct json *
call(const char *args)
{
	fake_model_script(w.model, &(struct fake_answer){ .tool = "terminal",
	    .call = args });
	fake_model_script(w.model, &(struct fake_answer){ .text = "done" });
	fake_say(w.platform, "1001", "go");
	assert_true(world_settle(&w, 20000));
	const struct json *last = fake_model_request(w.model,
	    fake_model_calls(w.model) - 1);
	const char *text = json_get_str(json_at(last, json_len(last) - 1),
	    "content", "");
	struct json *res = json_parse(text, strlen(text), NULL);

	assert_non_null(res);
	return res;
}

static void
a_terminal_is_given_or_its_lack_is_said(void **state)
{
	static const struct {
		const char *args, *note;
		bool has, wants;
	} rows[] = {
		{ "{\"command\":\"top\",\"background\":true,\"pty\":true}", NULL,
		  true, true },
		{ "{\"command\":\"top\",\"background\":true,\"pty\":true}",
		  "no terminals", false, true },
		{ "{\"command\":\"top\",\"pty\":true}", "background: true", true,
		  false },
		{ "{\"command\":\"gh auth login --with-token\",\"background\":"
		  "true,\"pty\":true}", "from a pipe", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fake_sandbox.has_pty = rows[i].has;
		CLEANUP_JSON struct json *res = call(rows[i].args);
		const char *note = json_get_str(res, "pty_note", NULL);

		assert_int_equal(json_get_int(res, "exit_code", -1), 0);
		assert_int_equal(fake_sandbox.commands[fake_sandbox.n - 1].pty,
		    rows[i].wants);
		assert_int_equal(note != NULL, rows[i].note != NULL);
		if (note)
			assert_non_null(strstr(note, rows[i].note));
	}
}

/* The survey is made when the gateway starts, and prompts only read it. */
static void
the_prompt_waits_for_no_survey(void **state)
{
	(void)state;
	world_stop(&w);
	w.opts.survey = true;
	w.opts.hint = "The printer is upstairs.";
	fake_sandbox.warmed = 0;
	world_boot(&w);
	assert_int_equal(fake_sandbox.warmed, 1);
	for (int i = 0; i < 3; i++) {
		fake_say(w.platform, "1001", "hello");
		assert_true(world_settle(&w, 5000));
	}
	assert_int_equal(fake_sandbox.warmed, 1);
	assert_true(fake_sandbox.described >= 3);
	assert_int_equal(fake_sandbox.n, 0);
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 0);
	assert_non_null(strstr(text,
	    "a fake sandbox The printer is upstairs.\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_terminal_is_given_or_its_lack_is_said),
		T(the_prompt_waits_for_no_survey),
#undef T
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
