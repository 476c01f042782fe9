#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/file_text.h"
#include "gateway/agent/seen.h"

static void
lines_are_numbered_from_where_they_are(void **state)
{
	CLEANUP_BUF struct buf out;
	static const char text[] = "\xef\xbb\xbf" "a\r\n\n\xff" "c";
	struct file_window w;

	(void)state;
	buf_init(&out, 10000);
	w = file_text_number(&out, text, sizeof(text) - 1, 1, 1, 9);
	assert_string_equal(out.data, "1|a\n2|\n3|\xef\xbf\xbd" "c\n");
	assert_int_equal(w.shown, 3);
	buf_clear(&out);
	w = file_text_number(&out, "a\nb\nc\nd\n", 8, 7, 8, 2);
	assert_string_equal(out.data, "8|b\n9|c\n");
	assert_int_equal(w.shown, 2);
	buf_clear(&out);
	w = file_text_number(&out, "", 0, 1, 1, 9);
	assert_int_equal(w.shown, 0);
}

/* Stripped and put on again, every style gives the same bytes. */
static void
a_style_survives_an_edit(void **state)
{
	static const char *const texts[] = {
		"a\nb\n", "a\r\nb\r\n", "\xef\xbb\xbf" "a\r\nb", "\xef\xbb\xbf",
		"", "\r\n", "a\rb\r\nc\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_BUF struct buf plain, back;
		size_t len = strlen(texts[i]);
		struct file_style s = file_style_of(texts[i], len);

		buf_init(&plain, 100);
		buf_init(&back, 100);
		file_style_strip(&plain, texts[i], len, s);
		assert_null(strstr(plain.data, "\r\n"));
		file_style_apply(&back, plain.data, plain.len, s);
		assert_string_equal(back.data, texts[i]);
	}
}

/* What a model sends for such a file may have either line end. */
static void
line_ends_are_not_doubled(void **state)
{
	CLEANUP_BUF struct buf out;
	struct file_style crlf = { false, true };

	(void)state;
	buf_init(&out, 100);
	file_style_apply(&out, "a\r\nb\nc", 6, crlf);
	assert_string_equal(out.data, "a\r\nb\r\nc");
}

static void
our_own_marks_are_no_content(void **state)
{
	(void)state;
	assert_non_null(file_text_fault("1|a\n2|b\n", 8));
	assert_non_null(file_text_fault("99|a\n100|b\n101|c", 16));
	assert_null(file_text_fault("1|a\n", 4));
	assert_null(file_text_fault("1|a\n7|b\n", 8));
	assert_null(file_text_fault("a\nb\n", 4));
	assert_null(file_text_fault("", 0));
	assert_non_null(file_text_fault("k = \u00abredacted:x\u00bb", 18));
}

static void
names_tell_what_is_no_text(void **state)
{
	(void)state;
	assert_non_null(file_text_binary("/a/b.PNG"));
	assert_null(file_text_binary("/a.png/b"));
	assert_null(file_text_binary("/a/b.c"));
	assert_null(file_text_binary("/a/b"));
}

static void
similar_names_are_offered(void **state)
{
	static const char listing[] = "Main.c\nmain_test.c\nREADME.md\nother\n";
	CLEANUP_JSON struct json *a = file_similar("/w", "main.c", listing,
	    sizeof(listing) - 1);
	CLEANUP_JSON struct json *b = file_similar("/", "redme.md", listing,
	    sizeof(listing) - 1);
	CLEANUP_JSON struct json *c = file_similar("/w", "zzzzzz", "", 0);

	(void)state;
	assert_string_equal(json_str(json_at(a, 0)), "/w/Main.c");
	assert_string_equal(json_str(json_at(b, 0)), "/README.md");
	assert_int_equal(json_len(c), 0);
}

static void
what_was_seen_is_remembered_within_bounds(void **state)
{
	struct seen *s = seen_new();

	(void)state;
	assert_false(seen_changed(s, "/a", "1"));
	seen_note(s, "/a", "1");
	assert_false(seen_changed(s, "/a", "1"));
	assert_true(seen_changed(s, "/a", "2"));
	assert_int_equal(seen_read(s, "/a", "1", 7, 1, 500), 1);
	assert_int_equal(seen_read(s, "/a", "1", 7, 1, 500), 2);
	assert_int_equal(seen_read(s, "/a", "1", 8, 1, 500), 1);
	assert_int_equal(seen_read(s, "/a", "2", 8, 1, 500), 1);
	assert_int_equal(seen_read(s, "/a", "2", 8, 2, 500), 1);
	assert_int_equal(seen_patch(s, "/a", false), 1);
	assert_int_equal(seen_patch(s, "/a", false), 2);
	assert_int_equal(seen_patch(s, "/a", true), 0);
	for (int i = 0; i < 2 * SEEN_FILES_MAX; i++) {
		CLEANUP_FREE char *path = mem_printf("/%d", i);
		seen_note(s, path, "1");
	}
	assert_false(seen_changed(s, "/0", "2"));
	assert_true(seen_changed(s, "/1023", "2"));
	seen_forget(s, "/1023");
	assert_false(seen_changed(s, "/1023", "2"));
	seen_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_numbered_from_where_they_are),
		cmocka_unit_test(a_style_survives_an_edit),
		cmocka_unit_test(line_ends_are_not_doubled),
		cmocka_unit_test(our_own_marks_are_no_content),
		cmocka_unit_test(names_tell_what_is_no_text),
		cmocka_unit_test(similar_names_are_offered),
		cmocka_unit_test(what_was_seen_is_remembered_within_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
