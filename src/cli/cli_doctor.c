/* inferscope doctor: what can be recorded here, and what to do about the rest. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "capture/doctor/probe.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"

#define DOCTOR_SCHEMA 1

static const char *const levels[] = {
	[PROBE_OK] = "ok",
	[PROBE_ABSENT] = "absent",
	[PROBE_PROBLEM] = "problem",
};

static void write_text(const struct probe *p, const struct probe_result *r)
{
	printf("%-16s %-8s %s\n", p->name, levels[r->level], r->found);
	if (r->fix[0])
		printf("%-16s %-8s -> %s\n", "", "", r->fix);
}

static void write_json(struct json *j, const struct probe *p, const struct probe_result *r)
{
	json_object_begin(j);
	json_key(j, "name");
	json_string(j, p->name);
	json_key(j, "status");
	json_string(j, levels[r->level]);
	json_key(j, "found");
	json_string(j, r->found);
	json_key(j, "fix");
	json_string(j, r->fix[0] ? r->fix : NULL);
	json_object_end(j);
}

/* docs/schema/doctor.schema.json */
static void begin_json(struct json *j)
{
	json_object_begin(j);
	json_key(j, "inferscope");
	json_object_begin(j);
	json_key(j, "version");
	json_string(j, INFERSCOPE_VERSION);
	json_key(j, "schema");
	json_uint(j, DOCTOR_SCHEMA);
	json_object_end(j);
	json_key(j, "answers");
	json_array_begin(j);
}

static void end_json(struct json *j, bool well)
{
	json_array_end(j);
	json_key(j, "well");
	json_bool(j, well);
	json_object_end(j);
}

static int examine(const struct config *c, const struct probe_context *context)
{
	bool as_json = config_flag(c, &setting_json), well = true;
	struct buf out;
	struct json j;

	print_used_files(c, NULL);
	buf_init(&out);
	json_init(&j, &out, JSON_PRETTY);
	begin_json(&j);
	for (const struct probe *p = probes; p->name; p++) {
		struct probe_result r;

		memset(&r, 0, sizeof(r));
		p->run(context, &r);
		well &= r.level != PROBE_PROBLEM;
		if (as_json)
			write_json(&j, p, &r);
		else
			write_text(p, &r);
	}
	end_json(&j, well);
	if (as_json)
		printf("%s\n", buf_string(&out));
	buf_release(&out);
	return report_output_stdout(well ? EXIT_OK : EXIT_INPUT);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct probe_context context = { .root = "" };
	struct config *c = NULL;
	struct err err;
	int operand, status;
	bool dashes;

	if (config_load(&c, self->scope, argc, argv, &operand, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	context.python = config_text(c, &setting_python);
	if (!context.python || !*context.python)
		context.python = "python3";
	context.trace = config_text(c, &setting_trace);
	if (!context.trace)
		context.trace = "";
	context.buffer_bytes = (uint64_t)config_number(c, &setting_trace_size_mb) << 20;
	if (operand < argc)
		status = complain(EXIT_USAGE, "doctor: unexpected '%s'; doctor takes options only",
				  argv[operand]);
	else
		status = examine(c, &context);
	config_free(c);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.operands = "[options]",
	.summary = "check what can be recorded on this machine, and how to fix the rest",
	.details =
		"Checks what this version uses by trying it: it records an empty program with the "
		"Python that `run` would use.\n\n"
		"Exit status: 0 when there is no problem (an absent feature is not a problem), "
		"else 1.",
	.scope = SETTING_FOR_DOCTOR,
	.run = run,
};
