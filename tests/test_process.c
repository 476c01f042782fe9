/* The tool `process` over the shared half and a backend on the hand-moved clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "gateway/agent/tool.h"
#include "sandbox/procs.h"
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
	static const char *const actions[] = { "poll", "log", "wait",
		"kill", "write", "submit", "close" };

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

static struct permit *
input_permit(const char *id, const char *data)
{
	char *text CLEANUP_FREE = sandbox_key_text(&env.sandbox);
	struct permit_terms terms = { .command = data,
		.command_len = strlen(data), .sandbox = text, .workdir = id,
		.isolation =
		sandbox_props(env.sandboxes, env.sandbox.owner).isolation };

	return permit_issue(&terms);
}

static void
only_what_was_permitted_is_written(void **state)
{
	struct permit *permit;
	struct err err;

	(void)state;
	fake.plan.run_ms = 1;
	mem_free(background());		/* warm */
	fake.plan.run_ms = -1;
	char *id = background();
	permit = input_permit(id, "yes\n");
	assert_int_equal(procs_write(env.sandboxes, &env.sandbox, id, "yes\n", 4,
	    0, &permit, &err), 0);
	assert_string_equal(fake.input, "yes\n");
	permit = input_permit(id, "yes\n");
	assert_int_equal(procs_write(env.sandboxes, &env.sandbox, id, "no\n", 3,
	    0, &permit, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	permit = input_permit("proc_other", "yes\n");
	assert_int_equal(procs_write(env.sandboxes, &env.sandbox, id, "yes\n", 4,
	    0, &permit, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	permit = NULL;
	assert_int_equal(procs_write(env.sandboxes, &env.sandbox, id, "yes\n", 4,
	    0, &permit, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	fake.input_max = 4;
	permit = input_permit(id, "yes\n");
	assert_int_equal(procs_write(env.sandboxes, &env.sandbox, id, "yes\n", 4,
	    0, &permit, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_string_equal(fake.input, "yes\n");
	fake.input_max = 0;
	call("close", id);
	assert_string_equal(status(), "ok");
	assert_string_equal(fake.input, "yes\n\004");
	call("kill", id);
	sim_advance(loop, 100);
	permit = input_permit(id, "yes\n");
	assert_int_equal(procs_write(env.sandboxes, &env.sandbox, id, "yes\n", 4,
	    0, &permit, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	call("close", id);
	assert_string_equal(status(), "already_exited");
	assert_int_equal(permit_live(), 0);
	mem_free(id);
}

static unsigned told, told_end;
static char told_text[4096];

static void
on_event(void *arg, const struct process_event *ev)
{
	(void)arg;
	told++;
	told_end += ev->kind == PROCESS_ENDED;
	assert_int_equal(mem_copy_str(told_text, sizeof(told_text),
	    ev->output), 0);
}

static void
its_end_is_told_once_unless_it_was_killed(void **state)
{
	(void)state;
	fake.plan.run_ms = 1;
	mem_free(background());		/* warm */
	told = told_end = 0;
	sandboxes_on_process(env.sandboxes, on_event, NULL);
	fake.plan.run_ms = 50;
	fake.plan.dead_ms = 500;	/* what it started lives on */
	char *id = background();
	assert_int_equal(told_end, 1);
	assert_string_equal(told_text, "out\n");
	call("poll", id);
	assert_string_equal(status(), "exited");
	assert_non_null(strstr(json_get_str(answer, "note", ""), "still runs"));
	sim_advance(loop, 1000);
	assert_int_equal(told, 1);
	mem_free(id);
	fake.plan.run_ms = -1;
	id = background();
	call("kill", id);
	sim_advance(loop, 1000);
	assert_int_equal(told, 1);
	mem_free(id);
	fake.plan.dead_code = ERR_LOST;
	fake.plan.run_ms = 10;
	mem_free(background());
	assert_int_equal(told_end, 2);
	sandboxes_on_process(env.sandboxes, NULL, NULL);
}

static void
what_is_watched_for_is_told_masked(void **state)
{
	static const char *const watch[] = { "token", NULL };
	struct sandbox_cmd cmd = { .command = "serve", .command_len = 5,
		.background = true, .watch = watch };
	char *key CLEANUP_FREE = sandbox_key_text(&env.sandbox), *id = NULL;
	struct permit_terms terms = { .command = "serve", .command_len = 5,
		.sandbox = key, .background = true, .isolation =
		sandbox_props(env.sandboxes, env.sandbox.owner).isolation };

	(void)state;
	told = 0;
	fake.plan.run_ms = 1;
	mem_free(background());		/* warm */
	sandboxes_on_process(env.sandboxes, on_event, NULL);
	fake.plan.run_ms = -1;
	terms.isolation = sandbox_props(env.sandboxes, SANDBOX_MESSAGING).isolation;
	struct permit *permit = permit_issue(&terms);
	sandbox_run(env.sandboxes, &env.sandbox, &cmd, &permit, NULL, on_started,
	    &id);
	sim_advance(loop, 100);
	fake_print("nothing\nthe token=Zk39fQ2mB7xW1p\n");
	assert_int_equal(told, 1);
	assert_string_equal(told_text, "the token=[redacted]\n");
	fake_print("token again\n");
	assert_int_equal(told, 1);
	sim_advance(loop, 15000);
	fake_print("token later\n");
	assert_int_equal(told, 2);
	assert_string_equal(told_text, "token later\n");
	sandboxes_on_process(env.sandboxes, NULL, NULL);
	mem_free(id);
}

/* Wherever a secret is cut by the pieces of a stream or the end of what is shown. */
static void
no_secret_is_seen_in_pieces(void **state)
{
	static const char secret[] = "Zk39fQ2mB7xW1pL8vR4tY6";
	char filler[1400];

	(void)state;
	redact_add_secret(secret);
	fake.plan.run_ms = 1;
	mem_free(background());		/* warm */
	fake.plan.run_ms = -1;
	fake.plan.output = NULL;
	char *id = background();
	memset(filler, 'x', sizeof(filler));
	for (size_t n = 0; n < 1100; n += n < 60 || n > 940 ? 1 : 37) {
		size_t cut = n % sizeof(secret);
		char *head = mem_strn(secret, cut);
		fake_print("\n");
		fake_print(head);
		fake_print(secret + cut);
		filler[n] = 0;
		fake_print(filler);
		filler[n] = 'x';
		call("poll", id);
		const char *output = json_get_str(answer, "output", "");
		for (size_t i = 0; i + 8 < sizeof(secret); i++) {
			char *part = mem_strn(secret + i, 8);
			if (strstr(output, part))
				fail_msg("%s with %zu behind it", part, n);
			mem_free(part);
		}
		mem_free(head);
	}
	call("log", id);
	assert_non_null(strstr(json_get_str(answer, "output", ""), "[redacted]"));
	mem_free(id);
	redact_clear();
}

static void
nonsense_lets_the_model_correct_itself(void **state)
{
	(void)state;
	call("paint", "proc_1");
	assert_true(bad_input);
	assert_string_equal(status(), "error");
	call("write", "proc_1");
	assert_string_equal(status(), "not_found");
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
		T(only_what_was_permitted_is_written),
		T(its_end_is_told_once_unless_it_was_killed),
		T(what_is_watched_for_is_told_masked),
		T(no_secret_is_seen_in_pieces),
		T(nonsense_lets_the_model_correct_itself),
#undef T
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
