/* The file tools, as the model calls them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/conformance/tools.h"

static void
a_file_is_written_and_read(void **state)
{
	(void)state;
	tw_start();
	tw_call("write_file", tw_args("path", "t1/a.txt", "content",
	    "one\ntwo\nthree\n", NULL));
	assert_int_equal(json_get_int(tw.result, "bytes_written", -1), 14);
	assert_true(json_get_bool(tw.result, "dirs_created", false));
	assert_string_equal(tw_str("resolved_path"), tw_path("t1/a.txt"));
	assert_int_equal(tw.phase, TOOL_RUNNING);
	assert_string_equal(tw_shell("cat t1/a.txt; stat -c %a t1/a.txt"),
	    "one\ntwo\nthree\n644\n");
	tw_call("read_file", tw_args("path", tw_path("t1/a.txt"), NULL));
	assert_string_equal(tw_str("content"), "1|one\n2|two\n3|three\n");
	assert_int_equal(json_get_int(tw.result, "total_lines", -1), 3);
	assert_int_equal(json_get_int(tw.result, "file_size", -1), 14);
	assert_false(json_get_bool(tw.result, "truncated", true));
	assert_int_equal(tw.phase, TOOL_WAITING);
	tw_stop();
}

static struct json *
window(const char *path, int offset, int limit)
{
	return json_set_int(json_set_int(tw_args("path", path, NULL), "offset",
	    offset), "limit", limit);
}

static void
a_window_says_how_to_go_on(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t2; seq 1 1000 > t2/n; printf 'x%.0s' $(seq 1 5000) "
	    "> t2/wide");
	tw_call("read_file", window("t2/n", 200, 2));
	assert_string_equal(tw_str("content"), "200|200\n201|201\n");
	assert_true(json_get_bool(tw.result, "truncated", false));
	assert_non_null(strstr(tw_str("hint"), "offset=202"));
	assert_non_null(strstr(tw_str("hint"), "of 1000"));
	tw_call("read_file", window("t2/n", 5000, 2));
	assert_non_null(strstr(tw_str("hint"), "only 1000 lines"));
	tw_call("read_file", window("t2/wide", 1, 2));
	assert_non_null(strstr(tw_str("content"), "[line cut: 5000 bytes]"));
	assert_true(strlen(tw_str("content")) < 2100);
	tw_shell("for i in $(seq 1 400); do printf '%0900d\\n' $i; done > t2/big");
	tw_call("read_file", window("t2/big", 1, 400));
	assert_non_null(strstr(tw_str("error"), "smaller limit"));
	tw_stop();
}

static void
what_is_not_text_is_not_shown(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t3; mkfifo t3/fifo; head -c 100 /dev/zero > t3/z; "
	    "echo hi > t3/p.png; echo hi > t3/report.txt; "
	    "truncate -s 1T t3/sparse 2>/dev/null || : > t3/sparse");
	tw_call("read_file", tw_args("path", "t3/fifo", NULL));
	assert_non_null(strstr(tw_str("error"), "FIFO"));
	tw_call("read_file", tw_args("path", "/dev/zero", NULL));
	assert_non_null(strstr(tw_str("error"), "device"));
	tw_call("read_file", tw_args("path", "t3/z", NULL));
	assert_non_null(strstr(tw_str("error"), "binary"));
	tw_call("read_file", tw_args("path", "t3/p.png", NULL));
	assert_non_null(strstr(tw_str("error"), "picture"));
	tw_call("read_file", tw_args("path", "t3", NULL));
	assert_non_null(strstr(tw_str("error"), "directory"));
	tw_call("read_file", tw_args("path", "t3/reprot.txt", NULL));
	assert_non_null(strstr(tw_str("error"), "no file"));
	assert_string_equal(json_str(json_at(json_get(tw.result,
	    "similar_files"), 0)), tw_path("t3/report.txt"));
	/* a huge sparse file ends, too */
	tw_call("read_file", tw_args("path", "t3/sparse", NULL));
	tw_call("write_file", tw_args("path", "t3/fifo", "content", "x", NULL));
	assert_non_null(strstr(tw_str("error"), "FIFO"));
	tw_call("write_file", tw_args("path", "t3", "content", "x", NULL));
	assert_non_null(strstr(tw_str("error"), "directory"));
	tw_stop();
}

