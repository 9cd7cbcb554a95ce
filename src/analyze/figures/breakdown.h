/*
 * What the steps of one kind spent their time on: every nanosecond belongs to
 * exactly one class, so that the parts add up to the steps.
 *
 * Where several things went on at once the first of these has the moment
 * (docs/ANALYSIS.md gives the reasons):
 *   1. the device worked for the step: kernels before copies
 *   2. the step's thread was ready to run and had no CPU, but did not wait for the device
 *   3. it collected garbage
 *   4. it was in a CUDA call, whose class it has
 *   5. it compiled, or waited for a DataLoader
 *   6. it waited, by samples: for the GIL, a lock, data or a time
 *   7. it ran Python code: by calls, by samples where calls were not recorded; of that, and of
 *      copies to the host, the time of page faults is their own (step_sweep.h)
 * So host time is what the device did not hide.
 */
#ifndef ANALYZE_FIGURES_BREAKDOWN_H
#define ANALYZE_FIGURES_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/wait_figures.h"

/* In the order in which they are shown where they take the same time. */
enum time_class {
	TIME_GPU_COMPUTE,       /* kernels, graphs, memsets, copies inside the device */
	TIME_H2D,               /* copies to the device, the staging of pageable memory included */
	TIME_D2H,               /* copies from it, likewise */
	TIME_SYNC_WAIT,         /* in a CUDA call that waits, while the device did nothing for it */
	TIME_CPU_PREPROCESSING, /* the user's code, and libraries that are no framework */
	TIME_CPU_COMPUTE,       /* layers and operators, in a process that uses no GPU */
	TIME_FRAMEWORK,         /* the framework's code outside of CUDA calls */
	TIME_LAUNCH,            /* in CUDA calls that start work */
	TIME_ALLOCATION,        /* in CUDA calls for memory, pinned memory included */
	TIME_GC,
	TIME_CPU_WAIT, /* ready to run, while other threads had all CPUs: by the kernel */
	TIME_GIL_WAIT,
	TIME_LOCK_WAIT,   /* for a lock, a condition, a queue, a thread */
	TIME_IO_WAIT,     /* for data or a device, a DataLoader's workers included */
	TIME_SLEEP,       /* for a time to pass: time.sleep(), timed_waits.h */
	TIME_PAGE_FAULTS, /* of the host's running time: memory that had to be mapped first */
	TIME_COMPILE,     /* torch.compile, CUDA modules and graphs being built */
	TIME_MODEL_LOAD, /* a model is loaded, built, converted or moved, by a library's function */
	TIME_IDLE,       /* waits for work: no recorded process was working on it */
	TIME_UNATTRIBUTED,
};

#define TIME_CLASSES (TIME_UNATTRIBUTED + 1)

/* "gpu_compute": as in report.json. */
const char *time_class_name(enum time_class c);
/* "GPU compute": for people. */
const char *time_class_title(enum time_class c);
/* Is it waiting for something that neither the CPU nor the device does? */
bool time_class_is_wait(enum time_class c);

struct time_part {
	int64_t ns; /* of all steps that are counted */
	/* Of it, by samples; chance moves that by so much either way (95 %). */
	int64_t sampled_ns, error_ns;
};

/* A place in the code that a class' time was spent at. */
struct time_cause {
	enum time_class what;
	/*
	 * The innermost line of the user's own code, or, where only its function is known, that
	 * function's first.  Name NULL: unknown.  Of device time: what launched it.
	 */
	struct place where;
	/*
	 * The innermost function of all, where that is a library's: what the line called.  Of
	 * several the one with most of the time; the line that this was in for longest.
	 */
	struct place inner;
	struct place waited_for; /* of waits: who had it; name NULL: unknown */
	int64_t ns;              /* of all steps that are counted */
	int64_t inner_ns;        /* of it, in inner; name NULL: in where itself */
};

/*
 * Is more than half of it in inner?  Otherwise its time is not reported as that function's.
 */
bool time_cause_is_mostly_inner(const struct time_cause *c);

/* What slow steps did more than typical ones, mean by mean. */
struct slow_cause {
	struct time_cause cause; /* its ns: in the slow ones */
	double more_ns;          /* for each step; never negative */
};

