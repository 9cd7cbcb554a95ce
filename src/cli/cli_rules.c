/* inferscope rules: the rules in effect, the check of a rules file, the metrics. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/report_output.h"
#include "report/plain_text.h"
#include "rules/metrics.h"
#include "rules/rule.h"

static int print(struct buf *out)
{
	int status;

	if (out->failed) {
		status = complain(EXIT_INPUT, "out of memory");
	} else {
		fwrite(out->data, 1, out->len, stdout);
		status = report_output_stdout(EXIT_OK);
	}
	buf_release(out);
	return status;
}

static void add_row(struct buf *out, const char *name, const char *title, const char *condition)
{
	text_add_clean(out, name);
	buf_add_str(out, "\n    ");
	text_add_clean(out, title);
	buf_add_str(out, "\n    if ");
	text_add_clean(out, condition);
	buf_add_byte(out, '\n');
}

static int list(const struct config *c, const char *operand)
{
	struct rule_set set;
	struct buf out;
	struct err err;

	(void)operand;
	buf_init(&out);
	if (rules_load(&set, config_text(c, &setting_rules), &err)) {
		rule_set_release(&set);
		return complain(EXIT_USAGE, "%s", err.text);
	}
	print_used_files(c, set.path);
	for (const struct rule *const *r = builtin_rules; *r; r++)
		add_row(&out, (*r)->id, (*r)->title, (*r)->condition);
	if (set.count) {
		buf_add_str(&out, "\nfrom ");
		text_add_clean(&out, set.path);
		buf_add_str(&out, ":\n\n");
	}
	for (size_t i = 0; i < set.count; i++)
		add_row(&out, set.items[i].name, set.items[i].title, set.items[i].condition);
	rule_set_release(&set);
	return print(&out);
}

static int check(const struct config *c, const char *path)
{
	struct rule_set set;
	struct err err;
	struct buf out;
	int rc = rules_load(&set, path, &err);

	(void)c;
	buf_init(&out);
	text_add_clean(&out, path);
	buf_printf(&out, ": %zu rule%s, all valid\n", set.count, set.count == 1 ? "" : "s");
	rule_set_release(&set);
	if (!rc)
		return print(&out);
	buf_release(&out);
	return complain(EXIT_INPUT, "%s", err.text);
}

static const char metrics_intro[] =
	"# Metrics\n"
	"\n"
	"Written by `inferscope rules metrics`; do not edit.\n"
	"\n"
	"Conditions of rules can use these metrics, the columns of a table with one row. All\n"
	"are reals. An unknown metric is NULL, and so is any value computed from it; a rule whose\n"
	"condition is NULL reports nothing, and the report notes it. Metrics describe the most\n"
	"important kind of step, the first in the report. Times and counts are means per step,\n"
	"without warm-up; times are in ms. The parts of a step add up to `total_time`.\n"
	"\n"
	"Conditions are SQL expressions (SQLite): comparisons, arithmetic, `AND`, `OR`, `NOT`,\n"
	"`CASE`, `BETWEEN`, `IN`, and the functions `abs min max round coalesce ifnull nullif iif\n"
	"sign floor ceil trunc sqrt pow exp ln log10 log2` as far as SQLite was built with them.\n"
	"\n"
	"| metric | unit | meaning |\n"
	"|---|---|---|\n";

static int metrics(const struct config *c, const char *operand)
{
	struct buf out;

	(void)c;
	(void)operand;
	buf_init(&out);
	buf_add_str(&out, metrics_intro);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		buf_printf(&out, "| `%s` | %s | %s |\n", metrics_table[i].name,
			   metrics_table[i].unit, metrics_table[i].meaning);
	return print(&out);
}

static const struct action {
	const char *name;
	bool takes_file;
	int (*run)(const struct config *c, const char *operand);
} actions[] = {
	{ "list", false, list },
	{ "check", true, check },
	{ "metrics", false, metrics },
};

#define ACTIONS (sizeof(actions) / sizeof(*actions))

static int unknown_action(const char *name)
{
	struct suggest near;

	suggest_init(&near, name);
	for (size_t i = 0; i < ACTIONS; i++)
		suggest_push(&near, actions[i].name);
	if (near.best)
		return complain(EXIT_USAGE, "rules: unknown action '%s'; did you mean '%s'?", name,
				near.best);
	return complain(EXIT_USAGE, "rules: unknown action '%s'; use list, check or metrics", name);
}

static int run_action(const struct config *c, int argc, char **argv)
{
	for (size_t i = 0; i < ACTIONS; i++) {
		const struct action *a = &actions[i];
		int operands = 1 + a->takes_file;

		if (strcmp(a->name, argv[0]) != 0)
			continue;
		if (argc < operands)
			return complain(EXIT_USAGE, "rules check: no file given");
		if (argc > operands)
			return complain(EXIT_USAGE, "rules: unexpected '%s' after '%s'",
					argv[operands], argv[operands - 1]);
		return a->run(c, argv[1]);
	}
	return unknown_action(argv[0]);
}

static int run_rules(const struct command *self, int argc, char **argv)
{
	struct config *c;
	struct err err;
	bool dashes;
	int first, status;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (first == argc)
		status = complain(EXIT_USAGE, "rules: no action given; use list, check or metrics");
	else
		status = run_action(c, argc - first, argv + first);
	config_free(c);
	return status;
}

const struct command command_rules = {
	.name = "rules",
	.operands = "list [--rules FILE]\n"
		    "check FILE\n"
		    "metrics",
	.summary = "list the rules that detect bottlenecks, or check a rules file",
	.details = "list: the built-in rules and those of the rules file in effect.\n\n"
		   "check: reads FILE and reports whether its rules are valid and, if not, where "
		   "the\n"
		   "error is (exit status 1).\n\n"
		   "metrics: the names that conditions may use, as a Markdown table.",
	.scope = SETTING_FOR_RULES,
	.run = run_rules,
};
