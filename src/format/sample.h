/*
 * A sample of a thread of the workload: its Python stack and what it was doing.
 * One numbering serves the sampler, the trace file and the analysis; numbers
 * are never reused.
 */
#ifndef FORMAT_SAMPLE_H
#define FORMAT_SAMPLE_H

#include <stdint.h>

/* What the thread was doing. */
enum sample_state {
	SAMPLE_UNKNOWN = 0,
	SAMPLE_RUNNING = 1,   /* on a CPU, or ready and waiting for one */
	SAMPLE_GIL_WAIT = 2,  /* waits for the interpreter's lock */
	SAMPLE_LOCK_WAIT = 3, /* waits for another lock, condition or thread */
	SAMPLE_IO_WAIT = 4,   /* in a system call that waits for data or a device */
	SAMPLE_OFF_CPU = 5,   /* waits for something else */
	SAMPLE_SLEEP = 6,     /* in a system call that waits for a time and nothing else */
};

#define SAMPLE_STATES 7

enum sample_flag {
	SAMPLE_STATE = 0x0f,             /* these bits: enum sample_state */
	SAMPLE_HAS_GIL = 1u << 4,        /* it had the interpreter's lock */
	SAMPLE_LEAF_UNSTABLE = 1u << 5,  /* the innermost frame, or who called it, is uncertain */
	SAMPLE_CUT = 1u << 6,            /* only the innermost frames of a deeper stack */
	SAMPLE_WAITS_FOR_LOCK = 1u << 7, /* `lock` and `holder` say more */
	/* The kernel's sample of a thread that ran: `stack` is the id of a DEF_NATIVE. */
	SAMPLE_NATIVE = 1u << 8,
	/*
	 * With SAMPLE_NATIVE: it had no CPU from first_ns to last_ns, exactly, and `stack` is 0.
	 * SAMPLE_RUNNING: another thread was given its CPU; SAMPLE_OFF_CPU: it waited.
	 */
	SAMPLE_AWAY = 1u << 9,
	/*
	 * With SAMPLE_NATIVE: it had a page fault there, one of `count` that it stands for.  They
	 * are not counted all the time: what is where is given by shares.
	 */
	SAMPLE_FAULT = 1u << 10,
	SAMPLE_MAJOR = 1u << 11, /* with SAMPLE_FAULT: the fault waited for a disk */
};

/*
 * Consecutive equal samples of one thread: how many, and when the first
 * and the last of them were.  In between the thread was sampled no less often
 * than at other times.
 */
struct sample {
	uint32_t thread; /* id, as in struct trace_thread */
	uint32_t stack;  /* id of a DEF_STACK; 0: no Python function, or unknown */
	uint32_t flags;  /* enum sample_flag */
	uint32_t count;  /* at least 1 */
	int64_t first_ns, last_ns;
	uint64_t lock;   /* what it waits for: an address in its process */
	uint32_t holder; /* id of the thread that has it; 0: unknown */
};

static inline enum sample_state sample_state(const struct sample *s)
{
	return (enum sample_state)(s->flags & SAMPLE_STATE);
}

#endif
