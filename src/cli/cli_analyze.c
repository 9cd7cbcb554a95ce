/* inferscope analyze: from a trace file to reports, without Python or a GPU. */
#include <string.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/finish.h"

/* A report on standard output keeps it to itself. */
static FILE *summary_stream(const struct config *c)
{
	if (config_flag(c, &setting_quiet))
		return NULL;
	for (size_t i = 0; i < config_list_count(c, &setting_report); i++)
		if (!strcmp(config_list(c, &setting_report, i), "-"))
			return stderr;
	return stdout;
}

static int analyze(const struct command *self, int argc, char **argv)
{
	struct finish finish = { 0 };
	struct config *config = NULL;
	struct err err;
	int operand, status;
	bool dashes, fired = false;

	if (config_load(&config, self->scope, argc, argv, &operand, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	complain_pending(config, self->scope);
	finish.config = config;
	finish.summary = summary_stream(config);
	if (operand == argc)
		status = complain(EXIT_USAGE, "analyze: which trace? give the name of a .isc file");
	else if (operand + 1 < argc)
		status = complain(EXIT_USAGE, "analyze: one trace at a time, '%s' is too much",
				  argv[operand + 1]);
	else if (finish_check(&finish, argv[operand], &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else if (finish_reports(&finish, argv[operand], &fired, &err))
		status = complain(EXIT_INPUT, "%s", err.text);
	else
		status = fired ? EXIT_FIRED : EXIT_OK;
	finish_release(&finish);
	config_free(config);
	return status;
}

const struct command command_analyze = {
	.name = "analyze",
	.operands = "TRACE [options]",
	.summary = "report on a trace recorded earlier",
	.details =
		"Prints the summary of TRACE (a .isc file) and writes the reports that --report\n"
		"names.  The same trace gives the same reports as the run that recorded it.",
	.scope = SETTING_FOR_ANALYZE,
	.run = analyze,
};
