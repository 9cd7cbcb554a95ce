/* links: is_rules */
/* Conditions: what they may compute, and that they can do nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules/condition.h"

static struct conditions *open_with(double total_ms, double h2d_ms)
{
	struct conditions *c;
	struct metrics m;
	struct err err;

	metrics_unknown(&m);
	m.total_time = total_ms;
	m.h2d_time = h2d_ms;
	m.steps = 10;
	assert_int_equal(conditions_new(&c, &m, &err), 0);
	return c;
}

static double value_of(const char *expression)
{
	struct conditions *c = open_with(10, 4);
	struct err err = { "" };
	double value;

	if (condition_value(c, expression, &value, &err))
		fail_msg("%s: %s", expression, err.text);
	conditions_free(c);
	return value;
}

static void refused(const char *expression, const char *because)
{
	struct conditions *c = open_with(10, 4);
	struct err err = { "" };
	double value;

	assert_int_equal(condition_value(c, expression, &value, &err), -1);
	if (!strstr(err.text, because))
		fail_msg("'%s': expected '%s' in '%s'", expression, because, err.text);
	/* It goes on with the next one. */
	assert_int_equal(condition_value(c, "total_time", &value, &err), 0);
	assert_true(value == 10);
	conditions_free(c);
}

static void metrics_are_reals(void **state)
{
	(void)state;
	assert_true(value_of("h2d_time / total_time > 0.3") == 1);
	assert_true(value_of("h2d_time / total_time > 0.4") == 0);
	assert_true(fabs(value_of("h2d_time / total_time") - 0.4) < 1e-12);
	assert_true(value_of("steps / 4") == 2.5);
	assert_true(value_of("max(h2d_time, 7) + abs(-1)") == 8);
	assert_true(value_of("case when steps >= 10 then 2 else 3 end") == 2);
	assert_true(value_of("TOTAL_TIME between 9 and 11 -- a remark") == 1);
}

static void what_is_unknown_is_null(void **state)
{
	(void)state;
	assert_true(isnan(value_of("gc_time > 1")));
	assert_true(isnan(value_of("total_time / 0")));
	assert_true(value_of("gc_time is null") == 1);
	assert_true(value_of("coalesce(gc_time, 0) > 1 or steps = 10") == 1);
}

static void mistakes_are_named_with_their_place(void **state)
{
	(void)state;
	refused("steps > 1 AND h2d_tme > 2", "at character 15: no such column: h2d_tme");
	refused("\"h2d_tme\" > 1", "no such column: h2d_tme");
	refused("total_time >", "it is incomplete");
	refused("(total_time > 1", "it is incomplete");
	refused("total_time > 1)", "at character 15: near \")\"");
	refused("é + h2d_tme", "at character 1: no such column");
	refused("1 + é1 + h2d_time", "at character 5: no such column");
	refused("", "it is empty");
	refused(" \n", "it is empty");
	refused("'text'", "its value is text");
}

static void nothing_but_the_row_can_be_read(void **state)
{
	(void)state;
	refused("(SELECT 1)", "must not contain a SELECT");
	refused("1 UNION SELECT 2", "compound SELECT");
	refused("EXISTS (SELECT * FROM sqlite_master)", "prohibited");
	refused("1; DROP TABLE metrics", "more than one expression");
	refused("1 FROM metrics; ATTACH 'x' AS y", "more than one expression");
	refused("1, 2", "more than one expression");
	refused("*", "more than one expression");
	refused("?1", "parameter");
	refused("readfile('/etc/passwd')", "no such function");
	refused("load_extension('x')", "not authorized to use function");
	refused("randomblob(1000000000)", "not authorized to use function");
	refused("printf('%9999999d', 1)", "not authorized to use function");
	refused("total_time LIKE '%%%%%'", "not authorized to use function");
	refused("random()", "not authorized to use function");
}

static void length_and_depth_are_bounded(void **state)
{
	size_t n = CONDITION_MAX + 1;
	char *text = malloc(n + 1);

	(void)state;
	memset(text, ' ', n);
	text[n] = '\0';
	text[0] = '1';
	refused(text, "longer than 4096 bytes");
	memset(text, '-', 4000); /* a comment */
	text[4000] = '\0';
	refused(text, "");
	for (size_t i = 0; i < 500; i++)
		memcpy(text + 2 * i, "1+", 2);
	memcpy(text + 1000, "1", 2);
	refused(text, "maximum depth 100");
	free(text);
}

static void every_metric_is_a_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		assert_non_null(metrics_table[i].name);
		assert_true(*metrics_table[i].meaning);
		value_of(metrics_table[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_are_reals),
		cmocka_unit_test(what_is_unknown_is_null),
		cmocka_unit_test(mistakes_are_named_with_their_place),
		cmocka_unit_test(nothing_but_the_row_can_be_read),
		cmocka_unit_test(length_and_depth_are_bounded),
		cmocka_unit_test(every_metric_is_a_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
