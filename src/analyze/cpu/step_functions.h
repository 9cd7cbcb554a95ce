/*
 * The functions that took the time of the steps.  The start of a program, importing modules first
 * of all, often takes longer than its steps, and would hide them.
 *
 * From samples of all threads: calls are not recorded evenly (the budget), and their times in an
 * interval would need another walk.
 */
#ifndef ANALYZE_CPU_STEP_FUNCTIONS_H
#define ANALYZE_CPU_STEP_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_function {
	const char *name, *file; /* borrowed from the trace */
	uint32_t line;
	uint64_t samples; /* samples that found it running itself */
	int64_t self_ns, total_ns;
	int64_t error_ns; /* of self_ns, by chance, either way (95 %) */
};

struct step_functions {
	bool known; /* there are steps, and samples while they lasted */
	/* From the first of the first kind without warm-up to the end of its last. */
	int64_t from_ns, until_ns;
	uint64_t samples;
	int64_t self_ns;      /* of all the functions below */
	int64_t importing_ns; /* before and after: in which a thread imported modules */
	size_t count;
	struct step_function *items; /* most self time first, without those that wait */
};

struct analysis;
struct sample_totals;
struct timeline;
struct trace;
struct err;

/* After the steps; `whole` are the samples of the whole run.  -1: no memory. */
int step_functions_collect(struct step_functions *out, const struct analysis *a,
			   const struct trace *t, struct timeline *tl,
			   const struct sample_totals *whole, struct err *err);
void step_functions_release(struct step_functions *f);

#endif
