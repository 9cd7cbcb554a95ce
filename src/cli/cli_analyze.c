/* inferscope analyze: from a trace file to reports, without Python or a GPU. */
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/ranks_folder.h"
#include "cli/report_output.h"

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int record_write_reports(struct report_output *f)
{
	bool fired = false;
	struct err err;
	int rc;

	print_used_files(f->config, f->rules.path);
	rc = is_folder(f->input_trace) ? ranks_folder_report(f, f->input_trace, &fired, &err)
				       : report_output_write(f, f->input_trace, &fired, &err);
	if (rc)
		return complain(report_output_misses_step(&err) ? EXIT_USAGE : EXIT_INPUT, "%s",
				err.text);
	return fired ? EXIT_FIRED : EXIT_OK;
}

static int analyze(const struct command *self, int argc, char **argv)
{
	struct report_output finish = { 0 };
	struct config *config = NULL;
	struct err err;
	int operand, status;
	bool dashes;

	if (config_load(&config, self->scope, argc, argv, &operand, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	finish.config = config;
	finish.summary = summary_stream(config);
	finish.input_trace = operand < argc ? argv[operand] : NULL;
	if (operand == argc)
		status = complain(
			EXIT_USAGE,
			"analyze: no trace given; name a .isc file or a trace of another tool");
	else if (operand + 1 < argc)
		status = complain(EXIT_USAGE, "analyze: one trace at a time; unexpected '%s'",
				  argv[operand + 1]);
	else if (report_output_check(&finish, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else
		status = record_write_reports(&finish);
	report_output_release(&finish);
	config_free(config);
	return status;
}

const struct command command_analyze = {
	.name = "analyze",
	.operands = "TRACE|FOLDER [options]",
	.summary = "report on a trace recorded earlier",
	.details =
		"Prints the summary of TRACE and writes the reports that --report names.  TRACE is "
		"a\n"
		".isc file, JSON of PyTorch's profiler, VizTracer or Chrome, or SQLite of Nsight\n"
		"Systems; also packed with gzip or zstd.  The same trace gives the same reports as "
		"the run that recorded it.\n\n"
		"FOLDER holds the traces of the ranks of one run: the report has a section for "
		"each and compares them. --rank N reports on one of them.",
	.scope = SETTING_FOR_ANALYZE,
	.run = analyze,
};
