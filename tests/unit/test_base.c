/* links: is_base */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/varint.h"

static void buf_grows_and_keeps_its_bytes(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	for (unsigned i = 0; i < 10000; i++)
		buf_add_byte(&b, (uint8_t)(i * 7));
	assert_int_equal(b.len, 10000);
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal((uint8_t)b.data[i], (uint8_t)(i * 7));
	buf_release(&b);
	assert_null(b.data);
	assert_int_equal(b.cap, 0);
}

static void buf_string_terminates_without_counting(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	assert_string_equal(buf_string(&b), "");
	assert_int_equal(b.len, 0);
	buf_add_str(&b, "ab");
	buf_printf(&b, "%d-%s", 42, "x");
	assert_string_equal(buf_string(&b), "ab42-x");
	assert_int_equal(b.len, 6);
	buf_add_str(&b, "!"); /* overwrites the NUL */
	assert_string_equal(buf_string(&b), "ab42-x!");
	buf_release(&b);
}

static void buf_printf_fits_text_of_any_length(void **state)
{
	char big[5000];
	struct buf b;

	(void)state;
	memset(big, 'z', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	buf_init(&b);
	buf_printf(&b, "<%s>", big);
	assert_int_equal(b.len, sizeof(big) + 1);
	assert_int_equal(b.data[0], '<');
	assert_int_equal(b.data[b.len - 1], '>');
	assert_memory_equal(b.data + 1, big, sizeof(big) - 1);
	buf_release(&b);
}

static void buf_reserve_does_not_move_the_length(void **state)
{
	struct buf b;
	char *to;

	(void)state;
	buf_init(&b);
	buf_add_str(&b, "ab");
	to = buf_reserve(&b, 3000);
	assert_non_null(to);
	assert_ptr_equal(to, b.data + 2);
	assert_int_equal(b.len, 2);
	assert_true(b.cap - b.len >= 3000);
	buf_release(&b);
}

static void buf_remembers_a_failed_allocation(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	buf_add_str(&b, "kept");
	assert_null(buf_reserve(&b, SIZE_MAX / 2));
	assert_true(b.failed);
	buf_add_str(&b, "ignored");
	buf_add_varint(&b, 1);
	buf_printf(&b, "%d", 1);
	assert_int_equal(b.len, 4);
	assert_string_equal(buf_string(&b), "");
	buf_clear(&b);
	assert_false(b.failed);
	buf_add_str(&b, "again");
	assert_string_equal(buf_string(&b), "again");
	buf_release(&b);
}

static void buf_add_of_nothing_allocates_nothing(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	buf_add(&b, NULL, 0);
	assert_null(b.data);
	assert_false(b.failed);
	buf_release(&b);
}

static void varint_round_trips_at_every_length(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t value = ((uint64_t)1 << bits) + (uint64_t)delta;
			uint64_t back = ~value;
			uint8_t bytes[VARINT_MAX];
			size_t n = varint_put(bytes, value);

			assert_in_range(n, 1, VARINT_MAX);
			assert_ptr_equal(varint_get(bytes, bytes + n, &back), bytes + n);
			assert_true(back == value);
			/* every proper prefix is incomplete */
			for (size_t cut = 0; cut < n; cut++)
				assert_null(varint_get(bytes, bytes + cut, &back));
		}
	}
}

