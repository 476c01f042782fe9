/* Archives to and from sandboxes: what may be in them, and what may not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/transfer.h"
#include "tests/tmpdir.h"

static int
spool(void)
{
	int fd = open(tmpdir_path("spool"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
	    0600);

	assert_true(fd >= 0);
	return fd;
}

/* ---- what came from a sandbox -------------------------------------------------------- */

struct item {
	const char *path;
	mode_t type;		/* 0: a second name */
	const char *to;
};

static int
archive_of(const struct item *items, size_t n)
{
	struct archive *a = archive_write_new();
	int fd = spool();

	archive_write_set_format_pax_restricted(a);
	assert_int_equal(archive_write_open_fd(a, fd), ARCHIVE_OK);
	for (size_t i = 0; i < n && items[i].path; i++) {
		struct archive_entry *e = archive_entry_new();

		archive_entry_copy_pathname(e, items[i].path);
		archive_entry_set_filetype(e, items[i].type ? items[i].type :
		    AE_IFREG);
		archive_entry_set_perm(e, 04755);
		archive_entry_set_rdev(e, 259);
		archive_entry_set_size(e, items[i].type == AE_IFREG ? 3 : 0);
		if (items[i].type == AE_IFLNK)
			archive_entry_copy_symlink(e, items[i].to);
		if (!items[i].type)
			archive_entry_copy_hardlink(e, items[i].to);
		assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
		if (items[i].type == AE_IFREG)
			archive_write_data(a, "abc", 3);
		archive_entry_free(e);
	}
	archive_write_close(a);
	archive_write_free(a);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

#define F AE_IFREG
#define D AE_IFDIR
#define L AE_IFLNK
static const struct {
	struct item items[4];
	const char *says;	/* NULL: it may be */
} archives[] = {
	{ { { "./x/a", F, NULL }, { "x/l", L, "a" }, { "x/h", 0, "./x/a" } }, NULL },
	{ { { "x", F, NULL } }, NULL },
	{ { { "x/", D, NULL }, { "x/d/e", D, NULL }, { "x/d/l", L, "../a" } }, NULL },
	{ { { "x/d/../a", F, NULL } }, "not asked for" },
	{ { { "/x", F, NULL } }, "not asked for" },
	{ { { "../x", F, NULL } }, "not asked for" },
	{ { { "y", F, NULL } }, "not asked for" },
	{ { { "xy", F, NULL } }, "not asked for" },
	{ { { ".", D, NULL } }, "not asked for" },
	{ { { "x/l", L, "/etc/passwd" } }, "leads out" },
	{ { { "x/l", L, "../../etc" } }, "leads out" },
	{ { { "x/l", L, "../y" } }, "leads out" },
	{ { { "x/d/l", L, "a/../../../y" } }, "leads out" },
	{ { { "x", L, "y" } }, "leads out" },
	{ { { "x/l", L, "." }, { "x/l/a", F, NULL } }, "Not a directory" },
	{ { { "x/a", F, NULL }, { "x/a", F, NULL } }, "File exists" },
	{ { { "x/l", L, "a" }, { "x/l", F, NULL } }, "File exists" },
	{ { { "x/h", 0, "/etc/passwd" } }, "second name" },
	{ { { "x/h", 0, "y/a" } }, "second name" },
	{ { { "x/h", 0, "x/missing" } }, "second name" },
	{ { { "x/l", L, "a" }, { "x/h", 0, "x/l" } }, "second name" },
	{ { { "x/dev", AE_IFCHR, NULL } }, "neither" },
	{ { { "x/dev", AE_IFBLK, NULL } }, "neither" },
	{ { { "x/fifo", AE_IFIFO, NULL } }, "neither" },
	{ { { NULL, 0, NULL } }, "empty" },
};

/* Red if any of them is let through, or if what is refused leaves a trace. */
static void
an_archive_names_nothing_but_what_was_asked_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(archives); i++) {
		const char *dir = tmpdir_make();
		struct err err = { ERR_NONE, "" };
		struct stat st;
		CLEANUP_CLOSE int fd = archive_of(archives[i].items, 4);
		int rc = transfer_unpack(fd, dir, "x", &err);

		if ((rc == 0) != !archives[i].says ||
		    (rc < 0 && !strstr(err.text, archives[i].says)))
			fail_msg("%zu: %d %s", i, rc, err.text);
		assert_int_equal(lstat(tmpdir_path("x"), &st) == 0, rc == 0);
		CLEANUP_FREE char *spoolname = mem_str(tmpdir_path("spool"));
		assert_int_equal(unlink(spoolname), 0);
		if (rc < 0)	/* nothing of ours was left either */
			assert_int_equal(rmdir(dir), 0);
		else
			tmpdir_remove();
	}
}

