/* Cutting texts: every chunk stands on its own and nothing is lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/text/split.h"
#include "platforms/text/telegram_html.h"
#include "tests/html_check.h"
#include "tests/random_markdown.h"

#define CHUNKS_MAX 4096

struct cut {
	const char *src;
	size_t limit;
	text_len_cb *cost;
	size_t n;
	size_t end;		/* of the last chunk in the source */
	char *chunks[CHUNKS_MAX];
	struct buf joined;	/* source of the chunks */
	struct buf seen;	/* visible text of the chunks, no white space */
	bool html;
};

static void
add_dense(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \n\r\t", s[i]))
			buf_add(out, s + i, 1);
}

static void
visible_of(struct buf *out, const char *text, size_t len)
{
	CLEANUP_BUF struct buf html, seen;

	buf_init(&html, 8u << 20);
	buf_init(&seen, 8u << 20);
	telegram_html(&html, text, len);
	const char *bad = html_check(html.data, &seen);
	if (bad)
		fail_msg("%s in %s\nof %s", bad, html.data, text);
	add_dense(out, seen.data, seen.len);
}

static void
on_chunk(void *arg, const struct text_chunk *c)
{
	struct cut *cut = arg;

	assert_true(cut->n < CHUNKS_MAX);
	assert_true(c->start >= cut->end && c->end > c->start);
	for (size_t i = cut->end; i < c->start; i++)
		assert_non_null(strchr(" \n\t\r", cut->src[i]));
	if (cut->cost(c->text, c->len) > cut->limit &&
	    utf8_points(cut->src + c->start, c->end - c->start) > 1)
		fail_msg("chunk of %zu over limit %zu:\n%s",
			cut->cost(c->text, c->len), cut->limit, c->text);
	assert_true(utf8_valid(c->text, c->len));
	assert_int_equal(strlen(c->text), c->len);
	buf_add(&cut->joined, cut->src + c->start, c->end - c->start);
	if (cut->html)
		visible_of(&cut->seen, c->text, c->len);
	cut->end = c->end;
	cut->chunks[cut->n++] = mem_strn(c->text, c->len);
}

static void
cut_run(struct cut *cut, const char *src, bool plain, size_t limit,
	text_len_cb *cost)
{
	memset(cut, 0, sizeof(*cut));
	cut->src = src;
	cut->limit = limit;
	cut->cost = cost;
	cut->html = !plain;
	buf_init(&cut->joined, 8u << 20);
	buf_init(&cut->seen, 8u << 20);
	text_split(src, strlen(src), plain, limit, cost, on_chunk, cut);
	for (size_t i = cut->end; src[i]; i++)
		assert_non_null(strchr(" \n\t\r", src[i]));
}

static void
cut_done(struct cut *cut)
{
	for (size_t i = 0; i < cut->n; i++)
		mem_free(cut->chunks[i]);
	buf_done(&cut->joined);
	buf_done(&cut->seen);
}

static char *
repeat(const char *before, const char *s, size_t n, const char *after)
{
	struct buf b;

	buf_init(&b, 8u << 20);
	buf_add_str(&b, before);
	while (n--)
		buf_add_str(&b, s);
	buf_add_str(&b, after);
	return buf_take(&b);
}

static void
assert_all_seen(struct cut *cut)
{
	CLEANUP_BUF struct buf whole;

	buf_init(&whole, 8u << 20);
	visible_of(&whole, cut->src, strlen(cut->src));
	if (strcmp(whole.data, cut->seen.data)) {
		for (size_t i = 0; i < cut->n; i++)
			fprintf(stderr, "--- chunk %zu\n%s\n", i, cut->chunks[i]);
		fail_msg("limit %zu, source\n%s\nsaw  %s\nwant %s", cut->limit,
			cut->src, cut->seen.data, whole.data);
	}
}

static void
a_short_text_is_one_chunk(void **state)
{
	struct cut cut;

	(void)state;
	cut_run(&cut, "**hello**\n", false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 1);
	assert_string_equal(cut.chunks[0], "**hello**\n");
	cut_done(&cut);
	cut_run(&cut, "", false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 0);
	cut_done(&cut);
	cut_run(&cut, " \n\n", false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 0);
	cut_done(&cut);
}

static void
lines_are_preferred_then_words(void **state)
{
	struct cut cut;

	(void)state;
	cut_run(&cut, "aaaa bbbb\ncccc dddd", false, 12, utf8_units16);
	assert_string_equal(cut.chunks[0], "aaaa bbbb\n");
	assert_string_equal(cut.chunks[1], "cccc dddd");
	cut_done(&cut);
	cut_run(&cut, "aaaa bbbb cccc dddd", false, 12, utf8_units16);
	assert_string_equal(cut.chunks[0], "aaaa bbbb ");
	cut_done(&cut);
	cut_run(&cut, "aaaaaaaaaaaaaaaaaaaa", false, 12, utf8_units16);
	assert_string_equal(cut.chunks[0], "aaaaaaaaaaaa");
	cut_done(&cut);
}

