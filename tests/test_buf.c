#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static void
empty_data_is_a_string(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf b;

	buf_init(&b, 10);
	assert_string_equal(b.data, "");
	assert_true(buf_add(&b, NULL, 0));
	assert_true(buf_printf(&b, "%s", ""));
	assert_string_equal(b.data, "");
	char *s = buf_take(&b);

	assert_string_equal(s, "");
	mem_free(s);
}

static void
what_does_not_fit_is_dropped_whole_and_said(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf b;

	buf_init(&b, 5);
	assert_true(buf_add_str(&b, "abc"));
	assert_false(buf_add_str(&b, "def"));
	assert_true(b.over);
	assert_string_equal(b.data, "abc");
	assert_false(buf_printf(&b, "%d", 123));
	assert_string_equal(b.data, "abc");
	assert_true(buf_printf(&b, "%d", 12));
	assert_string_equal(b.data, "abc12");
	assert_true(b.over);
	buf_clear(&b);
	assert_false(b.over);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
}

static void
a_maximum_of_everything_does_not_overflow(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf b;

	buf_init(&b, SIZE_MAX);
	for (int i = 0; i < 1000; i++)
		assert_true(buf_add_char(&b, 'x'));
	assert_int_equal(b.len, 1000);
	assert_int_equal(b.data[1000], 0);
	assert_true(b.size < 4096);
}

static void
every_length_up_to_the_maximum_is_reached(void **state)
{
	(void)state;

	for (size_t max = 0; max < 300; max++) {
		CLEANUP_BUF struct buf b;

		buf_init(&b, max);
		for (size_t i = 0; i < max; i++)
			assert_true(buf_printf(&b, "%c", 'a'));
		assert_false(buf_add_char(&b, 'b'));
		assert_int_equal(b.len, max);
		assert_int_equal(b.data[max], 0);
	}
}

static void
drain_removes_from_the_front(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf b;

	buf_init(&b, 100);
	buf_add(&b, "one\0two", 7);
	buf_drain(&b, 4);
	assert_string_equal(b.data, "two");
	buf_drain(&b, 0);
	buf_drain(&b, 3);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
}

static void
a_taken_buffer_starts_again_with_its_maximum(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf b;

	buf_init(&b, 4);
	buf_add_str(&b, "abcd");
	char *s = buf_take(&b);

	assert_string_equal(s, "abcd");
	mem_free(s);
	assert_string_equal(b.data, "");
	assert_true(buf_add_str(&b, "efgh"));
	assert_false(buf_add_char(&b, 'i'));
}

static void
fixed_arrays_are_filled_whole_or_not_at_all(void **state)
{
	(void)state;
	char a[4];

	assert_int_equal(mem_format(a, sizeof(a), "%d", 123), 0);
	assert_string_equal(a, "123");
	assert_int_equal(mem_format(a, sizeof(a), "%d", 1234), -1);
	assert_string_equal(a, "");
	assert_int_equal(mem_copy_str(a, sizeof(a), "abc"), 0);
	assert_string_equal(a, "abc");
	assert_int_equal(mem_copy_str(a, sizeof(a), "abcd"), -1);
	assert_string_equal(a, "");
}

static void
stealing_leaves_null_behind(void **state)
{
	(void)state;
	char *s = mem_printf("%s-%d", "a", 1);
	char *t = STEAL(s);

	assert_null(s);
	assert_string_equal(t, "a-1");
	mem_free_secret(&t);
	assert_null(t);
	mem_free_secret(&t);
	assert_null(mem_str(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_data_is_a_string),
		cmocka_unit_test(what_does_not_fit_is_dropped_whole_and_said),
		cmocka_unit_test(a_maximum_of_everything_does_not_overflow),
		cmocka_unit_test(every_length_up_to_the_maximum_is_reached),
		cmocka_unit_test(drain_removes_from_the_front),
		cmocka_unit_test(a_taken_buffer_starts_again_with_its_maximum),
		cmocka_unit_test(fixed_arrays_are_filled_whole_or_not_at_all),
		cmocka_unit_test(stealing_leaves_null_behind),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
