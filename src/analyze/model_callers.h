/*
 * Where the model is called in a process without a GPU: by the stacks of the looks at its steps,
 * as step_use.c has it by the stacks of CUDA calls.
 */
#ifndef ANALYZE_MODEL_CALLERS_H
#define ANALYZE_MODEL_CALLERS_H

#include "analyze/analysis.h"
#include "analyze/step_sweep.h"

/*
 * Fills in a->use.model_top from what the first kind of steps spent at which places, if nothing is
 * known of a GPU.  -1: no memory.
 */
int model_callers_find(struct analysis *a, const struct kind_sum *kind,
		       const struct time_places *places);

#endif
