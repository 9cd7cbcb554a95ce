/* links: is_format is_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "format/trace.h"

#define ARGS(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

static void each_type_is_read(void **state)
{
	struct trace_args args;
	struct trace_arg a;

	(void)state;
	trace_args_init(&args, ARGS("\0\1a"
				    "\1\1b"
				    "\2\1c"
				    "\3\1d\5"
				    "\4\1e\0\0\0\0\0\0\xf8\x3f"
				    "\5\1f\2hi"
				    "\6\1g\3ndx"
				    "\7\0"));
	for (int type = ARG_NONE; type <= ARG_CUT; type++) {
		assert_true(trace_args_next(&args, &a));
		assert_int_equal(a.type, type);
		assert_int_equal(a.key_bytes, type == ARG_CUT ? 0 : 1);
		if (a.key_bytes)
			assert_int_equal(*a.key, 'a' + type);
		if (type == ARG_INT)
			assert_int_equal(a.integer, -3);
		if (type == ARG_FLOAT)
			assert_true(a.real == 1.5);
		if (type == ARG_STRING)
			assert_memory_equal(a.text, "hi", a.text_bytes);
		if (type == ARG_OBJECT)
			assert_int_equal(a.text_bytes, 3);
	}
	assert_false(trace_args_next(&args, &a));
}

static void no_args_are_none(void **state)
{
	struct trace_args args;
	struct trace_arg a;

	(void)state;
	trace_args_init(&args, NULL, 0);
	assert_false(trace_args_next(&args, &a));
}

/* Behind one good arg, something that does not fit. */
static void what_makes_no_sense_ends_them(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
	} cases[] = {
		{ "\0\1a\3", 4 },                   /* no key */
		{ "\0\1a\3\5abc", 8 },              /* a key longer than the rest */
		{ "\0\1a\3\1b", 6 },                /* no value */
		{ "\0\1a\3\1b\x80", 7 },            /* a value cut off */
		{ "\0\1a\4\1b\0\0\0\0\0\0\0", 13 }, /* seven bytes of a float */
		{ "\0\1a\5\1b\3xy", 9 },            /* a text cut off */
		{ "\0\1a\5\1b\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 16 }, /* of 2^64 - 1 bytes */
		{ "\0\1a\x63\1b", 6 },                                      /* an unknown type */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trace_args args;
		struct trace_arg a;

		trace_args_init(&args, (const uint8_t *)cases[i].bytes, cases[i].count);
		assert_true(trace_args_next(&args, &a));
		if (trace_args_next(&args, &a))
			fail_msg("case %zu is accepted", i);
		assert_false(trace_args_next(&args, &a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_read),
		cmocka_unit_test(no_args_are_none),
		cmocka_unit_test(what_makes_no_sense_ends_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
