/* Background processes that are written to, and what they tell of their end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/procs.h"
#include "tests/conformance/harness.h"

static char *
start(const char *command, const char *const *watch)
{
	struct sandbox_cmd cmd = { .command = command, .background = true,
		.watch = watch };
	struct ran r;

	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_int_equal(r.code, 0);
	assert_non_null(r.process);
	char *id = mem_str(r.process);
	cf_done(&r);
	return id;
}

/* Until its output holds text. */
static void
until(const char *id, const char *text)
{
	for (int i = 0; i < REAL_LATE_MS / 10; i++) {
		struct json *j = procs_poll(cf.sb, &key_a, id);
		assert_non_null(j);
		bool there = strstr(json_get_str(j, "output", ""), text);
		json_free(&j);
		if (there)
			return;
		real_turn(&cf.real, 10);
	}
	fail_msg("%s never printed %s", id, text);
}

static bool
runs(const char *id)
{
	struct json *j = procs_poll(cf.sb, &key_a, id);
	bool is = strcmp(json_get_str(j, "status", ""), "running") == 0;

	json_free(&j);
	return is;
}

static void
until_exit(const char *id, int code)
{
	for (int i = 0; i < REAL_LATE_MS / 10; i++) {
		struct json *j = procs_poll(cf.sb, &key_a, id);
		bool ended = strcmp(json_get_str(j, "status", ""), "running") != 0;
		int got = (int)json_get_int(j, "exit_code", -1);
		json_free(&j);
		if (ended) {
			assert_int_equal(got, code);
			return;
		}
		real_turn(&cf.real, 10);
	}
	fail_msg("%s never ended", id);
}

static int
feed(const char *id, const void *data, size_t len, struct err *err)
{
	char *text = sandbox_key_text(&key_a);
	struct permit_terms terms = { .command = data, .command_len = len,
		.sandbox = text, .workdir = id,
		.isolation = sandbox_props(cf.sb, key_a.owner).isolation };
	struct permit *permit = permit_issue(&terms);

	mem_free(text);
	return procs_write(cf.sb, &key_a, id, data, len, 0, &permit, err);
}

