#include "cli/finish.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "cli/command.h"
#include "cli/fail_on.h"
#include "cli/rules_load.h"
#include "cli/suggest.h"
#include "format/trace.h"
#include "report/report.h"
#include "rules/judge.h"

static size_t report_count(const struct finish *f)
{
	if (!f->default_report && config_is_default(f->config, &setting_report))
		return 0;
	return config_list_count(f->config, &setting_report);
}

static const char *report_path(const struct finish *f, size_t i)
{
	return config_list(f->config, &setting_report, i);
}

/* "a.md" for "x/a.md", and the folder "x" (or ".") in *folder. */
static const char *split(const char *path, struct stat *folder)
{
	const char *slash = strrchr(path, '/');
	char text[PATH_MAX];

	snprintf(text, sizeof(text), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	if (stat(text, folder))
		memset(folder, 0, sizeof(*folder)); /* found out when it is opened */
	return slash ? slash + 1 : path;
}

/* Would these two names, of which one is not there yet, become one file? */
static bool same_place(const char *a, const char *b)
{
	struct stat x, y;

	if (strcmp(split(a, &x), split(b, &y)) != 0)
		return false;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Devices and pipes may be written twice; a file that is there is one file under any name. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (!strcmp(a, "-") || !strcmp(b, "-"))
		return false;
	if (stat(a, &x) || stat(b, &y))
		return same_place(a, b);
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A name that no rule has would never fire, and nobody would notice. */
static int check_fail_on(const struct finish *f, struct err *err)
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
			       "--fail-on: there is no rule '%s'; 'inferscope rules list' names "
			       "them",
			       name);
	}
	return 0;
}

void finish_release(struct finish *f)
{
	rule_set_release(&f->rules);
}

int finish_check(struct finish *f, const char *trace, struct err *err)
{
	size_t n = report_count(f);

	if (rules_load(&f->rules, config_text(f->config, &setting_rules), err) ||
	    check_fail_on(f, err))
		return -1;

	for (size_t i = 0; i < n; i++) {
		const char *path = report_path(f, i);

		if (trace && same_file(path, trace))
			return err_set(err, "'%s' cannot be the report and the trace", path);
		for (size_t k = 0; k < i; k++)
			if (same_file(path, report_path(f, k)))
				return err_set(err, "report '%s' is given twice", path);
		if (!report_backend_for(path, err) || report_check_writable(path, err))
			return -1;
	}
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

static int print_summary(const struct finish *f, const struct analysis *a,
			 const char *const *written, size_t count, struct err *err)
{
	const struct terminal_style style = {
		.columns = columns_of(f->summary),
		.colour = wants_colour(f->summary),
		.detail = report_detail_of(config_text(f->config, &setting_detail)),
		.written = written,
		.written_count = count,
		.trace = f->kept_trace,
	};

	if (report_terminal(a, f->summary, &style))
		return err_errno(err, "cannot write the summary");
	return 0;
}

/* Fills in `written` with the reports that are there now; err: the first that is not. */
static int write_reports(const struct finish *f, const struct analysis *a, const char **written,
			 size_t *count, struct err *err)
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

int finish_reports(const struct finish *f, const char *trace_path, bool *fired, struct err *err)
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
	if (trace_open(&trace, trace_path, err) || analysis_new(&analysis, trace, err) ||
	    judge(analysis, &f->rules, err))
		goto out;
	if (fired)
		*fired = fail_on_fires(f->config, &analysis->findings);
	if (trace_damage(trace) && !f->known_partial &&
	    strcmp(config_text(f->config, &setting_log_level), "error") != 0)
		complain(EXIT_OK, "warning: %s: %s; the report is partial",
			 f->kept_trace ? f->kept_trace : trace_path, trace_damage(trace));
	rc = write_reports(f, analysis, written, &count, err);
	if (f->summary && print_summary(f, analysis, written, count, rc ? NULL : err))
		rc = -1;
out:
	analysis_free(analysis);
	trace_close(trace);
	free(written);
	return rc;
}
