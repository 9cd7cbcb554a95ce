/* inferscope export: a trace in the formats of other tools. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/outfile.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/read_limit.h"
#include "cli/report_output.h"
#include "export/export.h"
#include "import/import.h"
#include "tables/table.h"

/* Of the first `part` bytes of the trace. */
static int export_part(const struct config *c, const char *from, uint64_t part, struct err *err)
{
	const struct exporter *e = exporter_find(config_text(c, &setting_to));
	struct trace *trace;
	struct outfile out;
	int rc;

	if (import_open(&trace, from, part, err))
		return -1;
	rc = outfile_open(&out, config_text(c, &setting_output), err);
	if (!rc) {
		rc = e->write(trace, out.fd, err);
		if (rc)
			outfile_discard(&out);
		else
			rc = outfile_commit(&out, err);
	}
	if (trace_damage(trace) && config_warns(c) && (!rc || !err_is_memory(err)))
		complain(EXIT_OK, "%s is not complete: %s", from, trace_damage(trace));
	trace_close(trace);
	return rc;
}

/* What has gone into a stream cannot be taken back: only a file is written again. */
static int export_trace(const struct config *c, const char *from)
{
	const char *to = config_text(c, &setting_output);
	bool in_place = outfile_is_stream(to);
	struct read_limit limit;
	uint64_t part = UINT64_MAX;
	struct err err;
	int rc;

	if (check_not_input(to, "the trace to read", from, &err) ||
	    check_not_configuration(to, c, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	print_used_files(c, NULL);
	read_limit_begin(&limit, c);
	do
		rc = export_part(c, from, part, &err);
	while (rc && !in_place && read_limit_retry(&limit, from, &part, &err));
	read_limit_end(&limit);
	if (rc && in_place && err_is_memory(&err))
		return complain(EXIT_INPUT,
				"out of memory: %s needs more than --max-memory allows; raise it, "
				"or write to a file with -o, which then holds the beginning of the "
				"trace",
				from);
	return rc ? complain(EXIT_INPUT, "%s", err.text) : EXIT_OK;
}

static int list_tables(void)
{
	struct buf text;
	int status;

	buf_init(&text);
	tables_document(&text);
	if (text.failed) {
		status = complain(EXIT_INPUT, "out of memory");
	} else {
		fwrite(text.data, 1, text.len, stdout);
		status = report_output_stdout(EXIT_OK);
	}
	buf_release(&text);
	return status;
}

static int run_export(const struct command *self, int argc, char **argv)
{
	struct config *c;
	struct err err;
	bool dashes;
	int first;
	int rc;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (config_flag(c, &setting_list_tables))
		rc = list_tables();
	else if (first == argc)
		rc = complain(EXIT_USAGE, "export: no trace given; name a .isc file");
	else if (argc - first > 1)
		rc = complain(EXIT_USAGE, "export: unexpected '%s' after '%s'", argv[first + 1],
			      argv[first]);
	else
		rc = export_trace(c, argv[first]);
	config_free(c);
	return rc;
}

const struct command command_export = {
	.name = "export",
	.operands = "[options] TRACE",
	.summary = "write a trace in the format of another tool",
	.details = "json: an object with the facts of the run and every event, one per line, as\n"
		   "described by docs/schema/events.schema.json.\n\n"
		   "folded: one line per call stack, for flame graphs, from samples where the "
		   "trace\n"
		   "has them, else from calls; the number is the self time of the innermost "
		   "function\n"
		   "in microseconds.",
	.scope = SETTING_FOR_EXPORT,
	.run = run_export,
};
