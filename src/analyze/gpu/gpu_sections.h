/*
 * One section for each process that used a GPU, the one with most GPU time first, with all GPU
 * figures of reports.
 */
#ifndef ANALYZE_GPU_GPU_SECTIONS_H
#define ANALYZE_GPU_GPU_SECTIONS_H

#include "analyze/figures/gpu_figures.h"

struct analysis_gpu {
	struct gpu_timeline *timeline; /* owned */
	size_t section_count;
	struct gpu_section *sections;
	size_t change_count;
	struct gpu_change_ref *changes; /* by process, then by time */
};

/* -1: text set.  In any case gpu_sections_release() gives everything back. */
int gpu_sections_collect(struct analysis_gpu *gpu, const struct trace *t, struct err *err);

/* The same where the events have been read already; the reader is used up. */
int gpu_sections_take(struct analysis_gpu *gpu, const struct trace *t, struct gpu_reader *reader,
		      struct err *err);
void gpu_sections_release(struct analysis_gpu *gpu);

/* The section of a process; NULL: it did not use the GPU. */
const struct gpu_section *gpu_section_find(const struct analysis_gpu *gpu, uint32_t process);

bool gpu_call_starts_work(enum cuda_call what);
bool gpu_call_waits(enum cuda_call what);

/*
 * CUDA graphs, instance by instance: how often each ran, how long that took, where it
 * was captured and launched.
 */

/* Fills graphs and graph_count of every section.  -1: out of memory. */
int gpu_graphs_collect(struct analysis_gpu *gpu);

/*
 * What counts as the same in the GPU's figures, how equal ones add up, and in
 * which order they are shown.  Comparisons are for qsort(); orders are total, so
 * that the same trace gives the same report.
 */

int gpu_kernel_identity(const void *a, const void *b);
void gpu_kernel_add(void *into, const void *from);
int gpu_kernel_order(const void *a, const void *b);
int gpu_kernel_brief_identity(const void *a, const void *b);
void gpu_kernel_join(void *into, const void *from); /* variants of one brief name */

int gpu_copy_identity(const void *a, const void *b);
void gpu_copy_add(void *into, const void *from);
int gpu_copy_order(const void *a, const void *b);

int gpu_call_identity(const void *a, const void *b);
void gpu_call_add(void *into, const void *from);
int gpu_call_order(const void *a, const void *b);

int gpu_line_identity(const void *a, const void *b);
void gpu_line_add(void *into, const void *from);
int gpu_line_order(const void *a, const void *b);       /* most GPU time first */
int gpu_sync_order(const void *a, const void *b);       /* most time in the calls first */
int gpu_most_calls_first(const void *a, const void *b); /* of struct gpu_line_ref */

int gpu_stream_order(const void *a, const void *b);
int gpu_section_order(const void *a, const void *b);
int gpu_change_order(const void *a, const void *b); /* of refs: by process, then by time */

/* Those of one process in a list in that order. */
const struct gpu_change_ref *gpu_changes_of(const struct gpu_change_ref *changes, size_t n,
					    uint32_t process, size_t *count);

#endif