static void
a_fence_is_closed_and_reopened_with_its_language(void **state)
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("before\n````python\n", "x = '```'\n", 40,
		"````\nafter");

	(void)state;
	cut_run(&cut, src, false, 120, telegram_text_len);
	assert_true(cut.n > 3);
	for (size_t i = 1; i + 1 < cut.n; i++) {
		assert_memory_equal(cut.chunks[i], "````python\n", 11);
		assert_string_equal(cut.chunks[i] + strlen(cut.chunks[i]) - 5,
			"\n````");
	}
	assert_all_seen(&cut);
	assert_string_equal(cut.joined.data, src);
	cut_done(&cut);
}

static void
a_tilde_fence_keeps_its_stars(void **state)	/* C180 */
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("~~~markdown\n",
		"item N keeps *these stars* as typed\n", 40, "~~~");

	(void)state;
	cut_run(&cut, src, false, 300, telegram_text_len);
	for (size_t i = 0; i < cut.n; i++) {
		assert_memory_equal(cut.chunks[i], "~~~markdown\n", 12);
		assert_null(strstr(cut.chunks[i], "<i>"));
	}
	assert_all_seen(&cut);
	cut_done(&cut);
}

static void
four_backticks_and_then_prose(void **state)	/* C178 */
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("````text\nhere is a fence:\n```sh\nls\n"
		"```\ndone\n````\n", "some words of prose. ", 300, "");

	(void)state;
	cut_run(&cut, src, false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 2);
	assert_all_seen(&cut);
	cut_done(&cut);
}

static void
spans_links_and_entities_cross_a_cut_intact(void **state)	/* C183 */
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("", "**bold &lt; text `a<b` and "
		"[a link with words](https://h.example/?a=1&b=2) more** ", 120, "");
	size_t links = 0;

	(void)state;
	for (size_t limit = 200; limit < 330; limit++) {
		cut_run(&cut, src, false, limit, telegram_text_len);
		assert_all_seen(&cut);
		links = 0;
		for (size_t i = 0; i < cut.n; i++)
			for (char *p = cut.chunks[i];
			    (p = strstr(p, "](https://h.example/?a=1&b=2)")); p++)
				links++;
		assert_true(links >= 120);
		cut_done(&cut);
	}
}

static void
a_table_keeps_the_names_of_its_columns(void **state)
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("|Name|Age|\n|-|-|\n", "|Somebody|33|\n",
		40, "\nend");

	(void)state;
	cut_run(&cut, src, false, 200, telegram_text_len);
	assert_true(cut.n > 2);
	for (size_t i = 0; i + 1 < cut.n; i++) {
		CLEANUP_BUF struct buf out;

		assert_memory_equal(cut.chunks[i], "|Name|Age|\n|-|-|\n|Some", 22);
		buf_init(&out, 8192);
		telegram_html(&out, cut.chunks[i], strlen(cut.chunks[i]));
		assert_non_null(strstr(out.data, "\u2022 Age: 33"));
		assert_null(strchr(out.data, '|'));
	}
	cut_done(&cut);
}

static void
heavy_markup_stays_below_the_payload_bound(void **state)	/* C184 */
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("", "> **x**\n\n", 1250, "");

	(void)state;
	cut_run(&cut, src, false, 4096, telegram_text_len);
	for (size_t i = 0; i < cut.n; i++) {
		CLEANUP_BUF struct buf out;

		buf_init(&out, 1u << 20);
		assert_true(telegram_html(&out, cut.chunks[i],
			strlen(cut.chunks[i])));
		assert_true(out.len <= 28672);
	}
	assert_all_seen(&cut);
	cut_done(&cut);
}

static void
emoji_are_counted_as_both_readings_allow(void **state)	/* C185 */
{
	struct cut cut;
	CLEANUP_FREE char *five = repeat("", "\U0001f600", 5000, "");
	CLEANUP_FREE char *over = repeat("", "\U0001f600", 2049, "");
	CLEANUP_FREE char *mixed = repeat("", "\u4e2d", 4090,
		"\U0001f468\u200d\U0001f469\u200d\U0001f467 tail");

	(void)state;
	cut_run(&cut, five, false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 3);
	assert_string_equal(cut.joined.data, five);
	cut_done(&cut);
	cut_run(&cut, over, false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 2);
	assert_int_equal(strlen(cut.chunks[0]), 2048 * 4);
	cut_done(&cut);
	cut_run(&cut, mixed, false, 4096, telegram_text_len);
	assert_int_equal(cut.n, 2);
	/* the family is one character */
	assert_memory_equal(cut.chunks[1], "\U0001f468\u200d\U0001f469", 11);
	cut_done(&cut);
}

