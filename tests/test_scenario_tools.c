/* Tools other than terminal, called through whole runs. */
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
script(struct world *w, const char *tool, const char *args)
{
	fake_model_script(w->model, &(struct fake_answer){ .tool = tool,
		.call = args });
}

static void
boot(struct world *w)
{
	world_init(w, 1);
	world_boot(w);
}

/* What the model was told last. */
static char *
told(struct world *w)
{
	return fake_model_request_text(w->model, fake_model_calls(w->model) - 1);
}

static void
a_file_goes_there_and_back(void **state)
{
	struct world w;

	(void)state;
	boot(&w);
	script(&w, "write_file", "{\"path\":\"a/b.txt\",\"content\":\"one\\n\"}");
	script(&w, "read_file", "{\"path\":\"/workspace/a/b.txt\"}");
	fake_model_script(w.model, &(struct fake_answer){ .text = "done" });
	fake_say(w.platform, "1001", "do it");
	assert_true(world_settle(&w, 20000));
	CLEANUP_FREE char *text = told(&w);

	assert_non_null(strstr(text, "\"bytes_written\":4"));
	assert_non_null(strstr(text, "1|one"));
	assert_true(fake_saw(w.platform, "1001", "done"));
	world_done(&w);
}

/* Which bug: the whole of a huge result in every later request. */
static void
a_large_result_is_put_aside(void **state)
{
	struct world w;
	CLEANUP_FREE char *big = mem_alloc(120001);
	CLEANUP_FREE char *args = NULL;

	(void)state;
	memset(big, 'x', 120000);
	args = mem_printf("{\"command\":\"%s\"}", big);
	boot(&w);
	script(&w, "terminal", args);
	fake_model_script(w.model, &(struct fake_answer){ .text = "done" });
	fake_say(w.platform, "1001", "do it");
	assert_true(world_settle(&w, 20000));
	const struct json *m, *last = NULL;

	for (m = json_first(fake_model_request(w.model,
	    fake_model_calls(w.model) - 1)); m; m = json_next(m))
		if (strcmp(json_get_str(m, "role", ""), "tool") == 0)
			last = m;
	const char *content = json_get_str(last, "content", "");

	assert_true(strlen(content) < 3000);
	assert_non_null(strstr(content, "xxxx"));
	assert_non_null(strstr(content, "\"full_output_path\":"
	    "\"/tmp/gatehouse-results/"));
	assert_non_null(strstr(content, "\"exit_code\":0"));
	assert_int_equal(fake_sandbox.n, 2);
	assert_non_null(strstr(fake_sandbox.commands[1].text,
	    "cat > '/tmp/gatehouse-results/"));
	world_done(&w);
}

static void
ask_once(struct world *w)
{
	fake_model_script(w->model, &(struct fake_answer){ .text = "done" });
	fake_say(w->platform, "1001", "do it");
	assert_true(world_settle(w, 20000));
}

/* Which bug: a model is offered what its sandbox can't do, and tries it. */
static void
only_what_the_sandbox_can_do_is_offered(void **state)
{
	struct world w;

	(void)state;
	boot(&w);
	ask_once(&w);
	assert_string_equal(fake_model_tools(w.model), "terminal execute_code "
	    "patch process read_file search_files write_file ");
	fake_sandbox.unable = SANDBOX_SCRIPTS;
	ask_once(&w);
	assert_string_equal(fake_model_tools(w.model), "terminal patch process "
	    "read_file search_files write_file ");
	fake_sandbox.unable = SANDBOX_COMMANDS;
	ask_once(&w);
	assert_string_equal(fake_model_tools(w.model), "");
	fake_sandbox.unable = 0;	/* it works again */
	ask_once(&w);
	assert_non_null(strstr(fake_model_tools(w.model), "terminal "));
	world_done(&w);
}

static void
three_wrong_calls_end_in_plain_words(void **state)
{
	struct world w;

	(void)state;
	boot(&w);
	script(&w, "write_file", "{\"path\":\"a\"}");
	script(&w, "patch", "{\"path\":7,\"old_string\":[]}");
	script(&w, "execute_code", "{\"code\":\"  \"}");
	fake_say(w.platform, "1001", "do it");
	assert_true(world_settle(&w, 20000));
	assert_true(fake_saw(w.platform, "1001", "three wrong tool calls"));
	CLEANUP_FREE char *text = told(&w);

	assert_non_null(strstr(text, "'content' is missing"));
	assert_int_equal(fake_sandbox.n, 0);
	world_done(&w);
}

/* A file tool that a new message meets in the middle leaves no op behind. */
static void
a_new_message_cancels_a_write(void **state)
{
	(void)state;
	for (msec_t at = 0; at < 12; at++) {
		struct world w;

		boot(&w);
		script(&w, "write_file", "{\"path\":\"a\",\"content\":\"x\"}");
		fake_say(w.platform, "1001", "write");
		world_pass(&w, at);
		fake_model_script(w.model, &(struct fake_answer){ .text = "ok" });
		fake_say(w.platform, "1001", "stop that");
		fake_model_script(w.model, &(struct fake_answer){ .text = "ok" });
		assert_true(world_settle(&w, 20000));
		world_done(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_goes_there_and_back),
		cmocka_unit_test(a_large_result_is_put_aside),
		cmocka_unit_test(only_what_the_sandbox_can_do_is_offered),
		cmocka_unit_test(three_wrong_calls_end_in_plain_words),
		cmocka_unit_test(a_new_message_cancels_a_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
