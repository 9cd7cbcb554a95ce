/*
 * inferscope view: the HTML report of a trace in a browser.
 *
 * The page stays where it was written, in a folder of its own below $TMPDIR: the browser may read
 * it at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/read_limit.h"
#include "cli/report_output.h"
#include "import/import.h"
#include "report/report.h"
#include "rules/judge.h"

#define TIMELINE_BYTES 30000000u /* as the help of --timeline-mb says */

/* "/tmp/inferscope-x1Y2z3/run.html" for "x/run.isc". */
static int make_path(char path[PATH_MAX], const char *trace_path, struct err *err)
{
	const char *folder = getenv("TMPDIR"), *name = strrchr(trace_path, '/');
	size_t bytes;
	int n;

	name = name ? name + 1 : trace_path;
	bytes = strcspn(name, ".");
	n = snprintf(path, PATH_MAX, "%s/inferscope-XXXXXX",
		     folder && *folder == '/' ? folder : "/tmp");
	if (n >= PATH_MAX - 300 || !mkdtemp(path))
		return err_errno(err, "cannot make a temporary folder");
	snprintf(path + n, PATH_MAX - (size_t)n, "/%.*s.html",
		 bytes ? (int)(bytes < 200 ? bytes : 200) : 6, bytes ? name : "report");
	return 0;
}

/* Of the first `part` bytes of the trace. */
static int write_part(const struct config *c, const struct rule_set *rules, const char *from,
		      const char *to, uint64_t part, struct err *err)
{
	struct trace *trace = NULL;
	struct analysis *a = NULL;
	int rc = -1;

	if (import_open(&trace, from, part, err) || analysis_new(&a, trace, err) ||
	    judge(a, rules, err))
		goto out;
	report_drawing_set(a, c);
	if (config_is_default(c, &setting_timeline_mb))
		a->drawing.timeline_bytes = TIMELINE_BYTES;
	rc = report_write(a, to, report_detail_of(config_text(c, &setting_detail)), err);
	if (trace_damage(trace) && config_warns(c) && (!rc || !err_is_memory(err)))
		complain(EXIT_OK, "warning: %s: %s; the page is partial", from,
			 trace_damage(trace));
out:
	analysis_free(a);
	trace_close(trace);
	return rc;
}

static int write_page(const struct config *c, const char *from, const char *to, struct err *err)
{
	struct read_limit limit;
	struct rule_set rules;
	uint64_t part = UINT64_MAX;
	int rc;

	if (rules_load(&rules, config_text(c, &setting_rules), err)) {
		rule_set_release(&rules);
		return -1;
	}
	print_used_files(c, rules.path);
	read_limit_begin(&limit, c);
	do
		rc = write_part(c, &rules, from, to, part, err);
	while (rc && read_limit_retry(&limit, from, &part, err));
	read_limit_end(&limit);
	rule_set_release(&rules);
	return rc;
}

/* The program that opens a page; its parent does not wait for it. */
static void open_with(const char *program, const char *path)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	setsid();
	execlp(program, program, path, (char *)NULL);
	_exit(127);
}

/*
 * The opener ends at once, or is the browser itself and keeps running: a failure shows within a
 * second.
 */
static bool opener_works(pid_t child)
{
	for (int i = 0; i < 20; i++) {
		int status;

		if (waitpid(child, &status, WNOHANG) == child)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		usleep(50000);
	}
	return true;
}

static bool open_page(const char *path)
{
	const char *named = getenv("BROWSER");
	const char *const programs[] = { named && *named ? named : "xdg-open", "xdg-open", "open",
					 "wslview" };

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		pid_t child = fork();

		if (!child)
			open_with(programs[i], path);
		if (child > 0 && opener_works(child))
			return true;
	}
	return false;
}

static int view(const struct config *c, const char *from)
{
	char path[PATH_MAX];
	struct err err;

	if (access(from, R_OK))
		return complain(EXIT_INPUT, "cannot read '%s': %s", from, strerror(errno));
	if (make_path(path, from, &err))
		return complain(EXIT_INPUT, "%s", err.text);
	if (write_page(c, from, path, &err)) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
		return complain(EXIT_INPUT, "%s", err.text);
	}
	printf("%s\n", path);
	if (fflush(stdout))
		return report_output_stdout(EXIT_OK);
	if (config_flag(c, &setting_open) && !open_page(path) && config_warns(c))
		complain(EXIT_OK, "no browser could be started; open the file above, or set "
				  "BROWSER");
	return report_output_stdout(EXIT_OK);
}

static int run_view(const struct command *self, int argc, char **argv)
{
	struct config *c;
	struct err err;
	bool dashes;
	int first, rc;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (first == argc)
		rc = complain(EXIT_USAGE, "view: no trace given; name a .isc file");
	else if (argc - first > 1)
		rc = complain(EXIT_USAGE, "view: one trace at a time; unexpected '%s'",
			      argv[first + 1]);
	else
		rc = view(c, argv[first]);
	config_free(c);
	return rc;
}

const struct command command_view = {
	.name = "view",
	.operands = "TRACE [options]",
	.summary = "open the report of a trace, with its timeline, in a browser",
	.details =
		"Writes the HTML report of TRACE to a new temporary folder, prints its path and\n"
		"opens it.",
	.scope = SETTING_FOR_VIEW,
	.run = run_view,
};
