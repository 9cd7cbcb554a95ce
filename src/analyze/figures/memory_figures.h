/*
 * Figures of memory, kernel counters and devices: a part of struct analysis.  Every source is
 * optional: `known` shows which there are.
 */
#ifndef ANALYZE_FIGURES_MEMORY_FIGURES_H
#define ANALYZE_FIGURES_MEMORY_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/trend.h"
#include "analyze/figures/wait_figures.h"

/* A level that was read now and then. */
struct memory_level {
	bool known;
	int64_t first, last, least, peak;
	double mean; /* by time */
};

/* What a running total grew by between the first reading and the last. */
struct memory_total {
	bool known;
	int64_t sum;
	int64_t span_ns; /* between the two */
};

/*
 * In a step, on average.  Readings do not fall on the edges of steps: what happened between two of
 * them is shared out evenly, and can have been `least` or `most`.
 */
struct memory_per_step {
	bool known;
	double mean, least, most;
};

/* Calls of CUDA that allocate or free. */
enum cuda_memory_call {
	CUDA_MEMORY_ALLOC,
	CUDA_MEMORY_FREE,
	CUDA_MEMORY_HOST_ALLOC,
	CUDA_MEMORY_HOST_FREE,
	CUDA_MEMORY_CALLS,
};

struct cuda_memory_sum {
	uint64_t count, bytes;
	int64_t ns; /* in the calls */
};

struct cuda_memory {
	bool known; /* the GPU was recorded */
	struct cuda_memory_sum calls[CUDA_MEMORY_CALLS];
};

/*
 * Of the steps of one kind, without warm-up.  The kernel counts per process, so other threads' use
 * during a step is included.  Overlapping steps share it.
 */
struct memory_step_figures {
	size_t steps; /* between the first and the last reading; 0: nothing is known */
	struct memory_per_step minor_faults, major_faults, read_bytes, written_bytes;
	struct memory_per_step kernel_us; /* CPU time in the kernel */
	bool cores_known;
	double cores;    /* CPUs that all processes together used while they lasted, on average */
	double threads;  /* that all processes together had at most; 0: not known */
	bool huge_pages; /* resident memory rose by more than small pages can explain, repeatedly */
	double rss_growth_bytes; /* from the first one's begin to the last one's end, for each */
	struct trend rss;        /* bytes for each step, of the least in as many as make a value */
	size_t cuda_steps;       /* that were recorded from begin to end */
	struct cuda_memory cuda; /* in all of them */
};

struct memory_node {
	uint32_t node;
	struct memory_level bytes;
	struct memory_level threads; /* that run on its CPUs */
};

/*
 * PyTorch's cache of a device's memory, by its own account, once a second at most.  It keeps what
 * tensors no longer need: what it has reserved is in tensors (allocated), in pieces of blocks
 * that are in use for another part (split), or in whole blocks, which it could give back.
 */
struct memory_torch {
	uint32_t device; /* PyTorch's number */
	struct memory_level allocated, reserved, split;
	int64_t allocated_peak_bytes, reserved_peak_bytes;
	int64_t retries; /* the device had no more: all that could be was given back first */
	int64_t ooms;    /* ... and that was not enough */
};

struct memory_process {
	uint32_t process; /* id */
	uint32_t pid;
	const char *name;
	bool recorded; /* by an agent; else nothing but this is known of it */
	struct memory_level rss;
	int64_t rss_peak_bytes; /* the kernel's own, where it was reached in the recording */
	struct trend rss_trend; /* bytes for each second */
	struct memory_level anonymous, file, shared; /* of it */
	struct memory_level pss, huge, swap;
	struct memory_total minor_faults, major_faults;
	struct memory_total read_bytes, written_bytes; /* from and to storage */
	struct cuda_memory cuda;
	struct memory_level gpu_bytes;
	size_t torch_count;
	struct memory_torch *torch; /* one for each device that its PyTorch uses */
	size_t node_count;
	struct memory_node *nodes;
	bool remote_known;   /* most of its pages were seen, on several nodes, and its threads */
	double remote_share; /* of the pages: on nodes where none of the threads ran */
};

/* PSI: shares of the time in which tasks with work waited for something. */
struct memory_pressure {
	bool known;
	bool of_container; /* else of the machine */
	double some_share; /* at least one of them */
	double full_share; /* all of them: nothing was done */
};

enum memory_limit { MEMORY_LIMIT_UNKNOWN, MEMORY_LIMIT_MACHINE, MEMORY_LIMIT_CONTAINER };

