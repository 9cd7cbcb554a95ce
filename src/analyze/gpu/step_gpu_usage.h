/*
 * What the steps of the most important kind did with the GPU of their process, by CUDA calls and
 * activities only: evidence beside the breakdown, which uses what the step's thread did.
 *
 * Only what lies inside the steps counts: those that ended, without warm-up and without those in
 * which the GPU was not recorded throughout.  Steps that overlap share their time.
 */
#ifndef ANALYZE_GPU_STEP_GPU_USAGE_H
#define ANALYZE_GPU_STEP_GPU_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/breakdown.h"
#include "analyze/figures/wait_figures.h"
#include "analyze/gpu/kernel_loads.h"
#include "format/record.h"

/* A histogram of the lengths of waits, by powers of two. */

#define WAIT_LENGTHS 64

struct wait_lengths {
	uint64_t count[WAIT_LENGTHS];
	int64_t ns[WAIT_LENGTHS];
};

void wait_lengths_add(struct wait_lengths *w, int64_t ns); /* none of less than 1 ns */

/*
 * The share of the total that the n longest waits took; those of one power of two count as equal.
 */
double wait_lengths_longest(const struct wait_lengths *w, double n);

struct gpu_usage_sum {
	uint64_t count, bytes;
	int64_t ns;
};

/* The line of the user's code that has most of something; name NULL: none is known. */
struct gpu_top_line {
	struct place where;
	struct gpu_usage_sum sum;
	uint32_t stack; /* that most of it comes from */
};

struct gpu_usage_copies {
	struct gpu_usage_sum all;      /* time on the device, overlaps count twice */
	struct gpu_usage_sum pageable; /* of it, from or to pageable memory */
	/* Of large ones alone (GPU_USAGE_LARGE_COPY): the rest measures latency. */
	struct gpu_usage_sum large, large_pinned;
	int64_t call_ns; /* in the calls that started them */
	struct gpu_top_line top;
};

#define GPU_USAGE_LARGE_COPY (1u << 20) /* bytes */

/*
 * A gap: the device was idle between two pieces of work.  By what the thread that launched the
 * second one did.
 */
struct gpu_usage_gaps {
	uint64_t count;
	int64_t ns;
	struct gpu_top_line top;
};

struct step_gpu_usage {
	size_t steps;                 /* 0: nothing else is known */
	int64_t covered_ns;           /* by at least one of them */
	uint32_t thread;              /* position, of the first of them */
	bool gpu;                     /* their process used a GPU: what follows is known */
	int64_t busy_ns;              /* at least one stream worked */
	int64_t copy_alone_ns;        /* copies between host and device ran, and no kernel */
	struct gpu_usage_sum kernels; /* without whole graphs; overlaps count twice */
	struct gpu_usage_sum whole_graphs;
	struct gpu_usage_sum
		few_blocks; /* kernels with fewer blocks than the device has multiprocessors */
	/*
	 * Of their time, weighted by what they leave idle: the multiprocessors without a block, or,
	 * of matrix kernels whose tiles have few rows, what arithmetic waits for the memory.
	 */
	double few_blocks_idle_ns;
	uint32_t multiprocessors; /* 0: unknown */
	uint32_t capability;      /* compute capability times 10; 0: unknown */
	double bytes_per_s;       /* of the device's memory; 0: unknown */
	double tensor_per_s;      /* operations of tensor cores in half precision; 0: unknown */
	size_t load_count;
	struct kernel_load loads[KERNEL_LOADS_SHOWN]; /* the kernels with most time */
	int64_t matrix_tensor_ns;      /* matrix kernels on tensor cores, by their names */
	int64_t matrix_plain_ns;       /* ... known not to be; those in neither are unknown */
	struct gpu_top_line plain_top; /* a place as short_late has it */
	int64_t moved_ns; /* kernels and copies inside the device that only move data */
	struct gpu_top_line moved_top;
	struct gpu_usage_copies h2d, d2h;
	struct gpu_usage_sum calls[CUDA_CALL_GRAPH_BUILD + 1]; /* by enum cuda_call */
	struct gpu_usage_sum waits;                            /* calls that wait, together */
	struct wait_lengths wait_lengths; /* theirs, and of copies to the host */
	/*
	 * Began while the thread waited for the device, so the next launch could not be early.
	 */
	struct gpu_usage_gaps after_wait;
	/*
	 * The thread was late without having waited: up to GPU_USAGE_SHORT_GAP_NS long, and longer.
	 * The top of the short ones is the forward() that makes nearly all of them by itself, else
	 * where the model is called (model_stack.h); late_inside is a line of the function that
	 * makes most of them, however deep in the model.
	 */
	struct gpu_usage_gaps short_late, long_late;
	struct gpu_top_line late_inside;
	struct gpu_top_line model_waits; /* calls that wait inside of a model, by time */
	struct gpu_usage_gaps latency;   /* the launch had been made before the device was idle */
	struct gpu_top_line launch_top;  /* most device time */
	/*
	 * ... where the model is called: outside of all layers; of a captured one where it is
	 * replayed.  In the loop that calls it, if functions in between do nothing but that.
	 * Without a GPU: by samples (breakdown_collect.c), unless it is a generate() that calls it.
	 */
	struct gpu_top_line model_top;
	struct gpu_top_line alloc_top, free_top; /* most time in calls for memory */
};

/*
 * A framework takes 5 to 30 us of the host for an operator with its launch; what lasts
 * longer than several of them is work of another kind.
 */
#define GPU_USAGE_SHORT_GAP_NS 100000

struct analysis;

/* How often the run called its model: by a layer, or by a launch of what was captured. */
double step_gpu_usage_model_calls(const struct analysis *a);

/* Fills in a->use; needs a->steps, whose items these are, and a->gpu.  -1: out of memory. */
int step_gpu_usage_collect(struct analysis *a, const struct step_items *items);

/* What a kernel's name says about how it multiplies matrices, or that it only moves data. */

enum kernel_math {
	MATH_OTHER,  /* no matrix kernel, or nothing is known: says neither */
	MATH_TENSOR, /* on tensor cores */
	MATH_PLAIN,  /* on the general units: a matrix kernel whose name shows it */
	MATH_NONE,   /* it writes what it reads, elsewhere: concatenates, copies, transposes */
};

/* Of a demangled name.  Names that are not listed are MATH_OTHER. */
enum kernel_math kernel_math(const char *full_name);

/*
 * The smaller side of the tile of the result that a block of a matrix kernel computes, by its
 * name: 8 of "nvjet_sm90_tst_64x8_64x16_2x1", 1 of a matrix by a vector; 0: unknown.
 */
unsigned kernel_tile_rows(const char *full_name);

#endif
