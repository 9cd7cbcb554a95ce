/*
 * Reads now and then what the kernel and the devices say about the recorded processes and the
 * machine (system_source.h), in a thread of its own: some of it takes milliseconds, and the
 * drain must not wait.
 *
 * It holds itself back: sources that make a program wait are read for a small share of the time,
 * and all of it takes less than a hundredth of a core, less still where no CPU is idle; beyond that
 * all periods become longer (system_pace.h).  A process that is gone is no error.
 *
 * All calls are for the recorder's main thread.
 */
#ifndef CAPTURE_SYSTEM_WATCH_H
#define CAPTURE_SYSTEM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/system_source.h"
#include "capture/system_tree.h"

struct system_watch;

/*
 * root: "" or a folder that plays the part of "/" (tests), borrowed.  Times are CLOCK_MONOTONIC
 * minus origin_ns.
 */
int system_watch_new(struct system_watch **out, const char *root, int64_t origin_ns,
		     struct err *err);
void system_watch_free(struct system_watch *w); /* stops it; NULL is a no-op */

/* From here on; after the workload was forked, which must not have threads of ours. */
void system_watch_start(struct system_watch *w);

/* A process, by its id in the trace. */
void system_watch_add(struct system_watch *w, uint32_t process, pid_t pid);

/* It has ended; while its parent has not waited for it, its totals are read a last time. */
void system_watch_remove(struct system_watch *w, uint32_t process, pid_t pid);

/*
 * The workload, before it ends; it and all descendants of processes that are watched are watched
 * themselves, also where no agent joins them.
 */
void system_watch_follow(struct system_watch *w, pid_t workload);

/* A process that was not added has ended, and its parent has not waited for it. */
void system_watch_ended(struct system_watch *w, pid_t pid);

/* Whether what it takes is taken from the workload (no CPU is idle): it looks less often then. */
void system_watch_crowded(struct system_watch *w, bool crowded);

/* One of the processes uses a GPU: from now on devices are looked at, too. */
void system_watch_use_gpu(struct system_watch *w);

/*
 * Replaces what is in both (their memory is used again) by what was seen since the last call.  A
 * process that was found is told of before or together with its first points.
 */
void system_watch_take(struct system_watch *w, struct system_points *out,
		       struct system_founds *found);

/* The last one: all is looked at once more, and system_watch_take() gets the rest. */
void system_watch_stop(struct system_watch *w);

struct system_watch_totals {
	int64_t active_ns, cpu_ns; /* how long it ran, and what it took of a core */
	int64_t gpu_start_ns;      /* of that, to begin asking about devices; 0: nobody asked */
	bool held_back;            /* periods were longer than they should be */
	double stretch;            /* how many times, at the end */
	uint64_t dropped;          /* points for which there was no memory */
	uint32_t unwatched;        /* processes beyond those that there are files for */
};

/* After system_watch_stop(). */
struct system_watch_totals system_watch_totals(const struct system_watch *w);

/* Why a source was not read, "SOURCE: why"; NULL past the last.  Likewise. */
const char *system_watch_missing(const struct system_watch *w, size_t i);

#endif
