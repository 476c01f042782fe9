#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define R "\xEF\xBF\xBD"

static const struct { const char *bytes, *repaired; } bad[] = {
	{ "\x80", R },
	{ "\xC0\xAF", R R },			/* overlong */
	{ "\xC1\xBF", R R },
	{ "\xE0\x9F\xBF", R R R },
	{ "\xF0\x8F\xBF\xBF", R R R R },
	{ "\xED\xA0\x80", R R R },		/* surrogate */
	{ "\xF4\x90\x80\x80", R R R R },	/* above 10FFFF */
	{ "\xF5\x80\x80\x80", R R R R },
	{ "\xFE\xFF", R R },
	{ "\xE2\x82", R },			/* cut short: one each */
	{ "\xE2\x82" "a", R "a" },
	{ "\xF0\x9F\x98" "a\xE2", R "a" R },
	{ "\xF0\x9F\xF0\x9F\x98\x80", R "\xF0\x9F\x98\x80" },
	{ "\xC3\xC3\xA9", R "\xC3\xA9" },
};

static void
every_code_point_survives_encoding_and_decoding(void **state)
{
	(void)state;

	for (uint32_t cp = 0; cp <= 0x110010; cp++) {
		char s[4];
		uint32_t back = 0;
		size_t n = utf8_encode(cp, s);

		if ((cp >= 0xD800 && cp <= 0xDFFF) || cp > 0x10FFFF) {
			assert_int_equal(n, 0);
			continue;
		}
		if (utf8_next(s, n, &back) != n || back != cp ||
		    (n > 1 && utf8_next(s, n - 1, NULL) != 0))
			fail_msg("code point %x", cp);
	}
}

static void
invalid_bytes_are_found_and_repaired(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_BUF struct buf out;

		buf_init(&out, 100);
		assert_false(utf8_valid(bad[i].bytes, strlen(bad[i].bytes)));
		assert_true(utf8_repair(&out, bad[i].bytes, strlen(bad[i].bytes)));
		assert_string_equal(out.data, bad[i].repaired);
	}
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_int_equal(utf8_next("", 0, NULL), 0);
}

static void
a_stream_cut_anywhere_gives_the_same_text(void **state)
{
	(void)state;
	char all[200] = "x\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		strcat(all, bad[i].bytes);
	size_t len = strlen(all);
	CLEANUP_BUF struct buf whole;

	buf_init(&whole, 1000);
	utf8_repair(&whole, all, len);
	for (size_t a = 0; a <= len; a++) {
		for (size_t b = a; b <= len; b++) {
			struct utf8_stream st = { .held_len = 0 };
			CLEANUP_BUF struct buf out;

			buf_init(&out, 1000);
			utf8_stream_feed(&st, all, a, &out);
			assert_true(utf8_valid(out.data, out.len));
			utf8_stream_feed(&st, all + a, b - a, &out);
			assert_true(utf8_valid(out.data, out.len));
			utf8_stream_feed(&st, all + b, len - b, &out);
			utf8_stream_end(&st, &out);
			assert_string_equal(out.data, whole.data);
		}
	}
}

static void
a_stream_fed_byte_by_byte_holds_nothing_it_could_tell(void **state)
{
	(void)state;
	struct utf8_stream st = { .held_len = 0 };
	CLEANUP_BUF struct buf out;
	const char *emoji = "\xF0\x9F\x98\x80";

	buf_init(&out, 100);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(out.len, 0);
		utf8_stream_feed(&st, emoji + i, 1, &out);
	}
	assert_string_equal(out.data, emoji);
	assert_true(utf8_stream_end(&st, &out));
	assert_string_equal(out.data, emoji);
}

static void
lengths_in_other_units(void **state)
{
	(void)state;
	const char *s = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
	size_t len = strlen(s);

	assert_int_equal(utf8_points(s, len), 5);
	assert_int_equal(utf8_units16(s, len), 6);
	assert_int_equal(utf8_units16("\xFF\xE2\x82", 3), 2);
	assert_int_equal(utf8_offset16(s, len, 0), 0);
	assert_int_equal(utf8_offset16(s, len, 1), 1);
	assert_int_equal(utf8_offset16(s, len, 3), 6);
	assert_int_equal(utf8_offset16(s, len, 4), 6);	/* inside the pair */
	assert_int_equal(utf8_offset16(s, len, 5), 10);
	assert_int_equal(utf8_offset16(s, len, 6), len);
	assert_int_equal(utf8_offset16(s, len, 99), len);
}

static void
cutting_never_splits_a_character(void **state)
{
	(void)state;
	const char *s = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
	static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

	for (size_t max = 0; max < ARRAY_LEN(want); max++)
		assert_int_equal(utf8_cut(s, strlen(s), max), want[max]);
	/* no character to keep whole: the maximum holds all the same */
	assert_int_equal(utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
	assert_int_equal(utf8_cut("ab\x80\x80", 4, 3), 3);
}

static void
a_full_buffer_is_reported(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf out;

	buf_init(&out, 2);
	assert_false(utf8_repair(&out, "\xFF", 1));
	assert_true(out.over);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point_survives_encoding_and_decoding),
		cmocka_unit_test(invalid_bytes_are_found_and_repaired),
		cmocka_unit_test(a_stream_cut_anywhere_gives_the_same_text),
		cmocka_unit_test(a_stream_fed_byte_by_byte_holds_nothing_it_could_tell),
		cmocka_unit_test(lengths_in_other_units),
		cmocka_unit_test(cutting_never_splits_a_character),
		cmocka_unit_test(a_full_buffer_is_reported),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