/*
 * The slowest 5 % (at least one) beside those around the median (the middle fifth, at least
 * one).  Nothing is said, steps is 0, of fewer than 5 steps.
 */
struct slow_steps {
	size_t steps, typical_steps;
	int64_t from_ns; /* the shortest of the slow ones */
	double mean_ns, typical_mean_ns;
	size_t cause_count;
	struct slow_cause *causes; /* most first */
};

/*
 * Single steps, class by class: in the order of threads and time, evenly thinned out where there
 * are more.  What is moved between classes afterwards (fault_parts.c, queue_parts.c) is still
 * where the sweep found it.
 */
#define STEP_SAMPLES_MOST 1024u

struct step_sample {
	int64_t ns[TIME_CLASSES];
};

struct step_samples {
	struct step_sample *items;
	size_t count, cap;
	size_t every, seen; /* one of so many is kept, of those that were added */
};

int step_samples_add(struct step_samples *s, const struct step_sample *one); /* -1: no memory */

struct step_breakdown {
	/*
	 * Without warm-up and those of which nothing is known: the GPU was not recorded, or the
	 * step did not end.  0: nothing else here is known.
	 */
	size_t steps;
	int64_t total_ns; /* of them: the sum of all parts */
	struct time_part parts[TIME_CLASSES];
	/* Of it waiting (locks, I/O, sleep), but not for the work of another recorded thread. */
	int64_t alone_ns;
	/*
	 * Steps of several asyncio tasks interleave on a thread: what others did meanwhile is in
	 * these figures too.
	 */
	bool shared;
	size_t cause_count;
	struct time_cause *causes; /* most time first; of the steps of the first kinds only */
	struct slow_steps slow;
	struct step_samples samples; /* of the first kind only */
};

void step_breakdown_release(struct step_breakdown *b);

/*
 * Why the GPU of a process was idle.
 *
 * Each gap between two intervals of work ends with an activity that some thread launched; what
 * that thread did in the gap is why the device waited.  Gaps, or parts of them, in which the
 * thread waited for work that no thread was producing (an event loop without events, an empty
 * queue, a pause of its own outside of all marked steps) are no load and have no cause.
 *
 * no_load_ns + unexplained_ns + the ns of all items = idle_ns of the section.
 */

struct idle_cause {
	/* TIME_LAUNCH with latency set: the launch had been made, the device began later. */
	enum time_class what;
	bool latency;
	/* As in struct time_cause. */
	struct place where, inner, waited_for;
	int64_t ns, inner_ns;
	int64_t in_steps_ns; /* of it, while a step of the process' most important kind lasted */
	uint64_t gaps;       /* that have such a part */
	int64_t longest_ns;  /* of its parts */
};

#define IDLE_NO_LOAD UINT32_MAX

/* An interval of idle time with one cause. */
struct idle_part {
	int64_t start_ns, end_ns;
	uint32_t cause; /* index of blame.part_causes, or IDLE_NO_LOAD */
};

struct idle_blame {
	int64_t no_load_ns;
	int64_t unexplained_ns; /* the launch, or what its thread did, is unknown */
	size_t steps; /* of the process' most important kind, in the time of the section */
	size_t count;
	struct idle_cause *items; /* most time in steps first, then most time */
	/* Where in time that is, for timelines; what nothing explains has no part. */
	size_t part_count;
	struct idle_part *parts; /* by start */
	size_t part_cause_count;
	struct idle_cause *part_causes; /* as items, before equal ones were put together */
};

/* Without what describes gaps only. */
struct time_cause idle_time_cause(const struct idle_cause *c);

/* "cpu_preprocessing", "launch_latency": as in report.json. */
const char *idle_cause_name(const struct idle_cause *c);

/* The steps that figures are made of, one by one. */

/* Every step is in the first of these; some in one more. */
enum step_group { STEPS_ALL, STEPS_SLOW, STEPS_TYPICAL, STEP_GROUPS };

struct step_item {
	int64_t start_ns, end_ns;
	uint32_t thread; /* position */
	uint16_t kind;   /* index of its analysis_step */
	uint16_t group;  /* enum step_group */
};

struct step_items {
	struct step_item *items;
	size_t count, cap;
};

/* A step of no kind and group yet.  -1: no memory. */
int step_items_add(struct step_items *items, int64_t start_ns, int64_t end_ns, uint32_t thread);

#endif
