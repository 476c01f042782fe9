/* The shell's way and ours with the same files must give the same answers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/file_fast.h"

#define OUT_MAX (16u << 20)

struct place {
	char *dir;
	struct buf out;
	const char *shell;	/* NULL: ours */
};

static char *
at(const struct place *p, const char *name)
{
	return mem_printf("%s/%s", p->dir, name);
}

static void
put(const struct place *p, const char *name, const void *data, size_t len)
{
	CLEANUP_FREE char *path = at(p, name);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static char *
get(const struct place *p, const char *name)
{
	CLEANUP_FREE char *path = at(p, name);
	FILE *f = fopen(path, "rb");
	char data[65536];

	if (!f)
		return mem_str("(none)");
	size_t n = fread(data, 1, sizeof(data) - 1, f);

	fclose(f);
	data[n] = '\0';
	return mem_str(data);
}

static void
run_shell(struct place *p, const struct file_act *act)
{
	CLEANUP_BUF struct buf text;
	size_t len;
	CLEANUP_FREE char *input = file_act_input(act, &len);
	CLEANUP_FREE char *in = at(p, "../input");
	char chunk[65536];
	int out[2];
	ssize_t n;

	buf_init(&text, 1 << 20);
	assert_true(file_act_command(act, &text));
	FILE *f = fopen(in, "wb");
	assert_int_equal(fwrite(input ? input : "", 1, len, f), len);
	fclose(f);
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(open(in, O_RDONLY), 0);
		dup2(out[1], 1);
		close(out[0]);
		execlp(p->shell, p->shell, "-c", text.data, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	while ((n = read(out[0], chunk, sizeof(chunk))) > 0)
		buf_add(&p->out, chunk, (size_t)n);
	close(out[0]);
	waitpid(pid, NULL, 0);
}

static void
act_run(struct place *p, const struct file_act *act)
{
	buf_clear(&p->out);
	if (p->shell)
		run_shell(p, act);
	else
		assert_true(file_fast_do(act, p->dir, p->dir, &p->out));
}

static struct file_read_reply
read_it(struct place *p, const char *name, uint64_t from, uint64_t lines)
{
	CLEANUP_FREE char *path = at(p, name);
	struct file_act act = { .kind = FILE_READ, .path = path, .from = from,
		.lines = lines, .max = 100000 };
	struct file_read_reply r;

	act_run(p, &act);
	assert_int_equal(file_read_parse(&r, p->out.data, p->out.len), 0);
	return r;
}

static struct file_change_reply
change_it(struct place *p, struct file_act *act)
{
	struct file_change_reply r;

	act->kind = FILE_CHANGE;
	act_run(p, act);
	assert_int_equal(file_change_parse(&r, p->out.data, p->out.len,
	    act->nedits), 0);
	file_act_done(act);
	return r;
}

static struct file_edit *
edit(struct place *p, struct file_act *act, enum file_edit_kind kind,
    const char *name, const char *text)
{
	CLEANUP_FREE char *path = at(p, name);
	struct file_edit *e = file_act_edit(act, kind, path);

	e->data = mem_str(text);
	e->len = text ? strlen(text) : 0;
	return e;
}

static void
a_window_of_lines(struct place *p)
{
	put(p, "a", "one\ntwo\nthree", 13);
	struct file_read_reply r = read_it(p, "a", 2, 5);

	assert_int_equal(r.type, FILE_REGULAR);
	assert_int_equal(r.size, 13);
	assert_int_equal(r.total, 3);
	assert_false(r.binary);
	assert_memory_equal(r.data, "two\nthree", r.len);
	assert_int_equal(r.len, 9);
	r = read_it(p, "a", 1, 1);
	assert_int_equal(r.len, 4);
	r = read_it(p, "a", 9, 2);
	assert_int_equal(r.len, 0);
	put(p, "a", "", 0);
	r = read_it(p, "a", 1, 5);
	assert_true(r.has_total && r.total == 0);
	put(p, "a", "x\0y\n", 4);
	r = read_it(p, "a", 0, 0);
	assert_true(r.binary);
	assert_int_equal(r.len, 4);
	assert_memory_equal(r.data, "x\0y\n", 4);
}

static void
what_is_no_file(struct place *p)
{
	CLEANUP_FREE char *fifo = at(p, "fifo");
	CLEANUP_FREE char *dir = at(p, "dir");

	mkdir(dir, 0755);
	put(p, "dir/b.txt", "b", 1);
	put(p, "dir/a b", "a", 1);
	mkfifo(fifo, 0644);
	assert_int_equal(read_it(p, "fifo", 1, 9).type, FILE_SPECIAL);
	struct file_read_reply r = read_it(p, "dir", 1, 9);

	assert_int_equal(r.type, FILE_DIRECTORY);
	assert_string_equal(r.data, "a b\nb.txt\n");
	r = read_it(p, "dir/c.txt", 1, 9);
	assert_int_equal(r.type, FILE_NONE);
	assert_string_equal(r.data, "a b\nb.txt\n");
	assert_int_equal(read_it(p, "no/such/dir", 1, 9).type, FILE_NONE);
}

static void
a_name_can_hold_anything(struct place *p)
{
	static const char *const names[] = {
		"it's", "$(touch oops)", "-rf", "new\nline", "a\\b \"q\" `x`", "*",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct file_act act = { 0 };

		edit(p, &act, FILE_PUT, names[i], names[i]);
		assert_true(change_it(p, &act).done);
		CLEANUP_FREE char *text = get(p, names[i]);
		assert_string_equal(text, names[i]);
		struct file_read_reply r = read_it(p, names[i], 1, 10);
		CLEANUP_FREE char *path = at(p, names[i]);
		assert_string_equal(r.path, path);
	}
	CLEANUP_FREE char *oops = get(p, "oops");

	assert_string_equal(oops, "(none)");
}

static void
several_edits_are_one(struct place *p)
{
	struct file_act act = { 0 };
	CLEANUP_FREE char *path = at(p, "old");
	CLEANUP_FREE char *to = at(p, "new/place/moved");
	struct stat st;

	put(p, "old", "old\n", 4);
	put(p, "gone", "gone\n", 5);
	put(p, "moved", "moved\n", 6);
	chmod(path, 0750);
	struct file_read_reply r = read_it(p, "old", 0, 0);
	struct file_edit *e = edit(p, &act, FILE_PUT, "old", "new\n");
	e->version = mem_str(r.version);
	e->mode = r.mode;
	r = read_it(p, "gone", 0, 0);
	edit(p, &act, FILE_DELETE, "gone", NULL)->version = mem_str(r.version);
	r = read_it(p, "moved", 0, 0);
	e = edit(p, &act, FILE_MOVE, "moved", NULL);
	e->version = mem_str(r.version);
	e->to = mem_str(to);
	edit(p, &act, FILE_PUT, "deep/er/added", "added\n");
	struct file_change_reply c = change_it(p, &act);

	assert_true(c.done && c.made_dirs);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	CLEANUP_FREE char *a = get(p, "old"), *b = get(p, "gone");
	CLEANUP_FREE char *d = get(p, "new/place/moved");
	CLEANUP_FREE char *f = get(p, "deep/er/added");
	assert_string_equal(a, "new\n");
	assert_string_equal(b, "(none)");
	assert_string_equal(d, "moved\n");
	assert_string_equal(f, "added\n");
	CLEANUP_FREE char *version = mem_str(c.versions[0]);
	assert_string_equal(read_it(p, "old", 0, 0).version, version);
}

static void
nothing_is_changed_if_one_thing_is_wrong(struct place *p)
{
	struct file_act act = { 0 };

	put(p, "b", "b\n", 2);
	edit(p, &act, FILE_PUT, "fresh", "fresh\n");
	struct file_edit *e = edit(p, &act, FILE_PUT, "b", "other\n");
	e->version = mem_str("1:2:then");
	e->mode = 0644;
	struct file_change_reply c = change_it(p, &act);

	assert_false(c.done);
	assert_false(c.partly);
	assert_int_equal(c.at, 1);
	assert_string_equal(c.why, "it changed since it was read");
	CLEANUP_FREE char *b = get(p, "b"), *fresh = get(p, "fresh");
	assert_string_equal(b, "b\n");
	assert_string_equal(fresh, "(none)");
	edit(p, &act, FILE_PUT, "b", "other\n");
	c = change_it(p, &act);
	assert_string_equal(c.why, "it exists already");
	edit(p, &act, FILE_PUT, "b/below", "x");
	assert_string_equal(change_it(p, &act).why,
	    "its directory cannot be made");
	/* no temporary file stays */
	struct file_read_reply r = read_it(p, ".", 1, 9);
	assert_string_equal(r.data, "b\n");
}

static void (*const cases[])(struct place *) = {
	a_window_of_lines, what_is_no_file, a_name_can_hold_anything,
	several_edits_are_one, nothing_is_changed_if_one_thing_is_wrong,
};

static void
each_way(const char *shell)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct place p = { .shell = shell };
		char top[] = "/tmp/gatehouse-act.XXXXXX";

		assert_non_null(mkdtemp(top));
		p.dir = mem_printf("%s/w", top);
		mkdir(p.dir, 0755);
		buf_init(&p.out, OUT_MAX);
		cases[i](&p);
		buf_done(&p.out);
		mem_free(p.dir);
		CLEANUP_FREE char *rm = mem_printf("rm -rf %s", top);
		assert_int_equal(system(rm), 0);
	}
}

