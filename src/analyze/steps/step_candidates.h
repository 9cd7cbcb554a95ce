/*
 * Candidates for the step of a run: series of scopes, each from one generator.
 *
 * Generators add what they find; step_choice.c orders all of it and records for each candidate why
 * it leads, is shown below, or is not shown.
 */
#ifndef ANALYZE_STEPS_STEP_CANDIDATES_H
#define ANALYZE_STEPS_STEP_CANDIDATES_H

#include "analyze/analysis.h"
#include "analyze/figures/track.h"
#include "analyze/gpu/gpu_steps.h"
#include "analyze/steps/step_finder.h"
#include "analyze/steps/step_roles.h"

/* In the order in which they are asked. */
enum step_generator {
	BY_MARKS,
	BY_REQUESTS,
	BY_WORK_ITEMS,
	BY_LIBRARY_CALLS,
	BY_MODEL_CALLS,
	BY_MODELS,
	BY_RUNS,
	BY_WAITS,
	BY_LAUNCHES,
	BY_CALLS,
	BY_NATIVE_CALLS,
	BY_RANGES_INSIDE_CALLS,
	STEP_GENERATORS,
};

struct step_candidate {
	struct analysis_step step; /* its name, counts and latencies; the rest is measured later */
	const struct step_scope *scopes;
	size_t scope_count;
	enum step_generator by;
	enum step_role role;
	bool inside_leader; /* it repeats inside the leading steps */
	bool bursts;  /* calls were recorded only part of the time, in some thread of the run */
	bool partial; /* its calls were recorded only part of the time: the others are unknown */
	bool minor;   /* next to nothing of its process's work */
};

struct step_candidates {
	struct step_candidate *items;
	size_t count, cap, thread_count;
	struct step_scope *scopes[STEP_GENERATORS]; /* that the candidates' are part of */
	struct found_steps found[STEP_GENERATORS];  /* that those are of, where it has found them */
	bool asked[STEP_GENERATORS];
	bool bursts; /* calls were recorded only part of the time in some thread */
	struct step_roles roles;
	struct track *pauses; /* by thread: when its calls were not recorded; NULL: never */
};

/* Finds pauses of the recording, if there are any.  -1: no memory. */
int step_candidates_find_pauses(struct step_candidates *c, struct timeline *tl,
				const struct trace *t);
void step_candidates_release(struct step_candidates *c);

/*
 * Adds the series in n scopes, which it takes over: allocated, in any order.  -1: no memory.
 * Scopes of several processes are one series if `across`.
 */
int step_candidates_add(struct step_candidates *c, enum step_generator by,
			struct step_scope *scopes, size_t n, bool across, const struct trace *t);

/* ... that a finder has found: the result is taken over. */
int step_candidates_add_found(struct step_candidates *c, enum step_generator by,
			      struct found_steps *found, const struct trace *t);

/* Is there one that leads for certain, whatever else is found? */
bool step_candidates_have_leader(const struct step_candidates *c);

/*
 * Puts the candidates that are shown first, in their order, and returns how many.  `asked`: the
 * name of the one that is to lead, or NULL.  Fills in a->candidates and a->steps_are.  -1: no
 * memory, or there is none of that name.
 */
int step_choice_make(struct step_candidates *c, struct analysis *a, const char *asked,
		     size_t *shown, struct err *err);

#endif