static void
say(const char *id, const char *text)
{
	struct err err = { ERR_NONE, "" };

	if (feed(id, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void
a_running_program_reads_what_is_written(void **state)
{
	char *id = start("while read -r x; do echo \"got <$x>\"; done; echo end; "
	    "exit 4", NULL);
	struct err err;

	(void)state;
	say(id, "one\n");
	until(id, "got <one>");
	say(id, "tw");
	say(id, "o\nthree");
	until(id, "got <two>");
	assert_int_equal(procs_close(cf.sb, &key_b, id, &err), -1);
	assert_int_equal(procs_close(cf.sb, &key_a, id, &err), 0);
	until(id, "end");
	until_exit(id, 4);
	assert_int_equal(feed(id, "x", 1, &err), -1);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

static void
much_input_arrives_whole_or_is_refused(void **state)
{
	size_t len = 200 * 1024;
	char *bytes = mem_alloc(len + 1);
	char *id = start("sleep 1; wc -c; cat >/dev/null", NULL);
	char *deaf = start("exec sleep 60", NULL);
	struct err err = { ERR_NONE, "" };
	int rc = 0;

	(void)state;
	memset(bytes, 'x', len);
	assert_int_equal(feed(id, bytes, len, &err), 0);
	assert_int_equal(procs_close(cf.sb, &key_a, id, &err), 0);
	until(id, "204800");
	until_exit(id, 0);
	for (int i = 0; i < 10 && rc == 0; i++)
		rc = feed(deaf, bytes, len, &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERR_LIMIT);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(bytes);
	mem_free(id);
	mem_free(deaf);
}

static void
input_that_nobody_reads_any_more_is_refused(void **state)
{
	char *id = start("exec <&-; echo closed; sleep 60", NULL);
	struct err err = { ERR_NONE, "" };
	int rc = 0;

	(void)state;
	until(id, "closed");
	for (int i = 0; i < 500 && rc == 0; i++) {
		rc = feed(id, "x\n", 2, &err);
		real_turn(&cf.real, 10);
	}
	assert_int_equal(rc, -1);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

/* ---- what is told -------------------------------------------------------------------- */

static unsigned ends, matches;
static int code;
static char said[4096];

static void
on_process(void *arg, const struct process_event *ev)
{
	(void)arg;
	ends += ev->kind == PROCESS_ENDED;
	matches += ev->kind == PROCESS_MATCHED;
	code = ev->exit_code;
	assert_int_equal(mem_copy_str(said, sizeof(said), ev->output), 0);
}

static void
its_end_is_told_once_with_its_last_words(void **state)
{
	char *id;

	(void)state;
	ends = 0;
	sandboxes_on_process(cf.sb, on_process, NULL);
	id = start("echo first; (sleep 30 &) ; printf last; exit 5", NULL);
	until_exit(id, 5);
	real_turn(&cf.real, 500);
	assert_int_equal(ends, 1);
	assert_int_equal(code, 5);
	assert_string_equal(said, "first\nlast");
	sandbox_end_processes(cf.sb, &key_a);
	real_turn(&cf.real, 200);
	assert_int_equal(ends, 1);
	sandboxes_on_process(cf.sb, NULL, NULL);
	mem_free(id);
}

static void
a_watched_line_is_told_while_it_runs(void **state)
{
	static const char *const watch[] = { "listening", NULL };
	char *id;

	(void)state;
	matches = 0;
	sandboxes_on_process(cf.sb, on_process, NULL);
	id = start("echo boot; echo now listening on 1; sleep 60", watch);
	for (int i = 0; i < 2000 && !matches; i++)
		real_turn(&cf.real, 10);
	assert_int_equal(matches, 1);
	assert_string_equal(said, "now listening on 1\n");
	sandboxes_on_process(cf.sb, NULL, NULL);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

/* ---- terminals ------------------------------------------------------------------------ */

/* NULL: this backend has none, and the process has pipes instead. */
static char *
start_pty(const char *command)
{
	struct sandbox_cmd cmd = { .command = command, .background = true,
		.pty = true };
	struct ran r;

	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_non_null(r.process);
	char *id = r.pty ? mem_str(r.process) : NULL;
	cf_done(&r);
	if (!id)
		sandbox_end_processes(cf.sb, &key_a);
	return id;
}

static void
a_terminal_is_a_terminal(void **state)
{
	char *id = start_pty("tty; test -t 0 -a -t 1 -a -t 2 && echo all; "
	    "stty size; echo to-tty >/dev/tty; echo $TERM; read -r x; "
	    "echo \"<$x>\"; cat; echo end; exit 6");
	struct err err;

	(void)state;
	if (!id)
		skip();
	until(id, "/dev/pts/");
	until(id, "all\n30 120\nto-tty\nxterm\n");
	say(id, "typed\n");
	until(id, "<typed>");
	say(id, "line");
	assert_int_equal(procs_close(cf.sb, &key_a, id, &err), 0);
	until(id, "end");
	until_exit(id, 6);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

/* Ctrl-C is a signal for what runs in front, as in any terminal. */
static void
keys_are_signals(void **state)
{
	/* noflsh: a key that is a signal drops what was written just before. */
	char *id = start_pty("stty noflsh; trap 'echo caught' INT; echo ready; "
	    "sleep 600; echo after; exit 7");

	(void)state;
	if (!id)
		skip();
	until(id, "ready");
	/* One may come before the sleep that it is to end. */
	for (int i = 0; i < 600 && runs(id); i++) {
		struct err err;
		(void)feed(id, "\003", 1, &err);
		real_turn(&cf.real, 100);
	}
	until(id, "caught");
	until_exit(id, 7);
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

static void
a_terminal_dies_with_its_tree(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("trap '' HUP; (setsid sleep %s &); sleep %s",
	    mark, mark);
	char *id = start_pty(text);
	struct err err;

	(void)state;
	if (id) {
		for (int i = 0; i < 500 && real_count(mark) < 2; i++)
			real_turn(&cf.real, 10);
		assert_int_equal(procs_kill(cf.sb, &key_a, id, &err), 0);
		assert_true(cf_none_left(mark));
		sandbox_end_processes(cf.sb, &key_a);
	}
	mem_free(id);
	mem_free(text);
	if (!id)
		skip();
}

/* Nobody puts words into a terminal's input but who holds its other side. */
static void
nothing_is_typed_from_inside(void **state)
{
	char *id;

	(void)state;
	if (strcmp(cf.backend, "native") != 0)
		skip();		/* local isolates nothing; containers: the kernel's default */
	id = start_pty("if command -v perl >/dev/null; then perl -e "
	    "'$b=\"x\"; print ioctl(STDIN,0x5412,$b) ? \"typed\\n\" : "
	    "\"refused\\n\"'; else echo refused; fi");
	until(id, "refused");
	sandbox_end_processes(cf.sb, &key_a);
	mem_free(id);
}

void
input_add(void)
{
#define C(f) cf_case(#f, f, NULL)
	C(a_running_program_reads_what_is_written);
	C(much_input_arrives_whole_or_is_refused);
	C(input_that_nobody_reads_any_more_is_refused);
	C(its_end_is_told_once_with_its_last_words);
	C(a_watched_line_is_told_while_it_runs);
	C(a_terminal_is_a_terminal);
	C(keys_are_signals);
	C(a_terminal_dies_with_its_tree);
	C(nothing_is_typed_from_inside);
#undef C
}
