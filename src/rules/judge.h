/*
 * Judging a run: the verdict, and the findings of the built-in rules and of the user's.
 * A pure function of the analysis and the rules.
 */
#ifndef RULES_JUDGE_H
#define RULES_JUDGE_H

#include "analyze/analysis.h"
#include "base/err.h"
#include "rules/metrics.h"
#include "rules/rules_file.h"

/*
 * Fills in a->critical_path, a->verdict and a->findings, which must be empty.  `custom` may be
 * NULL; it is not needed afterwards.  A rule that says nothing because a metric is unknown adds a
 * note.  -1: out of memory, or an expression that fails when it is computed.
 */
int judge(struct analysis *a, const struct rule_set *custom, struct err *err);

/* What a run is bound by: the class of time that leads in the most important step. */

/* Texts go to a->findings.texts.  -1: out of memory. */
int verdict_find(struct analysis_verdict *v, struct analysis *a, const struct metrics *m);

#endif
