/*
 * Conditions of rules: SQL expressions over the one row of a table whose columns
 * are the metrics (metrics.h), judged by SQLite in memory.
 *
 * An expression reads that row and nothing else: no SELECT of its own, no files, no
 * functions but arithmetic ones; its length, depth and run time are bounded.  All
 * metrics are reals, so h2d_time / total_time is a fraction.  What is unknown is
 * NULL, and so is all that is computed from it.
 */
#ifndef RULES_CONDITION_H
#define RULES_CONDITION_H

#include "base/err.h"
#include "rules/metrics.h"

#define CONDITION_MAX 4096u /* bytes */

struct conditions;

/* Takes a copy of the metrics. */
int conditions_new(struct conditions **out, const struct metrics *m, struct err *err);
void conditions_free(struct conditions *c); /* NULL is a no-op */

/*
 * The value of an expression: NAN where it is NULL, 0 is false.  -1: it cannot be
 * read; the text says why and, where SQLite tells, "at character N".
 */
int condition_value(struct conditions *c, const char *expression, double *value, struct err *err);

#endif
