#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/redact.h"

static int fds[2];
static char got[2 * LOG_LINE_MAX];

static const char *
read_back(void)
{
	ssize_t n = read(fds[0], got, sizeof(got) - 1);

	assert_true(n > 0);
	got[n] = '\0';
	return got;
}

static int
open_pipe(void **state)
{
	(void)state;
	if (pipe(fds) < 0)
		return -1;
	log_open(fds[1], LOG_INFO);
	return 0;
}

static int
close_pipe(void **state)
{
	(void)state;
	log_open(STDERR_FILENO, LOG_INFO);
	redact_clear();
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static void
a_line_has_level_area_context_and_text(void **state)
{
	(void)state;
	struct log_ctx outer, inner;

	log_ctx_set(&outer, NULL, "session=%d", 7);
	log_ctx_set(&inner, &outer, "run=%d", 3);
	log_info("agent", &inner, "step=%s", "think");
	assert_string_equal(read_back(),
	    "INFO agent session=7 run=3 step=think\n");
	log_error("store", NULL, "disk full");
	assert_string_equal(read_back(), "ERROR store disk full\n");
}

static void
lower_levels_are_silent(void **state)
{
	(void)state;
	enum log_level level;

	log_debug("a", NULL, "no");
	log_info("a", NULL, "yes");
	assert_string_equal(read_back(), "INFO a yes\n");
	assert_true(log_level_parse("Debug", &level));
	assert_int_equal(level, LOG_DEBUG);
	assert_true(log_level_parse("warning", &level));
	assert_int_equal(level, LOG_WARN);
	assert_false(log_level_parse("loud", &level));
}

static void
control_bytes_cannot_forge_a_line_or_move_the_cursor(void **state)
{
	(void)state;

	log_info("a", NULL, "x\nERROR b y\r\t\x1b[2J\x7f|");
	assert_string_equal(read_back(),
	    "INFO a x\\nERROR b y\\r\\t\\x1b[2J\\x7f|\n");
	/* C1 CSI, right-to-left override, bytes that are no UTF-8 */
	log_info("a", NULL, "%s", "\xC2\x9B|\xE2\x80\xAE|\xFF\xC3|\xC3\xA9");
	assert_string_equal(read_back(),
	    "INFO a \\u009b|\\u202e|\\xff\\xc3|\xC3\xA9\n");
}

static void
known_and_shaped_secrets_are_masked(void **state)
{
	(void)state;
	struct log_ctx ctx;

	redact_add_secret("hunter2hunter2");
	log_ctx_set(&ctx, NULL, "who=hunter2hunter2");
	log_info("a", &ctx, "url /bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456 %s",
	    "hunter2hunter2");
	assert_string_equal(read_back(),
	    "INFO a who=[redacted] url /bot[redacted] [redacted]\n");
}

static void
a_long_line_is_cut_after_it_was_masked(void **state)
{
	(void)state;
	char text[20000];

	/* the secret lies across the place where the line is cut */
	redact_add_secret("0123456789abcdef0123456789abcdef");
	for (size_t at = LOG_LINE_MAX - 60; at < LOG_LINE_MAX + 10; at++) {
		memset(text, 'x', at);
		text[at] = '\0';
		strcat(text, " 0123456789abcdef0123456789abcdef");
		log_info("a", NULL, "%s", text);
		size_t len = strlen(read_back());

		assert_true(len <= LOG_LINE_MAX);
		assert_int_equal(got[len - 1], '\n');
		assert_null(strstr(got, "01234567"));
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_info("a", NULL, "%s", text);
	assert_non_null(strstr(read_back(), "bytes not shown"));
}

static void
a_full_pipe_drops_whole_lines_and_counts_them(void **state)
{
	(void)state;
	uint64_t before = log_dropped();
	size_t written = 0, lines = 0;

	for (size_t i = 0; i < 3000; i++)
		log_info("a", NULL, "%0100d", 7);
	uint64_t dropped = log_dropped() - before;

	assert_true(dropped > 0 && dropped < 3000);
	while (written < (3000 - dropped) * 108) {
		const char *s = read_back();

		written += strlen(s);
		for (; *s; s++)
			lines += *s == '\n';
	}
	assert_int_equal(lines, 3000 - dropped);
	log_info("a", NULL, "again");
	assert_string_equal(read_back(), "INFO a again\n");
}

static void
a_full_or_closed_socket_does_not_block_or_kill(void **state)
{
	(void)state;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	log_open(pair[1], LOG_INFO);
	uint64_t before = log_dropped();

	for (size_t i = 0; i < 20000; i++)
		log_info("a", NULL, "%0100d", 7);
	assert_true(log_dropped() > before);
	close(pair[0]);
	log_info("a", NULL, "nobody reads");
	log_open(STDERR_FILENO, LOG_INFO);
	close(pair[1]);
}

static void
a_long_context_is_cut_with_dots(void **state)
{
	(void)state;
	struct log_ctx ctx;

	log_ctx_set(&ctx, NULL, "key=%0200d", 0);
	assert_int_equal(strlen(ctx.text), sizeof(ctx.text) - 1);
	assert_string_equal(ctx.text + sizeof(ctx.text) - 4, "...");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pipe, close_pipe)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_level_area_context_and_text),
		TEST(lower_levels_are_silent),
		TEST(control_bytes_cannot_forge_a_line_or_move_the_cursor),
		TEST(known_and_shaped_secrets_are_masked),
		TEST(a_long_line_is_cut_after_it_was_masked),
		TEST(a_full_pipe_drops_whole_lines_and_counts_them),
		TEST(a_full_or_closed_socket_does_not_block_or_kill),
		TEST(a_long_context_is_cut_with_dots),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
