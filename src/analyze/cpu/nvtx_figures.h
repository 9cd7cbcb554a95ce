/* What a program's NVTX ranges took. */
#ifndef ANALYZE_CPU_NVTX_FIGURES_H
#define ANALYZE_CPU_NVTX_FIGURES_H

#include "analyze/analysis.h"
#include "analyze/gpu/gpu_steps.h"
#include "timeline/timeline.h"

/* Fills in a->nvtx.  -1: out of memory. */
int nvtx_figures_collect(struct analysis *a, const struct timeline *tl,
			 const struct gpu_steps *gpu);

#endif
