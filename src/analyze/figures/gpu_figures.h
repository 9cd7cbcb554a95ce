/*
 * What the GPU did, process by process, in figures that reports can print.
 *
 * Names and places are borrowed from the GPU's timeline, which the analysis
 * keeps.  Lists are in the order in which they are to be shown.  Device times
 * are host times (timeline/gpu.h merges the clocks); activities without times
 * are counted and are in no duration.
 */
#ifndef ANALYZE_FIGURES_GPU_FIGURES_H
#define ANALYZE_FIGURES_GPU_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/breakdown.h"
#include "timeline/gpu.h"

/* All launches of one kernel. */
struct gpu_kernel_figures {
	const char *name, *full_name;
	uint64_t variants; /* full names that are counted here */
	uint64_t count;
	int64_t total_ns, longest_ns;
};

struct gpu_copy_figures {
	const char *kind;                 /* "H2D", "D2H", "D2D", "H2H", "peer" or "other" */
	const char *source, *destination; /* "pageable", "pinned", "device", ... or "unknown" */
	bool asynchronous;
	uint64_t count, bytes;
	int64_t total_ns;
};

struct gpu_sum {
	uint64_t count, bytes;
	int64_t total_ns;
};

struct gpu_stream_figures {
	uint32_t device, context, stream;
	uint64_t kernels, copies, memsets, graphs;
	int64_t busy_ns;
	int64_t until_ns; /* private: end of what is counted in busy_ns */
};

struct gpu_call_figures {
	const char *name;
	uint64_t count;
	int64_t total_ns, longest_ns;
};

/* CUDA calls from one line of the user's Python code. */
struct gpu_line_figures {
	const char *function; /* "(no Python line)" where none was found */
	const char *file;     /* "" likewise */
	uint32_t line;
	uint64_t calls;
	int64_t gpu_ns;             /* of all that they started; overlaps count twice */
	int64_t captured_ns;        /* of it: captured here, started by launches of its graph */
	int64_t api_ns, longest_ns; /* in the calls */
};

/* An instance of a CUDA graph. */
struct gpu_graph_figures {
	uint32_t graph;           /* its number in the process */
	uint64_t replays;         /* whose launch was recorded */
	uint64_t replays_by_node; /* ... with all their nodes, not as a whole */
	int64_t total_ns, median_ns,
		longest_ns; /* of replays, from the first start to the last end */
	/* That ran in a replay; 0 where none was recorded by node. */
	uint64_t nodes, kernels, copies, memsets;
	uint64_t known_nodes; /* whose capture is known */
	/* function NULL: unknown */
	struct place captured; /* where the capture began, or the first node was added */
	struct place launched; /* of most replays */
};

struct gpu_line_ref {
	const struct gpu_line_figures *line;
};

struct gpu_change_ref {
	const struct gpu_change *change;
};

/* When nothing was recorded although there may have been something. */
struct gpu_pause {
	int64_t start_ns, end_ns; /* INT64_MAX: for good */
};

struct gpu_section {
	uint32_t process; /* id */
	uint32_t pid;
	const char *name; /* of the process */
	size_t device_count;
	struct gpu_device *devices;
	const struct gpu_clock *clock; /* NULL: nothing to compare */

	int64_t first_ns, last_ns; /* of all activity; equal: none */
	int64_t busy_ns;           /* at least one stream had work */
	int64_t idle_ns;   /* none had, between the first and the last activity; without pauses */
	int64_t paused_ns; /* between them, when nothing was recorded */
	size_t interval_count; /* intervals of work, with gaps between them */
	struct gpu_busy *busy; /* private: gpu_busy.h */
	size_t pause_count;
	struct gpu_pause *pauses; /* in order of time */

	struct gpu_sum kernel_sum, copy_sum, memset_sum, graph_sum;
	uint64_t h2d_bytes, d2h_bytes;
	size_t kernel_count;
	struct gpu_kernel_figures *kernels; /* most time first, as all that follow */
	size_t kernel_group_count;
	struct gpu_kernel_figures *kernel_groups; /* those of one brief name together */
	size_t copy_count;
	struct gpu_copy_figures *copies;
	size_t stream_count;
	struct gpu_stream_figures *streams;
	size_t call_count;
	struct gpu_call_figures *calls;
	size_t line_count;
	struct gpu_line_figures *lines;  /* that started work: kernels, graphs, copies, memsets */
	struct gpu_line_ref *most_calls; /* the same, most calls first */
	size_t graph_count;
	struct gpu_graph_figures *graphs;
	size_t sync_count;
	struct gpu_line_figures *syncs; /* that waited for the device */
	struct idle_blame blame;        /* of idle_ns */
};

/* What a step of one kind saw of the GPU: medians (nearest rank) without warm-up. */
struct gpu_step_figures {
	size_t steps;             /* that were recorded from begin to end; 0: nothing is known */
	int64_t busy_ns, idle_ns; /* while the step lasted */
	/*
	 * Launched by the step's thread while it lasted.  Not known where steps of
	 * several asyncio tasks interleave on the thread: a call does not say whose it is.
	 */
	bool launches_known;
	uint64_t kernels, copies, h2d_bytes, d2h_bytes;
	int64_t launched_ns; /* device time of all that was launched */
};

#endif
