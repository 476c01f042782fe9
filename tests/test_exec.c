#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/exec.h"
#include "sandbox/giveback.h"
#include "sandbox/shell.h"

/* One wrapper text run by a real shell, the way a backend runs it. */
struct ran {
	int status;
	struct buf out;		/* stdout and stderr */
	struct buf back;	/* raw give-back */
	struct giveback gb;
};

static char dir[64];

static void
child(const char *shell, int script, int out, int back)
{
	const char *env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "KEPT=1",
		NULL, NULL };
	char home[80];
	union { const char **in; char *const *out; } e = { env };
	int bash = strcmp(shell, "/bin/bash") == 0;
	static const char *const with_stub[] = { SHELL_ARGV };
	static const char *const plain[] = { "sh", "/dev/fd/4", NULL };
	union { const char *const *in; char *const *out; } argv = {
		bash ? with_stub : plain };

	if (mem_format(home, sizeof(home), "HOME=%s", dir) < 0)
		_exit(97);
	env[3] = home;
	int s = fcntl(script, F_DUPFD, 20), o = fcntl(out, F_DUPFD, 20);
	int b = fcntl(back, F_DUPFD, 20), null = open("/dev/null", O_RDONLY);
	if (dup2(null, 0) < 0 || dup2(o, 1) < 0 || dup2(o, 2) < 0 ||
	    dup2(b, 3) < 0 || dup2(s, 4) < 0)
		_exit(99);
	for (int i = 5; i < 256; i++)
		close(i);
	execve(shell, argv.out, e.out);
	_exit(98);
}

static void
run_text(struct ran *r, const char *shell, const struct buf *text, bool snapshot)
{
	char name[] = "/tmp/exec-test-XXXXXX";
	int script = memfd_create("script", MFD_CLOEXEC), back[2];
	int out = mkstemp(name);
	char chunk[65536];
	ssize_t n;

	assert_true(script >= 0 && out >= 0);
	unlink(name);
	assert_int_equal(write(script, text->data, text->len), text->len);
	lseek(script, 0, SEEK_SET);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		child(shell, script, out, back[1]);
	close(back[1]);
	buf_init(&r->back, 1 << 20);
	while ((n = read(back[0], chunk, sizeof(chunk))) > 0)
		buf_add(&r->back, chunk, (size_t)n);
	waitpid(pid, &r->status, 0);
	close(back[0]);
	close(script);
	buf_init(&r->out, 1 << 20);
	lseek(out, 0, SEEK_SET);
	while ((n = read(out, chunk, sizeof(chunk))) > 0)
		buf_add(&r->out, chunk, (size_t)n);
	close(out);
	giveback_parse(&r->gb, r->back.data, r->back.len, snapshot);
}

static void
done(struct ran *r)
{
	buf_done(&r->out);
	buf_done(&r->back);
	giveback_done(&r->gb);
}

static void
run_opts(struct ran *r, const char *shell, struct exec_text *t,
	const char *command, size_t len)
{
	struct buf text;

	buf_init(&text, 4 << 20);
	t->command = command;
	t->command_len = len;
	if (!t->dir)
		t->dir = dir;
	t->bash = strcmp(shell, "/bin/bash") == 0;
	t->give_back = true;
	assert_true(exec_wrap(&text, t));
	run_text(r, shell, &text, false);
	buf_done(&text);
}

static void
run(struct ran *r, const char *command)
{
	struct exec_text t = { 0 };

	run_opts(r, "/bin/bash", &t, command, strlen(command));
}

static int
code(const struct ran *r)
{
	return WIFEXITED(r->status) ? WEXITSTATUS(r->status) :
	    128 + WTERMSIG(r->status);
}

/* What `bash -c` says is what the wrapper must say. */
static void
exit_codes_are_those_of_bash_c(void **state)
{
	static const char *const commands[] = {
		"true", "false", "exit 3", "(exit 4)", "set -e; false; echo no",
		"set -u; echo $nope; echo x", "echo 'a", "echo \"a", "nosuchcommand", "/etc/passwd",
		"kill -9 $$", "kill -TERM $$", "true &", "sleep 0 & wait $!; exit 7", "exec false",
		"exec sh -c 'exit 9'", "cat <<X\nhi\nX", "cat <<X\nno end",
		"false | true", "set -o pipefail; false | true", "! true",
		"if", "}", "$(exit 5)", "trap 'exit 6' EXIT; true", "",
		"return 3", "exit 256", "exit nope", "set -n; false",
		"trap 'echo bye' EXIT; exit 2", "# only words", "\\",
		"exec nosuchcommand", "set -x; false", "builtin false", "'", "$((",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		struct ran r;
		pid_t pid = fork();
		int status, null = -1;
		if (pid == 0) {
			null = open("/dev/null", O_RDWR);
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
			execl("/bin/bash", "bash", "-c", commands[i], NULL);
			_exit(98);
		}
		waitpid(pid, &status, 0);
		run(&r, commands[i]);
		if (r.status != status)
			fprintf(stderr, "%s: %x, bash -c: %x\n%s", commands[i],
			    r.status, status, r.out.data);
		assert_int_equal(r.status, status);
		done(&r);
	}
}

