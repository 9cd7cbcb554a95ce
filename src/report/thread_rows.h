/* Threads as people look for them: those that ran most first. */
#ifndef REPORT_THREAD_ROWS_H
#define REPORT_THREAD_ROWS_H

#include "analyze/analysis.h"

/* All of an analysis, NULL behind the last; the caller's to free.  NULL: no memory. */
const struct analysis_thread **thread_rows(const struct analysis *a);

#endif
