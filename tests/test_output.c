#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "sandbox/clean.h"
#include "sandbox/output.h"
#include "tests/loop_sim.h"

static struct loop *loop;
static char dir[64];

static char *
clean_in_pieces(const char *s, size_t len, size_t piece)
{
	struct clean c;
	struct buf out, part;

	clean_init(&c);
	buf_init(&out, 1 << 20);
	buf_init(&part, CLEAN_OUT);
	for (size_t i = 0; i < len; i += piece) {
		clean_feed(&c, s + i, len - i < piece ? len - i : piece, &part);
		buf_add(&out, part.data, part.len);
		buf_clear(&part);
	}
	clean_end(&c, &part);
	buf_add(&out, part.data, part.len);
	assert_false(part.over);
	buf_done(&part);
	clean_done(&c);
	return buf_take(&out);
}

static void
escape_sequences_go_wherever_they_are_cut(void **state)
{
	static const struct { const char *in, *out; } table[] = {
		{ "a\033[31mred\033[0m b", "ared b" },
		{ "\033[38:2:1:2:3mx\033[?25ly\033[1;2Hz", "xyz" },
		{ "\033]0;title\007t", "t" },
		{ "\033]8;;http://x/\033\\link\033]8;;\033\\", "link" },
		{ "\033Pq#1\033\\d\033_apc\033\\e\033^pm\033\\f\033Xsos\033\\g", "defg" },
		{ "\033(B\033)0\033=\033>\0337\0338\033cx", "x" },
		{ "a\xc2\x9b" "31mb\xc2\x9d" "0;t\xc2\x9c" "c\xc2\x85" "d", "abcd" },
		{ "tab\tbell\007back\bnul\001del\177", "tab\tbellbacknuldel" },
		{ "10%\r20%\r100%\ndone\r\n", "100%\ndone\n" },
		{ "last\r", "last" },
		{ "\033[31", "" },
		{ "\033]unfinished\nnext", "\nnext" },
		{ "\303\251\342\202\254\360\237\230\200", "\303\251\342\202\254\360\237\230\200" },
		{ "bad\377\376end", "bad\xef\xbf\xbd\xef\xbf\xbd" "end" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		for (size_t piece = 1; piece < 12; piece++) {
			char *got = clean_in_pieces(table[i].in,
			    strlen(table[i].in), piece);
			assert_string_equal(got, table[i].out);
			mem_free(got);
		}
	}
}

static void
a_string_that_never_ends_hides_little(void **state)
{
	char *in = mem_alloc(20000);
	char *got;

	(void)state;
	memset(in, 'x', 20000);
	in[0] = '\033';
	in[1] = ']';
	got = clean_in_pieces(in, 20000, 1000);
	assert_true(strlen(got) > 15000);
	mem_free(got);
	mem_free(in);
}

struct end {
	struct buf text;
	char *spool, *note;
	uint64_t total;
};

static void
finish(struct output **o, struct end *e)
{
	const char *spool;

	buf_init(&e->text, 1 << 20);
	output_end(*o, &e->text, &spool, &e->note);
	e->spool = mem_str(spool);
	e->total = output_total(*o);
	output_free(o);
	assert_true(utf8_valid(e->text.data, e->text.len));
	assert_null(memchr(e->text.data, 0, e->text.len));
}

static void
end_done(struct end *e)
{
	if (e->spool)
		unlink(e->spool);
	buf_done(&e->text);
	mem_free(e->spool);
	mem_free(e->note);
}

static struct output *
make(size_t max, size_t spool_max)
{
	struct output_opts opts = { .max = max, .spool_max = spool_max,
		.spool_dir = dir, .loop = loop };

	return output_new(&opts);
}

static void
short_output_is_whole(void **state)
{
	struct output *o = make(1000, 5000);
	struct end e;

	(void)state;
	output_add(o, 1, "out ", 4);
	output_add(o, 2, "err\n", 4);
	output_add(o, 1, "more", 4);
	finish(&o, &e);
	assert_string_equal(e.text.data, "out err\nmore");
	assert_null(e.spool);
	assert_int_equal(e.total, 12);
	end_done(&e);
}

static void
long_output_keeps_both_ends_and_a_file(void **state)
{
	struct output *o = make(1000, 100000);
	struct end e;
	struct stat st;
	char line[32];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mem_format(line, sizeof(line), "line %04d\n", i), 0);
		output_add(o, 1, line, 10);
	}
	finish(&o, &e);
	assert_true(e.text.len <= 1000 + 80);
	assert_int_equal(strncmp(e.text.data, "line 0000\nline 0001\n", 20), 0);
	assert_non_null(strstr(e.text.data, "line 0039\n"));
	assert_null(strstr(e.text.data, "line 0040\n"));
	assert_non_null(strstr(e.text.data, "29000 of 30000 bytes omitted"));
	assert_non_null(strstr(e.text.data, "line 2940\n"));
	assert_string_equal(e.text.data + e.text.len - 10, "line 2999\n");
	assert_non_null(e.spool);
	assert_int_equal(stat(e.spool, &st), 0);
	assert_int_equal(st.st_size, 30000);
	assert_int_equal(st.st_mode & 0777, 0600);
	end_done(&e);
}