static void
mode_line_ends_and_mark_stay(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t4; printf '\\357\\273\\277a\\r\\nb\\r\\n' > t4/w; "
	    "chmod 750 t4/w; ln -s w t4/link");
	tw_call("read_file", tw_args("path", "t4/w", NULL));
	assert_string_equal(tw_str("content"), "1|a\n2|b\n");
	tw_call("write_file", tw_args("path", "t4/link", "content",
	    "c\nd\n", NULL));
	assert_string_equal(tw_str("resolved_path"), tw_path("t4/w"));
	assert_string_equal(tw_shell("od -An -c t4/w | tr -s ' '; "
	    "stat -c '%a %F' t4/w; readlink t4/link; ls -A t4"),
	    " 357 273 277 c \\r \\n d \\r \\n\n750 regular file\nw\nlink\nw\n");
	tw_stop();
}

static void
a_change_by_others_is_told(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t5; echo one > t5/f");
	tw_call("read_file", tw_args("path", "t5/f", NULL));
	tw_shell("sleep 0.01; echo two > t5/f");
	tw_call("write_file", tw_args("path", "t5/f", "content", "three\n",
	    NULL));
	assert_non_null(strstr(tw_str("_warning"), "changed since"));
	tw_call("write_file", tw_args("path", "t5/f", "content", "four\n",
	    NULL));
	assert_string_equal(tw_str("_warning"), "");
	assert_string_equal(tw_shell("cat t5/f"), "four\n");
	tw_stop();
}

static void
the_same_read_again_is_no_news(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t6; echo one > t6/f");
	tw_call("read_file", tw_args("path", "t6/f", NULL));
	assert_string_equal(tw_str("content"), "1|one\n");
	tw_call("read_file", tw_args("path", "t6/f", NULL));
	assert_string_equal(tw_str("status"), "unchanged");
	tw_call("read_file", tw_args("path", "t6/f", NULL));
	tw_call("read_file", tw_args("path", "t6/f", NULL));
	assert_non_null(strstr(tw_str("error"), "BLOCKED"));
	tw_shell("echo two >> t6/f");
	tw_call("read_file", tw_args("path", "t6/f", NULL));
	assert_string_equal(tw_str("content"), "1|one\n2|two\n");
	tw_stop();
}

#define TOKEN "ghp_" "0123456789abcdefghijklmnopqrstuvwxyzAB"

static void
secrets_are_not_shown_and_not_overwritten(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t7; printf 'a=1\\ntoken: " TOKEN "\\nb=2\\n' > t7/c; "
	    "{ echo x; echo '-----BEGIN RSA PRIVATE KEY-----'; "
	    "for i in $(seq 1 30); do echo c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0; "
	    "done; echo '-----END RSA PRIVATE KEY-----'; echo y; } > t7/key");
	tw_call("read_file", tw_args("path", "t7/c", NULL));
	assert_null(strstr(tw_str("content"), TOKEN));
	assert_non_null(strstr(tw_str("content"), "2|token: \u00abredacted:"));
	assert_non_null(strstr(tw_str("content"), "3|b=2"));
	CLEANUP_FREE char *back = mem_str("a=2\ntoken: \u00abredacted:ghp_\u2026"
	    "\u00bb\n");
	tw_call("write_file", tw_args("path", "t7/c", "content", back, NULL));
	assert_true(tw.bad_input);
	assert_non_null(strstr(tw_str("error"), "mask"));
	assert_non_null(strstr(tw_shell("cat t7/c"), "a=1"));
	/* a window that begins inside the key */
	tw_call("read_file", window("t7/key", 10, 50));
	assert_null(strstr(tw_str("content"), "c2VjcmV0"));
	assert_non_null(strstr(tw_str("content"), "34|y"));
	tw_stop();
}

