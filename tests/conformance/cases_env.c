/* What stays between commands, and directories. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/conformance/harness.h"

static void
exports_persist_and_plain_variables_do_not(void **state)
{
	(void)state;
	cf_expect("export KEPT='two words'; plain=1", "", 0);
	cf_expect("echo \"$KEPT|$plain\"", "two words|\n", 0);
	cf_expect("unset KEPT", "", 0);
	cf_expect("echo \"<$KEPT>\"", "<>\n", 0);
}

static void
any_value_survives(void **state)
{
	(void)state;
	cf_expect("export V=$'a\\nb\\t\\'\"$`\\\\ \\xff é\\x01'", "", 0);
	cf_expect("printf %s \"$V\" | od -An -tx1 | tr -d ' \\n'",
	    "610a6209272224605c20ff20c3a901", 0);
	cf_expect("unset V", "", 0);
}

static void
exports_survive_exit_and_failure(void **state)
{
	(void)state;
	cf_expect("export E1=a; exit 3", "", 3);
	cf_expect("set -e; export E2=b; false", "", 1);
	cf_expect("echo $E1$E2; unset E1 E2", "ab\n", 0);
}

static void
what_changes_later_commands_does_not_persist(void **state)
{
	(void)state;
	cf_expect("export PATH=/evil IFS=x LD_PRELOAD=/x.so BASH_ENV=/x ENV=/x "
	    "PS4=x PROMPT_COMMAND=x GIT_DIR=/x PYTHONSTARTUP=/x NODE_OPTIONS=x "
	    "HOME=/x; f() { :; }; export -f f 2>/dev/null", "", 0);
	cf_expect("echo \"$LD_PRELOAD$BASH_ENV$ENV$PROMPT_COMMAND$GIT_DIR"
	    "$PYTHONSTARTUP$NODE_OPTIONS\"; [ $HOME = /x ] || echo home; "
	    "ls /usr >/dev/null && echo path; declare -F f || echo none",
	    "\nhome\npath\nnone\n", 0);
}

static void
an_exported_array_does_not_spoil_the_rest(void **state)
{
	(void)state;
	cf_expect("declare -ax ARR=(1 '2 3'); export OTHER=kept", "", 0);
	cf_expect("echo $OTHER; unset OTHER", "kept\n", 0);
}

static void
the_directory_persists(void **state)
{
	struct ran r;

	(void)state;
	cf_run(&r, "cd /usr/bin");
	assert_string_equal(r.cwd, "/usr/bin");
	cf_done(&r);
	cf_expect("pwd; cd ..", "/usr/bin\n", 0);
	cf_expect("pwd; (cd /tmp)", "/usr\n", 0);
	cf_expect("pwd", "/usr\n", 0);
	sandbox_reset(cf.sb, &key_a);
}

static void
a_directory_that_is_gone_becomes_the_workspace(void **state)
{
	struct ran r;

	(void)state;
	cf_expect("mkdir -p \"$PWD/gone\" && cd gone", "", 0);
	cf_expect("rmdir \"$PWD\"", "", 0);
	cf_run(&r, "pwd");
	assert_int_equal(r.code, 0);
	assert_int_equal(strncmp(r.output, cf.props.workspace,
	    strlen(cf.props.workspace)), 0);
	assert_non_null(strstr(r.note, "no longer exists"));
	cf_done(&r);
	cf_run(&r, "pwd");
	assert_null(r.note);
	cf_done(&r);
}

static void
a_workdir_is_for_one_call(void **state)
{
	struct sandbox_cmd cmd = { .command = "pwd", .workdir = "/usr" };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_string_equal(r.output, "/usr\n");
	cf_done(&r);
	cf_run(&r, "pwd");
	assert_string_not_equal(r.output, "/usr\n");
	cf_done(&r);
}

static void
a_workdir_that_is_missing_is_126_and_nothing_runs(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo ran", .workdir = "/no/such" };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_int_equal(r.code, SANDBOX_EXIT_DIR);
	assert_string_equal(r.output, "");
	assert_false(r.started);
	assert_non_null(strstr(r.error, "/no/such"));
	cf_done(&r);
}

static void
a_workdir_that_quotes_is_refused(void **state)
{
	static const char *const bad[] = { "/tmp;id", "/tmp'", "$(id)", "/a\nb",
		"`id`", "/tmp|x", "/a*", "\xff" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct sandbox_cmd cmd = { .command = "id", .workdir = bad[i] };
		struct ran r;
		cf_begin(&r, &key_a, &cmd);
		cf_wait(&r);
		assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
		assert_false(r.started);
		cf_done(&r);
	}
}

static void
files_of_the_workspace_persist(void **state)
{
	(void)state;
	cf_expect("echo data >kept.txt", "", 0);
	cf_expect("cat kept.txt; rm kept.txt", "data\n", 0);
}

static void
a_reset_drops_environment_and_directory_not_files(void **state)
{
	(void)state;
	cf_expect("echo data >reset.txt; export R=1; cd /usr", "", 0);
	sandbox_reset(cf.sb, &key_a);
	cf_expect("echo \"<$R>\"; cat reset.txt; rm reset.txt", "<>\ndata\n", 0);
}

static void
two_sessions_do_not_share_environment_or_directory(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo \"<$MINE>\"; pwd" };
	struct ran r;

	(void)state;
	cf_expect("export MINE=1; cd /usr", "", 0);
	cf_begin(&r, &key_b, &cmd);
	cf_wait(&r);
	assert_int_equal(strncmp(r.output, "<>\n", 3), 0);
	assert_null(strstr(r.output, "/usr\n"));
	cf_done(&r);
	sandbox_reset(cf.sb, &key_a);
}

static void
two_sessions_do_not_see_each_others_files(void **state)
{
	struct sandbox_cmd cmd = { .command = "ls -a ~ / /tmp 2>/dev/null | grep -c only_mine" };
	struct ran r;

	(void)state;
	if (!(cf.props.isolation & SANDBOX_NO_HOST_FILES)) {
		fprintf(stderr, "SKIP: this backend isolates no files\n");
		skip();
	}
	cf_expect("touch ~/only_mine; touch /tmp/only_mine 2>/dev/null; true", "", 0);
	cf_begin(&r, &key_b, &cmd);
	cf_wait(&r);
	assert_string_equal(r.output, "0\n");
	cf_done(&r);
}

static void
login_files_are_read_once_as_data(void **state)
{
	struct ran r;

	(void)state;
	cf_run(&r, "[ -w ~ ] && echo yes");
	/* Where the gate decides, login files give no words (rules 4.2). */
	if (strcmp(r.output, "yes\n") != 0 ||
	    (cf.props.isolation & SANDBOX_ISOLATED) != SANDBOX_ISOLATED) {
		cf_done(&r);
		fprintf(stderr, "SKIP: the home directory is not the sandbox's, or "
		    "the gate asks, and words mean what they say\n");
		skip();
	}
	cf_done(&r);
	cf_expect("printf '%s\\n' 'echo noise' 'greet() { echo \"hi $1\"; }' "
	    "'alias twice=\"greet a; greet\"' 'export LOGIN=\"x y\"' "
	    ">~/.profile", "", 0);
	cf_expect("greet me 2>/dev/null", "", 127);
	cf_restart();
	cf_expect("twice b; echo $LOGIN", "hi a\nhi b\nx y\n", 0);
	/* Changed afterwards: no effect on this process's sandboxes. */
	cf_expect("echo 'greet() { echo evil; }' >~/.profile; "
	    "greet() { echo evil; }; alias twice=evil", "", 0);
	cf_expect("greet me; rm ~/.profile", "hi me\n", 0);
	cf_restart();
}

