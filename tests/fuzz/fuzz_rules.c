/* links: is_rules */
/*
 * Any bytes as a rules file, and as a condition.  Beyond memory safety: a refusal is one
 * line that names the file, an accepted rule can be judged, and no expression changes the
 * row that the next one sees.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/condition.h"
#include "rules/rules_file.h"

#define PATH "fuzz.yaml"

static void check_conditions(const char *expression, const struct rule_set *set)
{
	struct conditions *c;
	struct metrics m;
	struct err err;
	double value;

	metrics_unknown(&m);
	m.total_time = 10;
	m.h2d_time = 4;
	if (conditions_new(&c, &m, &err))
		return;
	condition_value(c, expression, &value, &err);
	for (size_t i = 0; i < set->count; i++)
		condition_value(c, set->items[i].condition, &value, &err);
	if (condition_value(c, "total_time - h2d_time = 6 AND gc_time IS NULL", &value, &err) ||
	    value != 1)
		abort();
	conditions_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct err err = { "" };
	struct rule_set set;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rule_set_init(&set);
	if (rule_set_parse(&set, PATH, data, size, &err)) {
		if (strncmp(err.text, PATH ":", strlen(PATH ":")) || strchr(err.text, '\n'))
			abort();
		rule_set_release(&set);
		rule_set_init(&set);
	}
	check_conditions(text, &set);
	rule_set_release(&set);
	free(text);
	return 0;
}