static void
exports_and_directory_come_back_however_it_ends(void **state)
{
	static const char *const ends[] = { "true", "exit 3", "set -e; false",
		"set -x; exit 1", "set -u; echo $nope", "false", "sleep 0 &",
		"trap 'true' EXIT; true", "exec 10>&1; exec 3>&1; true",
		"set -o posix; true", "IFS=/; set -f; true" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct ran r;
		char *cmd = mem_printf("export GIVEN='a\nb'\"'\\$\"; plain=1; "
		    "cd /usr; %s", ends[i]);
		run(&r, cmd);
		if (!r.gb.whole || !r.gb.has_exports)
			fprintf(stderr, "after %s: %s\n", cmd, r.back.data);
		assert_true(r.gb.whole);
		assert_string_equal(r.gb.dir, "/usr");
		assert_string_equal(vars_get(&r.gb.exports, "GIVEN"), "a\nb'$");
		assert_string_equal(vars_get(&r.gb.exports, "KEPT"), "1");
		assert_null(vars_get(&r.gb.exports, "plain"));
		assert_null(vars_get(&r.gb.exports, "PATH"));
		mem_free(cmd);
		done(&r);
	}
}

static void
nothing_of_the_wrapper_shows(void **state)
{
	struct ran r;

	(void)state;
	run(&r, "set -x; true");
	assert_string_equal(r.out.data, "+++ true\n");
	done(&r);
	run(&r, "set; declare -F; alias; jobs");
	assert_null(strstr(r.out.data, "gh_"));
	assert_null(strstr(r.out.data, "\nREPLY="));
	done(&r);
	run(&r, "echo one\nnosuch_word");
	assert_non_null(strstr(r.out.data, "bash: line 2: nosuch_word"));
	done(&r);
}

static void
children_get_three_descriptors(void **state)
{
	struct ran r;

	(void)state;
	/* 3 is ls's own, of the directory. */
	run(&r, "ls /proc/self/fd");
	assert_string_equal(r.out.data, "0\n1\n2\n3\n");
	done(&r);
	run(&r, "trap 'ls /proc/self/fd' EXIT; exit 0");
	assert_string_equal(r.out.data, "0\n1\n2\n3\n");
	done(&r);
}

static void
any_bytes_are_a_command(void **state)
{
	char all[400], *want;
	size_t n = 0;
	struct exec_text t = { 0 };
	struct ran r;

	(void)state;
	memcpy(all, "printf %s '", 11);
	n = 11;
	for (int c = 1; c < 256; c++) {
		if (c != '\'')
			all[n++] = (char)c;
	}
	all[n++] = '\'';
	run_opts(&r, "/bin/bash", &t, all, n);
	assert_int_equal(r.out.len, 254);
	want = mem_strn(all + 11, 254);
	assert_memory_equal(r.out.data, want, 254);
	mem_free(want);
	done(&r);
}

static void
a_directory_that_is_missing(void **state)
{
	struct exec_text t = { .dir = "/no/such dir" };
	struct ran r;

	(void)state;
	run_opts(&r, "/bin/bash", &t, "echo ran", 8);
	assert_int_equal(code(&r), 126);
	assert_true(r.gb.dir_refused);
	assert_int_equal(r.out.len, 0);
	done(&r);
	t.fallback = "/usr";
	run_opts(&r, "/bin/bash", &t, "pwd", 3);
	assert_int_equal(code(&r), 0);
	assert_true(r.gb.dir_gone && !r.gb.dir_refused);
	assert_string_equal(r.out.data, "/usr\n");
	assert_string_equal(r.gb.dir, "/usr");
	done(&r);
	t.fallback = "/neither";
	run_opts(&r, "/bin/bash", &t, "echo ran", 8);
	assert_int_equal(code(&r), 126);
	assert_true(r.gb.dir_refused);
	done(&r);
}