static void
outside_a_sandbox_a_person_is_asked(void **state)
{
	/* A network of the host's is nothing to files. */
	uint32_t files = SANDBOX_ISOLATED & ~(uint32_t)SANDBOX_NO_NETWORK;
	bool isolated = (cf.props.isolation & files) == files;

	(void)state;
	tw_start();
	tw.says_no = true;
	tw_call("write_file", tw_args("path", "~/.bashrc", "content",
	    "evil\n", NULL));
	if (isolated) {
		assert_int_equal(tw.prompts, 0);
	} else {
		assert_int_equal(tw.prompts, 1);
		assert_non_null(strstr(tw.prompt, "this change of files"));
		assert_non_null(strstr(tw.prompt, ".bashrc (5 bytes):\nevil"));
		assert_string_equal(tw_str("status"), "blocked");
		tw.says_no = false;
		tw_call("write_file", tw_args("path", "~/.ssh/authorized_keys",
		    "content", "key\n", NULL));
		/* Its own workspace has no login to protect. */
		if (!(cf.props.isolation & SANDBOX_NO_HOST_FILES))
			assert_non_null(strstr(tw_str("error"), "does not write there"));
		tw_call("write_file", tw_args("path", "/etc/gatehouse-test",
		    "content", "x\n", NULL));
		assert_true(tw_str("error")[0] != '\0');
	}
	tw_shell("rm -f ~/.bashrc");
	tw_stop();
}

static void
a_name_can_be_anything_but_nothing(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p t9");
	tw_call("write_file", tw_args("path", "t9/it's $(a) \"b\" -x",
	    "content", "ok", NULL));
	assert_int_equal(json_get_int(tw.result, "bytes_written", -1), 2);
	assert_string_equal(tw_shell("ls t9"), "it's $(a) \"b\" -x\n");
	tw_call("read_file", tw_args("path", "", NULL));
	assert_true(tw.bad_input);
	tw_call("write_file", tw_args("path", "t9/n", "content",
	    "1|one\n2|two\n", NULL));
	assert_true(tw.bad_input);
	assert_non_null(strstr(tw_str("error"), "line numbers"));
	tw_stop();
}

static void
a_place_is_replaced(void **state)
{
	(void)state;
	tw_start();
	tw_shell("mkdir -p p1; printf 'def f():\\r\\n    return 1\\r\\n' > p1/a.py; "
	    "chmod 600 p1/a.py");
	tw_call("patch", tw_args("path", "p1/a.py", "old_string",
	    "return 1\n", "new_string", "return 2\n", NULL));
	assert_true(json_get_bool(tw.result, "success", false));
	assert_non_null(strstr(tw_str("diff"), "-    return 1\n+    return 2\n"));
	assert_string_equal(tw_shell("cat -A p1/a.py; stat -c %a p1/a.py; ls -A p1"),
	    "def f():^M$\n    return 2^M$\n600\na.py\n");
	tw_call("patch", tw_args("path", "p1/a.py", "old_string", "return 7",
	    "new_string", "x", NULL));
	assert_false(json_get_bool(tw.result, "success", true));
	assert_non_null(strstr(tw_str("error"), "closest lines are:\n2|"));
	tw_call("patch", tw_args("path", "p1/b.py", "old_string", "a",
	    "new_string", "x", NULL));
	assert_non_null(strstr(tw_str("error"), "no such file"));
	tw_call("patch", tw_args("path", "p1/a.py", NULL));
	assert_true(tw.bad_input);
	tw_call("patch", tw_args("path", "p1/a.py", "old_string", "f", "new_string",
	    "k=\u00abredacted:x\u00bb", NULL));
	assert_true(tw.bad_input);
	tw_stop();
}

static const char patch_all[] = "*** Begin Patch\n*** Update File: p2/u\n"
    "@@\n-two\n+TWO\n*** Add File: p2/new/n\n+fresh\n"
    "*** Delete File: p2/d\n*** Move File: p2/m -> p2/k/m2\n"
    "*** Update File: p2/v\n*** Move to: p2/w\n-a\n+b\n*** End Patch\n";

