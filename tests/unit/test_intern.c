/* links: is_agent_core */
/*
 * Interning without locks: whatever threads put in, and however often the table
 * is emptied meanwhile, an id that is found belongs to the hash it was put in for.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/core/intern.h"
#include "agent/core/session.h"

#define THREADS 4u
#define ROUNDS 400000u /* each; several tables full */

INTERN(table, INTERN_SLOTS);

static uint64_t hash_of(uint32_t id)
{
	return intern_mix(intern_mix(0, id), 42);
}

static int forget_all(void **state)
{
	(void)state;
	memset(table_slots, 0, sizeof(table_slots));
	table.epoch = table.used = 0;
	session_epoch = 1;
	return 0;
}

static void test_finds_what_was_put_in(void **state)
{
	(void)state;
	for (uint32_t id = 1; id < 30000; id++) {
		assert_int_equal(intern_find(&table, hash_of(id)), 0);
		intern_put(&table, hash_of(id), id);
		assert_int_equal(intern_find(&table, hash_of(id)), id);
	}
	for (uint32_t id = 1; id < 30000; id++)
		assert_int_equal(intern_find(&table, hash_of(id)), id);
}

static void test_the_first_id_stays(void **state)
{
	(void)state;
	intern_put(&table, hash_of(5), 5);
	intern_put(&table, hash_of(5), 6);
	assert_int_equal(intern_find(&table, hash_of(5)), 5);
}

static void test_ids_of_another_recording_are_gone(void **state)
{
	(void)state;
	intern_put(&table, hash_of(5), 5);
	session_epoch++;
	assert_int_equal(intern_find(&table, hash_of(5)), 0);
	intern_put(&table, hash_of(6), 6);
	assert_int_equal(intern_find(&table, hash_of(5)), 0);
	assert_int_equal(intern_find(&table, hash_of(6)), 6);
}

/*
 * How many of the ids are not found right after they were put in.  A put may find no place near
 * its own; the id is then defined once more, which is no harm, but it must be rare.
 */
static uint32_t missing_of(uint32_t first, uint32_t last)
{
	uint32_t missing = 0;

	for (uint32_t id = first; id <= last; id++) {
		intern_put(&table, hash_of(id), id);
		missing += intern_find(&table, hash_of(id)) != id;
	}
	return missing;
}

static void test_a_full_table_starts_over(void **state)
{
	(void)state;
	assert_true(missing_of(1, 4 * INTERN_SLOTS) < 4 * INTERN_SLOTS / 100);
}

static _Atomic uint64_t wrong;

static void *find_or_put(void *arg)
{
	uint32_t first = *(const uint32_t *)arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		/* Neighbours work on the same ids, a little apart. */
		uint32_t id = 1 + (first + i) % (2 * INTERN_SLOTS), there;

		there = intern_find(&table, hash_of(id));
		if (!there)
			intern_put(&table, hash_of(id), id);
		else if (there != id)
			atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
	}
	return NULL;
}

static void test_no_thread_ever_finds_the_id_of_something_else(void **state)
{
	uint32_t first[THREADS];
	pthread_t ids[THREADS];

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		first[i] = i * 16;
		assert_int_equal(pthread_create(&ids[i], NULL, find_or_put, &first[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	assert_int_equal(wrong, 0);
	/* Nor is the table broken: it still finds what is put in. */
	assert_true(missing_of(1, INTERN_SLOTS / 4) < INTERN_SLOTS / 4 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_finds_what_was_put_in, forget_all),
		cmocka_unit_test_setup(test_the_first_id_stays, forget_all),
		cmocka_unit_test_setup(test_ids_of_another_recording_are_gone, forget_all),
		cmocka_unit_test_setup(test_a_full_table_starts_over, forget_all),
		cmocka_unit_test_setup(test_no_thread_ever_finds_the_id_of_something_else,
				       forget_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
