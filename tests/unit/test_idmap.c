/* links: is_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/idmap.h"

/* Ids as far apart as they can be: memory must not follow their values. */
static uint32_t sparse(uint32_t i)
{
	return i * 2654435761u;
}

static void what_was_put_is_found_and_nothing_else(void **state)
{
	struct idmap m;

	(void)state;
	idmap_init(&m);
	assert_int_equal(idmap_find(&m, 1), IDMAP_NONE);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(idmap_put(&m, sparse(i), i), 0);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(idmap_find(&m, sparse(i)), i);
	for (uint32_t i = 100000; i < 200000; i++)
		assert_int_equal(idmap_find(&m, sparse(i)), IDMAP_NONE);
	assert_int_equal(m.count, 100000);
	assert_true(m.cap <= 4 * m.count);
	idmap_release(&m);
}

static void a_later_value_replaces_the_earlier_one(void **state)
{
	struct idmap m;

	(void)state;
	idmap_init(&m);
	idmap_put(&m, UINT32_MAX, 1);
	idmap_put(&m, 0, 2);
	idmap_put(&m, UINT32_MAX, 3);
	assert_int_equal(idmap_find(&m, UINT32_MAX), 3);
	assert_int_equal(idmap_find(&m, 0), 2);
	assert_int_equal(m.count, 2);
	idmap_release(&m);
}

static void what_was_removed_is_gone_and_the_rest_is_found(void **state)
{
	enum { COUNT = 20000 };
	struct idmap m;
	size_t cap;

	(void)state;
	idmap_init(&m);
	idmap_remove(&m, 1);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(idmap_put(&m, sparse(i), i), 0);
	for (uint32_t i = 0; i < COUNT; i += 3)
		idmap_remove(&m, sparse(i));
	idmap_remove(&m, sparse(0));
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(idmap_find(&m, sparse(i)), i % 3 ? i : IDMAP_NONE);
	/* Those that come and go take no memory. */
	cap = m.cap;
	for (uint32_t i = COUNT; i < 20 * COUNT; i++) {
		assert_int_equal(idmap_put(&m, sparse(i), i), 0);
		idmap_remove(&m, sparse(i));
	}
	assert_int_equal(m.cap, cap);
	idmap_release(&m);
}

static void memory_of_an_arena_stays_where_it_is(void **state)
{
	enum { COUNT = 2000 };
	struct arena a;
	char *all[COUNT];

	(void)state;
	arena_init(&a);
	for (int i = 0; i < COUNT; i++) {
		size_t bytes = i % 100 ? (size_t)i % 50 + 1 : 100000; /* some larger than a chunk */

		all[i] = arena_alloc(&a, bytes);
		assert_non_null(all[i]);
		assert_int_equal((uintptr_t)all[i] % _Alignof(max_align_t), 0);
		memset(all[i], i & 0xff, bytes);
	}
	for (int i = 0; i < COUNT; i++)
		assert_int_equal((uint8_t)all[i][i % 100 ? i % 50 : 99999], i & 0xff);
	assert_null(arena_alloc(&a, SIZE_MAX));
	arena_release(&a);
	assert_int_equal(a.total_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_found_and_nothing_else),
		cmocka_unit_test(a_later_value_replaces_the_earlier_one),
		cmocka_unit_test(what_was_removed_is_gone_and_the_rest_is_found),
		cmocka_unit_test(memory_of_an_arena_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
