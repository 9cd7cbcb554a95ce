/* The parts of a step in the order in which all reports show them. */
#ifndef REPORT_TABLE_ROWS_H
#define REPORT_TABLE_ROWS_H

#include "analyze/analysis.h"

/*
 * Those that took time, most first, and behind them what is unattributed, always.  How many;
 * 0: nothing is known.
 */
size_t breakdown_order(const struct step_breakdown *b, enum time_class order[TIME_CLASSES]);

/* The rows of a list of them: single parts, what is left of them, and what is unattributed. */
struct breakdown_rows {
	enum time_class order[TIME_CLASSES];
	size_t count;     /* parts with a row of their own */
	size_t small;     /* that would read 0.0 %: one row where they are several; 0: none */
	int64_t small_ns; /* all of these */
};

/* `all`: each has a row.  False: nothing is known. */
bool breakdown_rows(struct breakdown_rows *r, const struct step_breakdown *b, bool all);

/* How many steps, warm-up aside, are not in it: the GPU was not recorded all their time. */
size_t breakdown_throttled(const struct analysis_step *s);

/* Threads in the order of reports: those that ran most first. */

/* All of an analysis, NULL behind the last; the caller's to free.  NULL: no memory. */
const struct analysis_thread **thread_rows(const struct analysis *a);

#endif
