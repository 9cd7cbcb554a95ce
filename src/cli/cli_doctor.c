/* inferscope doctor: what can be recorded here, and what to do about the rest. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "capture/probe.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"

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

static int examine(bool as_json)
{
	struct buf out;
	struct json j;
	bool well = true;

	buf_init(&out);
	json_init(&j, &out, JSON_PRETTY);
	json_array_begin(&j);
	for (const struct probe *p = probes; p->name; p++) {
		struct probe_result r;

		memset(&r, 0, sizeof(r));
		p->run(&r);
		well &= r.level != PROBE_PROBLEM;
		if (as_json)
			write_json(&j, p, &r);
		else
			write_text(p, &r);
	}
	json_array_end(&j);
	if (as_json)
		printf("%s\n", buf_string(&out));
	buf_release(&out);
	return finish_stdout(well ? EXIT_OK : EXIT_INPUT);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct config *c = NULL;
	struct err err;
	int operand, status;
	bool dashes;

	if (config_load(&c, self->scope, argc, argv, &operand, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (operand < argc)
		status = complain(EXIT_USAGE, "doctor: what is '%s'? It takes only --json",
				  argv[operand]);
	else
		status = examine(config_flag(c, &setting_json));
	config_free(c);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.operands = "[--json]",
	.summary = "tell what can be recorded on this machine, and how to mend the rest",
	.details = "Exit status: 0 when nothing is wrong (what is merely absent is not wrong), "
		   "else 1.",
	.scope = SETTING_FOR_DOCTOR,
	.run = run,
};
