/* Help texts, made from the tables of commands and settings. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/settings.h"

void help_program(FILE *to); /* the list of commands */
void help_command(FILE *to, const struct command *command);

/* The values a setting takes: "an integer from 1 to 65536", "auto, trace, sample or off". */
void help_values(struct buf *out, const struct setting *s);

/* "Did you mean": the known word nearest to a mistyped one. */

struct suggest {
	const char *typed;
	const char *best; /* borrowed from a candidate; NULL: nothing is near enough */
	size_t distance;
};

void suggest_init(struct suggest *g, const char *typed);
void suggest_push(struct suggest *g, const char *candidate); /* NULL is a no-op */

#endif
