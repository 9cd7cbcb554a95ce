/*
 * Steps: what the user waits for, once per request or batch.
 *
 * Generators of candidates (step_candidates.h): scopes and NVTX ranges of the program, requests of
 * servers and work of pools (format/request_scopes.h), what repeats around models, the GPU or calls
 * (step_finder.h).  step_choice.c orders them; where there is none, one part of the run is judged.
 */
#ifndef ANALYZE_STEPS_STEPS_H
#define ANALYZE_STEPS_STEPS_H

#include "analyze/analysis.h"
#include "analyze/figures/breakdown.h"
#include "analyze/gpu/gpu_steps.h"
#include "analyze/memory/memory_steps.h"
#include "analyze/steps/batching_sleeps.h"
#include "analyze/steps/step_finder.h"
#include "base/err.h"
#include "timeline/timeline.h"

/* What is measured in each step. */

struct step_sources {
	const struct gpu_steps *gpu;
	const struct memory_sources *memory;
	const struct batching_sleeps *sleeps; /* before steps that are found */
};

/*
 * Fills in a->steps except for the breakdown, a->candidates and a->steps_are, and selects the
 * steps that the breakdown covers; needs a->run and a->processes.  `asked`: the name of the step
 * that is to lead, or NULL.  -1: out of memory, or none has that name.
 */
int steps_collect(struct analysis *a, struct timeline *tl, struct step_finder *finder,
		  const struct step_sources *from, const struct trace *t, const char *asked,
		  struct step_items *items, struct err *err);

/*
 * The interval in which a program infers, from samples: for runs whose steps are unknown, because
 * calls were recorded only part of the time, or not at all.
 *
 * Samples do not separate calls, but they show when a thread is inside calls of models
 * (CODE_MODULE).  The interval from the first of those to the last is the purpose of the program:
 * imports, loading of weights and what follows are outside.  Also excluded are
 * - a trial: calls before a pause of a fifth of all this, if they take less than a tenth of the
 * models' time;
 * - the start: up to the last import or compilation in the first half, which first calls cause.
 *
 * Later imports and compilations belong to the program's work.
 */

#define INTERVAL_PARTS 10

struct model_interval {
	/*
	 * 0: too few samples of models; else in so many of INTERVAL_PARTS equal parts of the
	 * interval.
	 */
	unsigned parts;
	uint32_t thread; /* position: the one that was in models for the longest */
	int64_t begin_ns, end_ns;
};

/* After the walk over the events.  -1: no memory. */
int model_interval_find(struct model_interval *out, const struct trace *t, struct timeline *tl,
			struct err *err);

/*
 * The part of a run that is judged where it has no steps: from the GPU's first work to its last;
 * without a GPU from a model's first call to its last, as far as samples tell
 * (steps.h); without either all of it.
 */

/* Makes it the only one of a->steps.  -1: no memory. */
int whole_run_collect(struct analysis *a, const struct model_interval *interval,
		      const struct step_sources *from, const struct trace *t,
		      struct step_items *items);

#endif