static void
any_bytes_are_a_command(void **state)
{
	char text[300];
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	memcpy(text, "printf %s '", 11);
	size_t n = 11;
	for (int c = 1; c < 256; c++) {
		if (c != '\'')
			text[n++] = (char)c;
	}
	text[n++] = '\'';
	cmd.command_len = n;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_int_equal(r.raw[0].len, 254);
	assert_memory_equal(r.raw[0].data, text + 11, 254);
	cf_done(&r);
}

static void
a_long_command_runs(void **state)
{
	size_t n = 600 * 1024;
	char *text = mem_alloc(n + 1);
	struct ran r;

	(void)state;
	memset(text, 'x', n);
	memcpy(text, "a=", 2);
	memcpy(text + n - 12, "; echo ${#a}", 12);
	cf_run(&r, text);
	assert_string_equal(r.output, "614386\n");
	cf_done(&r);
	mem_free(text);
}

static void
nul_and_nothing_are_refused(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo\0x", .command_len = 6 };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_false(r.started);
	cf_done(&r);
	cf_run(&r, "");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	cf_done(&r);
}

static void
input_arrives_whole(void **state)
{
	size_t n = 3 << 20;
	char *input = mem_alloc(n);
	struct sandbox_cmd cmd = { .command = "wc -c; cat", .input = input,
		.input_len = n };
	struct ran r;

	(void)state;
	memset(input, 'i', n);
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	if (r.error)
		fail_msg("%s", r.error);
	assert_string_equal(r.output, "3145728\n");
	cf_done(&r);
	mem_free(input);
}

