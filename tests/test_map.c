#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/mem.h"

static void
many_keys_are_found_and_removed(void **state)
{
	(void)state;
	struct map m;
	static int values[3000];

	map_init(&m);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3000; i++) {
			CLEANUP_FREE char *key = mem_printf("key %d", i);

			map_set(&m, key, &values[i]);
		}
		assert_int_equal(m.used, 3000);
		for (int i = 0; i < 3000; i += 2) {
			CLEANUP_FREE char *key = mem_printf("key %d", i);

			assert_ptr_equal(map_remove(&m, key), &values[i]);
			assert_null(map_get(&m, key));
		}
		for (int i = 1; i < 3000; i += 2) {
			CLEANUP_FREE char *key = mem_printf("key %d", i);

			assert_ptr_equal(map_get(&m, key), &values[i]);
		}
	}
	assert_int_equal(m.used, 1500);
	assert_true(m.size <= 16384);
	map_done(&m);
}

static void
iteration_allows_removing_what_it_returned(void **state)
{
	(void)state;
	struct map m;
	int value = 0, seen = 0;
	size_t it = 0;
	const char *key;

	map_init(&m);
	assert_null(map_get(&m, "none"));
	assert_null(map_remove(&m, "none"));
	map_set(&m, "a", &value);
	map_set(&m, "b", &value);
	map_set(&m, "a", &seen);
	assert_int_equal(m.used, 2);
	while (map_next(&m, &it, &key, NULL)) {
		CLEANUP_FREE char *copy = mem_str(key);

		seen++;
		map_remove(&m, copy);
	}
	assert_int_equal(seen, 2);
	assert_int_equal(m.used, 0);
	map_done(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_keys_are_found_and_removed),
		cmocka_unit_test(iteration_allows_removing_what_it_returned),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
