/* The stand-in: what it says, and that it keeps the op contract. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/model.h"
#include "tests/loop_sim.h"

struct said {
	struct loop *loop;
	struct model *model;
	struct op *op;
	struct buf streamed;
	char *text, *command;
	char *tool, *args;	/* of its call */
	int done;
	bool cancel;
};

static void
on_text(void *arg, const char *text, size_t len)
{
	struct said *s = arg;

	buf_add(&s->streamed, text, len);
	if (s->cancel)
		op_cancel(&s->op);
}

static void
on_done(void *arg, const struct model_result *res)
{
	struct said *s = arg;

	s->op = NULL;
	s->done++;
	assert_int_equal(res->error, MODEL_ERR_NONE);
	assert_int_equal(res->finish, res->ncalls ? FINISH_TOOLS : FINISH_STOP);
	s->text = mem_str(res->text);
	assert_string_equal(s->streamed.data, s->text);
	if (res->ncalls == 0)
		return;
	s->tool = mem_str(res->calls[0].name);
	s->args = mem_str(res->calls[0].arguments);
	assert_true(strlen(res->calls[0].id) > 10);
	CLEANUP_JSON struct json *args = json_parse(res->calls[0].arguments,
	    strlen(res->calls[0].arguments), NULL);

	s->command = mem_str(json_get_str(args, "command", NULL));
}

static void
forget(struct said *s)
{
	mem_free(STEAL(s->text));
	mem_free(STEAL(s->command));
	mem_free(STEAL(s->tool));
	mem_free(STEAL(s->args));
	buf_clear(&s->streamed);
	s->done = 0;
}

static struct json *
message(const char *role, const char *content)
{
	return json_set_str(json_set_str(json_object(), "role", role),
	    "content", content);
}

/* system, a user message and, if not NULL, a result of the call it led to. */
static void
ask(struct said *s, const char *text, const char *result, bool terminal)
{
	CLEANUP_JSON struct json *messages = json_array();
	CLEANUP_JSON struct json *tools = json_array();
	static const char *const names[] = { "terminal", "execute_code",
		"read_file" };

	json_add_take(messages, message("system",
	    "S\nCommands cannot run at present: no kernel\nT"));
	json_add_take(messages, message("user", text));
	if (result)
		json_add_take(messages, message("tool", result));
	for (size_t i = 0; terminal && i < ARRAY_LEN(names); i++)
		json_add_take(tools, json_set_take(json_object(), "function",
		    json_set_str(json_object(), "name", names[i])));
	forget(s);
	s->op = model_call(s->model, &(struct model_req){ .messages = messages,
		.tools = tools, .on_text = on_text }, on_done, s);
	assert_int_equal(s->done, 0);
	sim_run_until_idle(s->loop);
}

static int
setup(void **state)
{
	struct said *s = mem_alloc(sizeof(*s));

	s->loop = loop_new();
	s->model = demo_new(s->loop);
	assert_true(s->model->is_demo);
	buf_init(&s->streamed, 1 << 20);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct said *s = *state;

	forget(s);
	buf_done(&s->streamed);
	model_free(&s->model);
	assert_int_equal(op_live(), 0);
	loop_free(&s->loop);
	mem_free(s);
	return 0;
}

static void
it_says_what_it_is_and_how_to_connect_a_real_one(void **state)
{
	struct said *s = *state;

	ask(s, "hello, who are you?", NULL, true);
	assert_int_equal(s->done, 1);
	assert_null(s->command);
	assert_non_null(strstr(s->text, "stand-in"));
	assert_non_null(strstr(s->text, "OPENROUTER_API_KEY"));
	assert_non_null(strstr(s->text, "OPENAI_API_KEY"));
	assert_non_null(strstr(s->text, "base_url"));
}

