/* Time-outs, cancelling, what is left behind, background, lifetime, the end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/backend.h"
#include "sandbox/procs.h"
#include "tests/conformance/harness.h"

static void
a_time_out_ends_the_tree_and_keeps_the_output(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("echo before; sleep %s & setsid sleep %s & "
	    "sleep %s", mark, mark, mark);
	struct sandbox_cmd cmd = { .command = text, .timeout_ms = 1000 };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_int_equal(r.code, SANDBOX_EXIT_TIMEOUT);
	assert_string_equal(r.output, "before\n[Command timed out after 1s]");
	assert_true(r.started && !r.lost);
	assert_true(cf_none_left(mark));
	cf_done(&r);
	mem_free(text);
	cf_expect("echo again", "again\n", 0);
}

static void
deaf_processes_are_killed_too(void **state)
{
	struct sandbox_cmd cmd = { .timeout_ms = 500,
		.command = "trap '' TERM INT HUP; while :; do sleep 1; done" };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_int_equal(r.code, SANDBOX_EXIT_TIMEOUT);
	cf_done(&r);
}

/* The child that every kill must reach: double fork, own session, no pipes. */
#define DAEMON "(setsid bash -c 'sleep %s </dev/null >/dev/null 2>&1 & " \
	"setsid sleep %s </dev/null >/dev/null 2>&1 &' &)"

static void
cancelled_after(msec_t ms)
{
	const char *mark = cf_mark();
	char *text = mem_printf(DAEMON "; sleep %s & sleep %s", mark, mark, mark,
	    mark);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	cf_begin(&r, &key_a, &cmd);
	if (ms >= 0)
		real_turn(&cf.real, ms);
	op_cancel(&r.op);
	assert_false(r.done);
	cf_expect("echo after", "after\n", 0);	/* waits until all is dead */
	assert_int_equal(real_count(mark), 0);
	assert_false(r.done);
	cf_done(&r);
	mem_free(text);
}

static void
cancelled_at_once_nothing_runs(void **state)
{
	(void)state;
	cancelled_after(-1);
}

static void
cancelled_at_any_moment_all_is_dead(void **state)
{
	(void)state;
	for (msec_t ms = 0; ms < 24; ms += ms < 8 ? 1 : 4)
		cancelled_after(ms);
	cancelled_after(300);
}

static void
a_tree_of_200_dies(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("for i in {1..190}; do sleep %s & done; "
	    "echo ready; wait", mark);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "ready");
	for (int i = 0; i < 500 && real_count(mark) < 190; i++)
		real_turn(&cf.real, 10);
	assert_true(real_count(mark) >= 190);
	op_cancel(&r.op);
	cf_expect("echo after", "after\n", 0);
	assert_int_equal(real_count(mark), 0);
	cf_done(&r);
	mem_free(text);
}

static void
cancelled_at_the_end_it_is_quiet(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo done" };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "done");
	bool done = r.done;
	op_cancel(&r.op);
	real_turn(&cf.real, 100);
	assert_int_equal(r.done, done);
	cf_done(&r);
	cf_expect("echo after", "after\n", 0);
}

/* Each must return at once, say what it ended, and leave nothing. */
static void
what_is_left_behind_is_ended_and_said(void **state)
{
	static const char *const forms[] = {
		"sleep %s & echo ok",
		"(sleep %s &); echo ok",
		"setsid sleep %s & echo ok",
		"nohup sleep %s >/dev/null 2>&1 & echo ok",
		"sleep %s </dev/null >/dev/null & echo ok",
		"sleep %s & disown; echo ok",
		"coproc sleep %s; echo ok",
		"(setsid bash -c 'setsid sleep %s & ' &); sleep 0.2; echo ok",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const char *mark = cf_mark();
		char text[200];
		struct ran r;
		const char *at = strstr(forms[i], "%s");
		assert_int_equal(mem_format(text, sizeof(text), "%.*s%s%s",
		    (int)(at - forms[i]), forms[i], mark, at + 2), 0);
		msec_t start = loop_now(cf.real.loop);
		cf_run(&r, text);
		assert_true(loop_now(cf.real.loop) - start < 5000);
		assert_int_equal(r.code, 0);
		assert_non_null(strstr(r.output, "ok\n"));
		if (!r.note || !strstr(r.note, "background: true"))
			fail_msg("%s: note %s", text, r.note ? r.note : "none");
		cf_done(&r);
		assert_true(cf_none_left(mark));
	}
}

static void
commands_in_parallel_each_get_their_own(void **state)
{
	struct sandbox_cmd first = { .command = "export P=first; sleep 0.5; echo 1" };
	struct sandbox_cmd second = { .command = "export P=second; echo 2" };
	struct ran a, b;

	(void)state;
	cf_expect("unset P", "", 0);
	cf_begin(&a, &key_a, &first);
	cf_begin(&b, &key_a, &second);
	cf_wait(&b);
	assert_false(a.done);
	assert_string_equal(b.output, "2\n");
	assert_non_null(strstr(b.note, "not kept"));
	cf_wait(&a);
	assert_string_equal(a.output, "1\n");
	if (a.note)
		fail_msg("%s", a.note);
	cf_done(&a);
	cf_done(&b);
	cf_expect("echo $P; unset P", "first\n", 0);
}

