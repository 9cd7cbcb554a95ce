/*
 * What each step took of memory, faults and storage: the series of its process between the
 * steps' begins and ends.
 */
#ifndef ANALYZE_MEMORY_MEMORY_STEPS_H
#define ANALYZE_MEMORY_MEMORY_STEPS_H

#include "analyze/figures/memory_figures.h"
#include "analyze/figures/series_table.h"
#include "analyze/gpu/gpu_sections.h"
#include "analyze/gpu/gpu_steps.h"

/* Calls of CUDA that allocate or free memory: how many, how much, how long. */

struct cuda_memory_event {
	uint32_t process; /* id */
	enum cuda_memory_call what;
	int64_t start_ns, length_ns;
	uint64_t bytes;
};

struct cuda_memory_calls {
	struct cuda_memory_event *items; /* by process and time */
	size_t count, cap;
};

/* -1: out of memory; release it nevertheless. */
int cuda_memory_calls_init(struct cuda_memory_calls *c, const struct gpu_timeline *g);
void cuda_memory_calls_release(struct cuda_memory_calls *c);

/* Adds up those of a process that began in intervals, which are in order. */
void cuda_memory_calls_sum(const struct cuda_memory_calls *c, uint32_t process,
			   const struct series_span *spans, size_t n, struct cuda_memory *out);

/* Where the figures come from; all borrowed. */
struct memory_sources {
	const struct series_table *series;
	const struct cuda_memory_calls *calls;
	const struct analysis_gpu *gpu;
};

/*
 * Figures of a series of scopes of one process in order of their begin, without its first `skip`
 * ended ones.  -1: out of memory.
 */
int memory_steps_measure(const struct memory_sources *m, const struct step_scope *series, size_t n,
			 size_t skip, struct memory_step_figures *out);

/* Of a process that has no steps: what was read of an interval is one. */
void memory_steps_measure_run(const struct memory_sources *m, uint32_t process, int64_t start_ns,
			      int64_t end_ns, struct memory_step_figures *out);

/*
 * How a level went, in what it counts for each second; a change of less than `error` is one of the
 * measuring.  s may be NULL: nothing is known.
 */
void memory_trend_over_time(const struct series *s, double error, struct trend *out);

/* What the kernel may be wrong by in the resident memory of a process. */
double memory_rss_error(const struct series_table *st, uint32_t process);

#endif