static void
run_becomes_a_terminal_call(void **state)
{
	struct said *s = *state;
	static const struct { const char *text, *command; } t[] = {
		{ "run uname -a; id; ls /", "uname -a; id; ls /" },
		{ "Run  ls\n", "ls" }, { "`run ls`", "ls" },
		{ "run echo `date`", "echo `date`" },
		{ "run cat <<E\na\nE", "cat <<E\na\nE" },
		{ "run sleep 9\n\nrun id", "id" },
		{ "what?\n\nrun id", "id" },
		{ "please do\nrun id", "id" },
		{ "run sleep 9\n\nstop that", NULL },
		{ "run ", NULL }, { "run", NULL }, { "rune x", NULL }, { "", NULL },
		{ "\n\n", NULL }, { "x\n\n", NULL }, { "run \n\n", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		ask(s, t[i].text, NULL, true);
		if (!t[i].command != !s->command ||
		    (s->command && strcmp(s->command, t[i].command) != 0))
			fail_msg("'%s': '%s'", t[i].text,
			    s->command ? s->command : "(none)");
	}
	ask(s, "run ls", NULL, false);
	assert_null(s->command);
	assert_non_null(strstr(s->text, "no terminal. Commands cannot run at "
	    "present: no kernel"));
	assert_null(strstr(s->text, "T"));
}

static void
other_tools_are_called_too(void **state)
{
	struct said *s = *state;
	static const struct { const char *text, *tool, *args; } t[] = {
		{ "run ls", "terminal", "{\"command\":\"ls\"}" },
		{ "python print(1)\nprint(2)", "execute_code",
		  "{\"code\":\"print(1)\\nprint(2)\"}" },
		{ "call read_file {\"path\": \"a\"}", "read_file",
		  " {\"path\": \"a\"}" },
		{ "`call read_file{\"path\":7}`", "read_file", "{\"path\":7}" },
		{ "call read_file", "read_file", "" },
		{ "call rm {}", NULL, "no rm." }, { "call", NULL, "stand-in" },
		{ "call {}", NULL, "no ." },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		ask(s, t[i].text, NULL, true);
		if (t[i].tool) {
			assert_non_null(s->tool);
			assert_string_equal(s->tool, t[i].tool);
			assert_string_equal(s->args, t[i].args);
		} else if (s->tool || !strstr(s->text, t[i].args)) {
			fail_msg("'%s': %s", t[i].text, s->text);
		}
	}
}

static void
results_of_every_kind_are_shown(void **state)
{
	struct said *s = *state;
	static const struct { const char *result, *word, *absent; } t[] = {
		{ "{\"output\":\"Linux\\n\",\"exit_code\":0,\"error\":null}",
		    "```\nLinux\n```\nexit code 0\n", "cancel" },
		{ "{\"output\":\"\",\"exit_code\":3,\"error\":null}",
		    "printed nothing.\nexit code 3", "```" },
		{ "{\"output\":\"a ``` b\",\"exit_code\":0}",
		    "````\na ``` b\n````\n", NULL },
		{ "{\"output\":\"\",\"exit_code\":-1,\"error\":\"not approved\","
		    "\"status\":\"blocked\"}", "not run: not approved", "printed" },
		{ "{\"output\":\"x\",\"exit_code\":124,\"error\":null}",
		    "time limit", NULL },
		{ "{\"output\":\"x\",\"exit_code\":130,\"error\":null}",
		    "cancelled", NULL },
		{ "outcome unknown: look first", "outcome unknown", "exit code" },
		{ "{}", "not run", NULL },
		{ "{\"content\":\"1|a\\n\",\"total_lines\":1}", "```\n1|a\n```\n",
		  "total_lines" },
		{ "{\"status\":\"error\",\"output\":\"x\\n\",\"tool_calls_made\":0,"
		  "\"error\":\"exit code 1\"}", "```\nx\n```\nexit code 1\n", "status" },
		{ "{\"success\":true,\"diff\":\"d\"}", "\"success\":\ttrue", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		ask(s, "run x", t[i].result, true);
		if (!strstr(s->text, t[i].word) ||
		    (t[i].absent && strstr(s->text, t[i].absent)))
			fail_msg("%zu: %s", i, s->text);
		assert_null(s->command);
	}
}

static void
long_output_is_shown_in_part(void **state)
{
	struct said *s = *state;
	CLEANUP_FREE char *result = mem_printf(
	    "{\"output\":\"%05000d\",\"exit_code\":0}", 1);

	ask(s, "run x", result, true);
	assert_true(strlen(s->text) < 3200);
	assert_non_null(strstr(s->text, "(2000 more bytes)"));
}

static void
cancel_ends_it_before_and_inside_the_text(void **state)
{
	struct said *s = *state;
	CLEANUP_JSON struct json *messages = json_array();

	json_add_take(messages, message("user", "hi"));
	s->op = model_call(s->model, &(struct model_req){ .messages = messages,
		.on_text = on_text }, on_done, s);
	op_cancel(&s->op);
	sim_run_until_idle(s->loop);
	assert_int_equal(s->done, 0);
	assert_int_equal(s->streamed.len, 0);
	s->cancel = true;
	ask(s, "hi", NULL, true);
	assert_int_equal(s->done, 0);
	assert_true(s->streamed.len > 0);
	assert_null(s->op);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(it_says_what_it_is_and_how_to_connect_a_real_one),
		TEST(run_becomes_a_terminal_call),
		TEST(other_tools_are_called_too),
		TEST(results_of_every_kind_are_shown),
		TEST(long_output_is_shown_in_part),
		TEST(cancel_ends_it_before_and_inside_the_text),
	};

	return cmocka_run_group_tests_name("demo", tests, NULL, NULL);
}
