/*
 * The samples of a trace with the time that each stands for.
 *
 * A thread was in what a sample found from halfway since the sample before it to
 * halfway to the next one: so the times of a thread's samples add up, whatever the
 * rate was.  Where it was not sampled for long it is unknown: a sample stands for
 * at most half of SAMPLE_GAP_NS to either side.
 */
#ifndef TIMELINE_SAMPLE_WALK_H
#define TIMELINE_SAMPLE_WALK_H

#include "base/err.h"
#include "format/trace.h"

#define SAMPLE_GAP_NS 250000000

struct timed_sample {
	size_t thread; /* position, as in trace_thread() */
	const struct sample *sample;
	int64_t start_ns, end_ns; /* the time it stands for */
};

/* A sample of the kernel's, of native code (SAMPLE_NATIVE). */
struct native_sample_at {
	uint32_t process; /* id */
	size_t thread;    /* position; trace_thread_count(): one without Python */
	uint32_t flags;   /* SAMPLE_AWAY: no place, but a time without a CPU */
	uint32_t place;   /* id, as in trace_native() */
	int64_t time_ns;
	int64_t end_ns; /* SAMPLE_AWAY: when it got a CPU again */
};

/* A page fault (SAMPLE_FAULT). */
struct fault_at {
	uint32_t process; /* id */
	size_t thread;    /* position; trace_thread_count(): one without Python */
	bool major;       /* it waited for a disk */
	uint32_t place;   /* id, as in trace_native() */
	uint32_t count;   /* of faults that it stands for */
	int64_t time_ns;
};

struct sample_visitor {
	void *ctx;
	void (*sample)(void *ctx, const struct timed_sample *s);     /* may be NULL */
	void (*native)(void *ctx, const struct native_sample_at *n); /* may be NULL */
	void (*fault)(void *ctx, const struct fault_at *f);          /* may be NULL */
};

struct sample_walk {
	uint64_t unreadable; /* blocks */
	struct err damage;   /* the first one's; "": none */
};

/*
 * Hands every sample of a thread that the trace knows to the visitor, those of a
 * thread in order.  -1: no memory.
 */
int sample_walk(struct sample_walk *w, const struct trace *t, const struct sample_visitor *v,
		struct err *err);

/* The same, one block of samples a call. */
struct sample_reader;

int sample_reader_new(struct sample_reader **out, const struct trace *t,
		      const struct sample_visitor *v, struct err *err);
int sample_reader_next(struct sample_reader *r, struct err *err);            /* 1; 0: the end; -1 */
const struct sample_walk *sample_reader_walk(const struct sample_reader *r); /* so far */
void sample_reader_free(struct sample_reader *r);                            /* NULL is a no-op */

#endif
