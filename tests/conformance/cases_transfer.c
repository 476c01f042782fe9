/* Files into a sandbox and out of it (sandbox/transfer.h). */
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
#include <unistd.h>

#include "base/mem.h"
#include "base/rmtree.h"
#include "sandbox/transfer.h"
#include "tests/conformance/harness.h"

#define PIECE (3u << 20)
#define BIG_LINES 1000000

struct here {
	char dir[64];
	char *tree;
	int archive;
};

static void
here_open(struct here *h)
{
	assert_int_equal(mem_copy_str(h->dir, sizeof(h->dir), "/tmp/ghtXXXXXX"), 0);
	assert_non_null(mkdtemp(h->dir));
	h->tree = mem_printf("%s/tree", h->dir);
	assert_int_equal(mkdir(h->tree, 0755), 0);
	char *path CLEANUP_FREE = mem_printf("%s/archive", h->dir);
	h->archive = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(h->archive >= 0);
}

static void
here_close(struct here *h)
{
	close(h->archive);
	rmtree(h->dir);
	mem_free(h->tree);
}

static void
here_write(const struct here *h, const char *name, const char *text, mode_t mode)
{
	char *path CLEANUP_FREE = mem_printf("%s/%s", h->tree, name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	if (text)
		fputs(text, f);
	for (int i = 1; !text && i <= BIG_LINES; i++)
		fprintf(f, "%d\n", i);
	assert_int_equal(fclose(f) | chmod(path, mode), 0);
}

/* With this much of the archive as input. */
static void
send(struct here *h, const struct buf *text, size_t len)
{
	char *piece CLEANUP_FREE = mem_alloc(len + 1);
	ssize_t n = read(h->archive, piece, len);
	struct sandbox_cmd cmd = { .command = text->data, .input = len ? piece : NULL,
		.input_len = len, .apart = true, .split = true };
	struct ran r;

	assert_int_equal(n, len);
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	if (r.code != 0)
		fail_msg("%s: %d %s %s", text->data, r.code,
		    r.error ? r.error : "", r.raw[1].data);
	cf_done(&r);
}

static void
fetch(struct here *h, const char *path, struct err *err)
{
	struct sandbox_cmd cmd = { .apart = true, .split = true };
	struct buf text CLEANUP_BUF;
	struct ran r;

	buf_init(&text, 10000);
	assert_int_equal(transfer_get_text(&text, path), 0);
	cmd.command = text.data;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	if (r.code != 0)
		fail_msg("%s: %d %s %s", text.data, r.code, r.error ? r.error : "",
		    r.raw[1].data);
	assert_int_equal(ftruncate(h->archive, 0), 0);
	assert_int_equal(pwrite(h->archive, r.raw[0].data, r.raw[0].len, 0),
	    (ssize_t)r.raw[0].len);
	assert_int_equal(lseek(h->archive, 0, SEEK_SET), 0);
	cf_done(&r);
	(void)transfer_unpack(h->archive, h->dir, "t", err);
}

/* Red if bytes, rights or links change on the way, or owners come along. */
static void
a_tree_goes_in_and_comes_out(void **state)
{
	struct err err = { ERR_NONE, "" };
	struct here h;
	struct stat st;
	struct buf text CLEANUP_BUF;

	(void)state;
	here_open(&h);
	here_write(&h, "a file", "it's\n", 0755);
	char *link CLEANUP_FREE = mem_printf("%s/link", h.tree);
	assert_int_equal(symlink("a file", link), 0);
	assert_int_equal(transfer_pack(h.tree, h.archive, &err), 0);
	off_t size = lseek(h.archive, 0, SEEK_END);
	assert_int_equal(lseek(h.archive, 0, SEEK_SET), 0);
	buf_init(&text, 10000);
	transfer_put_text(&text, "new dir/in", NULL);
	send(&h, &text, (size_t)size);
	cf_expect("(cd 'new dir/in/tree' && cat link && stat -c %a 'a file' && "
	    "test $(stat -c %u 'a file') = $(id -u) && echo ours; mv ../tree ../t)",
	    "it's\n755\nours\n", 0);
	fetch(&h, "new dir/in/t/", &err);
	if (err.code)
		fail_msg("%s", err.text);
	char *file CLEANUP_FREE = mem_printf("%s/t/link", h.dir);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(st.st_mode & 0777, 0755);
	cf_expect("rm -r 'new dir'", "", 0);
	here_close(&h);
}

/* Red if a piece is lost or twice there, or the file of the pieces stays. */
static void
more_than_one_piece_is_one_archive(void **state)
{
	static const char part[] = ".gatehouse-put-0123456789abcdef";
	struct err err = { ERR_NONE, "" };
	struct here h;
	struct buf text CLEANUP_BUF;

	(void)state;
	here_open(&h);
	here_write(&h, "big", NULL, 0644);
	assert_int_equal(transfer_pack(h.tree, h.archive, &err), 0);
	off_t size = lseek(h.archive, 0, SEEK_END);
	assert_true(size > PIECE);
	assert_int_equal(lseek(h.archive, 0, SEEK_SET), 0);
	buf_init(&text, 10000);
	transfer_piece_text(&text, "pieces", part);
	for (off_t at = 0; at < size; at += PIECE)
		send(&h, &text, size - at < PIECE ? (size_t)(size - at) : PIECE);
	buf_clear(&text);
	transfer_put_text(&text, "pieces", part);
	send(&h, &text, 0);
	cf_expect("seq 1 1000000 | cmp - pieces/tree/big && ls -A pieces; rm -r pieces",
	    "tree\n", 0);
	here_close(&h);
}

/* Red if a sandbox can name a file of this machine as its own. */
static void
what_leads_out_does_not_come(void **state)
{
	struct err err = { ERR_NONE, "" };
	struct stat st;
	struct here h;

	(void)state;
	here_open(&h);
	cf_expect("mkdir -p out/t && ln -s /etc/passwd out/t/l", "", 0);
	fetch(&h, "out/t", &err);
	assert_non_null(strstr(err.text, "leads out"));
	char *there CLEANUP_FREE = mem_printf("%s/t", h.dir);
	assert_int_equal(lstat(there, &st), -1);
	cf_expect("rm -r out", "", 0);
	here_close(&h);
}

void
transfer_add(void)
{
#define C(f) cf_case(#f, f, NULL)
	C(a_tree_goes_in_and_comes_out);
	C(more_than_one_piece_is_one_archive);
	C(what_leads_out_does_not_come);
#undef C
}
