#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* What other tools call it: no letters would lead there. */
static const struct {
	const char *word, *command;
} meant[] = {
	{ "report", "analyze" }, { "show", "view" }, { "open", "view" },
	{ "profile", "run" },    { "exec", "run" },  { "compare", "diff" },
};

static int unknown_command(const char *name)
{
	const char *kind = name[0] == '-' ? "option" : "command", *end = strrchr(name, '.');
	struct suggest near;

	if (!access(name, F_OK))
		return complain(EXIT_USAGE,
				"unknown command '%s'; did you mean 'inferscope %s %s'?", name,
				end && !strcmp(end, ".isc") ? "analyze" : "run", name);
	for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++)
		if (!strcmp(name, meant[i].word))
			return complain(EXIT_USAGE, "unknown command '%s'; did you mean '%s'?",
					name, meant[i].command);
	suggest_init(&near, name);
	suggest_push(&near, "--help");
	suggest_push(&near, "--version");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			suggest_push(&near, (*c)->name);
	if (near.best)
		return complain(EXIT_USAGE, "unknown %s '%s'; did you mean '%s'?", kind, name,
				near.best);
	return complain(EXIT_USAGE, "unknown %s '%s'; see 'inferscope --help'", kind, name);
}

static int show_help(const char *name)
{
	const struct command *command;

	if (!name) {
		help_program(stdout);
		return report_output_stdout(EXIT_OK);
	}
	command = find_command(name);
	if (!command)
		return unknown_command(name);
	help_command(stdout, command);
	return report_output_stdout(EXIT_OK);
}

static int show_version(void)
{
	puts("inferscope " INFERSCOPE_VERSION);
	return report_output_stdout(EXIT_OK);
}

/*
 * Nothing that we open may land on the number of a standard file that is closed:
 * messages would end up in it.  What stands in for it cannot be used either, and
 * is gone in the workload.
 */
static void occupy_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	occupy_standard_files();
	if (!name) {
		help_program(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--version"))
		return show_version();
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return show_help(argv[2]);
	command = find_command(name);
	if (!command)
		return unknown_command(name);
	if (options_want_help(command->scope, argc - 1, argv + 1))
		return show_help(name);
	return command->run(command, argc - 1, argv + 1);
}
