/*
 * The inside of a gpu_timeline, shared by the files that fill it, in this order:
 *
 *   gpu_read.c    events -> calls and activities, devices, changes
 *   graph_nodes.c where the nodes of CUDA graphs come from
 *   gpu_link.c    order of the activities; which call started which
 *   gpu_clock.c   host and device on one clock
 *   gpu_stacks.c  stacks -> Python lines
 *
 * Positions of calls, activities and captures fit 32 bits: gpu_read() refuses more.
 */
#ifndef TIMELINE_GPU_TABLES_H
#define TIMELINE_GPU_TABLES_H

#include "base/arena.h"
#include "base/idmap.h"
#include "timeline/gpu.h"
#include "timeline/graph_nodes.h"
#include "timeline/kernel_names.h"

#define STREAM_UNKNOWN UINT32_MAX

/* A synchronisation that returned; it may bound when activities ended. */
struct gpu_wait {
	uint32_t process;
	uint32_t stream; /* STREAM_UNKNOWN: it is not known which */
	bool all;        /* waits for every stream of its context */
	int64_t start_ns, end_ns;
};

struct gpu_stack_entry {
	struct gpu_place innermost, user;
};

struct gpu_timeline {
	const struct trace *trace;
	struct arena texts;
	struct gpu_activity *activities;
	size_t activity_count, activity_cap;
	struct gpu_call *calls;
	size_t call_count, call_cap;
	struct gpu_wait *waits; /* in the order of their calls; gpu_clock() sorts them */
	size_t wait_count, wait_cap;
	uint32_t *links;   /* activities by the call that started them */
	uint32_t *link_at; /* of each call: where its activities begin in links */
	struct graph_nodes nodes;
	struct kernel_names names;
	struct gpu_stack_entry *stacks;
	size_t stack_count, stack_cap;
	struct idmap stack_at; /* stack id -> position in stacks */
	struct gpu_clock *clocks;
	size_t clock_count, clock_cap;
	struct gpu_device *devices;
	size_t device_count, device_cap;
	struct gpu_change *changes;
	size_t change_count, change_cap;
	uint64_t ambiguous; /* of the unmatched: several calls have their number */
	uint64_t unmatched_activities, unmatched_launches, untimed, malformed, dropped;
	int64_t overhead_ns;
};

/* Each of them returns -1 when there is no memory. */
int gpu_read(struct gpu_timeline *g);
int gpu_link(struct gpu_timeline *g);
int gpu_clock_merge(struct gpu_timeline *g);
int gpu_stacks_resolve(struct gpu_timeline *g);

#endif
