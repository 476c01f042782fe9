/* What gives a command its meaning, on a real disk. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/scene.h"
#include "tests/tmpdir.h"

/* As `local` sees it: root -1; else beneath the directory, seen as /workspace. */
static struct scene *
look(bool beneath, const char *script)
{
	CLEANUP_FREE char *top = mem_str(tmpdir_path(""));
	CLEANUP_CLOSE int root = beneath ? open(top, O_PATH | O_DIRECTORY |
	    O_CLOEXEC) : -1;
	CLEANUP_FREE char *dir = beneath ? mem_str("/workspace/d") :
	    mem_str(tmpdir_path("d"));
	CLEANUP_FREE char *path = beneath ? mem_printf("/workspace/%s", script) :
	    mem_str(tmpdir_path(script));
	const char *const files[] = { path };
	struct scene *s = scene_new(dir, files, 1);

	scene_read(s, root, "/workspace");
	return s;
}

static bool
differ(struct scene *a, struct scene *b)
{
	CLEANUP_FREE char *what = scene_difference(a, b);

	scene_free(&a);
	scene_free(&b);
	return what != NULL;
}

static void
begin(void)
{
	tmpdir_make();
	assert_int_equal(mkdir(tmpdir_path("d"), 0700), 0);
	tmpdir_write("a.sh", "echo one\n");
}

static void
the_same_is_the_same(void **state)
{
	(void)state;
	begin();
	for (int beneath = 0; beneath < 2; beneath++) {
		struct scene *s = look(beneath, "a.sh");

		assert_true(s->fd >= 0);
		assert_true(s->files[0].whole);
		assert_string_equal(s->files[0].text, "echo one\n");
		assert_false(differ(s, look(beneath, "a.sh")));
	}
	tmpdir_remove();
}

/* Another script in the same place; another directory of the same name. */
static void
what_is_exchanged_is_seen(void **state)
{
	(void)state;
	begin();
	for (int beneath = 0; beneath < 2; beneath++) {
		struct scene *s = look(beneath, "a.sh");

		tmpdir_write("a.sh", "rm -r ~\n");
		assert_true(differ(s, look(beneath, "a.sh")));
		tmpdir_write("a.sh", "echo one\n");
		s = look(beneath, "a.sh");
		assert_int_equal(rename(tmpdir_path("d"), tmpdir_path("old")), 0);
		assert_int_equal(mkdir(tmpdir_path("d"), 0700), 0);
		assert_true(differ(s, look(beneath, "a.sh")));
		assert_int_equal(rmdir(tmpdir_path("old")), 0);
		/* Its number is not given to the next one while we hold it. */
		s = look(beneath, "a.sh");
		assert_int_equal(rmdir(tmpdir_path("d")), 0);
		assert_int_equal(mkdir(tmpdir_path("d"), 0700), 0);
		assert_true(differ(s, look(beneath, "a.sh")));
	}
	tmpdir_remove();
}

static void
exports_and_directories_count(void **state)
{
	(void)state;
	begin();
	struct scene *a = look(false, "a.sh"), *b = look(false, "a.sh");

	b->env[0] ^= 1;
	assert_true(differ(a, b));
	a = look(false, "a.sh");
	b = look(false, "a.sh");
	mem_free(b->dir);
	b->dir = mem_str("/elsewhere");
	assert_true(differ(a, b));
	tmpdir_remove();
}

/* No link, pipe or device is read, nothing waits, nothing too long is shown. */
static void
what_is_no_plain_file_is_not_read(void **state)
{
	static char big[SCENE_FILE_MAX + 2];

	(void)state;
	begin();
	memset(big, 'x', sizeof(big) - 1);
	tmpdir_write("big", big);
	assert_int_equal(symlink("a.sh", tmpdir_path("link")), 0);
	assert_int_equal(mkfifo(tmpdir_path("pipe"), 0600), 0);
	static const char *const names[] = { "big", "link", "pipe", "d",
		"absent" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (int beneath = 0; beneath < 2; beneath++) {
			struct scene *s = look(beneath, names[i]);

			assert_false(s->files[0].whole);
			scene_free(&s);
		}
	}
	struct scene *s = look(false, "absent");

	tmpdir_write("absent", "echo now\n");
	assert_true(differ(s, look(false, "absent")));
	tmpdir_remove();
}

/* From a workspace of ours nothing outside of it is seen. */
static void
beneath_means_beneath(void **state)
{
	static const char *const out[] = { "../../etc/passwd", "out/passwd" };

	(void)state;
	begin();
	assert_int_equal(symlink("/etc", tmpdir_path("out")), 0);
	for (size_t i = 0; i < ARRAY_LEN(out); i++) {
		struct scene *s = look(true, out[i]);

		assert_false(s->files[0].whole);
		scene_free(&s);
	}
	tmpdir_remove();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_the_same),
		cmocka_unit_test(what_is_exchanged_is_seen),
		cmocka_unit_test(exports_and_directories_count),
		cmocka_unit_test(what_is_no_plain_file_is_not_read),
		cmocka_unit_test(beneath_means_beneath),
	};

	return cmocka_run_group_tests_name("scene", tests, NULL, NULL);
}
