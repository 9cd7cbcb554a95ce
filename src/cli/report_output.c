#include "cli/report_output.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "analyze/figures/finding_figures.h"
#include "base/outfile.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/config_file.h"
#include "cli/help.h"
#include "cli/read_limit.h"
#include "format/trace.h"
#include "compare/ranks.h"
#include "import/import.h"
#include "report/report.h"
#include "rules/judge.h"
#include "rules/rule.h"
#include "rules/rules_file.h"

/* "a.md" for "x/a.md", and the folder "x" (or ".") in *folder. */
static const char *split(const char *path, struct stat *folder)
{
	const char *slash = strrchr(path, '/');
	char text[PATH_MAX];

	snprintf(text, sizeof(text), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	if (stat(text, folder))
		memset(folder, 0, sizeof(*folder)); /* an error when it is opened */
	return slash ? slash + 1 : path;
}

/* Would these two names, of which one does not exist yet, become one file? */
static bool same_place(const char *a, const char *b)
{
	struct stat x, y;

	if (strcmp(split(a, &x), split(b, &y)) != 0)
		return false;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool same_regular(const struct stat *x, const struct stat *y)
{
	return S_ISREG(x->st_mode) && x->st_dev == y->st_dev && x->st_ino == y->st_ino;
}

bool outputs_are_same(const char *a, const char *b)
{
	struct stat x, y;

	if (outfile_is_stdout(a) || outfile_is_stdout(b))
		return false;
	if (stat(a, &x) || stat(b, &y))
		return same_place(a, b);
	return same_regular(&x, &y);
}

int check_not_input(const char *output, const char *what, const char *input, struct err *err)
{
	struct stat x, y;

	if (!input || stat(outfile_is_stdout(output) ? "/dev/stdout" : output, &x) ||
	    stat(input, &y) || !same_regular(&x, &y))
		return 0;
	return err_set(err, "cannot write '%s': it is %s; choose another file", output, what);
}

int check_not_configuration(const char *output, const struct config *c, struct err *err)
{
	const char *path;

	for (size_t i = 0; (path = config_used_file(c, i)); i++)
		if (check_not_input(output, "the configuration file", path, err))
			return -1;
	return 0;
}

int rules_load(struct rule_set *s, const char *named, struct err *err)
{
	struct found_file file;
	int rc;

	rule_set_init(s);
	rc = named ? config_file_open(&file, &file_rules, named, err)
		   : config_file_find(&file, &file_rules, err);
	if (!rc && !file.path)
		rc = config_file_find_users(&file, &file_rules, err);
	if (rc)
		return rc;
	if (file.path)
		rc = rule_set_parse(s, file.path, file.text.data, file.text.len, err);
	found_file_release(&file);
	return rc;
}

/* --fail-on: which findings make `analyze` exit with status 3. */

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

/* Is it high, medium or the id of a rule?  If not, *near has the word it may have meant. */
static bool fail_on_known(const struct rule_set *custom, const char *name, struct suggest *near)
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

static bool fail_on_fires(const struct config *c, const struct analysis_findings *f)
{
	for (size_t i = 0; i < config_list_count(c, &setting_fail_on); i++)
		for (size_t k = 0; k < f->count; k++)
			if (fires(config_list(c, &setting_fail_on, i), &f->items[k]))
				return true;
	return false;
}

bool report_output_fires(const struct report_output *f, const struct analysis *a)
{
	return fail_on_fires(f->config, &a->findings);
}

static size_t report_count(const struct report_output *f)
{
	if (!f->default_report && config_is_default(f->config, &setting_report))
		return 0;
	return config_list_count(f->config, &setting_report);
}

static const char *report_path(const struct report_output *f, size_t i)
{
	return config_list(f->config, &setting_report, i);
}

/* A name that no rule has would never fire, which would go unnoticed. */
static int check_fail_on(const struct report_output *f, struct err *err)
{
	for (size_t i = 0; i < config_list_count(f->config, &setting_fail_on); i++) {
		const char *name = config_list(f->config, &setting_fail_on, i);
		struct suggest near;

		if (fail_on_known(&f->rules, name, &near))
			continue;
		if (near.best)
			return err_set(err, "--fail-on: there is no rule '%s'; did you mean '%s'?",
				       name, near.best);
		return err_set(err,
			       "--fail-on: there is no rule '%s'; 'inferscope rules list' lists "
			       "them",
			       name);
	}
	return 0;
}

void report_output_release(struct report_output *f)
{
	rule_set_release(&f->rules);
}

/* An output against everything that is read. */
static int check_inputs(const struct report_output *f, const char *output, struct err *err)
{
	if (check_not_configuration(output, f->config, err) ||
	    check_not_input(output, "the rules file", f->rules.path, err) ||
	    check_not_input(output, "the trace to read", f->input_trace, err) ||
	    check_not_input(output, "the program to run", f->program, err) ||
	    check_not_input(output, "standard input", "/dev/stdin", err))
		return -1;
	for (char *const *word = f->command; word && *word; word++) {
		const char *value = strchr(*word, '=');

		if (check_not_input(output, "an argument of the workload", *word, err) ||
		    (value &&
		     check_not_input(output, "an argument of the workload", value + 1, err)))
			return -1;
	}
	return 0;
}

static int check_report(const struct report_output *f, size_t i, struct err *err)
{
	const char *path = report_path(f, i);

	if (f->kept_trace && outputs_are_same(path, f->kept_trace))
		return err_set(err, "'%s' cannot be the report and the trace", path);
	for (size_t k = 0; k < i; k++)
		if (outputs_are_same(path, report_path(f, k)))
			return err_set(err, "report '%s' is given twice", path);
	if (check_inputs(f, path, err) || report_check_writable(path, err))
		return -1;
	return report_backend_for(path, err) ? 0 : -1;
}

int report_output_check(struct report_output *f, struct err *err)
{
	size_t n = report_count(f);

	if (rules_load(&f->rules, config_text(f->config, &setting_rules), err) ||
	    check_fail_on(f, err) || (f->kept_trace && check_inputs(f, f->kept_trace, err)))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (check_report(f, i, err))
			return -1;
	return 0;
}

static bool wants_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static size_t columns_of(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

struct terminal_style summary_style(const struct config *c, FILE *out)
{
	return (struct terminal_style){
		.columns = columns_of(out),
		.colour = wants_colour(out),
		.detail = report_detail_of(config_text(c, &setting_detail)),
	};
}

/* A report on standard output keeps it to itself. */
FILE *summary_stream(const struct config *c)
{
	if (config_flag(c, &setting_quiet))
		return NULL;
	for (size_t i = 0; i < config_list_count(c, &setting_report); i++)
		if (!strcmp(config_list(c, &setting_report, i), "-"))
			return stderr;
	return stdout;
}

static int print_summary(const struct report_output *f, const struct analysis *a,
			 const char *const *written, size_t count, struct err *err)
{
	struct terminal_style style = summary_style(f->config, f->summary);

	style.written = written;
	style.written_count = count;
	style.trace = f->kept_trace;
	if (report_terminal(a, f->summary, &style))
		return err_errno(err, "cannot write the summary");
	return 0;
}

/* Fills in `written` with the reports that are there now; err: the first that is not. */
static int record_write_reports(const struct report_output *f, const struct analysis *a,
				const char **written, size_t *count, struct err *err)
{
	enum report_detail detail = report_detail_of(config_text(f->config, &setting_detail));
	size_t n = report_count(f);
	struct err why;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		const char *path = report_path(f, i);

		if (report_write(a, path, detail, &why)) {
			if (!rc)
				rc = err_set(err, "%s", why.text);
		} else if (strcmp(path, "-") != 0) {
			written[(*count)++] = path;
		}
	}
	return rc;
}

bool report_output_misses_step(const struct err *err)
{
	return !strncmp(err->text, "--step:", strlen("--step:"));
}

/* Is there a report with a timeline among those asked for? */
static bool draws(const struct report_output *f)
{
	struct err unused;

	for (size_t i = 0; i < report_count(f); i++)
		if (report_backend_for(report_path(f, i), &unused) == &report_html)
			return true;
	return false;
}

/* After a run there is a report in any case: what was recorded may not come again. */
static int analyze_trace(const struct report_output *f, const struct trace *trace,
			 struct analysis **analysis, struct err *err)
{
	struct analysis_options options = { .step = config_text(f->config, &setting_step),
					    .undrawn = !draws(f) };

	if (!analysis_new_with(analysis, trace, &options, err))
		return 0;
	if (f->input_trace || !report_output_misses_step(err))
		return -1;
	if (config_warns(f->config))
		complain(EXIT_OK, "warning: %s; the report is on the best candidate", err->text);
	options.step = NULL;
	return analysis_new_with(analysis, trace, &options, err);
}

void report_drawing_set(struct analysis *a, const struct config *c)
{
	a->drawing.timeline_bytes = (size_t)config_number(c, &setting_timeline_mb) * 1000000;
	a->drawing.source = config_flag(c, &setting_source);
}

/* --rank, of a single trace. */
static int check_rank(const struct report_output *f, const struct trace *t, struct err *err)
{
	uint32_t number, wanted;

	if (!f->input_trace || f->any_rank || config_is_default(f->config, &setting_rank))
		return 0;
	wanted = (uint32_t)config_number(f->config, &setting_rank);
	if (!rank_of_trace(t, f->input_trace, &number))
		return err_set(err, "%s does not say which rank it is of; leave out --rank",
			       f->input_trace);
	return number == wanted ? 0
				: err_set(err, "%s is of rank %u, not of rank %u", f->input_trace,
					  (unsigned)number, (unsigned)wanted);
}

/* Of the first `part` bytes of the trace. */
static int report_on(const struct report_output *f, const char *trace_path, uint64_t part,
		     bool *fired, struct err *err)
{
	struct trace *trace = NULL;
	struct analysis *analysis = NULL;
	const char **written = calloc(report_count(f) + 1, sizeof(*written));
	size_t count = 0;
	int rc = -1;

	if (!written) {
		err_set(err, "out of memory");
		goto out;
	}
	if (import_open(&trace, trace_path, part, err) || check_rank(f, trace, err) ||
	    analyze_trace(f, trace, &analysis, err) || judge(analysis, &f->rules, err))
		goto out;
	report_drawing_set(analysis, f->config);
	rc = record_write_reports(f, analysis, written, &count, err);
	if (rc && err_is_memory(err))
		goto out;
	if (fired)
		*fired = fail_on_fires(f->config, &analysis->findings);
	if (trace_damage(trace) && (!f->known_partial || trace_read_share(trace) < 1) &&
	    config_warns(f->config))
		complain(EXIT_OK, "warning: %s: %s; the report is partial",
			 f->kept_trace ? f->kept_trace : trace_path, trace_damage(trace));
	if (f->summary && print_summary(f, analysis, written, count, rc ? NULL : err))
		rc = -1;
out:
	analysis_free(analysis);
	trace_close(trace);
	free(written);
	return rc;
}

int report_output_write(const struct report_output *f, const char *trace_path, bool *fired,
			struct err *err)
{
	struct read_limit limit;
	uint64_t part = UINT64_MAX;
	int rc;

	read_limit_begin(&limit, f->config);
	do
		rc = report_on(f, trace_path, part, fired, err);
	while (rc && read_limit_retry(&limit, trace_path, &part, err));
	read_limit_end(&limit);
	return rc;
}
