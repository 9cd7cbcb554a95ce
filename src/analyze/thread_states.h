/*
 * What threads did, by samples: how long each ran and waited, who waited for whom,
 * and where native code spent its time.
 */
#ifndef ANALYZE_THREAD_STATES_H
#define ANALYZE_THREAD_STATES_H

#include "analyze/analysis.h"

/* Fills in the states of a->threads, a->gil, a->locks and a->native; needs a->steps. */
int thread_states_collect(struct analysis *a, const struct trace *t, struct err *err);

#endif
