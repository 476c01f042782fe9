/* Much output, odd output, output of several streams. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "sandbox/spooled.h"
#include "tests/conformance/harness.h"

static void
streams_apart_when_asked(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo out; echo err >&2",
		.split = true };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_string_equal(r.raw[0].data, "out\n");
	assert_string_equal(r.raw[1].data, "err\n");
	cf_done(&r);
}

static void
one_stream_otherwise(void **state)
{
	struct ran r;

	(void)state;
	cf_run(&r, "echo out; echo err >&2");
	assert_string_equal(r.raw[0].data, "out\nerr\n");
	assert_int_equal(r.raw[1].len, 0);
	cf_done(&r);
}

static void
all_of_a_quick_command_arrives(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		struct ran r;
		cf_run(&r, "head -c 60000 /dev/zero | tr '\\0' z");
		assert_int_equal(r.total, 60000);
		assert_int_equal(r.raw[0].len, 60000);
		cf_done(&r);
	}
}

static void
long_output_keeps_both_ends_and_a_file(void **state)
{
	struct ran r;
	struct stat st;

	(void)state;
	cf_run(&r, "seq 1 100000");
	assert_int_equal(r.code, 0);
	assert_int_equal(r.total, 588895);
	assert_true(r.output_len < 20200);
	assert_int_equal(strncmp(r.output, "1\n2\n3\n", 6), 0);
	assert_non_null(strstr(r.output, "bytes omitted"));
	assert_string_equal(r.output + r.output_len - 14, "\n99999\n100000\n");
	assert_non_null(r.spool);
	assert_int_equal(stat(r.spool, &st), 0);
	assert_int_equal(st.st_size, 200000);
	assert_int_equal(st.st_mode & 0777, 0600);
	cf_done(&r);
}

/* 4 MB are this test's own copies of the stream. */
#ifdef __SANITIZE_ADDRESS__
#define MEMORY_KB (400 * 1024)	/* it keeps what was freed, 256 MB of it */
#else
#define MEMORY_KB (24 * 1024)
#endif

static void
flood(const char *command, unsigned long long want)
{
	struct rusage before, after;
	struct ran r;

	getrusage(RUSAGE_SELF, &before);
	struct loop_stats stats = loop_stats(cf.real.loop, true);
	cf_run(&r, command);
	stats = loop_stats(cf.real.loop, false);
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(r.code, 0);
	assert_int_equal(r.total, want);
	assert_true(r.output_len < 20200);
	assert_true(utf8_valid(r.output, r.output_len));
	if (after.ru_maxrss - before.ru_maxrss >= MEMORY_KB)
		fail_msg("%ld kB more memory", after.ru_maxrss - before.ru_maxrss);
	(void)stats;
	cf_done(&r);
}

static void
one_line_of_150_megabytes_is_bounded(void **state)
{
	(void)state;
	flood("head -c 150000000 /dev/zero | tr '\\0' x", 150000000);
}

static void
a_flood_of_lines_is_bounded(void **state)
{
	(void)state;
	flood("yes | head -c 50000000", 50000000);
}

static void
a_flood_on_stderr_is_bounded(void **state)
{
	(void)state;
	flood("yes | head -c 20000000 >&2", 20000000);
}

static void
random_bytes_become_text(void **state)
{
	struct ran r;

	(void)state;
	cf_run(&r, "head -c 3000000 /dev/urandom");
	assert_int_equal(r.code, 0);
	assert_int_equal(r.total, 3000000);
	assert_true(utf8_valid(r.output, r.output_len));
	for (size_t i = 0; i < r.output_len; i++)
		assert_true((unsigned char)r.output[i] >= 0x20 ||
		    r.output[i] == '\n' || r.output[i] == '\t');
	cf_done(&r);
}

static void
others_run_during_a_flood(void **state)
{
	struct sandbox_cmd yes = { .command = "yes", .timeout_ms = 20000 };
	struct sandbox_cmd echo = { .command = "echo alive" };
	struct ran flooding, other;

	(void)state;
	cf_begin(&flooding, &key_a, &yes);
	cf_until_output(&flooding, "y\ny\n");
	for (int i = 0; i < 3; i++) {
		cf_begin(&other, &key_b, &echo);
		cf_wait(&other);
		assert_string_equal(other.output, "alive\n");
		cf_done(&other);
	}
	assert_false(flooding.done);
	cf_done(&flooding);
}

static void
secrets_of_ours_are_masked(void **state)
{
	struct ran r;

	(void)state;
	redact_add_secret("our-own-secret-value");
	cf_run(&r, "echo our-own-secret-value; "
	    "echo sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A");
	assert_null(strstr(r.output, "our-own-secret"));
	assert_null(strstr(r.output, "MTIzNDU2Nzg5MGFiY2RlZ"));
	cf_done(&r);
	redact_clear();
}

static struct json *lines;
static bool read_done;

static void
on_lines(void *arg, const struct json *j)
{
	(void)arg;
	lines = j ? json_clone(j) : NULL;
	read_done = true;
}

static const char *
read_lines(const char *id, long offset, long limit)
{
	json_free(&lines);
	read_done = false;
	assert_non_null(spooled_read(cf.sb, &key_a, id, offset, limit, on_lines,
	    NULL));
	assert_true(real_until(&cf.real, &read_done));
	return json_get_str(lines, "output", NULL);
}

static void
what_was_left_out_can_be_read(void **state)
{
	struct ran r;

	(void)state;
	cf_run(&r, "seq 1 10000; printf end");
	assert_non_null(r.spool_id);
	assert_string_equal(read_lines(r.spool_id, 4999, 2), "5000\n5001\n");
	assert_int_equal(json_get_int(lines, "total_lines", 0), 10001);
	assert_string_equal(json_get_str(lines, "showing", ""), "5000-5001");
	assert_string_equal(read_lines(r.spool_id, -1, 2), "10000\nend");
	assert_string_equal(read_lines(r.spool_id, 20000, 2), "");
	assert_null(spooled_read(cf.sb, &key_b, r.spool_id, 0, 1, on_lines, NULL));
	assert_null(spooled_read(cf.sb, &key_a, "out_../../x", 0, 1, on_lines,
	    NULL));
	unlink(r.spool);
	assert_null(read_lines(r.spool_id, 0, 1));
	cf_done(&r);
}

void
output_add_cases(void)
{
#define CASE(name) cf_case(#name, name, NULL)
	CASE(streams_apart_when_asked);
	CASE(one_stream_otherwise);
	CASE(all_of_a_quick_command_arrives);
	CASE(long_output_keeps_both_ends_and_a_file);
	CASE(one_line_of_150_megabytes_is_bounded);
	CASE(a_flood_of_lines_is_bounded);
	CASE(a_flood_on_stderr_is_bounded);
	CASE(random_bytes_become_text);
	CASE(others_run_during_a_flood);
	CASE(secrets_of_ours_are_masked);
	CASE(what_was_left_out_can_be_read);
#undef CASE
}
