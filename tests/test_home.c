#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/file.h"
#include "gateway/home.h"
#include "tests/tmpdir.h"

static struct home home;
static struct err err;

static int
setup(void **state)
{
	(void)state;
	tmpdir_make();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	home_done(&home);
	tmpdir_remove();
	return 0;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

static void
option_beats_variable_beats_home(void **state)
{
	static const char *const both[] = { "HOME=/h", "GATEHOUSE_HOME=/g", NULL };
	static const char *const only[] = { "HOME=/h", NULL };

	(void)state;
	assert_int_equal(home_find(&home, "/o/", both, &err), 0);
	assert_string_equal(home.dir, "/o");
	home_done(&home);
	assert_int_equal(home_find(&home, NULL, both, &err), 0);
	assert_string_equal(home.dir, "/g");
	home_done(&home);
	assert_int_equal(home_find(&home, NULL, only, &err), 0);
	assert_string_equal(home.dir, "/h/.gatehouse");
	assert_false(home.exists);
}

static void
the_directory_is_made_and_kept_private(void **state)
{
	const char *dir = tmpdir_path("state");

	(void)state;
	assert_int_equal(home_find(&home, dir, NULL, &err), 0);
	assert_int_equal(home_create(&home, &err), 0);
	assert_int_equal(mode_of(home.dir) & 07777, 0700);
	assert_false(home.tightened);
	assert_int_equal(chmod(home.dir, 0755), 0);
	assert_int_equal(home_create(&home, &err), 0);
	assert_true(home.tightened);
	assert_int_equal(mode_of(home.dir) & 07777, 0700);
}

static void
a_directory_of_another_owner_stops_with_the_cure(void **state)
{
	const char *dir = tmpdir_path("state");

	(void)state;
	if (geteuid() != 0)
		dir = "/etc";		/* root's */
	else
		assert_true(mkdir(dir, 0700) == 0 && chown(dir, 12345, 12345) == 0);
	assert_int_equal(home_find(&home, dir, NULL, &err), 0);
	assert_int_equal(home_check(&home, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, "chown -R"));
	assert_int_equal(home_create(&home, &err), -1);
}

static void
a_copy_of_the_state_gets_a_new_instance(void **state)
{
	char first[HOME_INSTANCE_MAX], again[HOME_INSTANCE_MAX];
	CLEANUP_FREE char *text = NULL;
	bool is_new;

	(void)state;
	assert_int_equal(home_find(&home, tmpdir_path("a"), NULL, &err), 0);
	assert_int_equal(home_create(&home, &err), 0);
	assert_int_equal(home_instance(&home, first, &is_new, &err), 0);
	assert_true(is_new);
	assert_int_equal(strlen(first), HOME_INSTANCE_MAX - 1);
	assert_int_equal(home_instance(&home, again, &is_new, &err), 0);
	assert_false(is_new);
	assert_string_equal(first, again);

	text = tmpdir_read("a/instance.json");
	home_done(&home);
	assert_int_equal(home_find(&home, tmpdir_path("b"), NULL, &err), 0);
	assert_int_equal(home_create(&home, &err), 0);
	tmpdir_write("b/instance.json", text);
	assert_int_equal(home_instance(&home, again, &is_new, &err), 0);
	assert_true(is_new);
	assert_string_not_equal(first, again);
	tmpdir_write("b/instance.json", "{\"id\": \"../../x\"}");
	assert_int_equal(home_instance(&home, again, &is_new, &err), 0);
	assert_true(is_new);
}

static void
replacing_keeps_mode_and_link(void **state)
{
	CLEANUP_FREE char *link = mem_str(tmpdir_path("link"));
	CLEANUP_FREE char *text = NULL;

	(void)state;
	tmpdir_write("real", "old");
	assert_int_equal(chmod(tmpdir_path("real"), 0640), 0);
	assert_int_equal(symlink("real", link), 0);
	assert_int_equal(file_replace(link, "new", 3, 0600, &err), 0);
	assert_true(S_ISLNK(mode_of(link)));
	assert_int_equal(mode_of(tmpdir_path("real")) & 07777, 0640);
	text = tmpdir_read("real");
	assert_string_equal(text, "new");
	assert_int_equal(file_replace(tmpdir_path("fresh"), "x", 1, 0600, &err), 0);
	assert_int_equal(mode_of(tmpdir_path("fresh")) & 07777, 0600);
	assert_int_equal(file_replace(tmpdir_path("no/dir"), "x", 1, 0600, &err), -1);
}

static void
reading_is_bounded_and_never_hangs(void **state)
{
	struct buf out CLEANUP_BUF;

	(void)state;
	buf_init(&out, 4);
	tmpdir_write("f", "12345");
	assert_int_equal(file_read(tmpdir_path("f"), &out, NULL, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(file_read(tmpdir_path("none"), &out, NULL, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(mkfifo(tmpdir_path("pipe"), 0600), 0);
	assert_int_equal(file_read(tmpdir_path("pipe"), &out, NULL, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(option_beats_variable_beats_home),
		T(the_directory_is_made_and_kept_private),
		T(a_directory_of_another_owner_stops_with_the_cure),
		T(a_copy_of_the_state_gets_a_new_instance),
		T(replacing_keeps_mode_and_link),
		T(reading_is_bounded_and_never_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
