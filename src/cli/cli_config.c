/* inferscope config: show the resolved settings, or the reference of all of them. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/config_file.h"
#include "cli/help.h"

#define COMMENT_COLUMN 40

static void add_value(struct buf *line, const struct config *c, const struct setting *s)
{
	const char *text = config_text(c, s);

	switch (s->type) {
	case SETTING_FLAG:
	case SETTING_INTEGER:
	case SETTING_NUMBER:
	case SETTING_SIZE:
		buf_add_str(line, text);
		break;
	case SETTING_CHOICE:
	case SETTING_PATH:
		yaml_add_text(line, *text ? text : "off");
		break;
	case SETTING_LIST:
		buf_add_byte(line, '[');
		for (size_t i = 0; i < config_list_count(c, s); i++) {
			buf_add_str(line, i ? ", " : "");
			yaml_add_text(line, config_list(c, s, i));
		}
		buf_add_byte(line, ']');
		break;
	}
}

static void show_setting(struct buf *out, const struct config *c, const struct setting *s,
			 bool origin)
{
	struct buf line;

	buf_init(&line);
	/* YAML has no way to say "unset" that is not a value, so that is a comment. */
	if (s->type != SETTING_LIST && !config_text(c, s)) {
		buf_printf(&line, "# %s:", s->key);
	} else {
		buf_printf(&line, "%s: ", s->key);
		add_value(&line, c, s);
	}
	if (origin)
		buf_printf(&line, "%*s# %s",
			   line.len < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - line.len) : 1, "",
			   config_origin(c, s));
	buf_printf(out, "%s\n", buf_string(&line));
	out->failed |= line.failed;
	buf_release(&line);
}

static void show(struct buf *out, const struct config *c)
{
	bool origin = config_flag(c, &setting_origin);
	const char *path;

	for (size_t i = 0; origin && (path = config_used_file(c, i)); i++) {
		buf_add_str(out, "# configuration: ");
		yaml_add_text(out, path); /* one line, whatever the name */
		buf_add_byte(out, '\n');
	}
	for (const struct setting *const *s = settings; *s; s++)
		if ((*s)->key)
			show_setting(out, c, *s, origin);
}

static void add_code(struct buf *out, const char *text)
{
	if (text)
		buf_printf(out, "`%s`", text);
}

static void add_reference_row(struct buf *out, const struct setting *s)
{
	buf_add_str(out, "| ");
	add_code(out, s->key);
	buf_add_str(out, s->trusted_only ? " * | " : " | ");
	add_code(out, s->flag);
	buf_add_str(out, s->flag && s->off_flag ? " " : "");
	add_code(out, s->off_flag);
	buf_add_str(out, " | ");
	add_code(out, s->env);
	buf_add_str(out, " | ");
	help_values(out, s);
	buf_add_str(out, " | ");
	add_code(out, s->fallback);
	if (!setting_has_default(s, SETTING_FOR_ANALYZE))
		buf_add_str(out, " (`run` only)");
	buf_printf(out, " | %s |\n", s->help);
}

static const char reference_intro[] =
	"# Settings\n"
	"\n"
	"Written by `inferscope config reference`; do not edit.\n"
	"\n"
	"A setting comes from the first of these that has it:\n"
	"\n"
	"1. the command line\n"
	"2. the environment\n"
	"3. the file that `--config` or `INFERSCOPE_CONFIG` names; without one,\n"
	"   `.inferscope.yaml` in the working directory or the nearest directory above it\n"
	"4. your own `$XDG_CONFIG_HOME/inferscope/config.yaml`; without the variable\n"
	"   `~/.config/inferscope/config.yaml`\n"
	"5. the default\n"
	"\n"
	"`inferscope config show --origin` prints where each value comes from. The other\n"
	"commands print the configuration and rules files they use as one line on standard\n"
	"error, unless `quiet` is set.\n"
	"\n"
	"A `.inferscope.yaml` that is found automatically may come from a repository that\n"
	"you did not write. Settings marked with * name programs or paths, or control which\n"
	"data is disclosed: in such a file they are an error. Set them with `--config FILE`,\n"
	"in the environment or in your own file. A found file must belong to you, to root or\n"
	"to the owner of the working directory. Your own file must belong to you or to root,\n"
	"and must not be writable for other users.\n"
	"\n"
	"A configuration file is a flat YAML mapping of keys to values, 1 MB at most. An\n"
	"unknown key or a wrong value is an error that names file, line and key.\n"
	"\n"
	"Rules come from the file that `rules` names, else from the nearest\n"
	"`.inferscope_rules.yaml`, else from `inferscope/rules.yaml` beside your own\n"
	"`config.yaml`. A rules file cannot name programs or paths.\n"
	"\n"
	"Flags take `true`, `yes`, `on` or `1` and `false`, `no`, `off` or `0`. A list is\n"
	"a YAML sequence or one value, a comma-separated text in the environment, an\n"
	"option given several times on the command line. An empty variable counts as unset.\n"
	"Relative paths start at the working directory, wherever they are given.\n"
	"\n"
	"| key | option | environment | values | default | meaning |\n"
	"|---|---|---|---|---|---|\n";

static void reference(struct buf *out, const struct config *c)
{
	(void)c;
	buf_add_str(out, reference_intro);
	for (const struct setting *const *s = settings; *s; s++)
		if ((*s)->key || (*s)->env)
			add_reference_row(out, *s);
}

static const struct {
	const char *name;
	void (*write)(struct buf *out, const struct config *c);
} actions[] = {
	{ "show", show },
	{ "reference", reference },
};

static int unknown_action(const char *name)
{
	struct suggest near;

	suggest_init(&near, name);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		suggest_push(&near, actions[i].name);
	if (near.best)
		return complain(EXIT_USAGE, "config: unknown action '%s'; did you mean '%s'?", name,
				near.best);
	return complain(EXIT_USAGE, "config: unknown action '%s'; use show or reference", name);
}

static int write_action(const char *name, const struct config *c)
{
	size_t i = 0;
	struct buf out;
	int rc;

	while (i < sizeof(actions) / sizeof(actions[0]) && strcmp(actions[i].name, name) != 0)
		i++;
	if (i == sizeof(actions) / sizeof(actions[0]))
		return unknown_action(name);
	buf_init(&out);
	actions[i].write(&out, c);
	if (out.failed) {
		rc = complain(EXIT_INPUT, "out of memory");
	} else {
		fwrite(out.data, 1, out.len, stdout);
		rc = report_output_stdout(EXIT_OK);
	}
	buf_release(&out);
	return rc;
}

static int run_config(const struct command *self, int argc, char **argv)
{
	struct config *c;
	struct err err;
	bool dashes;
	int first;
	int rc;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (first == argc)
		rc = complain(EXIT_USAGE, "config: no action given; use show or reference");
	else if (argc - first > 1)
		rc = complain(EXIT_USAGE, "config: unexpected '%s' after '%s'", argv[first + 1],
			      argv[first]);
	else
		rc = write_action(argv[first], c);
	config_free(c);
	return rc;
}

const struct command command_config = {
	.name = "config",
	.operands = "show [--origin] [--config FILE]\n"
		    "reference",
	.summary = "show the settings in effect",
	.details = "show: all settings in effect, as YAML for --config or\n"
		   "~/.config/inferscope/config.yaml.\n\n"
		   "reference: all settings, as a Markdown table.",
	.scope = SETTING_FOR_CONFIG,
	.run = run_config,
};
