/*
 * The part of a run that is judged where it has no steps: from the GPU's first work to its last;
 * without a GPU from a model's first call to its last, as far as samples tell
 * (model_stretch.h); without either all of it.
 */
#ifndef ANALYZE_WHOLE_RUN_H
#define ANALYZE_WHOLE_RUN_H

#include "analyze/analysis.h"
#include "analyze/model_stretch.h"
#include "analyze/step_items.h"
#include "analyze/step_sources.h"

/* Makes it the only one of a->steps.  -1: no memory. */
int whole_run_collect(struct analysis *a, const struct model_stretch *stretch,
		      const struct step_sources *from, const struct trace *t,
		      struct step_items *items);

#endif