static void
every_small_limit_cuts_between_characters(void **state)	/* C186 */
{
	CLEANUP_FREE char *hats = repeat("4090 ASCII", "\U0001f3a9", 30, " end");
	const char *corpus[] = { hats, "a\U0001f1fa\U0001f1e6\U0001f1e9\U0001f1ea b",
		"e\u0301e\u0301e\u0301 \u2764\ufe0f\u2764\ufe0f",
		"**\U0001f600\U0001f600** `\U0001f600\U0001f600`",
		"```\n\U0001f600\U0001f600\U0001f600\n```\n> \u00e9\u00e9\u00e9" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(corpus); i++)
		for (size_t limit = 1; limit <= 64; limit++)
			for (int plain = 0; plain < 2; plain++) {
				struct cut cut;

				cut_run(&cut, corpus[i], plain, limit,
					utf8_units16);
				cut_done(&cut);
			}
}

static void
plain_chunks_joined_are_the_source(void **state)	/* C190 */
{
	struct cut cut;
	CLEANUP_FREE char *src = repeat("```sh\n", "echo **x** [a](b) # y\n", 300,
		"```\n");

	(void)state;
	cut_run(&cut, src, true, 4096, telegram_text_len);
	assert_true(cut.n > 1);
	CLEANUP_BUF struct buf all;
	buf_init(&all, 1u << 20);
	for (size_t i = 0; i < cut.n; i++)
		buf_add_str(&all, cut.chunks[i]);
	assert_string_equal(all.data, src);
	cut_done(&cut);
}

/* Bounds, balance, UTF-8 and ranges hold for anything. */
static void
anything_is_cut_within_its_bounds(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15u;

	(void)state;
	fprintf(stderr, "# seed %llu\n", (unsigned long long)seed);
	random_seed(seed);
	for (int i = 0; i < 4000; i++) {
		CLEANUP_FREE char *src = random_markdown(true);
		struct cut cut;

		cut_run(&cut, src, random_draw(4) == 0, 2 + random_draw(200),
			random_draw(2) ? telegram_text_len : utf8_units16);
		cut_done(&cut);
	}
}

/* Texts as models write them: besides, what is seen stays the same. */
static void
whole_markup_is_seen_the_same_in_chunks(void **state)
{
	static const char *const bits[] = { "plain words here. ", "word ",
		"**bold words here** ", "*italic words* ", "***both of them*** ",
		"~~struck words~~ ", "`code * span` ", "``a`b`` ",
		"[link *with* words](http://x.example/a_b) ",
		"**bold with `code` and [a link](http://y.example) inside** ",
		"snake_case_name ", "a < b & c > d ", "\U0001f600\U0001f600 ",
		"https://y.example/_z_ ", "2 * 3 - 4 # 5 > 6 + 7 ",
		"\n", "\n\n", "\n- item ", "\n1. item ", "\n\n# Head **x** line\n",
		"\n\n> quoted **bold** words\n> more\n\n",
		"\n```c\nint *a = b[*c];\n\n  return x_y_z;\n```\n",
		"\n~~~\n*stars*\n```\n~~~\n" };

	(void)state;
	random_seed(0x2545f4914f6cdd1du);
	for (int i = 0; i < 1500; i++) {
		struct buf b;
		struct cut cut;
		unsigned n = 1 + random_draw(60);

		buf_init(&b, 1u << 20);
		while (n--)
			buf_add_str(&b, bits[random_draw(ARRAY_LEN(bits))]);
		CLEANUP_FREE char *src = buf_take(&b);
		cut_run(&cut, src, false, 100 + random_draw(300), telegram_text_len);
		assert_all_seen(&cut);
		cut_done(&cut);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_text_is_one_chunk),
		cmocka_unit_test(lines_are_preferred_then_words),
		cmocka_unit_test(a_fence_is_closed_and_reopened_with_its_language),
		cmocka_unit_test(a_tilde_fence_keeps_its_stars),
		cmocka_unit_test(four_backticks_and_then_prose),
		cmocka_unit_test(spans_links_and_entities_cross_a_cut_intact),
		cmocka_unit_test(a_table_keeps_the_names_of_its_columns),
		cmocka_unit_test(heavy_markup_stays_below_the_payload_bound),
		cmocka_unit_test(emoji_are_counted_as_both_readings_allow),
		cmocka_unit_test(every_small_limit_cuts_between_characters),
		cmocka_unit_test(plain_chunks_joined_are_the_source),
		cmocka_unit_test(anything_is_cut_within_its_bounds),
		cmocka_unit_test(whole_markup_is_seen_the_same_in_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
