/* inferscope export: a trace in the formats of other tools. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/command.h"
#include "cli/config.h"
#include "export/export.h"

/* The file to write: "-" is standard output; devices and pipes are written in place. */
struct output {
	struct outfile file;
	int fd;
	bool in_place;
};

static int output_open(struct output *o, const char *path, struct err *err)
{
	struct stat st;

	o->in_place = true;
	o->fd = STDOUT_FILENO;
	if (!strcmp(path, "-"))
		return 0;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		if (outfile_check(path, err))
			return -1;
		o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return o->fd < 0 ? err_errno(err, "cannot write '%s'", path) : 0;
	}
	o->in_place = false;
	if (outfile_open(&o->file, path, err))
		return -1;
	o->fd = o->file.fd;
	return 0;
}

/* With rc 0 puts the file in its place, else takes it away.  Returns rc, or -1. */
static int output_close(struct output *o, int rc, struct err *err)
{
	if (!o->in_place && rc)
		outfile_discard(&o->file);
	else if (!o->in_place)
		return outfile_commit(&o->file, err);
	else if (o->fd != STDOUT_FILENO && close(o->fd) && !rc)
		return err_errno(err, "the export could not be written");
	return rc;
}

static int export_trace(const struct exporter *e, const char *from, const char *to)
{
	struct trace *trace;
	struct output out;
	struct err err;
	int rc;

	if (trace_open(&trace, from, &err))
		return complain(EXIT_INPUT, "%s", err.text);
	if (trace_damage(trace))
		complain(EXIT_OK, "%s is not complete: %s", from, trace_damage(trace));
	rc = output_open(&out, to, &err);
	if (!rc)
		rc = output_close(&out, e->write(trace, out.fd, &err), &err);
	trace_close(trace);
	return rc ? complain(EXIT_INPUT, "%s", err.text) : EXIT_OK;
}

static int run_export(const struct command *self, int argc, char **argv)
{
	const struct exporter *exporter;
	struct config *c;
	struct err err;
	bool dashes;
	int first;
	int rc;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	exporter = exporter_find(config_text(c, &setting_to));
	if (first == argc)
		rc = complain(EXIT_USAGE, "export: say which trace");
	else if (argc - first > 1)
		rc = complain(EXIT_USAGE, "export: unexpected '%s' behind '%s'", argv[first + 1],
			      argv[first]);
	else if (!exporter)
		rc = complain(EXIT_USAGE, "export: --to %s is not supported yet",
			      config_text(c, &setting_to));
	else
		rc = export_trace(exporter, argv[first], config_text(c, &setting_output));
	config_free(c);
	return rc;
}

const struct command command_export = {
	.name = "export",
	.operands = "[options] TRACE",
	.summary = "write a trace in the format of another tool",
	.details = "json: an object with the facts of the run and every event, one a line, as\n"
		   "described by docs/schema/events.schema.json.\n\n"
		   "folded: a line for each stack of functions, for flame graphs, by samples where "
		   "the\n"
		   "trace has them, else by calls; the number is\n"
		   "the microseconds that the innermost function itself took.\n\n"
		   "The others are not there in this version.",
	.scope = SETTING_FOR_EXPORT,
	.run = run_export,
};