static void varint_has_the_documented_bytes(void **state)
{
	static const uint8_t expected[] = { 0xac, 0x02 };
	uint8_t bytes[VARINT_MAX];

	(void)state;
	assert_int_equal(varint_put(bytes, 300), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(varint_put(bytes, UINT64_MAX), VARINT_MAX);
}

static void varint_refuses_more_than_64_bits(void **state)
{
	uint8_t bytes[12];
	uint64_t value;

	(void)state;
	memset(bytes, 0x80, sizeof(bytes));
	assert_null(varint_get(bytes, bytes + sizeof(bytes), &value)); /* never ends */
	memset(bytes, 0xff, 9);
	bytes[9] = 0x02; /* bit 64 */
	assert_null(varint_get(bytes, bytes + 10, &value));
	bytes[9] = 0x01;
	assert_ptr_equal(varint_get(bytes, bytes + 10, &value), bytes + 10);
	assert_true(value == UINT64_MAX);
}

static void zigzag_round_trips_and_keeps_small_values_small(void **state)
{
	static const int64_t values[] = { 0, -1, 1, -64, 63, INT32_MIN, INT64_MIN, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(unzigzag(zigzag(values[i])) == values[i]);
	assert_true(zigzag(-1) == 1);
	assert_true(zigzag(1) == 2);
	assert_true(zigzag(INT64_MIN) == UINT64_MAX);
}

static void err_set_returns_minus_one_and_cuts_long_text(void **state)
{
	char big[3000];
	struct err err;

	(void)state;
	memset(big, 'q', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(err_set(NULL, "ignored"), -1);
	assert_int_equal(err_errno(NULL, "ignored"), -1);
	assert_int_equal(err_set(&err, "%s %d", "line", 3), -1);
	assert_string_equal(err.text, "line 3");
	assert_int_equal(err_set(&err, "%s", big), -1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	errno = ENOENT;
	assert_int_equal(err_errno(&err, "%s", big), -1); /* no room left for the reason */
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void err_errno_names_the_reason_and_leaves_errno(void **state)
{
	struct err err;

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_errno(&err, "cannot open '%s'", "f"), -1);
	assert_string_equal(err.text, "cannot open 'f': No such file or directory");
	assert_int_equal(errno, ENOENT);
}

static void a_search_ends_at_the_first_that_is_not_before(void **state)
{
	static const int values[] = { 1, 3, 3, 5, 9 };

	(void)state;
	for (size_t n = 0; n <= 5; n++) {
		for (int wanted = 0; wanted <= 10; wanted++) {
			size_t at = 0, slow = 0;

			while (slow < n && values[slow] < wanted)
				slow++;
			BISECT(at, n, values[at] < wanted);
			assert_int_equal(at, slow);
			at = n;
			BISECT(at, n, values[at] < wanted); /* nothing to look at */
			assert_int_equal(at, n);
		}
	}
}

static void an_array_that_grows_by_one_moves_rarely(void **state)
{
	uint32_t *items = NULL;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t *before = items;

		items = array_grow_by_one(items, i, sizeof(*items));
		assert_non_null(items);
		if (i & (i - 1)) /* no power of two */
			assert_ptr_equal(items, before);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	assert_null(array_grow_by_one(NULL, (size_t)1 << 62, 8));
	free(items);
}

/* Of an array as large as memory there are never two, nor room for twice as much. */
static void a_large_array_keeps_little_room(void **state)
{
	size_t bytes = ARRAY_LARGE_BYTES / 16, cap = 0;
	char *items = NULL;

	(void)state;
	for (size_t i = 1; i <= 100; i++) {
		char *grown = array_grow(items, &cap, i, bytes);

		assert_non_null(grown);
		items = grown;
		items[(i - 1) * bytes] = (char)i;
		assert_true(cap >= i && cap <= (i <= 32 ? 32 : i + i / 8 + 2));
	}
	items = array_shrink(items, &cap, 50, bytes);
	assert_int_equal(cap, 50);
	for (size_t i = 1; i <= 50; i++)
		assert_int_equal(items[(i - 1) * bytes], (char)i);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_that_grows_by_one_moves_rarely),
		cmocka_unit_test(a_large_array_keeps_little_room),
		cmocka_unit_test(buf_grows_and_keeps_its_bytes),
		cmocka_unit_test(buf_string_terminates_without_counting),
		cmocka_unit_test(buf_printf_fits_text_of_any_length),
		cmocka_unit_test(buf_reserve_does_not_move_the_length),
		cmocka_unit_test(buf_remembers_a_failed_allocation),
		cmocka_unit_test(buf_add_of_nothing_allocates_nothing),
		cmocka_unit_test(varint_round_trips_at_every_length),
		cmocka_unit_test(varint_has_the_documented_bytes),
		cmocka_unit_test(varint_refuses_more_than_64_bits),
		cmocka_unit_test(zigzag_round_trips_and_keeps_small_values_small),
		cmocka_unit_test(err_set_returns_minus_one_and_cuts_long_text),
		cmocka_unit_test(err_errno_names_the_reason_and_leaves_errno),
		cmocka_unit_test(a_search_ends_at_the_first_that_is_not_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
