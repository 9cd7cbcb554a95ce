/* What threads did and waited for, from samples: a part of struct analysis. */
#ifndef ANALYZE_FIGURES_WAIT_FIGURES_H
#define ANALYZE_FIGURES_WAIT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "format/sample.h"
#include "timeline/place.h"

/* What a thread was seen to do. */
struct analysis_states {
	bool known;                /* it was read */
	int64_t ns[SAMPLE_STATES]; /* by enum sample_state */
	int64_t has_gil_ns;        /* of that, with the interpreter's lock */
};

/* When a thread had no CPU for a millisecond or longer, by the kernel. */
struct analysis_absences {
	uint64_t count;
	int64_t waited_ns;    /* for something */
	int64_t preempted_ns; /* for a CPU: another thread was given its own */
	int64_t longest_ns;
};

/* How it is known who had what a thread waited for. */
enum wait_evidence {
	WAIT_HOLDER_UNKNOWN,
	WAIT_HOLDER_LIKELY, /* the only thread that can have had it, or that let go at that moment
			     */
	WAIT_HOLDER_SEEN, /* it got the lock after waiting for it, and is still in the same function
			   */
};

struct analysis_wait {
	struct place waiter, holder;
	enum wait_evidence evidence;
	int64_t ns;
};

struct analysis_waits {
	int64_t total_ns; /* of all threads */
	size_t count;
	struct analysis_wait *items; /* the longest first */
};

/* Native code called from a Python function. */
struct analysis_native_row {
	const char *symbol;  /* demangled; NULL: unknown */
	const char *library; /* file; NULL: unknown */
	struct place python; /* the innermost function around it */
	uint64_t samples;
	uint64_t in_steps; /* of them, from the first step of the first kind to its last */
};

#define NATIVE_LIBRARIES 3u

struct analysis_native {
	uint64_t samples; /* all: each stands for the same CPU time */
	size_t library_count;
	/*
	 * Those with most, whichever function called them; symbol: what more than half of it is,
	 * or NULL.
	 */
	struct analysis_native_row libraries[NATIVE_LIBRARIES];
	size_t count;
	struct analysis_native_row *rows; /* most samples first */
	struct arena texts;               /* names that are not the trace's */
};

#endif
