/*
 * How much memory is left where the workload runs, and how much of it the
 * trace buffer may have.
 *
 * A profiler must not be what gets a workload killed for want of memory.  The
 * rule is a share of what is left, so that it needs no figure for "little"; and
 * where programs are seen to wait for memory all the same, the buffer is halved
 * as long as they do.
 */
#ifndef CAPTURE_SESSION_MEMORY_PRESSURE_H
#define CAPTURE_SESSION_MEMORY_PRESSURE_H

#include <stdint.h>

#include "base/err.h"
#include "capture/drain/shm_owner.h"
#include "format/trace_writer.h"

#define PRESSURE_UNKNOWN UINT64_MAX

struct pressure {
	uint64_t left_bytes; /* PRESSURE_UNKNOWN: no source */
	const char *owner;   /* whose they are: "the machine" or "the control group" */
	/* Share of the last ten seconds in which nothing ran for want of it; 0: next to none. */
	double stalled;
};

/*
 * root: "" or a folder that plays the part of "/" (tests).  enough_bytes: more
 * than that need not be known exactly, which spares the kernel work.
 */
void pressure_read(struct pressure *p, const char *root, uint64_t enough_bytes);

/*
 * What programs here can have in all: the machine's memory, or less where a control group sets a
 * limit.  PRESSURE_UNKNOWN: no source.
 */
uint64_t pressure_total(const char *root);

/* For pressure_read(): with that much left, a buffer of `wanted` bytes may have them all. */
uint64_t pressure_enough(uint64_t wanted);

/*
 * Bytes that a buffer of `size`, of which `held` are in memory, may have if it requests `wanted`.
 */
uint64_t pressure_allowed(const struct pressure *p, uint64_t size, uint64_t held, uint64_t wanted);

/*
 * At most `wanted` bytes, what the limits of this process (ulimit -v, -f) allow
 * of a buffer that the workload maps under the same limits.  *option: which one
 * is in the way, or NULL.
 */
uint64_t pressure_limit(uint64_t wanted, const char **option);

/*
 * The size of the trace buffer, kept to what memory allows (memory_pressure.h).  What
 * was done is a note in the trace: one when it is first shrunk, so that a
 * recorder that is killed has said so, and one at the end.  One thread.
 */

struct shrink {
	const char *root; /* see pressure_read() */
	struct shm_owner *owner;
	int64_t next_ns;       /* when to check again */
	struct pressure cause; /* what the latest check that made it smaller found */
	uint32_t least;        /* blocks: the fewest there were */
	uint32_t noted;        /* what the first note says; 0: there is none */
};

/* Borrows both until the last call. */
void shrink_init(struct shrink *s, struct shm_owner *owner, const char *root);

/* In every cycle; checks a few times a second.  -1: the trace could not be written. */
int shrink_cycle(struct shrink *s, int64_t now_ns, struct trace_writer *w, struct err *err);

/* After the last cycle. */
int shrink_finish(struct shrink *s, struct trace_writer *w, struct err *err);

#endif