static void
permits_are_needed_and_used_once(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo ran", .command_len = 8 };
	struct sandbox_cmd other = { .command = "echo no", .command_len = 7 };
	struct ran r;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct permit *p = i ? cf_permit(i == 3 ? &key_b : &key_a,
		    i == 1 ? &other : &cmd) : NULL;
		struct sandbox_cmd now = cmd;
		now.generation = i == 2 ? 5 : 0;
		/* none; of other bytes; of another run; of another sandbox */
		cf_begin_with(&r, &now, &p);
		assert_null(p);
		cf_wait(&r);
		assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
		assert_false(r.started);
		assert_non_null(strstr(r.error, "not run"));
		cf_done(&r);
	}
	assert_int_equal(permit_live(), 0);
}

static void
what_it_offers_is_described(void **state)
{
	const char *about = "";

	(void)state;
	sandboxes_warm(cf.sb);
	for (int i = 0; i < 1500 && !strstr(about, "System:"); i++) {
		real_turn(&cf.real, 10);
		about = sandbox_describe(cf.sb, SANDBOX_MESSAGING);
	}
	assert_non_null(strstr(about, "System:"));
	/* Where each sandbox has a home of its own, the line names none. */
	if (!cf.props.host_paths)
		assert_non_null(strstr(about, cf.props.home ? cf.props.home :
		    cf.props.workspace));
	assert_true(strlen(about) < 2000);
}

void
env_add(void)
{
#define CASE(name) cf_case(#name, name, NULL)
	CASE(exports_persist_and_plain_variables_do_not);
	CASE(any_value_survives);
	CASE(exports_survive_exit_and_failure);
	CASE(what_changes_later_commands_does_not_persist);
	CASE(an_exported_array_does_not_spoil_the_rest);
	CASE(the_directory_persists);
	CASE(a_directory_that_is_gone_becomes_the_workspace);
	CASE(a_workdir_is_for_one_call);
	CASE(a_workdir_that_is_missing_is_126_and_nothing_runs);
	CASE(a_workdir_that_quotes_is_refused);
	CASE(files_of_the_workspace_persist);
	CASE(a_reset_drops_environment_and_directory_not_files);
	CASE(two_sessions_do_not_share_environment_or_directory);
	CASE(two_sessions_do_not_see_each_others_files);
	CASE(login_files_are_read_once_as_data);
	CASE(any_bytes_are_a_command);
	CASE(a_long_command_runs);
	CASE(nul_and_nothing_are_refused);
	CASE(input_arrives_whole);
	CASE(permits_are_needed_and_used_once);
	CASE(what_it_offers_is_described);
#undef CASE
}
