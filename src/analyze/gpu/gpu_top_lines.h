/* For each of a few roles: the line of the user's code that has most of it. */
#ifndef ANALYZE_GPU_GPU_TOP_LINES_H
#define ANALYZE_GPU_GPU_TOP_LINES_H

#include "analyze/figures/pair_totals.h"
#include "analyze/gpu/step_gpu_usage.h"
#include "timeline/gpu.h"

enum gpu_line_role {
	GPU_LINE_H2D,
	GPU_LINE_D2H,
	GPU_LINE_PLAIN_MATH,
	GPU_LINE_MOVED,
	GPU_LINE_LAUNCH,
	GPU_LINE_MODEL,
	GPU_LINE_MODEL_WAIT, /* only inside of models */
	GPU_LINE_ALLOC,
	GPU_LINE_FREE,
	GPU_LINE_AFTER_WAIT,
	GPU_LINE_SHORT_LATE,
	GPU_LINE_LATE_INSIDE, /* the same; gpu_top_lines_find() copies them */
	GPU_LINE_LONG_LATE,
	GPU_LINE_ROLES
};

struct gpu_top_lines {
	struct pair_totals rows;
	bool failed; /* out of memory */
};

void gpu_top_lines_init(struct gpu_top_lines *t);
void gpu_top_lines_release(struct gpu_top_lines *t);

/* Something of a role that comes from this stack (0: none is known). */
void gpu_top_lines_add(struct gpu_top_lines *t, enum gpu_line_role role, uint32_t stack, int64_t ns,
		       uint64_t bytes);

/* Fills in tops[GPU_LINE_ROLES]; after this nothing can be added. */
void gpu_top_lines_find(struct gpu_top_lines *t, const struct gpu_timeline *g,
			struct gpu_top_line *tops);

#endif
