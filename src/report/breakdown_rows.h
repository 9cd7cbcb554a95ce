/* The parts of a step in the order in which all reports show them. */
#ifndef REPORT_BREAKDOWN_ROWS_H
#define REPORT_BREAKDOWN_ROWS_H

#include "analyze/analysis.h"

/*
 * Those that took time, most first, and behind them what is unattributed, always.  How many;
 * 0: nothing is known.
 */
size_t breakdown_order(const struct step_breakdown *b, enum time_class order[TIME_CLASSES]);

/* How many steps, warm-up aside, are not in it: the GPU was not recorded all their time. */
size_t breakdown_left_out(const struct analysis_step *s);

#endif
