#include "rules/rules_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/yaml_events.h"
#include "rules/condition.h"
#include "rules/finding_builder.h"
#include "rules/rule.h"

#define ROOT_KEY "bottleneck_rules"

/* A weight multiplies a confidence, which ends at 1. */
#define WEIGHT_MAX 100

struct reader {
	struct yaml_events yaml;
	struct rule_set *set;
	size_t cap;
	struct conditions *conditions; /* over metrics that are all unknown: for their names */
	struct custom_rule *rule;      /* that is being read */
	unsigned seen;                 /* bits of its keys */
	char label[96];                /* "rule 'NAME'", for errors; "" at first */
};

void rule_set_init(struct rule_set *s)
{
	memset(s, 0, sizeof(*s));
	arena_init(&s->texts);
}

void rule_set_release(struct rule_set *s)
{
	free(s->items);
	arena_release(&s->texts);
	memset(s, 0, sizeof(*s));
}

static int mistake(const struct reader *r, size_t line, const char *what)
{
	return yaml_mistake(&r->yaml, line, *r->label ? r->label : NULL, what);
}

/* An error in the value of a key. */
static int mistake_in(const struct reader *r, size_t line, const char *key, const char *what)
{
	char text[sizeof(struct err) + 64];

	snprintf(text, sizeof(text), "%s: %s", key, what);
	return mistake(r, line, text);
}

static int next_event(struct reader *r, yaml_event_t *e)
{
	return yaml_events_next(&r->yaml, e, *r->label ? r->label : NULL);
}

/* A copy of a scalar's text; NULL with an error where it is none. */
static const char *text_of(struct reader *r, const char *key, const yaml_event_t *e, size_t most)
{
	const char *value = (const char *)e->data.scalar.value, *copy;
	char what[64];

	if (e->type != YAML_SCALAR_EVENT) {
		mistake_in(r, yaml_line(e), key, "expected a text");
		return NULL;
	}
	if (strlen(value) != e->data.scalar.length) {
		mistake_in(r, yaml_line(e), key, "a NUL character in the text");
		return NULL;
	}
	if (!value[strspn(value, " \t\r\n")]) {
		mistake_in(r, yaml_line(e), key, "the text is missing");
		return NULL;
	}
	if (strlen(value) > most) {
		snprintf(what, sizeof(what), "longer than %zu bytes", most);
		mistake_in(r, yaml_line(e), key, what);
		return NULL;
	}
	copy = finding_text(&r->set->texts, "%s", value);
	if (!copy)
		err_set(r->yaml.err, "out of memory");
	return copy;
}

static int read_name(struct reader *r, const char *key, const yaml_event_t *e)
{
	const char *name = text_of(r, key, e, 64);

	if (!name)
		return -1;
	if (strpbrk(name, "\r\n\t,"))
		return mistake_in(r, yaml_line(e), key, "it contains a comma or a line break");
	for (const struct rule *const *b = builtin_rules; *b; b++)
		if (!strcmp((*b)->id, name))
			return mistake_in(r, yaml_line(e), key, "a built-in rule has this name");
	for (size_t i = 0; i + 1 < r->set->count; i++)
		if (!strcmp(r->set->items[i].name, name))
			return mistake_in(r, yaml_line(e), key, "another rule has this name");
	r->rule->name = name;
	snprintf(r->label, sizeof(r->label), "rule '%s'", name);
	return 0;
}

static int read_title(struct reader *r, const char *key, const yaml_event_t *e)
{
	r->rule->title = text_of(r, key, e, 200);
	return r->rule->title ? 0 : -1;
}

static int read_expression(struct reader *r, const char *key, const yaml_event_t *e,
			   const char **to)
{
	struct err why;
	double value;

	*to = text_of(r, key, e, CONDITION_MAX);
	if (!*to)
		return -1;
	if (condition_value(r->conditions, *to, &value, &why))
		return mistake_in(r, yaml_line(e), key, why.text);
	return 0;
}