static void
several_files_are_patched_or_none(void **state)
{
	(void)state;
	tw_start();
	tw_shell("(mkdir -p p2; cd p2; printf 'one\\ntwo\\n' > u; echo d > d; "
	    "echo m > m; echo a > v; chmod 640 v)");
	tw_call("patch", tw_args("mode", "patch", "patch", patch_all, NULL));
	if (!json_get_bool(tw.result, "success", false))
		fail_msg("%s", tw_str("error"));
	assert_int_equal(json_len(json_get(tw.result, "files_created")), 3);
	assert_int_equal(json_len(json_get(tw.result, "files_deleted")), 3);
	assert_string_equal(tw_shell("(cd p2; cat u new/n k/m2 w; ls -A; "
	    "stat -c %a w)"),
	    "one\nTWO\nfresh\nm\nb\nk\nnew\nu\nw\n640\n");
	/* now most of it can't be: nothing is */
	tw_shell("(cd p2; printf 'one\\ntwo\\n' > u; echo d > d)");
	tw_call("patch", tw_args("mode", "patch", "patch", patch_all, NULL));
	assert_non_null(strstr(tw_str("error"), "Nothing was changed"));
	assert_string_equal(tw_shell("(cd p2; cat u; ls -A)"),
	    "one\ntwo\nd\nk\nnew\nu\nw\n");
	tw_call("patch", tw_args("patch", "*** Update File: ../x\n-a\n+b\n",
	    NULL));
	assert_true(tw.bad_input);
	tw_stop();
}

/* Something swaps the name for a link all the time: nothing outside changes. */
static void
a_link_that_comes_in_between_is_not_followed(void **state)
{
	struct ran swapper;
	struct sandbox_cmd cmd = { .command = "cd p3; while :; do "
	    "ln -sfn /etc f 2>/dev/null; ln -sfn ../p3x d; rm -rf d; mkdir d; "
	    "ln -sf ../p3x/secret d/f; done", .apart = true };

	(void)state;
	tw_start();
	tw_shell("mkdir -p p3/d p3x; echo kept > p3x/secret; chmod 444 p3x/secret");
	cf_begin(&swapper, &key_a, &cmd);
	for (int i = 0; i < 150; i++)
		tw_call("write_file", tw_args("path", "p3/d/f", "content", "x\n",
		    NULL));
	op_cancel(&swapper.op);
	cf_done(&swapper);
	/* by a link it may be reached, as any command could, but only whole */
	const char *got = tw_shell("cat p3x/secret");

	assert_true(strcmp(got, "kept\n") == 0 || strcmp(got, "x\n") == 0);
	tw_stop();
}

static const char *
lint(const char *key)
{
	return json_get_str(json_get(tw.result, "lint"), key, "");
}

static void
write(const char *path, const char *content)
{
	tw_call("write_file", tw_args("path", path, "content", content, NULL));
}

