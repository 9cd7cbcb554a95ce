/*
 * One section for each process that used a GPU, the one with most GPU time
 * first; and all that reports say about the GPU.
 */
#ifndef ANALYZE_GPU_SECTIONS_H
#define ANALYZE_GPU_SECTIONS_H

#include "analyze/gpu_figures.h"

struct analysis_gpu {
	struct gpu_timeline *timeline; /* owned */
	size_t section_count;
	struct gpu_section *sections;
	size_t change_count;
	struct gpu_change_ref *changes; /* by process, then by time */
};

/* -1: text set.  In any case gpu_sections_release() gives everything back. */
int gpu_sections_collect(struct analysis_gpu *gpu, const struct trace *t, struct err *err);
void gpu_sections_release(struct analysis_gpu *gpu);

/* The section of a process; NULL: it did not use the GPU. */
const struct gpu_section *gpu_section_find(const struct analysis_gpu *gpu, uint32_t process);

bool gpu_call_starts_work(enum cuda_call what);
bool gpu_call_waits(enum cuda_call what);

#endif
