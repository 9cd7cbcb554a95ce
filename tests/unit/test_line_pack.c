/* links: is_agent_core */
/* Line tables of 3.11, entry by entry, rewritten in the format of 3.10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "agent/python/call_stacks.h"

#define ENTRY(form, units) (uint8_t)(0x80 | (form) << 3 | ((units)-1))

#define ASSERT_PACKED(table, ...)                                               \
	do {                                                                    \
		const uint8_t expected[] = { __VA_ARGS__ };                     \
		uint8_t out[64];                                                \
		uint32_t n = line_pack(out, sizeof(out), table, sizeof(table)); \
                                                                                \
		assert_int_equal(n, sizeof(expected));                          \
		assert_memory_equal(out, expected, n);                          \
	} while (0)

static void test_every_form_of_an_entry(void **state)
{
	static const uint8_t table[] = {
		ENTRY(0, 1),  0x12,                          /* the first line */
		ENTRY(11, 2), 3,          4,                 /* one line on */
		ENTRY(12, 1), 3,          4,                 /* two lines on */
		ENTRY(13, 3), 10 << 1,                       /* ten on */
		ENTRY(14, 1), 4 << 1 | 1, 1, 7, 0x40 | 5, 1, /* four back; end, columns */
		ENTRY(15, 2),                                /* none */
		ENTRY(9, 8),  0xff,                          /* the line before that */
	};

	(void)state;
	ASSERT_PACKED(table, 2, 0, 4, 1, 2, 2, 6, 10, 2, 252, 4, 128, 16, 0);
}

static void test_entries_of_one_line_become_one(void **state)
{
	static const uint8_t table[] = { ENTRY(11, 8), 0, 1, ENTRY(0, 8), 5, ENTRY(10, 1), 2, 3 };

	(void)state;
	ASSERT_PACKED(table, 34, 1);
}

static void test_far_lines_and_long_runs(void **state)
{
	/* 300 on, 20 times 16 bytes; then 300 back. */
	uint8_t table[3 + 19 * 2 + 3], *p = table;

	(void)state;
	*p++ = ENTRY(13, 8);
	*p++ = 0x40 | ((300 << 1) & 63);
	*p++ = 300 << 1 >> 6;
	for (int i = 0; i < 19; i++) {
		*p++ = ENTRY(0, 8);
		*p++ = 1;
	}
	*p++ = ENTRY(13, 1);
	*p++ = 0x40 | ((300 << 1 | 1) & 63);
	*p++ = 300 << 1 >> 6;
	assert_int_equal(p - table, sizeof(table));
	ASSERT_PACKED(table, 0, 127, 0, 127, 254, 46, 66, 0, 0, 129, 0, 129, 2, 210);
}

static void test_what_does_not_fit_or_is_broken(void **state)
{
	static const uint8_t table[] = { ENTRY(11, 1), 0, 1, ENTRY(11, 1), 0, 1 };
	uint8_t out[4] = { 0 };

	(void)state;
	assert_int_equal(line_pack(out, 4, table, sizeof(table)), 4);
	assert_int_equal(line_pack(out, 3, table, sizeof(table)), 0);
	assert_int_equal(line_pack(out, 4, table, sizeof(table) - 1), 0);
	assert_int_equal(line_pack(out, 4, table, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_of_an_entry),
		cmocka_unit_test(test_entries_of_one_line_become_one),
		cmocka_unit_test(test_far_lines_and_long_runs),
		cmocka_unit_test(test_what_does_not_fit_or_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