static int read_condition(struct reader *r, const char *key, const yaml_event_t *e)
{
	return read_expression(r, key, e, &r->rule->condition);
}

static int read_saving(struct reader *r, const char *key, const yaml_event_t *e)
{
	return read_expression(r, key, e, &r->rule->saving);
}

static int add_suggestion(struct reader *r, const char *key, const yaml_event_t *e)
{
	struct custom_rule *rule = r->rule;

	if (rule->suggestion_count == RULE_SUGGESTIONS)
		return mistake_in(r, yaml_line(e), key, "more than 16 of them");
	rule->suggestions[rule->suggestion_count] = text_of(r, key, e, RULE_TEXT_MAX);
	return rule->suggestions[rule->suggestion_count] ? rule->suggestion_count++, 0 : -1;
}

static int read_suggestion(struct reader *r, const char *key, const yaml_event_t *first)
{
	if (first->type != YAML_SEQUENCE_START_EVENT)
		return add_suggestion(r, key, first);
	for (;;) {
		yaml_event_t e;
		bool end;
		int rc;

		if (next_event(r, &e))
			return -1;
		end = e.type == YAML_SEQUENCE_END_EVENT;
		rc = end ? 0 : add_suggestion(r, key, &e);
		yaml_event_delete(&e);
		if (rc || end)
			return rc;
	}
}

static int read_weight(struct reader *r, const char *key, const yaml_event_t *e)
{
	const char *text = text_of(r, key, e, 64);
	char *end;
	double weight;

	if (!text)
		return -1;
	weight = strtod(text, &end);
	if (*end || end == text || !(weight > 0) || weight > WEIGHT_MAX)
		return mistake_in(r, yaml_line(e), key, "expected a number above 0, 100 at most");
	r->rule->confidence_weight = weight;
	return 0;
}

static const struct {
	const char *key;
	int (*read)(struct reader *r, const char *key, const yaml_event_t *e);
} keys[] = {
	{ "name", read_name },
	{ "condition", read_condition },
	{ "suggestion", read_suggestion },
	{ "confidence_weight", read_weight },
	{ "title", read_title },
	{ "saving", read_saving },
};

#define KEYS (sizeof(keys) / sizeof(*keys))

static int read_value(struct reader *r, size_t key)
{
	yaml_event_t e;
	int rc;

	if (next_event(r, &e))
		return -1;
	if (e.type == YAML_ALIAS_EVENT)
		rc = mistake_in(r, yaml_line(&e), keys[key].key, "aliases are not supported");
	else
		rc = keys[key].read(r, keys[key].key, &e);
	yaml_event_delete(&e);
	return rc;
}

static int find_key(struct reader *r, const yaml_event_t *e, size_t *found)
{
	const char *key = (const char *)e->data.scalar.value;
	char what[160];

	if (e->type != YAML_SCALAR_EVENT)
		return mistake(r, yaml_line(e), "expected the name of a key");
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (r->seen & 1u << i)
			return mistake_in(r, yaml_line(e), key, "given twice");
		r->seen |= 1u << i;
		*found = i;
		return 0;
	}
	snprintf(what, sizeof(what),
		 "unknown key '%.40s'; use name, condition, suggestion, confidence_weight, title "
		 "or saving",
		 key);
	return mistake(r, yaml_line(e), what);
}

static int check_rule(struct reader *r)
{
	struct custom_rule *rule = r->rule;

	if (!rule->name)
		return mistake(r, rule->line, "a rule without a name");
	if (!rule->condition)
		return mistake(r, rule->line, "the condition is missing");
	if (!rule->title)
		rule->title = rule->name;
	if (!rule->suggestion_count)
		rule->suggestions[rule->suggestion_count++] =
			"The rule has no suggestion: check what its condition compares";
	return 0;
}

