/*
 * Start-up: what the process of the leading steps did before its first step, including warm-up,
 * from samples of its first thread.  No figure of the steps includes it.
 *
 * A moment belongs to the innermost function on the stack that has a known purpose; the rest to
 * the innermost line of the user's code.
 */
#ifndef ANALYZE_STEPS_STARTUP_H
#define ANALYZE_STEPS_STARTUP_H

#include "analyze/analysis.h"
#include "timeline/timeline.h"

/* Needs a->steps.  -1: no memory. */
int startup_collect(struct analysis *a, struct timeline *tl, const struct trace *t,
		    struct err *err);

/* "importing modules" */
const char *startup_part_title(enum startup_part p);
const char *startup_part_name(enum startup_part p); /* "imports": as in report.json */

#endif
