/*
 * The end of every recording and the whole of `analyze`: trace file in, reports
 * and summary out.  `run` and `analyze` come here, so that the same trace always
 * gives the same reports.
 */
#ifndef CLI_FINISH_H
#define CLI_FINISH_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/config.h"
#include "rules/rules_file.h"

struct finish {
	const struct config *config; /* report, detail and fail_on are used */
	struct rule_set rules;       /* the user's own; filled in by finish_check() */
	bool default_report;         /* write the default report if none was asked for */
	FILE *summary;               /* where the summary goes; NULL: none */
	bool known_partial;          /* the user has been told that the trace is incomplete */
	const char *kept_trace;      /* trace file to name in the summary; NULL: none is kept */
};

/*
 * Before anything runs: can every report be written, in the format its name
 * asks for, to a place of its own?  Are the user's rules sound, and is what --fail-on
 * names there?  `trace`: path of the trace file, which no report may overwrite; NULL:
 * none.  -1: a usage error.  finish_release() in any case.
 */
int finish_check(struct finish *f, const char *trace, struct err *err);
void finish_release(struct finish *f);

/*
 * Reads the trace, writes the reports and prints the summary.  A damaged trace
 * is warned of on stderr and reported as far as it goes.  -1: the trace cannot
 * be read, or a report could not be written; the others are written all the
 * same.  *fired: one of --fail-on is among the findings; NULL: nobody asks.
 */
int finish_reports(const struct finish *f, const char *trace_path, bool *fired, struct err *err);

#endif
