/*
 * Walks the options of a command line: "--opt value", "--opt=value", flags and
 * their "--no-" forms, "--help".  What a word means comes from settings[].
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/settings.h"

struct options {
	unsigned scope;
	int argc;
	char **argv;
	int next;     /* the word to parse */
	int operands; /* where they begin; final once options_next() returned 0 */
	bool dashes;  /* "--" was there */
};

struct option {
	const struct setting *setting; /* NULL: --help */
	const char *name;              /* as the table spells it */
	const char *value;             /* borrowed */
};

/* argv[0] is the command's name.  argv is reordered where scope lets options follow operands. */
void options_init(struct options *o, unsigned scope, int argc, char **argv);

/* 1: *out is the next option; 0: there are no more; -1: a usage error. */
int options_next(struct options *o, struct option *out, struct err *err);

/* Whether --help or -h stands among the options, before any mistake. */
bool options_want_help(unsigned scope, int argc, char **argv);

#endif