static void
put(const char *name, const char *text)
{
	char *path = mem_printf("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	mem_free(path);
}

static void
the_snapshot_is_restored(void **state)
{
	struct buf text;
	struct ran snap, r;

	(void)state;
	put(".bash_profile", "echo noise; echo more >&2\n"
	    "hello() {\n\techo \"it's $1\"\n}\n"
	    "alias greet='hello you' 'two=echo \"a b\"'\n"
	    "export FROM_LOGIN='x y' PATH=$PATH:/opt/extra LD_AUDIT=x\n"
	    "set -e\nfalse\nexport NOT=reached\n");
	buf_init(&text, 65536);
	assert_true(exec_snapshot(&text));
	run_text(&snap, "/bin/bash", &text, true);
	buf_done(&text);
	assert_int_equal(snap.out.len, 0);
	assert_true(snap.gb.whole && !snap.gb.not_bash);
	assert_string_equal(vars_get(&snap.gb.exports, "FROM_LOGIN"), "x y");
	assert_non_null(strstr(vars_get(&snap.gb.exports, "PATH"), "/opt/extra"));
	assert_null(vars_get(&snap.gb.exports, "NOT"));
	assert_null(vars_get(&snap.gb.exports, "LD_AUDIT"));

	struct exec_text t = { .functions = snap.gb.functions,
		.aliases = snap.gb.aliases };
	const char *cmd = "hello me; greet; two; nosuch";
	run_opts(&r, "/bin/bash", &t, cmd, strlen(cmd));
	assert_non_null(strstr(r.out.data, "it's me\nit's you\na b\n"));
	assert_non_null(strstr(r.out.data, "bash: line 1: nosuch"));
	done(&r);
	done(&snap);
	put(".bash_profile", "");
}

static void
a_shell_without_bash_does_less_but_works(void **state)
{
	struct buf text;
	struct exec_text t = { 0 };
	struct ran r;

	(void)state;
	if (access("/bin/dash", X_OK) < 0)
		skip();
	buf_init(&text, 65536);
	assert_true(exec_snapshot(&text));
	run_text(&r, "/bin/dash", &text, true);
	buf_done(&text);
	assert_true(r.gb.whole && r.gb.not_bash && r.gb.has_exports);
	done(&r);
	const char *cmd = "export A=\"it's\"; cd /usr; echo hi; (exit 5)";
	run_opts(&r, "/bin/dash", &t, cmd, strlen(cmd));
	assert_int_equal(code(&r), 5);
	assert_string_equal(r.out.data, "hi\n");
	assert_string_equal(r.gb.dir, "/usr");
	assert_string_equal(vars_get(&r.gb.exports, "A"), "it's");
	done(&r);
	run_opts(&r, "/bin/dash", &t, "exit 3", 6);
	assert_int_equal(code(&r), 3);
	done(&r);
	t.dir = "/no/such";
	run_opts(&r, "/bin/dash", &t, "echo ran", 8);
	assert_int_equal(code(&r), 126);
	assert_true(r.gb.dir_refused);
	done(&r);
}

static void
too_many_exports_are_not_kept_and_said(void **state)
{
	struct ran r;

	(void)state;
	run(&r, "export BIG=$(printf '%070000d' 1); cd /usr");
	assert_false(r.gb.has_exports);
	assert_non_null(r.gb.note);
	assert_string_equal(r.gb.dir, "/usr");
	done(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes_are_those_of_bash_c),
		cmocka_unit_test(exports_and_directory_come_back_however_it_ends),
		cmocka_unit_test(nothing_of_the_wrapper_shows),
		cmocka_unit_test(children_get_three_descriptors),
		cmocka_unit_test(any_bytes_are_a_command),
		cmocka_unit_test(a_directory_that_is_missing),
		cmocka_unit_test(the_snapshot_is_restored),
		cmocka_unit_test(a_shell_without_bash_does_less_but_works),
		cmocka_unit_test(too_many_exports_are_not_kept_and_said),
	};
	if (mem_copy_str(dir, sizeof(dir), "/tmp/exec-home-XXXXXX") < 0)
		return 1;
	if (!mkdtemp(dir))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	char *path = mem_printf("%s/.bash_profile", dir);
	unlink(path);
	mem_free(path);
	rmdir(dir);
	return rc;
}
