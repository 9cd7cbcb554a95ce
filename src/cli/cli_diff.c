/* inferscope diff: are the steps of one group of traces slower than those of another, and why? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/read_limit.h"
#include "cli/report_output.h"
#include "compare/compare_report.h"
#include "import/import.h"
#include "rules/judge.h"

enum { BEFORE, AFTER, SIDES };

static const struct setting *const side_settings[SIDES] = { &setting_before, &setting_after };

struct diff {
	const struct config *config;
	struct rule_set rules;
	const char **paths[SIDES];
	size_t count[SIDES];
	struct comparison_request wanted;
	bool has_limit; /* --fail-on */
	double limit;
};

static bool takes_traces(const char *word)
{
	return !strcmp(word, setting_before.flag) || !strcmp(word, setting_after.flag);
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

/*
 * "--before A B" as "--before A --before B", since options take one value each.  The array is the
 * caller's to free; NULL: no memory.
 */
static char **repeat_flags(int argc, char **argv, int *count)
{
	char **words = calloc(2 * (size_t)argc + 1, sizeof(*words));
	int n = 0;

	if (!words)
		return NULL;
	for (int i = 0; i < argc; i++) {
		char *flag = i && takes_traces(argv[i]) ? argv[i] : NULL;

		words[n++] = argv[i];
		if (!flag || i + 1 == argc || is_option(argv[i + 1]))
			continue;
		words[n++] = argv[++i];
		while (i + 1 < argc && !is_option(argv[i + 1])) {
			words[n++] = flag;
			words[n++] = argv[++i];
		}
	}
	*count = n;
	return words;
}

static enum step_statistic statistic_of(const char *name)
{
	enum step_statistic s = 0;

	while (s + 1 < STEP_STATISTICS && strcmp(step_statistic_name(s), name) != 0)
		s++;
	return s;
}

/* "5%" or "5": a share of the step time. */
static int parse_limit(struct diff *d, struct err *err)
{
	const char *text = config_text(d->config, &setting_fail_on_change);
	char *end;

	if (!text)
		return 0;
	d->limit = strtod(text, &end) / 100;
	if (*end == '%')
		end++;
	if (end == text || *end || !isfinite(d->limit) || d->limit < 0 ||
	    text[strspn(text, "0123456789.%")])
		return err_set(err, "--fail-on: expected a percentage such as 5%%, not '%.100s'",
			       text);
	d->has_limit = true;
	return 0;
}

/* Two operands, or both options. */
static int find_traces(struct diff *d, int count, char **operands, struct err *err)
{
	size_t named = 0;

	for (size_t side = 0; side < SIDES; side++) {
		d->count[side] = config_list_count(d->config, side_settings[side]);
		named += d->count[side] > 0;
		if (!named && count == SIDES)
			d->count[side] = 1;
		d->paths[side] = calloc(d->count[side] + 1, sizeof(*d->paths[side]));
		if (!d->paths[side])
			return err_set(err, "out of memory");
	}
	if (named && count)
		return err_set(err, "diff: unexpected '%s' beside --before and --after",
			       operands[0]);
	if (named == 1)
		return err_set(err, "diff: %s is missing",
			       d->count[BEFORE] ? setting_after.flag : setting_before.flag);
	if (!named && count != SIDES)
		return count < SIDES
			       ? err_set(err, "diff: two traces are compared: diff BEFORE AFTER")
			       : err_set(err,
					 "diff: unexpected '%s'; several traces per side: --before "
					 "A B --after C D",
					 operands[SIDES]);
	for (size_t side = 0; side < SIDES; side++)
		for (size_t i = 0; i < d->count[side]; i++)
			d->paths[side][i] = named ? config_list(d->config, side_settings[side], i)
						  : operands[side];
	return 0;
}

static size_t report_count(const struct diff *d)
{
	if (config_is_default(d->config, &setting_report))
		return 0;
	return config_list_count(d->config, &setting_report);
}

static int check_report(const struct diff *d, const char *path, struct err *err)
{
	if (check_not_configuration(path, d->config, err) ||
	    check_not_input(path, "the rules file", d->rules.path, err))
		return -1;
	for (size_t side = 0; side < SIDES; side++)
		for (size_t i = 0; i < d->count[side]; i++)
			if (check_not_input(path, "a trace to read", d->paths[side][i], err))
				return -1;
	return report_check_writable(path, err) || !report_backend_for(path, err) ? -1 : 0;
}

static int check_reports(const struct diff *d, struct err *err)
{
	for (size_t i = 0; i < report_count(d); i++) {
		const char *path = config_list(d->config, &setting_report, i);

		for (size_t k = 0; k < i; k++)
			if (outputs_are_same(path, config_list(d->config, &setting_report, k)))
				return err_set(err, "report '%s' is given twice", path);
		if (check_report(d, path, err))
			return -1;
	}
	return 0;
}

/* Of "BEFORE=AFTER" that of a side; NULL: it is one name. */
static char *name_of_side(const char *step, size_t side)
{
	const char *equals = strchr(step, '=');

	if (!equals)
		return NULL;
	return side == BEFORE ? strndup(step, (size_t)(equals - step)) : strdup(equals + 1);
}

/*
 * With the requested step as the first, if it is there; *chosen is set then.  If not, the
 * comparison searches for it and reports an error.
 */
static int analyze_run(const struct diff *d, size_t side, const struct trace *trace,
		       struct analysis **a, bool *chosen, struct err *err)
{
	struct analysis_options options = { .step = d->wanted.step };
	char *name;

	*chosen = false;
	if (!options.step)
		return analysis_new(a, trace, err);
	if (!analysis_new_with(a, trace, &options, err)) {
		*chosen = true;
		return 0;
	}
	if (!report_output_misses_step(err))
		return -1;
	name = name_of_side(d->wanted.step, side);
	options.step = name;
	if (name && !analysis_new_with(a, trace, &options, err))
		*chosen = true;
	else if (name && !report_output_misses_step(err)) {
		free(name);
		return -1;
	}
	free(name);
	return *chosen ? 0 : analysis_new(a, trace, err);
}

/* Of the first `part` bytes of the trace. */
static int read_part(const struct diff *d, size_t side, const char *path, uint64_t part,
		     struct compared_run *run, struct err *err)
{
	bool chosen;
	struct trace *trace = NULL;
	struct analysis *a = NULL;
	int rc = -1;

	if (!import_open(&trace, path, part, err) &&
	    !analyze_run(d, side, trace, &a, &chosen, err) && !judge(a, &d->rules, err)) {
		rc = compared_run_init(run, a, path, err);
		run->chosen = chosen;
	}
	if (!rc && trace_damage(trace) && config_warns(d->config))
		complain(EXIT_OK, "warning: %s: %s; its figures are partial", path,
			 trace_damage(trace));
	analysis_free(a);
	trace_close(trace);
	return rc;
}

static int read_run(const struct diff *d, const struct read_limit *limit, size_t side,
		    const char *path, struct compared_run *run, struct err *err)
{
	uint64_t part = UINT64_MAX;
	int rc;

	do {
		compared_run_release(run);
		rc = read_part(d, side, path, part, run, err);
	} while (rc && read_limit_retry(limit, path, &part, err));
	return rc;
}

static int write_reports(const struct diff *d, const struct comparison *c, struct err *err)
{
	enum report_detail detail = report_detail_of(config_text(d->config, &setting_detail));
	FILE *summary = summary_stream(d->config);
	struct terminal_style style;
	const char **written = calloc(report_count(d) + 1, sizeof(*written));
	int rc = 0;

	if (!written)
		return err_set(err, "out of memory");
	if (summary)
		style = summary_style(d->config, summary);
	for (size_t i = 0; i < report_count(d) && !rc; i++) {
		written[i] = config_list(d->config, &setting_report, i);
		rc = comparison_write(c, written[i], detail, err);
	}
	if (summary && !rc) {
		style.written = written;
		style.written_count = report_count(d);
		rc = comparison_print(c, summary, &style);
		if (rc)
			err_errno(err, "cannot write the summary");
	}
	free(written);
	return rc;
}

static int compare(const struct diff *d, struct compared_run *runs, struct err *err)
{
	struct comparison c;
	int status = EXIT_INPUT;

	if (!comparison_init(&c, runs, d->count[BEFORE], runs + d->count[BEFORE], d->count[AFTER],
			     &d->wanted, err) &&
	    !write_reports(d, &c, err))
		status = d->has_limit && comparison_regressed(&c, d->limit) ? EXIT_FIRED : EXIT_OK;
	comparison_release(&c);
	return status == EXIT_INPUT ? complain(status, "%s", err->text) : status;
}

static int read_and_compare(const struct diff *d)
{
	size_t count = d->count[BEFORE] + d->count[AFTER], read = 0;
	struct compared_run *runs = calloc(count, sizeof(*runs));
	struct read_limit limit;
	struct err err;
	int status = EXIT_OK;

	if (!runs)
		return complain(EXIT_INPUT, "out of memory");
	print_used_files(d->config, d->rules.path);
	read_limit_begin(&limit, d->config);
	for (size_t side = 0; side < SIDES; side++)
		for (size_t i = 0; i < d->count[side] && !status; i++)
			if (read_run(d, &limit, side, d->paths[side][i], &runs[read++], &err))
				status = complain(EXIT_INPUT, "%s", err.text);
	if (!status)
		status = compare(d, runs, &err);
	read_limit_end(&limit);
	for (size_t i = 0; i < count; i++)
		compared_run_release(&runs[i]);
	free(runs);
	return status;
}

static int check_and_compare(struct diff *d, int count, char **operands)
{
	struct err err;

	d->wanted = (struct comparison_request){
		.step = config_text(d->config, &setting_step),
		.statistic = statistic_of(config_text(d->config, &setting_statistic)),
		.run_spread = config_number(d->config, &setting_run_spread) / 100,
	};
	if (find_traces(d, count, operands, &err) || parse_limit(d, &err) ||
	    rules_load(&d->rules, config_text(d->config, &setting_rules), &err) ||
	    check_reports(d, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	return read_and_compare(d);
}

static int run_diff(const struct command *self, int argc, char **argv)
{
	int count, first, status;
	char **words = repeat_flags(argc, argv, &count);
	struct diff d = { 0 };
	struct config *config = NULL;
	struct err err;
	bool dashes;

	if (!words)
		return complain(EXIT_INPUT, "out of memory");
	rule_set_init(&d.rules);
	if (config_load(&config, self->scope, count, words, &first, &dashes, &err)) {
		free(words);
		return complain(EXIT_USAGE, "%s", err.text);
	}
	d.config = config;
	status = check_and_compare(&d, count - first, words + first);
	rule_set_release(&d.rules);
	free(d.paths[BEFORE]);
	free(d.paths[AFTER]);
	config_free(config);
	free(words);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.operands = "[options] BEFORE AFTER\n"
		    "[options] --before TRACE... --after TRACE...",
	.summary = "compare the steps of two runs, or of several runs each",
	.details =
		"Prints how much the step time changed and whether that is more than chance, "
		"and what became slower or faster: classes of time, kernels, layers, functions, "
		"lines and findings.\n\n"
		"The test compares whole runs, not single steps, because two runs of the same "
		"program differ by more than their steps show. One trace per side detects changes "
		"from 10 to 20 % on; "
		"record three per side for 10 %, five for 3 to 5 % (docs/DIFF.md has the "
		"rates).\n\n"
		"Exit status 3: with --fail-on the steps are slower by at least that percentage, "
		"and by more than chance.",
	.scope = SETTING_FOR_DIFF,
	.run = run_diff,
};
