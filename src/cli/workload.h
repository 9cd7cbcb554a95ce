/* What `run` is asked to start. */
#ifndef CLI_WORKLOAD_H
#define CLI_WORKLOAD_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "cli/config.h"

struct workload {
	char **argv;            /* NULL-terminated; the array is ours, the words are borrowed */
	char program[PATH_MAX]; /* the file to execute */
	bool script;            /* a Python script, run by an interpreter that we chose */
};

/*
 * From the operands of `run`: a script for Python, or a command behind "--".
 * 0, or the exit status to use (EXIT_USAGE, EXIT_INPUT, EXIT_NOT_FOUND) with the text set.
 */
int workload_init(struct workload *w, const struct config *c, int argc, char **argv, bool dashes,
		  struct err *err);
void workload_release(struct workload *w);

#endif
