/* inferscope export: a trace in the formats of other tools. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/outfile.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/read_limit.h"
#include "cli/report_output.h"
#include "export/export.h"
#include "import/import.h"
#include "tables/table.h"

/* What is to be written, and where to. */
struct job {
	const struct config *config;
	const struct exporter *exporter;
	const char *from, *to;
	const char *table; /* NULL: all */
	bool folder;       /* that the exporter makes and fills itself */
	bool in_place;     /* what has been written stays written */
};

static int write_to(const struct job *j, const struct trace *t, struct err *err)
{
	struct export_target target = { -1, j->to, j->table, j->in_place };
	struct outfile out;

	if (j->folder)
		return j->exporter->write(t, &target, err);
	if (outfile_open(&out, j->to, err))
		return -1;
	target.fd = out.fd;
	target.path = *out.builder ? out.builder : j->to;
	if (!j->exporter->write(t, &target, err))
		return outfile_commit(&out, err);
	outfile_discard(&out);
	return -1;
}

/* Of the first `part` bytes of the trace. */
static int export_part(const struct job *j, uint64_t part, struct err *err)
{
	struct trace *trace;
	int rc;

	if (import_open(&trace, j->from, part, err))
		return -1;
	rc = write_to(j, trace, err);
	if (trace_damage(trace) && config_warns(j->config) && (!rc || !err_is_memory(err)))
		complain(EXIT_OK, "%s is not complete: %s", j->from, trace_damage(trace));
	trace_close(trace);
	return rc;
}

/* Without --to the name of the file says it, if it can. */
static const struct exporter *choose_exporter(const struct config *c, const char *to)
{
	const struct exporter *guess =
		config_is_default(c, &setting_to) ? exporter_guess(to) : NULL;

	return guess ? guess : exporter_find(config_text(c, &setting_to));
}

static int check_table(const struct job *j, struct err *err)
{
	struct suggest near;

	if (!j->table)
		return 0;
	if (j->exporter->form == EXPORT_STREAM)
		return err_set(err, "--table: %s has no tables; they are in sqlite and arrow",
			       j->exporter->name);
	if (table_find(j->table))
		return 0;
	suggest_init(&near, j->table);
	for (size_t i = 0; table_at(i); i++)
		suggest_push(&near, table_at(i)->name);
	if (near.best)
		return err_set(err, "--table: there is no table '%s'; did you mean '%s'?", j->table,
			       near.best);
	return err_set(err, "--table: there is no table '%s'; --list-tables lists them", j->table);
}

static int job_init(struct job *j, const struct config *c, const char *from, struct err *err)
{
	*j = (struct job){
		.config = c,
		.from = from,
		.to = config_text(c, &setting_output),
		.table = config_text(c, &setting_table),
	};
	j->exporter = choose_exporter(c, j->to);
	j->folder = j->exporter->form == EXPORT_TABLES && !j->table;
	j->in_place = !j->folder && outfile_is_stream(j->to);
	if (check_table(j, err))
		return -1;
	if (j->folder && (outfile_is_stream(j->to) || exporter_guess(j->to)))
		return err_set(err,
			       "%s is a folder with a file for each table: name a folder with -o, "
			       "or one table with --table",
			       j->exporter->name);
	if (j->exporter->form == EXPORT_FILE && j->in_place)
		return err_set(err, "%s cannot be written to a stream; name a file with -o",
			       j->exporter->name);
	if (check_not_input(j->to, "the trace to read", from, err) ||
	    check_not_configuration(j->to, c, err))
		return -1;
	return 0;
}

/* What has gone into a stream cannot be taken back: only a file is written again. */
static int export_trace(const struct config *c, const char *from)
{
	struct read_limit limit;
	uint64_t part = UINT64_MAX;
	struct job job;
	struct err err;
	int rc;

	if (job_init(&job, c, from, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	print_used_files(c, NULL);
	read_limit_begin(&limit, c);
	do
		rc = export_part(&job, part, &err);
	while (rc && !job.in_place && read_limit_retry(&limit, from, &part, &err));
	read_limit_end(&limit);
	if (rc && job.in_place && err_is_memory(&err))
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
	.details =
		"json: the facts about the run and every event "
		"(docs/schema/events.schema.json).\n\n"
		"chrome: Chrome's JSON, for ui.perfetto.dev, chrome://tracing and PyTorch's "
		"tools.\n\n"
		"perfetto: Perfetto's protobuf, smaller and faster to open than chrome.\n\n"
		"sqlite: a database with the tables of docs/TABLES.md.\n\n"
		"arrow: the same tables as a folder of Arrow files, or one of them with "
		"--table.\n\n"
		"speedscope: a profile of each thread, from samples, or from calls if there are "
		"no samples.\n\n"
		"folded: call stacks with their self time in microseconds, for flame graphs, from\n"
		"samples where the trace has them, else from calls.\n\n"
		"pprof: samples by thread, stack and state.\n\n"
		"TRACE may also be a trace of another tool that `inferscope analyze` reads.",
	.scope = SETTING_FOR_EXPORT,
	.run = run_export,
};