static void
by_bash(void **state)
{
	(void)state;
	each_way("bash");
}

static void
by_a_plain_shell(void **state)
{
	(void)state;
	each_way("dash");
}

static void
by_ourselves(void **state)
{
	(void)state;
	each_way(NULL);
}

/* A link is the shell's business: it has the sandbox's rights, we have ours. */
static void
no_link_is_followed(void **state)
{
	struct place p = { 0 };
	char top[] = "/tmp/gatehouse-act.XXXXXX";
	CLEANUP_FREE char *link = NULL, *path = NULL, *dir = NULL;
	struct file_act act = { .kind = FILE_READ, .lines = 5, .from = 1 };

	(void)state;
	assert_non_null(mkdtemp(top));
	p.dir = mem_str(top);
	buf_init(&p.out, OUT_MAX);
	link = at(&p, "link");
	dir = at(&p, "etc");
	path = at(&p, "etc/hostname");
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(symlink("/etc", dir), 0);
	act.path = link;
	assert_false(file_fast_do(&act, top, top, &p.out));
	act.path = path;
	assert_false(file_fast_do(&act, top, top, &p.out));
	assert_int_equal(p.out.len, 0);
	struct file_act change = { .kind = FILE_CHANGE };
	file_act_edit(&change, FILE_PUT, link)->data = mem_str("");
	assert_false(file_fast_do(&change, top, top, &p.out));
	file_act_done(&change);
	file_act_edit(&change, FILE_PUT, path)->data = mem_str("");
	change.kind = FILE_CHANGE;
	assert_false(file_fast_do(&change, top, top, &p.out));
	file_act_done(&change);
	CLEANUP_FREE char *up = at(&p, "../gatehouse-oops");
	act.path = up;
	assert_false(file_fast_covers(&act, top));
	act.path = top;
	assert_false(file_fast_covers(&act, "/tmp/gatehouse-ac"));
	CLEANUP_FREE char *rm = mem_printf("rm -rf %s", top);
	assert_int_equal(system(rm), 0);
	buf_done(&p.out);
	mem_free(p.dir);
}

static void
paths_are_cleaned(void **state)
{
	static const char *const rows[][2] = {
		{ "/", "/" }, { "/a//b/", "/a/b" }, { "/a/./b", "/a/b" },
		{ "/a/b/../c", "/a/c" }, { "/../..", "/" }, { "", "/" },
		{ "/a/..b/...", "/a/..b/..." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *clean = file_path_clean(rows[i][0]);
		assert_string_equal(clean, rows[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_bash),
		cmocka_unit_test(by_a_plain_shell),
		cmocka_unit_test(by_ourselves),
		cmocka_unit_test(no_link_is_followed),
		cmocka_unit_test(paths_are_cleaned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
