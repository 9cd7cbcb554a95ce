/*
 * Reads now and then what the kernel and the devices say about the recorded processes and the
 * machine (system_source.h), in a thread of its own: some of it takes milliseconds, and the
 * drain must not wait.
 *
 * It holds itself back: sources that make a program wait are read for a small share of the time,
 * and all of it takes less than a hundredth of a core, less still where no CPU is idle; beyond that
 * all periods become longer (system_reader.h).  A process that is gone is no error.
 *
 * All calls are for the recorder's main thread.
 */
#ifndef CAPTURE_SYSTEM_SYSTEM_READER_H
#define CAPTURE_SYSTEM_SYSTEM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/system/process_tree.h"
#include "capture/system/system_source.h"

struct system_reader;

/*
 * root: "" or a folder that plays the part of "/" (tests), borrowed.  Times are CLOCK_MONOTONIC
 * minus origin_ns.
 */
int system_reader_new(struct system_reader **out, const char *root, int64_t origin_ns,
		      struct err *err);
void system_reader_free(struct system_reader *w); /* stops it; NULL is a no-op */

/* From here on; after the workload was forked, which must not have threads of ours. */
void system_reader_start(struct system_reader *w);

/* A process, by its id in the trace. */
void system_reader_add(struct system_reader *w, uint32_t process, pid_t pid);

/* It has ended; while its parent has not waited for it, its totals are read a last time. */
void system_reader_remove(struct system_reader *w, uint32_t process, pid_t pid);

/*
 * The workload, before it ends; it and all descendants of processes that are watched are watched
 * themselves, also where no agent joins them.
 */
void system_reader_follow(struct system_reader *w, pid_t workload);

/* A process that was not added has ended, and its parent has not waited for it. */
void system_reader_ended(struct system_reader *w, pid_t pid);

/* Whether what it takes is taken from the workload (no CPU is idle): it reads less often then.
 */
void system_reader_crowded(struct system_reader *w, bool crowded);

/* One of the processes uses a GPU: from now on devices are read, too. */
void system_reader_use_gpu(struct system_reader *w);

/*
 * Replaces what is in both (their memory is used again) by what was seen since the last call.  A
 * process that was found is reported before or together with its first points.
 */
void system_reader_take(struct system_reader *w, struct system_points *out,
			struct system_founds *found);

/* The last one: all is read once more, and system_reader_take() gets the rest. */
void system_reader_stop(struct system_reader *w);

struct system_reader_totals {
	int64_t active_ns, cpu_ns; /* how long it ran, and what it took of a core */
	int64_t gpu_start_ns;      /* of that, to begin asking about devices; 0: not asked */
	bool held_back;            /* periods were longer than they should be */
	double slowdown;           /* how many times, at the end */
	uint64_t dropped;          /* points for which there was no memory */
	uint32_t unwatched;        /* processes beyond those that there are files for */
};

/* After system_reader_stop(). */
struct system_reader_totals system_reader_totals(const struct system_reader *w);

/* Why a source was not read, "SOURCE: why"; NULL past the last.  Likewise. */
const char *system_reader_missing(const struct system_reader *w, size_t i);

/*
 * How much longer than they should be the periods of all sources are, so that the thread that
 * reads them takes less than a hundredth of a core, and less than half of that where no CPU is idle
 * (crowded): there the workload has to do without what we take.
 *
 * What comes but once, the start of NVML, takes as much in an instant as all else in many seconds.
 * It is in the account, and says nothing about the next reading: all periods are longer until it is
 * made up for.  A recording that ends before has taken more than it should, and reports it.
 *
 * Times are CLOCK_MONOTONIC and the CPU time of the thread that reads, as it is at that time.
 */

struct system_pace {
	double slowdown; /* at least 1: by what reading took of late */
	bool paying;     /* what came once is not made up for yet */
	int64_t began_ns, cpu_began_ns;
	int64_t window_ns, window_cpu_ns; /* when the present window began */
	int64_t once_ns;                  /* of CPU time: what came but once */
	int64_t active_ns, cpu_ns;        /* after the end */
	bool held_back;
};

void system_pace_begin(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded);

/* What it is now; checks the cost when a window is over. */
double system_pace_slowdown(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded);

/* Of the CPU time so far `once_ns` were spent just now, and will not be again. */
void system_pace_once(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, int64_t once_ns);

/* A window in which the thread took this share of a core is over. */
void system_pace_adjust(struct system_pace *p, double share, bool crowded);

void system_pace_end(struct system_pace *p, int64_t now_ns, int64_t cpu_ns);

#endif