static void
twenty_at_once(void **state)
{
	struct sandbox_cmd cmd = { .command = "sleep 0.1; echo $$ | wc -l" };
	struct ran r[20];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(r); i++)
		cf_begin(&r[i], i % 2 ? &key_a : &key_b, &cmd);
	for (size_t i = 0; i < ARRAY_LEN(r); i++) {
		cf_wait(&r[i]);
		if (strcmp(r[i].output, "1\n") != 0)
			fail_msg("%zu: %d \"%s\" %s", i, r[i].code, r[i].output,
			    r[i].error ? r[i].error : "");
		cf_done(&r[i]);
	}
}

/* ---- background ------------------------------------------------------------------- */

static char *
background(const char *command)
{
	struct sandbox_cmd cmd = { .command = command, .background = true };
	struct ran r;

	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	if (!r.process)
		fail_msg("%s", r.error ? r.error : "?");
	assert_int_equal(r.code, 0);
	assert_true(r.started);
	char *id = mem_str(r.process);
	cf_done(&r);
	return id;
}

static bool
is_running(const char *id)
{
	struct json *j = procs_poll(cf.sb, &key_a, id);

	assert_non_null(j);
	bool running = strcmp(json_get_str(j, "status", ""), "running") == 0;
	json_free(&j);
	return running;
}

static void
until_ended(const char *id)
{
	for (int i = 0; i < 1000 && is_running(id); i++)
		real_turn(&cf.real, 10);
	assert_false(is_running(id));
}

static void
a_background_process_outlives_its_command(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("echo up; sleep %s", mark);
	char *id = background(text);
	struct sandbox_cmd cmd = { .command = "sleep 30" };
	struct ran r;
	struct json *j;

	(void)state;
	cf_expect("echo between", "between\n", 0);
	cf_begin(&r, &key_a, &cmd);
	real_turn(&cf.real, 50);
	op_cancel(&r.op);
	cf_done(&r);
	cf_expect("echo after", "after\n", 0);
	assert_true(is_running(id));
	assert_true(real_count(mark) >= 1);
	j = sandbox_processes(cf.sb, &key_a);
	assert_int_equal(json_len(j), 1);
	assert_string_equal(json_get_str(json_at(j, 0), "output_preview", ""), "up\n");
	json_free(&j);
	j = sandbox_processes(cf.sb, &key_b);
	assert_int_equal(json_len(j), 0);
	json_free(&j);
	assert_null(procs_poll(cf.sb, &key_b, id));
	sandbox_end_processes(cf.sb, &key_a);
	assert_true(cf_none_left(mark));
	j = sandbox_processes(cf.sb, &key_a);
	assert_int_equal(json_len(j), 0);
	json_free(&j);
	mem_free(id);
	mem_free(text);
}

