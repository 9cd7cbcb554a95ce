/* links: is_agent_core */
/*
 * The table of code objects: one thread changes it (it stands for the GIL),
 * others read.  A reader looks only for what cannot go away under it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/python/code_table.h"

#define SETTLED 20000u /* stay throughout */
#define READERS 3u

static struct code_index table;

/* Addresses as malloc() gives them; the note of each is its own address and one. */
static char *address(size_t i)
{
	return (char *)(uintptr_t)(0x7f0000000000u + i * 176u);
}

static void insert(size_t i)
{
	code_table_insert(&table, address(i), address(i) + 1);
}

static void assert_there(size_t i)
{
	assert_ptr_equal(code_table_find(&table, address(i)), address(i) + 1);
}

static void test_finds_what_was_put_in(void **state)
{
	(void)state;
	assert_null(code_table_find(&table, address(0)));
	for (size_t i = 0; i < SETTLED; i++)
		insert(i);
	for (size_t i = 0; i < SETTLED; i++)
		assert_there(i);
	assert_null(code_table_find(&table, address(SETTLED)));
}

static void test_forgets_what_went(void **state)
{
	(void)state;
	for (size_t i = 0; i < SETTLED; i += 2)
		code_table_remove(&table, address(i));
	code_table_remove(&table, address(SETTLED)); /* never there */
	for (size_t i = 0; i < SETTLED; i++) {
		if (i % 2)
			assert_there(i);
		else
			assert_null(code_table_find(&table, address(i)));
	}
	for (size_t i = 0; i < SETTLED; i += 2)
		insert(i);
	for (size_t i = 0; i < SETTLED; i++)
		assert_there(i);
}

static void test_an_address_that_comes_back_has_its_new_note(void **state)
{
	(void)state;
	for (size_t n = 0; n < 100; n++) {
		code_table_remove(&table, address(7));
		assert_null(code_table_find(&table, address(7)));
		code_table_insert(&table, address(7), address(n));
		assert_ptr_equal(code_table_find(&table, address(7)), address(n));
	}
	code_table_remove(&table, address(7));
	insert(7);
}

static size_t data_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	char line[256] = "", *field = line;

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	for (int i = 0; i < 5; i++)
		strtoul(field, &field, 10);
	return strtoul(field, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* A program that compiles for ever must not make us grow. */
static void test_coming_and_going_takes_no_memory(void **state)
{
	size_t before = data_bytes();

	(void)state;
	for (size_t n = 0; n < 2000000; n++) {
		insert(SETTLED + n);
		code_table_remove(&table, address(SETTLED + n));
	}
	assert_true(data_bytes() - before < 8u << 20);
	for (size_t i = 0; i < SETTLED; i++)
		assert_there(i);
}

struct readers {
	_Atomic int stop;
	_Atomic uint64_t wrong, found;
};

static void *read_settled(void *arg)
{
	struct readers *r = arg;
	uint64_t wrong = 0, found = 0;

	while (!atomic_load(&r->stop) || !found) {
		for (size_t i = 0; i < SETTLED; i += 13, found++)
			wrong += code_table_find(&table, address(i)) != address(i) + 1;
	}
	atomic_fetch_add(&r->wrong, wrong);
	atomic_fetch_add(&r->found, found);
	return NULL;
}

static void test_readers_find_theirs_while_others_come_and_go(void **state)
{
	struct readers r = { 0 };
	pthread_t ids[READERS];

	(void)state;
	for (size_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, read_settled, &r), 0);
	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < (size_t)3 * SETTLED; i++)
			insert(SETTLED * (round + 1) * 4 + i);
		for (size_t i = 0; i < (size_t)3 * SETTLED; i++)
			code_table_remove(&table, address(SETTLED * (round + 1) * 4 + i));
	}
	atomic_store(&r.stop, 1);
	for (size_t i = 0; i < READERS; i++)
		pthread_join(ids[i], NULL);
	assert_int_equal(atomic_load(&r.wrong), 0);
	assert_true(atomic_load(&r.found) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_was_put_in),
		cmocka_unit_test(test_forgets_what_went),
		cmocka_unit_test(test_an_address_that_comes_back_has_its_new_note),
		cmocka_unit_test(test_coming_and_going_takes_no_memory),
		cmocka_unit_test(test_readers_find_theirs_while_others_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
