/* links: is_base m */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct fixture {
	struct buf out;
	struct json json;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	buf_init(&f->out);
	json_init(&f->json, &f->out, JSON_COMPACT);
	*state = f;
	return 0;
}

static int finish(void **state)
{
	struct fixture *f = *state;

	buf_release(&f->out);
	free(f);
	return 0;
}

/* What was written since the last time. */
static void written(struct fixture *f, const char *text)
{
	assert_string_equal(buf_string(&f->out), text);
	buf_clear(&f->out);
	json_init(&f->json, &f->out, f->json.layout);
}

static void nested(struct json *j)
{
	json_object_begin(j);
	json_key(j, "a");
	json_array_begin(j);
	json_int(j, 1);
	json_bool(j, true);
	json_null(j);
	json_array_end(j);
	json_key(j, "b");
	json_object_begin(j);
	json_object_end(j);
	json_key(j, "c");
	json_array_begin(j);
	json_array_end(j);
	json_key(j, "d");
	json_array_begin(j);
	json_array_begin(j);
	json_array_end(j);
	json_object_begin(j);
	json_key(j, "e");
	json_string(j, NULL);
	json_object_end(j);
	json_array_end(j);
	json_object_end(j);
}

static void compact_has_no_space(void **state)
{
	struct fixture *f = *state;

	nested(&f->json);
	written(f, "{\"a\":[1,true,null],\"b\":{},\"c\":[],\"d\":[[],{\"e\":null}]}");
}

static void pretty_indents_by_two(void **state)
{
	struct fixture *f = *state;

	json_init(&f->json, &f->out, JSON_PRETTY);
	nested(&f->json);
	written(f, "{\n"
		   "  \"a\": [\n"
		   "    1,\n"
		   "    true,\n"
		   "    null\n"
		   "  ],\n"
		   "  \"b\": {},\n"
		   "  \"c\": [],\n"
		   "  \"d\": [\n"
		   "    [],\n"
		   "    {\n"
		   "      \"e\": null\n"
		   "    }\n"
		   "  ]\n"
		   "}");
}

static void lines_break_the_two_outer_levels(void **state)
{
	struct fixture *f = *state;

	json_init(&f->json, &f->out, JSON_LINES);
	nested(&f->json);
	written(f, "{\n"
		   "\"a\":[\n"
		   "1,\n"
		   "true,\n"
		   "null\n"
		   "],\n"
		   "\"b\":{},\n"
		   "\"c\":[],\n"
		   "\"d\":[\n"
		   "[],\n"
		   "{\"e\":null}\n"
		   "]\n"
		   "}");
}

static void the_buffer_may_be_emptied_at_any_time(void **state)
{
	struct fixture *f = *state;
	struct buf all = { 0 };

	json_array_begin(&f->json);
	for (int i = 0; i < 3; i++) {
		buf_add(&all, f->out.data, f->out.len);
		buf_clear(&f->out);
		json_int(&f->json, i);
	}
	json_array_end(&f->json);
	buf_add(&all, f->out.data, f->out.len);
	assert_string_equal(buf_string(&all), "[0,1,2]");
	buf_release(&all);
}

static void strings_are_escaped_and_made_valid(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
		const char *text;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "plain", 5, "\"plain\"" },
		{ "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
		{ "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
		{ "\0\1\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"" },
		/* What a terminal or an editor would obey: C1, direction marks, invisible tags. */
		{ "\xc2\x9b|\xe2\x80\xae|\xd8\x9c|\xf3\xa0\x81\x81", 14,
		  "\"\\u009b|\\u202e|\\u061c|\\udb40\\udc41\"" },
		{ "</script>", 9, "\"</script>\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "\xff", 1, "\"\xef\xbf\xbd\"" },
		{ "\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" }, /* overlong */
		{ "\xe0\x80\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* surrogate */
		{ "\xf4\x90\x80\x80", 4,
		  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* past U+10FFFF */
		{ "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },          /* cut off */
		{ "\xe2\x82\"", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\\\"\"" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_text(&f->json, cases[i].bytes, cases[i].count);
		written(f, cases[i].text);
	}
	json_object_begin(&f->json);
	json_key(&f->json, "k\n\xff");
	json_string(&f->json, "v");
	json_object_end(&f->json);
	written(f, "{\"k\\n\xef\xbf\xbd\":\"v\"}");
}

static void integers_are_exact(void **state)
{
	struct fixture *f = *state;

	json_int(&f->json, INT64_MIN);
	written(f, "-9223372036854775808");
	json_int(&f->json, INT64_MAX);
	written(f, "9223372036854775807");
	json_uint(&f->json, UINT64_MAX);
	written(f, "18446744073709551615");
	json_int(&f->json, 0);
	written(f, "0");
	json_scaled(&f->json, 1234567125, 3);
	written(f, "1234567.125");
	json_scaled(&f->json, -5, 3);
	written(f, "-0.005");
	json_scaled(&f->json, 0, 3);
	written(f, "0.000");
	json_scaled(&f->json, INT64_MIN, 3);
	written(f, "-9223372036854775.808");
}

static void doubles_read_back_as_they_were(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0.0, "0" },
		{ 0.1, "0.1" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ -2.5, "-2.5" },
		{ 1e300, "1e+300" },
		{ 5e-324, "4.94065645841247e-324" },
		{ 123456789.0, "123456789" },
		{ NAN, "null" },
		{ INFINITY, "null" },
		{ -INFINITY, "null" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_double(&f->json, cases[i].value);
		if (isfinite(cases[i].value))
			assert_true(strtod(buf_string(&f->out), NULL) == cases[i].value);
		written(f, cases[i].text);
	}
}

static void fixed_rounds_and_keeps_its_decimals(void **state)
{
	struct fixture *f = *state;

	json_fixed(&f->json, 12.5, 3);
	written(f, "12.500");
	json_fixed(&f->json, 2.0 / 3, 2);
	written(f, "0.67");
	json_fixed(&f->json, 99.9, 0);
	written(f, "100");
	json_fixed(&f->json, -0.0001, 2);
	written(f, "0.00");
	json_fixed(&f->json, -1.25, 1);
	written(f, "-1.2");
	json_fixed(&f->json, NAN, 2);
	written(f, "null");
	json_fixed(&f->json, 1e308, 9);
	assert_int_equal(f->out.len, 309 + 1 + 9);
}

static void numbers_do_not_follow_the_locale(void **state)
{
	struct fixture *f = *state;

	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8") &&
	    !setlocale(LC_NUMERIC, "de_DE"))
		skip(); /* no locale with a decimal comma here */
	json_double(&f->json, 0.25);
	written(f, "0.25");
	json_double(&f->json, 1.5e-300);
	written(f, "1.5e-300");
	json_fixed(&f->json, 0.25, 2);
	written(f, "0.25");
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(compact_has_no_space, begin, finish),
		cmocka_unit_test_setup_teardown(pretty_indents_by_two, begin, finish),
		cmocka_unit_test_setup_teardown(lines_break_the_two_outer_levels, begin, finish),
		cmocka_unit_test_setup_teardown(the_buffer_may_be_emptied_at_any_time, begin,
						finish),
		cmocka_unit_test_setup_teardown(strings_are_escaped_and_made_valid, begin, finish),
		cmocka_unit_test_setup_teardown(integers_are_exact, begin, finish),
		cmocka_unit_test_setup_teardown(doubles_read_back_as_they_were, begin, finish),
		cmocka_unit_test_setup_teardown(fixed_rounds_and_keeps_its_decimals, begin, finish),
		cmocka_unit_test_setup_teardown(numbers_do_not_follow_the_locale, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
