/*
 * What the GPU did in each step: how long it was busy while the step lasted,
 * and what the step launched.
 */
#ifndef ANALYZE_GPU_GPU_STEPS_H
#define ANALYZE_GPU_GPU_STEPS_H

#include "analyze/gpu/gpu_sections.h"
#include "timeline/timeline.h"

struct step_scope {
	const struct scope *scope;
};

/* What all calls before some call, of all threads, launched. */
struct gpu_launched {
	uint64_t kernels, copies, h2d_bytes, d2h_bytes;
	int64_t device_ns;
};

struct launch_mark {
	size_t call; /* index */
	struct gpu_launched before;
};

struct gpu_steps {
	const struct analysis_gpu *gpu;
	const struct timeline *timeline;
	struct launch_mark *marks; /* of a call every now and then */
	size_t mark_count;
	bool *interleaved; /* by index of the scope */
};

/* Both are borrowed.  -1: out of memory; release it nevertheless. */
int gpu_steps_init(struct gpu_steps *s, const struct analysis_gpu *gpu, const struct timeline *tl);
void gpu_steps_release(struct gpu_steps *s);

/*
 * Figures of a series of scopes of one process in order of their begin, without
 * its first `skip` ended ones.  -1: out of memory.
 */
int gpu_steps_measure(const struct gpu_steps *s, const struct step_scope *series, size_t n,
		      size_t skip, struct gpu_step_figures *out);

/*
 * Device time of all that the scope's thread launched while it lasted.  False: it is not known,
 * as in struct gpu_step_figures.
 */
bool gpu_steps_launched(const struct gpu_steps *s, const struct scope *scope, int64_t *device_ns);

/* Whether steps of several asyncio tasks interleave on the scope's thread meanwhile. */
bool gpu_steps_interleaved(const struct gpu_steps *s, const struct scope *scope);

/* The figures of a whole run of a process, all of whose work lies between the two moments. */
void gpu_steps_measure_run(const struct gpu_steps *s, uint32_t process, int64_t start_ns,
			   int64_t end_ns, struct gpu_step_figures *out);

#endif
