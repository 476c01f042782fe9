/* The tool `process` over the shared half and a backend on the hand-moved clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/tool.h"
#include "tests/fake_backend.h"
#include "tests/loop_sim.h"
#include "tests/tmpdir.h"

static struct loop *loop;
static struct tool_env env;
static struct json *answer;
static bool bad_input;

static void
on_done(void *arg, const struct tool_result *res)
{
	(void)arg;
	assert_null(answer);
	answer = json_parse(res->result, strlen(res->result), NULL);
	assert_non_null(answer);
	bad_input = res->bad_input;
}

static struct op *
begin(const char *args)
{
	struct json *j = json_parse(args, strlen(args), NULL);
	struct op *op;

	assert_non_null(j);
	json_free(&answer);
	op = tool_find("process")->call(&env, "call_1", j, on_done, NULL);
	assert_null(answer);
	json_free(&j);
	return op;
}

static void
call(const char *action, const char *id)
{
	char *args = mem_printf("{\"action\":\"%s\",\"session_id\":\"%s\"}",
	    action, id);

	(void)begin(args);
	sim_advance(loop, 10);
	assert_non_null(answer);
	mem_free(args);
}

static const char *
status(void)
{
	return json_get_str(answer, "status", "");
}

static void
on_started(void *arg, const struct sandbox_result *res)
{
	char **id = arg;

	assert_int_equal(res->exit_code, 0);
	*id = mem_str(res->process_id);
}

static char *
background(void)
{
	char *key CLEANUP_FREE = sandbox_key_text(&env.sandbox), *id = NULL;
	struct sandbox_cmd cmd = { .command = "serve", .command_len = 5,
		.background = true };
	struct permit_terms terms = { .command = "serve", .command_len = 5,
		.sandbox = key, .background = true, .isolation =
		sandbox_props(env.sandboxes, env.sandbox.owner).isolation };
	struct permit *permit = permit_issue(&terms);

	sandbox_run(env.sandboxes, &env.sandbox, &cmd, &permit, NULL, on_started,
	    &id);
	sim_advance(loop, 100);
	assert_non_null(id);
	return id;
}

static int
setup(void **state)
{
	struct sandbox_opts opts = { .messaging_backend = "fake",
		.console_backend = "fake", .state_dir = tmpdir_make(),
		.instance_id = "test", .timeout_ms = 60000, .output_max = 1000 };

	(void)state;
	fake_reset();
	loop = loop_sim_new(1);
	env = (struct tool_env){ .loop = loop,
		.sandboxes = sandboxes_new(loop, NULL, NULL, &opts, NULL),
		.sandbox = { "main", "chat:1", SANDBOX_MESSAGING } };
	return 0;
}

static void
on_closed(void *arg)
{
	(void)arg;
}

static int
teardown(void **state)
{
	(void)state;
	json_free(&answer);
	sandboxes_close(env.sandboxes, on_closed, NULL);
	sim_advance(loop, 11000);
	sandboxes_free(&env.sandboxes);
	assert_int_equal(op_live(), 0);
	loop_free(&loop);
	tmpdir_remove();
	return 0;
}

static void
a_process_is_listed_polled_and_killed(void **state)
{
	(void)state;
	fake.plan.run_ms = 1;
	mem_free(background());		/* warm */
	fake.plan.run_ms = -1;
	char *id = background();
	call("list", "");
	assert_int_equal(json_len(json_get(answer, "processes")), 2);
	call("poll", id);
	assert_string_equal(status(), "running");
	assert_string_equal(json_get_str(answer, "output", ""), "out\n");
	call("log", id);
	assert_string_equal(json_get_str(answer, "output", ""), "out\n");
	call("kill", id);
	assert_string_equal(status(), "killed");
	sim_advance(loop, 100);
	assert_int_equal(fake.procs, 0);
	call("kill", id);
	assert_string_equal(status(), "already_exited");
	call("poll", id);
	assert_string_equal(json_get_str(answer, "completion_reason", ""), "killed");
	mem_free(id);
}

static void
wait_ends_with_the_process_or_with_its_time(void **state)
{
	(void)state;
	fake.plan.run_ms = 1;
	mem_free(background());
	fake.plan.run_ms = 30000;
	fake.plan.status = 3 << 8;
	char *id = background();
	char *args = mem_printf("{\"action\":\"wait\",\"session_id\":\"%s\","
	    "\"timeout\":10}", id);
	(void)begin(args);
	sim_advance(loop, 9900);
	assert_null(answer);
	sim_advance(loop, 700);
	assert_string_equal(status(), "timeout");
	struct op *op = begin(args);
	sim_advance(loop, 5000);
	op_cancel(&op);				/* a new message */
	(void)begin(args);
	sim_advance(loop, 9000);
	assert_null(answer);
	sim_advance(loop, 1500);
	assert_string_equal(status(), "timeout");
	(void)begin(args);
	sim_advance(loop, 6000);
	assert_string_equal(status(), "exited");
	assert_int_equal(json_get_int(answer, "exit_code", -1), 3);
	mem_free(args);
	mem_free(id);
}

static void
nobody_reaches_another_sessions_process(void **state)
{
	static const char *const actions[] = { "poll", "log", "wait", "kill" };

	(void)state;
	fake.plan.run_ms = 1;
	mem_free(background());
	fake.plan.run_ms = -1;
	char *id = background();
	env.sandbox.scope = "chat:2";
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		call(actions[i], id);
		assert_string_equal(status(), "not_found");
		assert_false(bad_input);
	}
	call("list", "");
	assert_int_equal(json_len(json_get(answer, "processes")), 0);
	assert_int_equal(fake.procs, 1);
	mem_free(id);
}

static void
nonsense_lets_the_model_correct_itself(void **state)
{
	(void)state;
	call("write", "proc_1");
	assert_true(bad_input);
	assert_string_equal(status(), "error");
	call("poll", "");
	assert_string_equal(status(), "not_found");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_process_is_listed_polled_and_killed),
		T(wait_ends_with_the_process_or_with_its_time),
		T(nobody_reaches_another_sessions_process),
		T(nonsense_lets_the_model_correct_itself),
#undef T
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