struct memory_machine {
	struct memory_level total, available, swap_used;
	struct memory_level container, container_swap;
	struct memory_level container_max; /* not known: no limit */
	struct memory_level cpu_limit;     /* of the container, thousandths of a CPU; likewise */
	struct memory_total oom_kills, limit_hits, throttled_us;
	struct memory_pressure cpu, memory, io;
	/* The tightest limit: what the workload may have, and the minimum that was left. */
	enum memory_limit limit;
	int64_t limit_bytes, least_left_bytes;
	/* Of the pages that were allocated on the whole machine: for a CPU of another node. */
	bool other_node_known;
	double other_node_share;
};

/* Why a GPU runs below its maximum clock, according to NVML. */
struct memory_throttle {
	const char *name;
	double share; /* of the time */
};

#define MEMORY_THROTTLES 7

struct memory_gpu {
	uint32_t device; /* NVML's index */
	struct memory_level used, total;
	int64_t peak_bytes;      /* in use: what was seen, or more by PyTorch's own account */
	struct trend used_trend; /* bytes for each second */
	int64_t unseen_ns;       /* from the last reading of `used` to the end of the recording */
	struct memory_level busy_percent, memory_busy_percent;
	struct memory_level sm_clock_mhz, sm_clock_max_mhz, memory_clock_mhz;
	struct memory_level power_mw, power_limit_mw, temperature_c;
	struct memory_level pcie_generation, pcie_generation_max, pcie_width, pcie_width_max;
	bool throttles_known;
	double throttled_share; /* for any of them */
	struct memory_throttle throttles[MEMORY_THROTTLES];
};

/*
 * What a fault takes at least: a page that is zeroed, and one that comes from a fast disk; and
 * what one of the former takes at most, in a virtual machine.  A huge page is 512 small ones that
 * are zeroed.
 */
#define MEMORY_MINOR_FAULT_NS 250.0
#define MEMORY_HUGE_FAULT_NS (512 * MEMORY_MINOR_FAULT_NS)
#define MEMORY_MAJOR_FAULT_NS 50e3
#define MEMORY_SLOW_FAULT_NS 5000.0

/* What may be wrong, the worst first. */
enum memory_concern {
	MEMORY_OOM_KILLS,
	MEMORY_PRESSURE,
	MEMORY_NEAR_LIMIT,
	MEMORY_SWAPPED,    /* about: a process */
	MEMORY_LEAK,       /* about: a step */
	MEMORY_TORCH_OOMS, /* about: a process, as the next one */
	MEMORY_TORCH_RETRIES,
	MEMORY_GPU_FULL,        /* about: a GPU */
	MEMORY_TORCH_FRAGMENTS, /* about: a process */
	MEMORY_MAJOR_FAULTS,    /* about: a step, as the next two */
	MEMORY_MINOR_FAULTS,
	MEMORY_CUDA_CHURN,
	MEMORY_NUMA_REMOTE, /* about: a process */
	/* From here on not memory, but figures of the same sources. */
	MEMORY_CPU_THROTTLED,
	MEMORY_GPU_THROTTLED, /* about: a GPU */
	MEMORY_CONCERNS,
};

struct memory_warning {
	enum memory_concern what;
	size_t about; /* position in the analysis' steps, processes or GPUs; 0 */
};

/* Page faults of a line of the user's code, of those that were seen where they happened. */
struct memory_line {
	struct place place; /* name NULL: in no Python function */
	uint64_t minor, major;
	int64_t last_ns; /* when the latest of them was */
};

struct analysis_memory {
	bool recorded;
	size_t warning_count; /* 0: all is well, as far as is known */
	struct memory_warning warnings[MEMORY_CONCERNS];
	size_t process_count;
	struct memory_process *processes; /* largest peak first */
	struct memory_machine machine;
	size_t gpu_count;
	struct memory_gpu *gpus;
	uint64_t seen_minor, seen_major; /* faults: only a part of all; shares are reported */
	size_t line_count;
	struct memory_line *lines; /* most faults first */
	size_t missing_count;
	const char **missing; /* sources that could not be read: "SOURCE: why" */
	bool cost_known;
	double cost_share;   /* of one core: what reading took the recorder */
	double gpu_start_ms; /* of its time: to load NVML and read it for the first time; 0: NVML
				was not used */
	bool held_back;      /* it read less often to keep that small */
};

#define MEMORY_COST_MOST 0.01 /* of one core: what the recorder holds itself to */

/* Of what PyTorch has reserved: in pieces between what is in use, on average. */
double memory_torch_split_share(const struct memory_torch *t);

/* CPU time that the minor faults of a step took, as far as it is known. */
double memory_minor_faults_ns(const struct memory_step_figures *m);

static inline bool memory_concern_is_memory(enum memory_concern concern)
{
	return concern < MEMORY_CPU_THROTTLED;
}

const char *memory_concern_name(enum memory_concern concern); /* "cuda-churn" */

#endif