static void
a_background_process_ends_with_its_code(void **state)
{
	char *id = background("seq 1 5; exit 3");
	struct json *j;

	(void)state;
	until_ended(id);
	j = procs_poll(cf.sb, &key_a, id);
	assert_int_equal(json_get_int(j, "exit_code", -1), 3);
	assert_string_equal(json_get_str(j, "completion_reason", ""), "exited");
	json_free(&j);
	j = procs_log(cf.sb, &key_a, id, 1, 2);
	assert_string_equal(json_get_str(j, "output", ""), "2\n3\n");
	assert_int_equal(json_get_int(j, "total_lines", 0), 5);
	json_free(&j);
	j = procs_log(cf.sb, &key_a, id, -1, 2);
	assert_string_equal(json_get_str(j, "output", ""), "4\n5\n");
	json_free(&j);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

static void
a_background_process_can_be_killed_whole(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf(DAEMON "; sleep %s", mark, mark, mark);
	char *id = background(text);
	struct json *j;
	struct err err;

	(void)state;
	for (int i = 0; i < 500 && real_count(mark) < 3; i++)
		real_turn(&cf.real, 10);
	assert_int_equal(procs_kill(cf.sb, &key_b, id, &err), -1);
	assert_int_equal(procs_kill(cf.sb, &key_a, id, &err), 0);
	until_ended(id);
	assert_int_equal(real_count(mark), 0);
	j = procs_poll(cf.sb, &key_a, id);
	assert_string_equal(json_get_str(j, "completion_reason", ""), "killed");
	json_free(&j);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
	mem_free(text);
}

static void
children_of_a_background_shell_may_stay(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("sleep %s & echo started", mark);
	char *id = background(text);

	(void)state;
	until_ended(id);
	struct json *j = procs_poll(cf.sb, &key_a, id);
	assert_non_null(strstr(json_get_str(j, "note", ""), "still runs"));
	json_free(&j);
	for (int i = 0; i < 500 && real_count(mark) < 1; i++)
		real_turn(&cf.real, 10);
	assert_true(real_count(mark) >= 1);
	sandbox_end_processes(cf.sb, &key_a);
	assert_true(cf_none_left(mark));
	mem_free(id);
	mem_free(text);
}

static void
background_output_is_bounded(void **state)
{
	char *id = background("yes | head -c 3000000; echo end");
	struct json *j;

	(void)state;
	until_ended(id);
	j = procs_log(cf.sb, &key_a, id, -1, 1);
	assert_string_equal(json_get_str(j, "output", ""), "end\n");
	assert_true(json_get_int(j, "total_lines", 0) <= PROCS_BUFFER_MAX);
	json_free(&j);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

/* ---- lifetime ------------------------------------------------------------------------ */

static void
idle_it_is_torn_down_and_comes_back_with_its_things(void **state)
{
	(void)state;
	cf.opts.lifetime_ms = 300;
	cf_restart();
	cf_expect("export L=kept; echo f >life.txt; cd /usr", "", 0);
	real_turn(&cf.real, 1000);
	cf_expect("echo $L; pwd; unset L", "kept\n/usr\n", 0);
	sandbox_reset(cf.sb, &key_a);
	cf_expect("cat life.txt; rm life.txt", "f\n", 0);
	cf.opts.lifetime_ms = 0;
	cf_restart();
}

static void
not_while_a_background_process_runs(void **state)
{
	(void)state;
	cf.opts.lifetime_ms = 200;
	cf_restart();
	char *id = background("sleep 1.2; echo through");
	until_ended(id);
	struct json *j = procs_poll(cf.sb, &key_a, id);
	assert_string_equal(json_get_str(j, "output", ""), "through\n");
	json_free(&j);
	mem_free(id);
	cf.opts.lifetime_ms = 0;
	cf_restart();
}

static void
closing_ends_everything(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("sleep %s", mark);
	char *id = background(text);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_b, &cmd);
	real_turn(&cf.real, 300);
	op_cancel(&r.op);
	cf_close();
	assert_int_equal(real_count(mark), 0);
	cf_done(&r);
	cf_restart();
	cf_expect("echo new", "new\n", 0);
	mem_free(id);
	mem_free(text);
}

/* Not a child of it: it goes on, and so do later ones. */
static void
without_the_launcher_it_goes_on(const char *text, const char *mark)
{
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	kill(launcher_pid(cf.real.launcher), SIGKILL);
	cf_expect("echo yes", "yes\n", 0);
	assert_false(r.done);
	cf_done(&r);
	cf_expect("echo yes", "yes\n", 0);
	assert_int_equal(real_count(mark), 0);
}

/* The last case: nothing can be started afterwards. */
static void
without_the_launcher_it_is_lost_then_refused(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("echo up; sleep %s", mark);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	if (backend_find(cf.backend)->flags & BACKEND_SURVIVES) {
		without_the_launcher_it_goes_on(text, mark);
		mem_free(text);
		return;
	}
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	kill(launcher_pid(cf.real.launcher), SIGKILL);
	cf_wait(&r);
	/* Either its end was still seen, or that is what is not known. */
	if (r.code == 128 + SIGKILL)
		assert_non_null(strstr(r.note, "signal 9"));
	else
		assert_true(r.lost && r.code == -1 && r.error);
	cf_done(&r);
	assert_true(cf_none_left(mark));
	cf_run(&r, "echo no");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_false(r.started);
	assert_string_equal(r.output, "");
	cf_done(&r);
	mem_free(text);
}

void
life_add(void)
{
#define CASE(name) cf_case(#name, name, NULL)
	CASE(a_time_out_ends_the_tree_and_keeps_the_output);
	CASE(deaf_processes_are_killed_too);
	CASE(cancelled_at_once_nothing_runs);
	CASE(cancelled_at_any_moment_all_is_dead);
	CASE(a_tree_of_200_dies);
	CASE(cancelled_at_the_end_it_is_quiet);
	CASE(what_is_left_behind_is_ended_and_said);
	CASE(commands_in_parallel_each_get_their_own);
	CASE(twenty_at_once);
	CASE(a_background_process_outlives_its_command);
	CASE(a_background_process_ends_with_its_code);
	CASE(a_background_process_can_be_killed_whole);
	CASE(children_of_a_background_shell_may_stay);
	CASE(background_output_is_bounded);
	CASE(idle_it_is_torn_down_and_comes_back_with_its_things);
	CASE(not_while_a_background_process_runs);
	CASE(closing_ends_everything);
	CASE(without_the_launcher_it_is_lost_then_refused);
#undef CASE
}
