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

struct bad {
	const char *tool, *args, *want;
	size_t huge;		/* in place of HUGE: so many letters */
};

static char *
bad_args(const struct bad *b)
{
	const char *at = strstr(b->args, "HUGE");

	if (!at)
		return mem_str(b->args);
	CLEANUP_FREE char *letters = mem_alloc(b->huge + 1);

	memset(letters, 'x', b->huge);
	return mem_printf("%.*s%s%s", (int)(at - b->args), b->args, letters,
	    at + 4);
}

/* Which bug: a model that erred can't see what to change, or the run is lost. */
static void
each_wrong_call_says_what_to_change(void **state)
{
	static const struct bad rows[] = {
		{ "terminal", "", "'command' is missing", 0 },
		{ "terminal", "{\"command\":", "no valid JSON", 0 },
		{ "terminal", "[\"ls\"]", "must be one JSON object", 0 },
		{ "terminal", "{\"command\":7}", "must be of type string", 0 },
		{ "terminal", "{\"command\":\"ls\",\"timeout\":\"soon\"}",
		  "'timeout' must be of type integer", 0 },
		{ "terminal", "{\"command\":\"ls\",\"timeout\":6000}", "600", 0 },
		{ "terminal", "{\"command\":\"HUGE\"}", "script file", (1 << 20) + 1 },
		{ "read_file", "{}", "'path' is missing", 0 },
		{ "read_file", "{\"path\":[\"a\"]}", "must be of type string", 0 },
		{ "read_file", "{\"path\":\"\"}", "path is empty", 0 },
		{ "read_file", "{\"path\":\"a\",\"offset\":\"x\"}",
		  "'offset' must be of type integer", 0 },
		{ "read_file", "{\"path\":\"HUGE\"}", "path is too long", 5000 },
		{ "write_file", "{\"path\":\"a\"}", "'content' is missing", 0 },
		{ "write_file", "{\"path\":\"a\",\"content\":{}}",
		  "'content' must be of type string", 0 },
		{ "write_file", "{\"path\":\"a\",\"content\":\"HUGE\"}",
		  "in pieces", 5 << 20 },
		{ "write_file", "{\"path\":\"a\",\"content\":\"1|a\\n2|b\\n\"}",
		  "line numbers", 0 },
		{ "patch", "{}", "needs path, old_string and new_string", 0 },
		{ "patch", "{\"mode\":\"sed\"}", "'mode' must be one of", 0 },
		{ "patch", "{\"mode\":\"patch\"}", "needs the member patch", 0 },
		{ "patch", "{\"patch\":\"*** Frobnicate: a\\n\"}", "line 1", 0 },
		{ "patch", "{\"patch\":\"*** Delete File: ../a\\n\"}", "..", 0 },
		{ "patch", "{\"patch\":\"HUGE\"}", "in pieces", (1 << 20) + 1 },
		{ "search_files", "{}", "'pattern' is missing", 0 },
		{ "search_files", "{\"pattern\":\"\"}", "pattern is empty", 0 },
		{ "search_files", "{\"pattern\":\"a\",\"target\":\"web\"}",
		  "'target' must be one of", 0 },
		{ "search_files", "{\"pattern\":\"a\",\"offset\":-1}",
		  "offset must be", 0 },
		{ "search_files", "{\"pattern\":\"HUGE\"}", "too long", 70000 },
		{ "execute_code", "{}", "'code' is missing", 0 },
		{ "execute_code", "{\"code\":[1]}", "must be of type string", 0 },
		{ "execute_code", "{\"code\":\" \\n\"}", "code is empty", 0 },
		{ "execute_code", "{\"code\":\"x\",\"language\":\"perl\"}",
		  "'language' must be one of", 0 },
		{ "execute_code", "{\"code\":\"HUGE\"}", "write_file", 100000 },
		{ "process", "{}", "'action' is missing", 0 },
		{ "process", "{\"action\":\"dance\"}", "'action' must be one of", 0 },
		{ "process", "{\"action\":\"poll\"}", "use action list", 0 },
		{ "web_search", "{}", "there is no tool named 'web_search'", 0 },
	};
	struct world w;

	(void)state;
	boot(&w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *args = bad_args(&rows[i]), *text = NULL;

		script(&w, rows[i].tool, args);
		ask_once(&w);
		text = told(&w);
		if (!strstr(text, rows[i].want))
			fail_msg("%s %.60s: \"%s\" is not in: %s", rows[i].tool,
			    args, rows[i].want, text);
		/* the next question begins anew */
		fake_say(w.platform, "1001", "/new");
		assert_true(world_settle(&w, 20000));
	}
	assert_int_equal(fake_sandbox.n, 0);
	assert_false(fake_saw(w.platform, "1001", "wrong tool calls"));
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
		cmocka_unit_test(each_wrong_call_says_what_to_change),
		cmocka_unit_test(three_wrong_calls_end_in_plain_words),
		cmocka_unit_test(a_new_message_cancels_a_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
