/*
 * A subcommand: one file, one entry, listed once in commands.c.
 *
 * Only cli/ prints or exits.  Exit statuses: enum exit_status; `run` returns
 * the workload's.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct config;

enum exit_status {
	EXIT_OK = 0,
	EXIT_INPUT = 1,            /* input that cannot be read */
	EXIT_USAGE = 2,            /* the command line or a setting is wrong */
	EXIT_FIRED = 3,            /* --fail-on */
	EXIT_STRICT = 4,           /* --strict: something asked for could not be recorded */
	EXIT_NOT_EXECUTABLE = 126, /* the program to run cannot be executed, as env(1) says it */
	EXIT_NOT_FOUND = 127,      /* the program to run does not exist */
};

struct command {
	const char *name;
	const char *operands; /* of the usage: "[options] script.py [args]"; a line for each way */
	const char *summary;  /* one line, for `inferscope --help` */
	const char *details;  /* paragraphs of `inferscope NAME --help`, "\n\n" between; or NULL */
	unsigned scope;       /* SETTING_FOR_* bit: which settings it takes as options */
	bool hidden;
	int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the name */
};

extern const struct command command_run, command_record, command_analyze, command_export,
	command_config, command_rules, command_doctor, command_completion, command_view,
	command_diff, command_query, command_whatif;

/* All of them, in the order of help; NULL at the end. */
extern const struct command *const commands[];

/* Prints "inferscope: TEXT" to stderr, one line.  Returns status, for `return complain(...)`. */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Names the configuration files in effect on stderr, in one line, and `rules`, the path of a rules
 * file, if not NULL.  Nothing with --quiet or at log_level error.
 */
void print_used_files(const struct config *c, const char *rules);

/* Flushes stdout.  Returns status, or EXIT_INPUT after a complaint when it could not be written. */
int report_output_stdout(int status);

#endif