/* Only what a change made worse; kinds whose program is missing say so. */
static void
new_faults_of_syntax_are_told(void **state)
{
	static const struct { const char *name, *program, *good, *bad, *want; } rows[] = {
		{ "a.json", NULL, "{\"a\": 1}\n", "{\"a\": 1,\n}\n", "line " },
		{ "a.yaml", NULL, "a: 1\n", "a: [1\nb: 2\n", "line 2: " },
		{ "a.py", "python3", "def f():\n    return 1\n",
		  "def f(:\n    return 1\n", "line 1: SyntaxError: " },
		{ "a.toml", "python3", "a = 1\n", "a = [1,\nb = 2\n",
		  "TOMLDecodeError: " },
		{ "a.js", "node", "import x from 'y';\nlet a = 1;\n",
		  "let a = 1;\nlet b = ;\n", "line 2: SyntaxError: " },
		{ "a.ts", "tsc", "let a: number = 1;\n", "let a: number = ;\n",
		  "line 1: error TS1" },
		{ "a.go", "gofmt", "package a\n", "package a\nfunc {\n", "line 2:" },
		{ "a.rs", "rustfmt", "mod b;\nfn main() {}\n",
		  "fn main() {\n    let x = ;\n}\n", "line 2: error: " },
	};

	(void)state;
	tw_start();
	tw_shell("mkdir -p l1");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *path = mem_printf("l1/%s", rows[i].name);
		CLEANUP_FREE char *look = mem_printf("command -v %s || echo none",
		    rows[i].program ? rows[i].program : "sh");
		bool there = strcmp(tw_shell(look), "none\n") != 0;

		write(path, rows[i].good);
		assert_string_equal(lint("status"), there ? "ok" : "skipped");
		if (!there) {
			assert_non_null(strstr(lint("message"), rows[i].program));
			continue;
		}
		write(path, rows[i].bad);
		if (strncmp(lint("output"), rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: %s: %s", path, lint("status"), lint("output"));
		assert_string_equal(lint("status"), "error");
		write(path, rows[i].bad);	/* no worse than before */
		assert_string_equal(lint("status"), "ok");
	}
	write("l1/a.txt", "no kind that anyone checks");
	assert_null(json_get(tw.result, "lint"));
	tw_stop();
}

static void
a_patch_is_checked_too(void **state)
{
	const struct json *l;

	(void)state;
	tw_start();
	tw_shell("mkdir -p l2; echo '{\"a\": 1}' > l2/a.json; echo 'b: 1' > l2/b.yml");
	tw_call("patch", tw_args("path", "l2/a.json", "old_string", "1}",
	    "new_string", "1", NULL));
	assert_true(json_get_bool(tw.result, "success", false));
	assert_string_equal(lint("status"), "error");
	tw_call("patch", tw_args("patch", "*** Update File: l2/b.yml\n-b: 1\n"
	    "+b: [1\n*** Add File: l2/c.json\n+{}\n*** Delete File: l2/a.json\n",
	    NULL));
	assert_true(json_get_bool(tw.result, "success", false));
	l = json_get(tw.result, "lint");
	assert_int_equal(json_len(l), 2);
	assert_string_equal(json_get_str(json_get(l, tw_path("l2/b.yml")),
	    "status", ""), "error");
	assert_string_equal(json_get_str(json_get(l, tw_path("l2/c.json")),
	    "status", ""), "ok");
	assert_string_equal(tw_shell("ls -A l2"), "b.yml\nc.json\n");
	tw_stop();
}

static struct json *
counted(struct json *args, int limit, int offset)
{
	return json_set_int(json_set_int(args, "limit", limit), "offset", offset);
}

static void
text_is_found_in_files(void **state)
{
	const struct json *m;

	(void)state;
	tw_start();
	tw_shell("mkdir -p s1/d s1/.git; echo 'int main' > s1/a.c; "
	    "printf 'x\nint b:7:c\ny\n' > s1/d/b.h; echo int > s1/.git/c; "
	    "echo int > s1/.h; printf 'int\\0' > s1/bin; "
	    "echo ghp_0123456789abcdefghijklmnopqrstuvwxyzAB int > s1/k");
	tw_call("search_files", tw_args("pattern", "^int", "path", "s1", NULL));
	assert_int_equal(json_get_int(tw.result, "total_count", -1), 2);
	m = json_at(json_get(tw.result, "matches"), 1);
	assert_string_equal(json_get_str(m, "path", ""), tw_path("s1/d/b.h"));
	assert_int_equal(json_get_int(m, "line", 0), 2);
	assert_string_equal(json_get_str(m, "content", ""), "int b:7:c");
	tw_call("search_files", tw_args("pattern", "int", "path", "s1",
	    "file_glob", "*.c", NULL));
	assert_int_equal(json_get_int(tw.result, "total_count", -1), 1);
	tw_call("search_files", json_set_int(tw_args("pattern", "b:7", "path",
	    "s1", NULL), "context", 1));
	assert_int_equal(json_len(json_get(tw.result, "matches")), 3);
	tw_call("search_files", tw_args("pattern", "int", "path", "s1",
	    "output_mode", "files_only", NULL));
	assert_int_equal(json_len(json_get(tw.result, "files")), 3);
	tw_call("search_files", tw_args("pattern", "int", "path", "s1/k", NULL));
	m = json_at(json_get(tw.result, "matches"), 0);
	assert_non_null(strstr(json_get_str(m, "content", ""), "redacted:"));
	tw_call("search_files", tw_args("pattern", "(", "path", "s1", NULL));
	assert_true(tw_str("error")[0] != '\0');
	tw_call("search_files", tw_args("pattern", "x", "path", "s1/no", NULL));
	if (!strcasestr(tw_str("error"), "no such file"))
		fail_msg("%s", tw_str("error"));
	tw_call("search_files", tw_args("pattern", "nowhere", "path", "s1", NULL));
	assert_int_equal(json_get_int(tw.result, "total_count", -1), 0);
	tw_stop();
}

static void
files_are_found_by_name(void **state)
{
	const struct json *list;

	(void)state;
	tw_start();
	tw_shell("mkdir -p s2/d s2/.x; cd s2; touch -d '2020-01-01' old.py; "
	    "touch -d '2021-01-01' \"d/it's new.py\"; touch .x/no.py b.c");
	tw_call("search_files", tw_args("pattern", "*.py", "target", "files",
	    "path", tw_path("s2"), NULL));
	list = json_get(tw.result, "files");
	assert_int_equal(json_len(list), 2);
	assert_string_equal(json_str(json_at(list, 0)), tw_path("s2/d/it's new.py"));
	tw_call("search_files", counted(tw_args("pattern", "*", "target", "find",
	    "path", tw_path("s2"), NULL), 2, 0));
	assert_int_equal(json_len(json_get(tw.result, "files")), 2);
	assert_true(json_get_bool(tw.result, "truncated", false));
	assert_non_null(strstr(tw_str("hint"), "offset=2"));
	tw_call("search_files", counted(tw_args("pattern", "*", "target", "find",
	    "path", tw_path("s2"), NULL), 2, 2));
	list = json_get(tw.result, "files");
	assert_int_equal(json_len(list), 1);
	assert_string_equal(json_str(json_at(list, 0)), tw_path("s2/old.py"));
	for (int i = 0; i < 4; i++)
		tw_call("search_files", tw_args("pattern", "q", "target", "files",
		    NULL));
	assert_non_null(strstr(tw_str("error"), "BLOCKED"));
	tw_stop();
}

void
files_add_cases(void)
{
	cf_case("files a_file_is_written_and_read", a_file_is_written_and_read,
	    NULL);
	cf_case("files a_window_says_how_to_go_on", a_window_says_how_to_go_on,
	    NULL);
	cf_case("files what_is_not_text_is_not_shown",
	    what_is_not_text_is_not_shown, NULL);
	cf_case("files mode_line_ends_and_mark_stay",
	    mode_line_ends_and_mark_stay, NULL);
	cf_case("files a_change_by_others_is_told", a_change_by_others_is_told,
	    NULL);
	cf_case("files the_same_read_again_is_no_news",
	    the_same_read_again_is_no_news, NULL);
	cf_case("files secrets_are_not_shown_and_not_overwritten",
	    secrets_are_not_shown_and_not_overwritten, NULL);
	cf_case("files outside_a_sandbox_a_person_is_asked",
	    outside_a_sandbox_a_person_is_asked, NULL);
	cf_case("files a_name_can_be_anything_but_nothing",
	    a_name_can_be_anything_but_nothing, NULL);
	cf_case("files a_place_is_replaced", a_place_is_replaced, NULL);
	cf_case("files several_files_are_patched_or_none",
	    several_files_are_patched_or_none, NULL);
	cf_case("files a_link_that_comes_in_between_is_not_followed",
	    a_link_that_comes_in_between_is_not_followed, NULL);
	cf_case("files new_faults_of_syntax_are_told",
	    new_faults_of_syntax_are_told, NULL);
	cf_case("files a_patch_is_checked_too", a_patch_is_checked_too, NULL);
	cf_case("files text_is_found_in_files", text_is_found_in_files, NULL);
	cf_case("files files_are_found_by_name", files_are_found_by_name, NULL);
}
