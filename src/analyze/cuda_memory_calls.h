/* Calls of CUDA that allocate or free memory: how many, how much, how long. */
#ifndef ANALYZE_CUDA_MEMORY_CALLS_H
#define ANALYZE_CUDA_MEMORY_CALLS_H

#include "analyze/gpu_sections.h"
#include "analyze/memory_figures.h"
#include "analyze/series_table.h"

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

/* Adds up those of a process that began in stretches of time, which are in order. */
void cuda_memory_calls_sum(const struct cuda_memory_calls *c, uint32_t process,
			   const struct series_span *spans, size_t n, struct cuda_memory *out);

#endif
