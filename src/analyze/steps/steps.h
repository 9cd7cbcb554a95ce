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
 * Fills in a->steps but for what they spent their time on, a->candidates and a->steps_are, and
 * tells which steps those figures are to be made of; needs a->run and a->processes.  `asked`: the
 * name of the step that is to lead, or NULL.  -1: out of memory, or none has that name.
 */
int steps_collect(struct analysis *a, struct timeline *tl, struct step_finder *finder,
		  const struct step_sources *from, const struct trace *t, const char *asked,
		  struct step_items *items, struct err *err);

/*
 * When a program infers, by samples: for runs whose steps are not known, because calls were
 * recorded only part of the time, or not at all.
 *
 * Samples do not tell one call from the next.  But they see a thread inside of models' calls
 * (CODE_MODULE), and the interval from the first of those to the last is what the program
 * is there for: imports, weights that are loaded and what comes behind are no part of it.  Nor
 * are
 *  - a trial: what is called before a pause of a fifth of all this, if it is less than a tenth of
 *    the models' time;
 *  - the start: up to the last import or compilation in the first half, which first calls cause.
 *    One that is still seen later belongs to what the program does.
 */

#define INTERVAL_PARTS 10

struct model_interval {
	/* 0: models were not seen often enough to say anything; else in so many of
	 * INTERVAL_PARTS equal parts of the interval. */
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
