/*
 * Which layer of a model CUDA calls were made in, and what the calls of an interval of a thread's
 * time started.  As in report.json a graph's node belongs to the layer in which it was captured.
 */
#ifndef TABLES_GPU_OWNERS_H
#define TABLES_GPU_OWNERS_H

#include "timeline/gpu.h"
#include "timeline/timeline.h"

struct gpu_owners;

/* Both are borrowed; the timeline has been walked.  NULL: no memory. */
struct gpu_owners *gpu_owners_new(struct timeline *tl, const struct gpu_timeline *g,
				  struct err *err);
void gpu_owners_free(struct gpu_owners *o); /* NULL is a no-op */

/* Layer ids; 0: in none. */
uint32_t gpu_owners_call_layer(const struct gpu_owners *o, size_t call);
uint32_t gpu_owners_layer(const struct gpu_owners *o, const struct gpu_activity *a);

struct launched {
	uint64_t kernels;
	int64_t gpu_ns; /* kernels, copies, memsets, graphs; overlaps count twice */
};

/* By the thread (position) in [start, end). */
struct launched gpu_owners_launched(const struct gpu_owners *o, size_t thread, int64_t start_ns,
				    int64_t end_ns);

#endif
