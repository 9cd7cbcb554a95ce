#include "cli/fail_on.h"

#include <string.h>

#include "rules/rule.h"

static const struct {
	const char *name;
	enum finding_severity from; /* this and what is worse */
} severities[] = {
	{ "high", SEVERITY_HIGH },
	{ "medium", SEVERITY_MEDIUM },
};

#define SEVERITIES (sizeof(severities) / sizeof(*severities))

static bool matches(struct suggest *near, const char *name)
{
	suggest_push(near, name);
	return !strcmp(near->typed, name);
}

bool fail_on_known(const struct rule_set *custom, const char *name, struct suggest *near)
{
	suggest_init(near, name);
	for (size_t i = 0; i < SEVERITIES; i++)
		if (matches(near, severities[i].name))
			return true;
	for (const struct rule *const *r = builtin_rules; *r; r++)
		if (matches(near, (*r)->id))
			return true;
	for (size_t i = 0; i < custom->count; i++)
		if (matches(near, custom->items[i].name))
			return true;
	return false;
}

static bool fires(const char *name, const struct analysis_finding *f)
{
	for (size_t i = 0; i < SEVERITIES; i++)
		if (!strcmp(severities[i].name, name))
			return f->severity >= severities[i].from;
	return !strcmp(f->id, name);
}

bool fail_on_fires(const struct config *c, const struct analysis_findings *f)
{
	for (size_t i = 0; i < config_list_count(c, &setting_fail_on); i++)
		for (size_t k = 0; k < f->count; k++)
			if (fires(config_list(c, &setting_fail_on, i), &f->items[k]))
				return true;
	return false;
}
