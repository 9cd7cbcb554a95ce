/* links: is_timeline */
/* The map against a plain table, through many rounds of puts and removals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/pair_map.h"

#define KEYS 400u

static void the_map_holds_what_was_put_and_not_removed(void **state)
{
	size_t expected[KEYS];
	struct pair_map m;
	uint32_t rng = 1;

	(void)state;
	pair_map_init(&m);
	assert_int_equal(pair_map_find(&m, 1, 2), PAIR_NONE);
	pair_map_remove(&m, 1, 2);
	for (size_t i = 0; i < KEYS; i++)
		expected[i] = PAIR_NONE;
	for (size_t round = 0; round < 20000; round++) {
		size_t key, count = 0;

		rng = rng * 1664525u + 1013904223u;
		key = (rng >> 8) % KEYS;
		if (rng >> 30) {
			assert_int_equal(pair_map_put(&m, key / 20, key % 20, round), 0);
			expected[key] = round;
		} else {
			pair_map_remove(&m, key / 20, key % 20);
			expected[key] = PAIR_NONE;
		}
		if (round % 100)
			continue;
		for (size_t i = 0; i < KEYS; i++) {
			assert_int_equal(pair_map_find(&m, i / 20, i % 20), expected[i]);
			count += expected[i] != PAIR_NONE;
		}
		assert_int_equal(m.count, count);
	}
	pair_map_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_map_holds_what_was_put_and_not_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
