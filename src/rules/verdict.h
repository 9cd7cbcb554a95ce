/* What a run is bound by: the class of time that leads in the most important step. */
#ifndef RULES_VERDICT_H
#define RULES_VERDICT_H

#include "analyze/analysis.h"
#include "rules/metrics.h"

/* Texts go to a->findings.texts.  -1: out of memory. */
int verdict_find(struct analysis_verdict *v, struct analysis *a, const struct metrics *m);

#endif
