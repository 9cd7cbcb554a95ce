/*
 * What PyTorch did besides the calls of modules: loading of data, compilation, and
 * compiled graphs at work.
 *
 * By the scopes that the agent records (format/torch_scopes.h).  What has no recorded end is
 * counted and in no time.
 */
#ifndef ANALYZE_CPU_TORCH_FIGURES_H
#define ANALYZE_CPU_TORCH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/gpu/gpu_steps.h"
#include "base/arena.h"
#include "timeline/timeline.h"

struct torch_sum {
	uint64_t count;
	int64_t total_ns, longest_ns;
};

/* What guards refused, and in how many compilations it was that. */
struct torch_reason {
	const char *text; /* in PyTorch's own words */
	uint64_t count;
};

/*
 * A function and how often it was compiled in a process: once, and again whenever the guards of
 * all that was compiled of it before refused a call.
 */
struct torch_compiled {
	const char *function, *file; /* "" where unknown */
	uint32_t line;
	uint32_t pid;
	struct torch_sum sum;
	const struct torch_reason
		*reasons; /* reasons of recompilations as PyTorch gives them; most frequent first */
	size_t reason_count;
};

/* A process that loaded data, waited for it, or ran compiled graphs. */
struct torch_process {
	uint32_t pid;
	const char *name;
	struct torch_sum waits, loads, graphs;
	/* Device time of what the graphs launched, of those of which it is known; 0: of none. */
	uint64_t gpu_count;
	int64_t gpu_ns;
	bool worker; /* it loads for another process */
};

struct analysis_torch {
	size_t compiled_count;
	struct torch_compiled *compiled; /* most time first */
	struct torch_reason *reasons;    /* of all of them */
	struct torch_sum compilations;   /* one inside another counts, and adds no time */
	uint64_t recompilations;
	size_t process_count;
	struct torch_process *processes; /* in order of appearance */
	struct torch_sum waits;          /* of all processes */
	struct torch_sum loads;          /* of the workers; where there are none, of all */
	size_t workers;
	struct arena texts;
};

/* -1: out of memory; release it nevertheless. */
int torch_figures_collect(struct analysis_torch *out, const struct timeline *tl,
			  const struct gpu_steps *gpu, const struct trace *t);
void torch_figures_release(struct analysis_torch *f);

#endif