static void
one_line_of_150_megabytes_is_bounded(void **state)
{
	struct output *o = make(50000, 5000000);
	char *block = mem_alloc(65536);
	struct end e;
	struct stat st;

	(void)state;
	memset(block, 'x', 65536);
	for (int i = 0; i < 2400; i++)
		output_add(o, 1, block, 65536);
	output_add(o, 1, "the end", 7);
	finish(&o, &e);
	assert_int_equal(e.total, 2400u * 65536 + 7);
	assert_true(e.text.len <= 50000 + 80);
	assert_string_equal(e.text.data + e.text.len - 7, "the end");
	assert_int_equal(stat(e.spool, &st), 0);
	assert_int_equal(st.st_size, 5000000);
	mem_free(block);
	end_done(&e);
}

static void
a_secret_is_masked_also_at_the_edges(void **state)
{
	static const char secret[] = "s3cr3t-value-of-thirty-two-bytes";
	char *fill = mem_alloc(100000);

	(void)state;
	memset(fill, '.', 100000);
	redact_add_secret(secret);
	/* Its place moves over both edges of what is shown. */
	for (size_t at = 360; at < 420; at += 3) {
		struct output *o = make(1000, 0);
		struct end e;
		output_add(o, 1, fill, at);
		output_add(o, 1, secret, 16);
		output_add(o, 1, secret + 16, 16);
		output_add(o, 1, fill, 50000);
		output_add(o, 1, secret, 32);
		output_add(o, 1, fill, 1000 - at - 16);
		finish(&o, &e);
		assert_null(strstr(e.text.data, "s3c"));
		assert_null(strstr(e.text.data, "bytes."));
		end_done(&e);
	}
	redact_clear();
	mem_free(fill);
}

static void
the_file_is_masked_where_its_blocks_meet(void **state)
{
	static const char secret[] = "s3cr3t-value-of-thirty-two-bytes";
	struct output *o = make(1000, 1000000);
	struct end e;
	char *all = mem_alloc(400001);

	(void)state;
	redact_add_secret(secret);
	for (int i = 0; i < 6000; i++) {
		output_add(o, 1, "some words before ", 18);
		output_add(o, 1, secret, 32);
		if (i % 7 == 0)
			output_add(o, 1, "\n", 1);
	}
	finish(&o, &e);
	int fd = open(e.spool, O_RDONLY);
	ssize_t n = read(fd, all, 400000);
	assert_true(n > 100000);
	assert_null(strstr(all, "s3cr3t"));
	assert_null(strstr(all, "two-bytes"));
	close(fd);
	mem_free(all);
	redact_clear();
	end_done(&e);
}

static void
a_spool_that_cannot_be_written_is_said(void **state)
{
	struct output_opts opts = { .max = 100, .spool_max = 1000,
		.spool_dir = "/proc/nowhere/out", .loop = loop };
	struct output *o = output_new(&opts);
	struct end e;
	char fill[500];

	(void)state;
	memset(fill, 'a', sizeof(fill));
	output_add(o, 1, fill, sizeof(fill));
	finish(&o, &e);
	assert_null(e.spool);
	assert_non_null(strstr(e.note, "/proc/nowhere"));
	end_done(&e);
}

