/*
 * Where a thread's CPU time goes below Python: the kernel interrupts it now and
 * then (perf_event_open, a clock of its own CPU time) and notes the instruction.
 * Only the reader of the ring gets it; the thread does not notice.
 *
 * Not permitted everywhere: perf_event_paranoid, containers' seccomp filters.
 * One thread.
 */
#ifndef CAPTURE_NATIVE_PERF_EVENTS_H
#define CAPTURE_NATIVE_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One thread's events and the memory that the kernel writes them to. */
struct perf_events {
	int fd;                         /* -1: none */
	int minor_faults, major_faults; /* -1: none; they write to the same memory */
	uint64_t minor_id, major_id;    /* of the last ones */
	void *memory;
	uint64_t lost; /* records that found no room */
};

struct perf_visitor {
	void *ctx;
	/* At this time of CLOCK_MONOTONIC the thread was about to execute what lies there. */
	void (*sample)(void *ctx, int64_t monotonic_ns, uint64_t address);
	/* Where they were asked for: it lost (on: got) its CPU.  preempted: it would have gone on.
	 */
	void (*turn)(void *ctx, int64_t monotonic_ns, bool on, bool preempted);
	/* Likewise, NULL where not: an instruction there had a page fault, one of `count`. */
	void (*fault)(void *ctx, int64_t monotonic_ns, uint64_t address, uint32_t count,
		      bool major);
};

/*
 * What the interruption for one sample takes from a thread, measured on the calling one, in a
 * millisecond; 0: not permitted.  Two microseconds on bare metal, and six times as much where a
 * hypervisor has to be asked for each tick of a timer.
 */
uint32_t perf_events_cost_ns(void);

/* -1 with errno: the kernel refuses.  The thread may belong to any process that we may trace. */
int perf_events_open(struct perf_events *p, pid_t tid, uint32_t hz, bool turns);
void perf_events_close(struct perf_events *p); /* may be called again */

/*
 * Page faults of the thread as well, until they are closed.  Until then every fault takes
 * 120 ns longer, and 50 ns longer on the whole machine while such an event merely exists.  -1: the
 * kernel refuses, and the rest works.
 */
int perf_events_open_faults(struct perf_events *p, pid_t tid);
void perf_events_close_faults(struct perf_events *p); /* may be called again */

/* The thread's CPU time since they were opened; 0: unknown. */
uint64_t perf_events_ran_ns(const struct perf_events *p);

/* Hands over what came since the last call, oldest first. */
void perf_events_read(struct perf_events *p, const struct perf_visitor *visitor);

#endif
