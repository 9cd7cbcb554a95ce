/* links: is_rules */
/* Rules files: the form that people were promised, and mistakes with their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "rules/rules_file.h"

static void refused(const char *text, const char *expected)
{
	struct rule_set set;
	struct err err = { "" };

	rule_set_init(&set);
	assert_int_equal(rule_set_parse(&set, "r.yaml", text, strlen(text), &err), -1);
	assert_string_equal(err.text, expected);
	rule_set_release(&set);
}

static void accepted(struct rule_set *set, const char *text)
{
	struct err err = { "" };

	rule_set_init(set);
	if (rule_set_parse(set, "r.yaml", text, strlen(text), &err))
		fail_msg("%s", err.text);
}

static void the_promised_form_works(void **state)
{
	struct rule_set set;

	(void)state;
	accepted(&set, "bottleneck_rules:\n"
		       "  - name: \"high_memory_overhead\"\n"
		       "    condition: \"h2d_time / total_time > 0.3\"\n"
		       "    suggestion: \"Use pinned memory or reduce batch size\"\n"
		       "    confidence_weight: 1.2\n");
	assert_int_equal(set.count, 1);
	assert_string_equal(set.items[0].name, "high_memory_overhead");
	assert_string_equal(set.items[0].title, "high_memory_overhead");
	assert_string_equal(set.items[0].condition, "h2d_time / total_time > 0.3");
	assert_int_equal(set.items[0].suggestion_count, 1);
	assert_string_equal(set.items[0].suggestions[0], "Use pinned memory or reduce batch size");
	assert_true(set.items[0].confidence_weight == 1.2);
	assert_int_equal(set.items[0].line, 2);
	rule_set_release(&set);
}

static void all_keys_are_read(void **state)
{
	struct rule_set set;

	(void)state;
	accepted(&set,
		 "bottleneck_rules:\n"
		 "- name: a\n  condition: steps > 1\n"
		 "- {name: b, title: B at last, condition: 'steps > 2', saving: h2d_time / 2,\n"
		 "   suggestion: [one, two]}\n");
	assert_int_equal(set.count, 2);
	assert_true(set.items[0].confidence_weight == 1);
	assert_int_equal(set.items[0].suggestion_count, 1);
	assert_null(set.items[0].saving);
	assert_string_equal(set.items[1].title, "B at last");
	assert_string_equal(set.items[1].saving, "h2d_time / 2");
	assert_int_equal(set.items[1].suggestion_count, 2);
	assert_string_equal(set.items[1].suggestions[1], "two");
	rule_set_release(&set);
	accepted(&set, "");
	assert_int_equal(set.count, 0);
	rule_set_release(&set);
	accepted(&set, "bottleneck_rules:\n");
	rule_set_release(&set);
	accepted(&set, "bottleneck_rules: []\n");
	rule_set_release(&set);
}

static void mistakes_name_rule_line_and_character(void **state)
{
	(void)state;
	refused("bottleneck_rules:\n- name: a\n  condition: steps > 1\n- name: b\n"
		"  condition: steps > 1 AND h2d > 2\n",
		"r.yaml:5: rule 'b': condition: at character 15: no such column: h2d");
	refused("bottleneck_rules:\n- name: a\n", "r.yaml:2: rule 'a': the condition is missing");
	refused("bottleneck_rules:\n- condition: '1'\n", "r.yaml:2: a rule without a name");
	refused("bottleneck_rules:\n- name: a\n  condition: '1'\n- name: a\n  condition: '1'\n",
		"r.yaml:4: name: another rule has this name");
	refused("bottleneck_rules:\n- name: gpu-idle\n",
		"r.yaml:2: name: a built-in rule has this name");
	refused("bottleneck_rules:\n- name: a\n  confidence_weight: -1\n",
		"r.yaml:3: rule 'a': confidence_weight: expected a number above 0, 100 at most");
	refused("bottleneck_rules:\n- name: a\n  confidence_weight: 1.5x\n",
		"r.yaml:3: rule 'a': confidence_weight: expected a number above 0, 100 at most");
	refused("bottleneck_rules:\n- name: a\n  name: b\n",
		"r.yaml:3: rule 'a': name: given twice");
	refused("bottleneck_rules:\n- name: a\n  saving: 1 +\n",
		"r.yaml:3: rule 'a': saving: it is incomplete");
	refused("bottleneck_rules:\n- name: a\n  suggestion: {a: b}\n",
		"r.yaml:3: rule 'a': suggestion: expected a text");
	refused("bottleneck_rules:\n- name: a\n  severity: high\n",
		"r.yaml:3: rule 'a': unknown key 'severity'; use name, condition, suggestion, "
		"confidence_weight, title or saving");
	refused("bottleneck_rules:\n- name: 'a,b'\n",
		"r.yaml:2: name: it contains a comma or a line break");
	refused("bottleneck_rules:\n- name: ''\n", "r.yaml:2: name: the text is missing");
}

static void other_files_are_refused(void **state)
{
	(void)state;
	refused("rules:\n- name: a\n", "r.yaml:1: expected 'bottleneck_rules:', nothing else");
	refused("bottleneck_rules: 3\n", "r.yaml:1: expected a list of rules: '- name: ...'");
	refused("bottleneck_rules:\n- a\n", "r.yaml:2: expected a rule: '- name: ...'");
	refused("- name: a\n", "r.yaml:1: expected 'bottleneck_rules:' and a list of rules");
	refused("bottleneck_rules: []\nbottleneck_rules: []\n",
		"r.yaml:2: bottleneck_rules is given twice");
	refused("a: [\n", "r.yaml:1: expected 'bottleneck_rules:', nothing else");
	refused("bottleneck_rules:\n\t- name: a\n",
		"r.yaml:2: tabs cannot indent in YAML; use spaces");
	refused("bottleneck_rules: []\n---\nbottleneck_rules: []\n", "r.yaml:2: a second document");
	refused("bottleneck_rules:\n- name: *x\n", "r.yaml:2: name: aliases are not supported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_promised_form_works),
		cmocka_unit_test(all_keys_are_read),
		cmocka_unit_test(mistakes_name_rule_line_and_character),
		cmocka_unit_test(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