static void
letters_are_never_cut(void **state)
{
	(void)state;
	for (size_t max = 100; max < 120; max++) {
		struct output *o = make(max, 0);
		struct end e;
		for (int i = 0; i < 9000; i++)
			output_add(o, 1, "\342\202\254", 3);
		finish(&o, &e);	/* checks that it is valid */
		assert_null(strstr(e.text.data, "\xef\xbf\xbd"));
		end_done(&e);
	}
}

/* No piece of a known secret of this length may be seen. */
static bool
shows(const char *text, const char *secret)
{
	for (size_t i = 0; i + 8 <= strlen(secret); i++) {
		CLEANUP_FREE char *part = mem_strn(secret + i, 8);

		if (strstr(text, part))
			return true;
	}
	return false;
}

static char *
whole_file(const char *path)
{
	static char bytes[20000];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes) - 1);

	assert_true(n >= 0);
	close(fd);
	bytes[n] = '\0';
	return bytes;
}

/*
 * A secret at each place of an output whose middle is left out, and cut in
 * two at each of its letters: neither what is shown nor the file has a piece.
 */
static void
no_secret_passes_at_any_cut(void **state)
{
	static const char secret[] = "Zk39fQ2mB7xW1pL8vR4tY6";
	static char text[9000];
	unsigned seen = 0;

	(void)state;
	redact_add_secret(secret);
	for (size_t at = 0; at + sizeof(secret) < 2400; at += 1 + (at > 460 &&
	    at < 1700) * 6) {
		size_t cut = at + at % sizeof(secret);
		struct output *o = make(1000, 8000);
		struct end e;

		memset(text, 'x', sizeof(text));
		for (size_t i = 79; i < sizeof(text); i += 80)
			text[i] = '\n';
		memcpy(text + at, secret, sizeof(secret) - 1);
		output_add(o, 1, text, cut);
		output_add(o, 1, text + cut, 2400 - cut);
		finish(&o, &e);
		if (shows(e.text.data, secret) || shows(whole_file(e.spool), secret))
			fail_msg("secret at %zu, cut at %zu", at, cut);
		seen += strstr(e.text.data, "[redacted]") != NULL;
		end_done(&e);
	}
	assert_true(seen > 100);
	redact_clear();
}

/* Any bytes, cut anywhere, of any length: what comes out is text. */
static void
random_bytes_are_text(void **state)
{
	static char data[120000];

	(void)state;
	srandom(1);
	for (int round = 0; round < 300; round++) {
		struct output *o = make(500 + (size_t)random() % 20000, 0);
		struct end e;
		size_t n = (size_t)random() % sizeof(data), at = 0;
		for (size_t i = 0; i < n; i++)
			data[i] = (char)random();
		while (at < n) {
			size_t piece = 1 + (size_t)random() % 70000;
			if (piece > n - at)
				piece = n - at;
			output_add(o, 1, data + at, piece);
			at += piece;
		}
		finish(&o, &e);		/* checks that it is valid */
		for (size_t i = 0; i < e.text.len; i++)
			assert_true((unsigned char)e.text.data[i] >= 0x20 ||
			    e.text.data[i] == '\n' || e.text.data[i] == '\t');
		end_done(&e);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escape_sequences_go_wherever_they_are_cut),
		cmocka_unit_test(a_string_that_never_ends_hides_little),
		cmocka_unit_test(short_output_is_whole),
		cmocka_unit_test(long_output_keeps_both_ends_and_a_file),
		cmocka_unit_test(one_line_of_150_megabytes_is_bounded),
		cmocka_unit_test(a_secret_is_masked_also_at_the_edges),
		cmocka_unit_test(the_file_is_masked_where_its_blocks_meet),
		cmocka_unit_test(no_secret_passes_at_any_cut),
		cmocka_unit_test(a_spool_that_cannot_be_written_is_said),
		cmocka_unit_test(letters_are_never_cut),
		cmocka_unit_test(random_bytes_are_text),
	};
	if (mem_copy_str(dir, sizeof(dir), "/tmp/spool-test-XXXXXX") < 0)
		return 1;
	if (!mkdtemp(dir))
		return 1;
	loop = loop_sim_new(1);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	loop_free(&loop);
	rmdir(dir);
	return rc;
}