static void
rights_and_bytes_come_over_and_no_setuid(void **state)
{
	static const struct item items[] = { { "x", F, NULL } };
	struct err err = { ERR_NONE, "" };
	struct stat st;

	(void)state;
	const char *dir = tmpdir_make();
	CLEANUP_CLOSE int fd = archive_of(items, 1);
	assert_int_equal(transfer_unpack(fd, dir, "x", &err), 0);
	assert_int_equal(stat(tmpdir_path("x"), &st), 0);
	assert_int_equal(st.st_mode & 07700, 0700);
	CLEANUP_FREE char *text = tmpdir_read("x");
	assert_string_equal(text, "abc");
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(transfer_unpack(fd, dir, "x", &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	tmpdir_remove();
}

static void
a_cut_archive_is_none(void **state)
{
	static const struct item items[] = { { "x/a", F, NULL }, { "x/b", F, NULL } };

	(void)state;
	for (off_t cut = 1; cut < 1800; cut += 137) {
		struct err err = { ERR_NONE, "" };
		struct stat st;
		const char *dir = tmpdir_make();
		CLEANUP_CLOSE int fd = archive_of(items, 2);

		assert_int_equal(ftruncate(fd, cut), 0);
		int rc = transfer_unpack(fd, dir, "x", &err);
		/* Between two entries a cut can't be told from the end. */
		if (cut % 512 && (rc == 0 || lstat(tmpdir_path("x"), &st) == 0))
			fail_msg("cut at %lld", (long long)cut);
		tmpdir_remove();
	}
}

/* ---- what goes to a sandbox -------------------------------------------------------------- */

static void
what_is_packed_is_unpacked(void **state)
{
	struct err err = { ERR_NONE, "" };
	char link[32];

	(void)state;
	const char *dir = tmpdir_make();
	CLEANUP_FREE char *tree = mem_printf("%s/tree", dir);
	CLEANUP_FREE char *out = mem_printf("%s/out", dir);
	assert_int_equal(mkdir(tree, 0755) | mkdir(out, 0755), 0);
	assert_int_equal(mkdir(tmpdir_path("tree/sub"), 0700), 0);
	tmpdir_write("tree/sub/a b", "text");
	tmpdir_write("tree/empty", "");
	assert_int_equal(chmod(tmpdir_path("tree/sub/a b"), 04750), 0);
	assert_int_equal(symlink("../empty", tmpdir_path("tree/sub/l")), 0);
	CLEANUP_CLOSE int fd = spool();
	CLEANUP_FREE char *slashed = mem_printf("%s//", tree);
	if (transfer_pack(slashed, fd, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (transfer_unpack(fd, out, "tree", &err) < 0)
		fail_msg("%s", err.text);
	CLEANUP_FREE char *text = tmpdir_read("out/tree/sub/a b");
	assert_string_equal(text, "text");
	struct stat st;
	assert_int_equal(stat(tmpdir_path("out/tree/sub/a b"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	ssize_t n = readlink(tmpdir_path("out/tree/sub/l"), link, sizeof(link));
	assert_int_equal(n, 8);
	assert_memory_equal(link, "../empty", 8);
	assert_int_equal(stat(tmpdir_path("out/tree/empty"), &st), 0);
	tmpdir_remove();
}

static void
what_may_not_be_sent_is_refused_as_a_whole(void **state)
{
	struct err err = { ERR_NONE, "" };

	(void)state;
	const char *dir = tmpdir_make();
	CLEANUP_FREE char *tree = mem_printf("%s/tree", dir);
	assert_int_equal(mkdir(tree, 0755), 0);
	CLEANUP_CLOSE int fd = spool();
	assert_int_equal(symlink("/etc", tmpdir_path("tree/l")), 0);
	assert_int_equal(transfer_pack(tree, fd, &err), -1);
	assert_non_null(strstr(err.text, "tree/l leads out"));
	assert_int_equal(unlink(tmpdir_path("tree/l")), 0);
	assert_int_equal(mkfifo(tmpdir_path("tree/f"), 0600), 0);
	assert_int_equal(transfer_pack(tree, fd, &err), -1);
	assert_non_null(strstr(err.text, "neither a file"));
	assert_int_equal(transfer_pack(tmpdir_path("missing"), fd, &err), -1);
	assert_int_equal(transfer_pack("..", fd, &err), -1);
	assert_int_equal(transfer_pack("/", fd, &err), -1);
	tmpdir_remove();
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void
names_are_one_word_and_no_option(void **state)
{
	struct buf b CLEANUP_BUF;

	(void)state;
	buf_init(&b, 1000);
	assert_int_equal(transfer_get_text(&b, "/a/b'c/-x/"), 0);
	assert_string_equal(b.data,
	    "cd -- '/a/b'\\''c/' && exec tar -cf - './-x'");
	for (const char *const *bad = (const char *const[]){ "", "/", ".", "a/..",
	    "//", NULL }; *bad; bad++)
		assert_int_equal(transfer_get_text(&b, *bad), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_archive_names_nothing_but_what_was_asked_for),
		cmocka_unit_test(rights_and_bytes_come_over_and_no_setuid),
		cmocka_unit_test(a_cut_archive_is_none),
		cmocka_unit_test(what_is_packed_is_unpacked),
		cmocka_unit_test(what_may_not_be_sent_is_refused_as_a_whole),
		cmocka_unit_test(names_are_one_word_and_no_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
