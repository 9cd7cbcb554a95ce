/*
 * The end of every recording and the whole of `analyze`: trace file in, reports
 * and summary out.  `run` and `analyze` come here, so that the same trace always
 * gives the same reports.
 */
#ifndef CLI_REPORT_OUTPUT_H
#define CLI_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "base/err.h"
#include "cli/config.h"
#include "report/report.h"
#include "rules/rules_file.h"

struct report_output {
	const struct config *config; /* report, detail and fail_on are used */
	struct rule_set rules;       /* the user's own; filled in by report_output_check() */
	bool default_report;         /* write the default report if none was asked for */
	FILE *summary;               /* where the summary goes; NULL: none */
	bool any_rank;               /* which rank it is of was settled before: --rank */
	bool known_partial;          /* the user knows that the trace is incomplete */
	const char *kept_trace;      /* trace file that is written; NULL: none is kept */
	/* Inputs, which no output may overwrite.  NULL: there is none. */
	const char *input_trace; /* of `analyze` */
	const char *program;     /* that the workload runs */
	char *const *command;    /* words of the workload's command line; files among them count */
};

/*
 * Before anything runs or is opened for writing: checks that every report can be written, in the
 * format of its name, to a place of its own that is not an input; that the user's rules are valid;
 * and that the rules of --fail-on exist.  -1: a usage error.  report_output_release() in any case.
 */
int report_output_check(struct report_output *f, struct err *err);
void report_output_release(struct report_output *f);

/*
 * Reads the trace, writes the reports and prints the summary.  A damaged trace
 * is warned of on stderr and reported as far as it goes; likewise one that does not fit
 * --max-memory.  -1: the trace cannot
 * be read, or a report could not be written; the others are written all the
 * same.  *fired: one of --fail-on is among the findings; NULL: not wanted.
 */
int report_output_write(const struct report_output *f, const char *trace_path, bool *fired,
			struct err *err);

/* Is one of --fail-on among the findings? */
bool report_output_fires(const struct report_output *f, const struct analysis *a);

/* Did it fail because no step has the name that --step gives?  A mistake of the command line. */
bool report_output_misses_step(const struct err *err);

/* How HTML reports draw the timeline, by the settings. */
void report_drawing_set(struct analysis *a, const struct config *c);

/* The user's rules: --rules, else the nearest .inferscope_rules.yaml, else none. */

/*
 * Reads the file that is named, or, where `named` is NULL, the one that is found as the
 * configuration file is (config.h).  *s is initialised; without a file it stays empty.
 */
int rules_load(struct rule_set *s, const char *named, struct err *err);

/*
 * Outputs that would destroy inputs, or each other.  Files are compared by device and inode, so
 * that other names, links and relative paths do not matter; before any output is opened.
 */

/* -1: the output is the file that is read as `what`: "the trace to read". */
int check_not_input(const char *output, const char *what, const char *input, struct err *err);

/*
 * Are these two outputs one regular file, or would they become one where one does not exist yet?
 * Standard output and devices may be written twice.
 */
bool outputs_are_same(const char *a, const char *b);

/* How to print a summary to a stream: its width and whether it takes colours. */
struct terminal_style summary_style(const struct config *c, FILE *out);

/* Where the summary of a command that takes --report goes; NULL: --quiet. */
FILE *summary_stream(const struct config *c);

/* The same for the configuration files in effect. */
int check_not_configuration(const char *output, const struct config *c, struct err *err);

#endif
