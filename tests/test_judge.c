/* Scripts, input and commands pass one gate; what counts follows properties. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gate/judge.h"

static const struct gate_req host = {
	.dir = "/home/user/workspace", .workdir = "", .sandbox = "s",
	.props = { .backend = "local", .network = "host",
	    .workspace = "/home/user/workspace", .home = "/home/user" },
};

static enum gate_level
judged(const struct gate_req *req, const struct gate_opts *opts,
    struct judgement *ret)
{
	static const struct gate_opts none;

	judge_request(opts ? opts : &none, req, ret);
	return ret->level;
}

static enum gate_level
level(const struct gate_req *req)
{
	struct judgement j;
	enum gate_level got = judged(req, NULL, &j);

	judgement_done(&j);
	return got;
}

static struct gate_req
command(const char *text)
{
	struct gate_req req = host;

	req.command = text;
	req.command_len = strlen(text);
	return req;
}

static struct gate_req
input(const char *program, const char *bytes)
{
	struct gate_req req = command(bytes);

	req.act = GATE_INPUT;
	req.program = program;
	req.workdir = "proc_1";
	return req;
}

/* Pieces add up: "rm -r" and " x" are nothing each. */
static void
a_program_that_obeys_its_input_asks_for_each_piece(void **state)
{
	static const char *const obey[] = { "bash", "python3 -i", "sudo su",
		"env X=1 sh", "./tool", "ssh h.example", "psql", "cat; bash", "awk -f -" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(obey); i++) {
		struct gate_req req = input(obey[i], "x\n");

		if (level(&req) != GATE_ASK)
			fprintf(stderr, "# not asked: %s\n", obey[i]);
		assert_int_equal(level(&req), GATE_ASK);
	}
	struct gate_req never = input("bash", "mkfs.ext4 /dev/sda1\n");
	struct gate_req data = input("cat", "mkfs.ext4 /dev/sda1\n");

	assert_int_equal(level(&never), GATE_NEVER);
	assert_int_equal(level(&data), GATE_ALLOW);
	never.props.isolation = SANDBOX_ISOLATED;
	assert_int_equal(level(&never), GATE_NEVER);
}

static void
standard_input_of_a_command_is_judged_like_later_input(void **state)
{
	(void)state;
	struct gate_req shell = command("bash"), data = command("cat");

	shell.input = data.input = "x\n";
	shell.input_len = data.input_len = 2;
	assert_int_equal(level(&shell), GATE_ASK);
	assert_int_equal(level(&data), GATE_ALLOW);
}

/* Rules 4.1: of real properties, never of a name. */
static void
what_counts_follows_the_properties(void **state)
{
	static const char send[] = "scp a u@h.example:";
	struct gate_req files = command("rm -r x"), net = command(send);

	(void)state;
	assert_int_equal(level(&files), GATE_ASK);
	files.props.backend = net.props.backend = "native";
	assert_int_equal(level(&files), GATE_ASK);
	files.props.isolation = net.props.isolation =
	    SANDBOX_ISOLATED & ~(uint32_t)SANDBOX_NO_NETWORK;
	assert_int_equal(level(&files), GATE_ALLOW);
	assert_int_equal(level(&net), GATE_ASK);
	net.props.isolation = SANDBOX_ISOLATED;
	assert_int_equal(level(&net), GATE_ALLOW);
	net.props.isolation &= ~(uint32_t)SANDBOX_NO_CREDENTIALS;
	assert_int_equal(level(&net), GATE_ASK);
	files.props.isolation = SANDBOX_ISOLATED &
	    ~(uint32_t)SANDBOX_NO_HOST_FILES;
	assert_int_equal(level(&files), GATE_ASK);
}

/* Rules 4.5 */
static void
our_own_processes_are_out_of_reach(void **state)
{
	static const long pids[] = { 4711, 4712 };
	const struct gate_opts opts = { .pids = pids, .npids = 2,
		.state_dir = "/home/user/.gatehouse" };
	struct gate_req kill = command("kill 4712");
	struct gate_req read = command("cat ~/.gatehouse/config.yaml");
	struct judgement j;

	(void)state;
	assert_int_equal(judged(&kill, &opts, &j), GATE_NEVER);
	judgement_done(&j);
	assert_int_equal(judged(&read, &opts, &j), GATE_NEVER);
	judgement_done(&j);
}

static void
script_files_are_named(void **state)
{
	struct gate_req req = command("cd sub; bash ./a.sh; python3 ../b.py; "
	    "./c; bash ./a.sh");
	struct judgement j;

	(void)state;
	judged(&req, NULL, &j);
	assert_int_equal(j.nscripts, 3);
	assert_string_equal(j.scripts[0], "/home/user/workspace/sub/a.sh");
	assert_string_equal(j.scripts[1], "/home/user/workspace/b.py");
	assert_string_equal(j.scripts[2], "/home/user/workspace/sub/c");
	judgement_done(&j);
}

static void
what_is_severe_is_never_stored(void **state)
{
	static const struct {
		const char *command;
		bool severe, stored;
	} rows[] = {
		{ "rm -r x", false, true }, { "cat ~/.ssh/id_rsa", true, false },
		{ "ls; rm -r x", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct gate_req req = command(rows[i].command);
		struct judgement j;

		judged(&req, NULL, &j);
		assert_int_equal(j.severe, rows[i].severe);
		assert_int_equal(j.always != NULL, rows[i].stored);
		assert_true(j.nkeys > 0);
		judgement_done(&j);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_program_that_obeys_its_input_asks_for_each_piece),
		cmocka_unit_test(
		    standard_input_of_a_command_is_judged_like_later_input),
		cmocka_unit_test(what_counts_follows_the_properties),
		cmocka_unit_test(our_own_processes_are_out_of_reach),
		cmocka_unit_test(script_files_are_named),
		cmocka_unit_test(what_is_severe_is_never_stored),
	};

	return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
