/* Watched words: lines cut anywhere, and the bounds on telling. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/lookout.h"

static const char *const patterns[] = { "ERROR", "ready", NULL };

/* What would be told now, or NULL. */
static char *
look(struct lookout *l, msec_t now, unsigned *more, enum lookout_say *say)
{
	struct buf lines;

	buf_init(&lines, LOOKOUT_BYTES_MAX);
	*more = 0;
	*say = lookout_look(l, now, &lines, more);
	if (*say != LOOKOUT_QUIET)
		return buf_take(&lines);
	buf_done(&lines);
	return NULL;
}

static void
lines_match_wherever_they_are_cut(void **state)
{
	static const char text[] = "nothing\nan ERROR here, ERROR\nit is ready\nx";

	(void)state;
	for (size_t cut = 1; cut < sizeof(text); cut++) {
		struct lookout *l = lookout_new(patterns);
		enum lookout_say say;
		unsigned more;

		for (size_t at = 0; at < sizeof(text) - 1; at += cut)
			lookout_feed(l, text + at, at + cut < sizeof(text) ?
			    cut : sizeof(text) - 1 - at);
		CLEANUP_FREE char *lines = look(l, 0, &more, &say);
		assert_int_equal(say, LOOKOUT_TELL);
		assert_string_equal(lines, "an ERROR here, ERROR\nit is ready\n");
		assert_int_equal(more, 0);
		lookout_free(&l);
	}
}

static void
a_line_without_end_is_seen_in_pieces_and_counts_once(void **state)
{
	struct lookout *l = lookout_new(patterns);
	enum lookout_say say;
	unsigned more;

	(void)state;
	for (int i = 0; i < 3000; i++)
		lookout_feed(l, "xxxxERRORxx", 11);
	CLEANUP_FREE char *lines = look(l, 0, &more, &say);
	assert_int_equal(say, LOOKOUT_TELL);
	assert_true(strlen(lines) <= LOOKOUT_BYTES_MAX);
	assert_int_equal(more, 0);
	lookout_free(&l);
}

static void
many_lines_are_counted_and_not_told(void **state)
{
	struct lookout *l = lookout_new(patterns);
	enum lookout_say say;
	unsigned more;

	(void)state;
	for (int i = 0; i < 50; i++)
		lookout_feed(l, "ready\n", 6);
	CLEANUP_FREE char *lines = look(l, 0, &more, &say);
	assert_int_equal(strlen(lines), LOOKOUT_LINES_MAX * 6);
	assert_int_equal(more, 50 - LOOKOUT_LINES_MAX);
	lookout_free(&l);
}

static void
one_telling_in_a_window(void **state)
{
	struct lookout *l = lookout_new(patterns);
	enum lookout_say say;
	unsigned more;

	(void)state;
	lookout_feed(l, "ready 1\n", 8);
	CLEANUP_FREE char *first = look(l, 1000, &more, &say);
	assert_string_equal(first, "ready 1\n");
	lookout_feed(l, "ready 2\n", 8);
	assert_null(look(l, 1000 + LOOKOUT_WINDOW_MS - 1, &more, &say));
	lookout_feed(l, "ready 3\n", 8);
	CLEANUP_FREE char *second = look(l, 1000 + LOOKOUT_WINDOW_MS, &more, &say);
	assert_string_equal(second, "ready 3\n");
	assert_int_equal(more, 1);
	lookout_free(&l);
}

/* Three windows in a row with something kept back. */
static void
who_never_stops_is_not_watched_any_longer(void **state)
{
	struct lookout *l = lookout_new(patterns);
	enum lookout_say say = LOOKOUT_QUIET;
	unsigned more, told = 0;
	msec_t now = 0;

	(void)state;
	for (; say != LOOKOUT_OFF; now += 1000) {
		assert_true(now < 10 * LOOKOUT_WINDOW_MS);
		lookout_feed(l, "ERROR\n", 6);
		CLEANUP_FREE char *lines = look(l, now, &more, &say);
		told += lines != NULL;
	}
	assert_int_equal(told, 4);
	lookout_feed(l, "ERROR\n", 6);
	assert_null(look(l, now + 10 * LOOKOUT_WINDOW_MS, &more, &say));
	lookout_free(&l);
}

static void
a_quiet_window_in_between_forgives(void **state)
{
	struct lookout *l = lookout_new(patterns);
	enum lookout_say say;
	unsigned more;
	msec_t now = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		lookout_feed(l, "ERROR\n", 6);
		mem_free(look(l, now, &more, &say));
		assert_int_equal(say, LOOKOUT_TELL);
		lookout_feed(l, "ERROR\n", 6);
		assert_null(look(l, now + 1, &more, &say));
		now += 2 * LOOKOUT_WINDOW_MS;
	}
	lookout_free(&l);
}

static void
all_together_are_bounded_too(void **state)
{
	struct breaker b = { .n = 0 };

	(void)state;
	for (int i = 0; i < BREAKER_TELLINGS; i++)
		assert_int_equal(breaker_look(&b, i * 100), BREAKER_PASS);
	assert_int_equal(breaker_look(&b, BREAKER_SPAN_MS - 1), BREAKER_TRIPS);
	assert_int_equal(breaker_look(&b, BREAKER_SPAN_MS + 1), BREAKER_KEEPS);
	assert_int_equal(breaker_release(&b), 2);
	/* Spread out it never trips. */
	for (msec_t now = 100000; now < 300000; now += 700)
		assert_int_equal(breaker_look(&b, now), BREAKER_PASS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_match_wherever_they_are_cut),
		cmocka_unit_test(a_line_without_end_is_seen_in_pieces_and_counts_once),
		cmocka_unit_test(many_lines_are_counted_and_not_told),
		cmocka_unit_test(one_telling_in_a_window),
		cmocka_unit_test(who_never_stops_is_not_watched_any_longer),
		cmocka_unit_test(a_quiet_window_in_between_forgives),
		cmocka_unit_test(all_together_are_bounded_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