static int read_rule(struct reader *r, const yaml_event_t *start)
{
	struct rule_set *s = r->set;
	struct custom_rule *grown;

	*r->label = '\0';
	r->seen = 0;
	if (start->type != YAML_MAPPING_START_EVENT)
		return mistake(r, yaml_line(start), "expected a rule: '- name: ...'");
	if (s->count == RULES_MAX)
		return mistake(r, yaml_line(start), "more than 1000 rules");
	grown = array_grow(s->items, &r->cap, s->count + 1, sizeof(*grown));
	if (!grown)
		return err_set(r->yaml.err, "out of memory");
	s->items = grown;
	r->rule = &grown[s->count++];
	*r->rule = (struct custom_rule){ .confidence_weight = 1, .line = yaml_line(start) };
	for (;;) {
		size_t key = 0;
		yaml_event_t e;
		bool end;
		int rc;

		if (next_event(r, &e))
			return -1;
		end = e.type == YAML_MAPPING_END_EVENT;
		rc = end ? 0 : find_key(r, &e, &key);
		yaml_event_delete(&e);
		if (rc)
			return -1;
		if (end)
			return check_rule(r);
		if (read_value(r, key))
			return -1;
	}
}

static int read_list(struct reader *r)
{
	yaml_event_t e;
	int rc = 0;

	if (next_event(r, &e))
		return -1;
	if (e.type == YAML_SCALAR_EVENT && !e.data.scalar.length) {
		yaml_event_delete(&e);
		return 0; /* the key, and no rule */
	}
	if (e.type != YAML_SEQUENCE_START_EVENT)
		rc = mistake(r, yaml_line(&e), "expected a list of rules: '- name: ...'");
	yaml_event_delete(&e);
	while (!rc) {
		bool end;

		if (next_event(r, &e))
			return -1;
		end = e.type == YAML_SEQUENCE_END_EVENT;
		if (!end)
			rc = read_rule(r, &e);
		*r->label = '\0';
		yaml_event_delete(&e);
		if (end)
			return 0;
	}
	return -1;
}

static int read_root(void *ctx, const yaml_event_t *root)
{
	struct reader *r = ctx;
	bool seen = false;

	if (root->type == YAML_SCALAR_EVENT && !root->data.scalar.length)
		return 0; /* "---" and nothing else */
	if (root->type != YAML_MAPPING_START_EVENT)
		return mistake(r, yaml_line(root), "expected '" ROOT_KEY ":' and a list of rules");
	for (;;) {
		yaml_event_t e;
		bool end;
		int rc = 0;

		if (next_event(r, &e))
			return -1;
		end = e.type == YAML_MAPPING_END_EVENT;
		if (!end && (e.type != YAML_SCALAR_EVENT ||
			     strcmp((const char *)e.data.scalar.value, ROOT_KEY) != 0))
			rc = mistake(r, yaml_line(&e), "expected '" ROOT_KEY ":', nothing else");
		else if (!end && seen)
			rc = mistake(r, yaml_line(&e), ROOT_KEY " is given twice");
		yaml_event_delete(&e);
		if (rc || end)
			return rc;
		seen = true;
		if (read_list(r))
			return -1;
	}
}

/* Errors may quote what stands in the file. */
static void keep_to_one_line(struct err *err)
{
	for (char *p = err->text; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
}

int rule_set_parse(struct rule_set *s, const char *path, const void *text, size_t len,
		   struct err *err)
{
	struct reader r = { .set = s };
	struct metrics unknown;
	int rc = -1;

	metrics_unknown(&unknown);
	s->path = finding_text(&s->texts, "%s", path);
	if (!s->path)
		return err_set(err, "out of memory");
	if (conditions_new(&r.conditions, &unknown, err))
		return -1;
	if (!yaml_events_init(&r.yaml, path, text, len, err)) {
		rc = yaml_events_document(&r.yaml, read_root, &r);
		yaml_events_release(&r.yaml);
	}
	conditions_free(r.conditions);
	if (rc && err)
		keep_to_one_line(err);
	return rc;
}
