/*
 * The inside of a gpu_timeline, shared by the files that fill it, in this order:
 *
 *   gpu_read.c    events -> calls and activities, devices, changes
 *   gpu_link.c    where the nodes of CUDA graphs come from; order of the activities; which call
 *                 started which
 *   gpu_clock.c   host and device on one clock
 *   gpu_stacks.c  stacks -> Python lines
 *
 * Positions of calls and activities fit 31 bits, those of captures 32: gpu_read.c refuses more.
 */
#ifndef TIMELINE_GPU_TABLES_H
#define TIMELINE_GPU_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/idmap.h"
#include "timeline/gpu.h"
#include "timeline/key_table.h"
#include "timeline/kernel_names.h"
#include "timeline/pair_map.h"

/*
 * Where the nodes of CUDA graphs come from.
 *
 * A node is made once, by a call that was captured or one that added it, and copied
 * when its graph is instantiated, nested or cloned; activities have the number of the
 * copy that ran.  Numbers are those of a process.
 */

struct graph_nodes {
	struct gpu_capture *captures; /* in order of (thread, time) */
	size_t count, cap;
	struct pair_map made;   /* (process, node) -> position in captures */
	struct pair_map copied; /* (process, node) -> the node that it is a copy of */
	uint32_t *links;        /* activities by the capture of their node */
	uint32_t *link_at;      /* of each capture: where its activities begin in links */
};

void graph_nodes_init(struct graph_nodes *n);
void graph_nodes_release(struct graph_nodes *n);

/* All return -1 when there is no memory.  Captures come in their order; positions fit 32 bits. */
int graph_nodes_add(struct graph_nodes *n, const struct gpu_capture *made, uint64_t node);
int graph_nodes_clone(struct graph_nodes *n, uint32_t process, uint64_t node, uint64_t original);

/* The capture of a node; GPU_NONE: unknown. */
uint32_t graph_nodes_find(const struct graph_nodes *n, uint32_t process, uint64_t node);

/*
 * After all of the above: joins each activity with its capture, and each capture with its
 * activities.
 */
int graph_nodes_link(struct graph_nodes *n, const struct gpu_lists *lists, size_t work_count);

/* A synchronisation that returned; it may bound when activities ended. */
struct gpu_wait {
	uint32_t process;
	uint32_t stream; /* STREAM_UNKNOWN: it is not known which */
	bool all;        /* waits for every stream of its context */
	int64_t start_ns, end_ns;
};

struct gpu_stack_entry {
	struct place innermost, user;
};

struct gpu_timeline {
	struct gpu_lists lists; /* first: gpu_lists() */
	const struct trace *trace;
	struct arena texts;
	size_t activity_cap, call_cap, work_cap, api_cap;
	struct key_table works,
		apis;           /* numbers of lists.works and lists.apis by what records say */
	struct gpu_wait *waits; /* in the order of their calls; gpu_clock() sorts them */
	size_t wait_count, wait_cap;
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

struct gpu_timeline *gpu_timeline_empty(const struct trace *t); /* NULL: no memory */

/* Each of them returns -1 when there is no memory; the first does what the others do. */
int gpu_timeline_link(struct gpu_timeline *g);
int gpu_link(struct gpu_timeline *g);
int gpu_clock_merge(struct gpu_timeline *g);
int gpu_stacks_resolve(struct gpu_timeline *g);

/*
 * A line between bounds: the correction c(t) = offset + slope * t of a clock, of
 * which some pairs of events say "at least this much" and others "at most".
 *
 * Bounds are reduced to the tightest of each cell of time, so that memory does
 * not grow with them.  Some may be wrong: the line passes between as many cells'
 * bounds as it can, and in the middle of those it passes, where it is farthest
 * from being wrong.  A plain offset is taken unless a drift leaves far more room:
 * what a drift hides would make the bounds appear closer than they are.
 */

#define CLOCK_CELLS 128u
#define CLOCK_TIGHTEST 8u    /* bounds kept of a cell and side */
#define CLOCK_SLOPE_MAX 1e-3 /* 1000 ppm: no working clock drifts that fast */

struct clock_bound {
	double t_ns, value_ns;
};

struct clock_side {
	struct clock_bound tightest[CLOCK_TIGHTEST]; /* the tightest first */
	size_t kept, seen;
};

struct clock_cells {
	double span_ns;
	bool trusting; /* else the tightest bounds of a cell with many are ignored */
	struct clock_side below[CLOCK_CELLS], above[CLOCK_CELLS];
};

struct clock_line {
	double offset_ns, slope;
};

/* Times are between 0 and span_ns. */
void clock_cells_init(struct clock_cells *c, double span_ns, bool trusting);
void clock_cells_at_least(struct clock_cells *c, double t_ns, double value_ns);
void clock_cells_at_most(struct clock_cells *c, double t_ns, double value_ns);
struct clock_line clock_cells_fit(const struct clock_cells *c);

static inline double clock_line_at(const struct clock_line *l, double t_ns)
{
	return l->offset_ns + l->slope * t_ns;
}

#endif
