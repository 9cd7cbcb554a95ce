/*
 * What threads did, by samples: how long each ran and waited, who waited for whom,
 * and where native code spent its time.
 */
#ifndef ANALYZE_CPU_THREAD_STATES_H
#define ANALYZE_CPU_THREAD_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/figures/wait_figures.h"
#include "format/trace.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"

/* Fills in the states of a->threads, a->gil, a->locks and a->native; needs a->steps. */
int thread_states_collect(struct analysis *a, const struct trace *t, struct err *err);

/*
 * The samples of the threads of one process over some interval, so that what
 * several threads did at the same moment can be seen together.
 */

/* Consecutive equal samples of one thread, and the time they stand for. */
struct window_sample {
	uint32_t thread; /* position, as in trace_thread() */
	uint32_t stack;  /* id; 0: none */
	uint32_t flags;  /* enum sample_flag */
	uint64_t lock;
	int64_t start_ns, end_ns;
};

/* A thread's samples: from items[first] on, in order of time. */
struct window_thread {
	uint32_t thread; /* position in the trace */
	size_t first, count;
};

struct sample_window {
	uint32_t process; /* id */
	struct window_sample *items;
	size_t count, cap;
	struct window_thread *threads; /* after sample_window_sort() */
	size_t thread_count, thread_cap;
};

void sample_window_release(struct sample_window *w);
int sample_window_add(struct sample_window *w, const struct window_sample *l); /* -1: no memory */
void sample_window_clear(struct sample_window *w); /* keeps the memory */

/* Orders the samples by thread and time. */
int sample_window_sort(struct sample_window *w);

/* NULL where it was not sampled. */
const struct window_thread *sample_window_thread(const struct sample_window *w, uint32_t thread);

/* The first sample of the thread that ends behind this time; NULL: none. */
const struct window_sample *sample_window_at(const struct sample_window *w,
					     const struct window_thread *t, int64_t time_ns);

/* The one after it, of the same thread; NULL: none. */
const struct window_sample *sample_window_next(const struct sample_window *w,
					       const struct window_thread *t,
					       const struct window_sample *l);

/* How much of [start, end) a sample covers. */
static inline int64_t window_sample_overlap_ns(const struct window_sample *l, int64_t start_ns,
					       int64_t end_ns)
{
	int64_t from = l->start_ns > start_ns ? l->start_ns : start_ns;
	int64_t to = l->end_ns < end_ns ? l->end_ns : end_ns;

	return to > from ? to - from : 0;
}

static inline enum sample_state window_sample_state(const struct window_sample *l)
{
	return (enum sample_state)(l->flags & SAMPLE_STATE);
}

/* The code id of the innermost function that is known; 0: none. */
uint32_t window_sample_innermost(const struct trace *t, const struct window_sample *l);

/*
 * The innermost function that the thread was in all the time from start to end, as a code
 * id; 0: none, or it was not sampled.
 */
uint32_t sample_window_common(const struct sample_window *w, const struct trace *t,
			      const struct window_thread *thread, int64_t start_ns, int64_t end_ns);
/* Of these the innermost one of the user's own code, if there is one. */
uint32_t sample_window_users(const struct sample_window *w, const struct trace *t,
			     const struct window_thread *thread, int64_t start_ns, int64_t end_ns);

/* The user's function that the thread was in most of the time; 0: none, or unknown. */
uint32_t sample_window_mostly(const struct sample_window *w, const struct trace *t,
			      const struct window_thread *thread, int64_t start_ns, int64_t end_ns);

/* Whether the function is anywhere on the stack. */
bool window_sample_contains(const struct trace *t, const struct window_sample *l, uint32_t code);

/* How long one function waited while another held what it waited for, in total. */

struct wait_pair {
	uint32_t waiter, holder; /* code ids; 0: unknown */
	enum wait_evidence evidence;
	int64_t ns;
};

struct wait_pairs {
	struct wait_pair *items;
	size_t count, cap;
	struct pair_map at;
};

void wait_pairs_init(struct wait_pairs *p);
void wait_pairs_release(struct wait_pairs *p);

/* holder 0: its evidence does not matter.  -1: no memory. */
int wait_pairs_add(struct wait_pairs *p, uint32_t waiter, uint32_t holder,
		   enum wait_evidence evidence, int64_t ns);

/* The functions by name, those of one name together, the longest first.  -1: no memory. */
int wait_pairs_finish(const struct wait_pairs *p, const struct trace *t,
		      struct analysis_waits *out);

/* Who waits for the interpreter's lock, and who has it meanwhile. */

/* The window is sorted.  -1: no memory. */
int gil_waits_collect(struct wait_pairs *out, const struct sample_window *w, const struct trace *t);

/*
 * Who waits for a lock, and who has it meanwhile.
 *
 * A sample knows the address of what a thread waits for, not who has it.  That is
 * worked out: a thread that waited for a lock and does so no more has got it, and
 * has it until the next one gets it, or at least as long as it is in the function
 * that wanted it: that function is the holder.  A lock that was taken without
 * waiting has the only thread that was not waiting itself; of several, the one that
 * left the function it had been in just when the waiting ended.  The holder is then
 * the innermost function that it was in all the while.  Where neither holds the
 * holder is unknown, and said to be.
 *
 * Waiting for a condition, an event, a queue or the end of a thread is waiting for
 * a lock too, down there, but nobody holds it: it is omitted (code_kind.h).
 */

/* The window is sorted.  -1: no memory. */
int lock_waits_collect(struct wait_pairs *out, const struct sample_window *w,
		       const struct trace *t);

/* Where CPU time goes below Python: the kernel's samples, each with its Python function. */

struct native_totals {
	uint32_t place; /* id of a DEF_NATIVE */
	uint32_t code;  /* the innermost Python function; 0: none, or unknown */
	uint64_t samples, in_steps;
};

struct native_code {
	int64_t from_ns, until_ns; /* the steps last */
	struct native_totals *items;
	size_t count, cap;
	struct pair_map at;
};

/* The steps of the first kind last from one time to the other, without warm-up. */
void native_code_init(struct native_code *n, int64_t from_ns, int64_t until_ns);
void native_code_release(struct native_code *n);

/* `window`: sorted, of the sample's process and time.  -1: no memory. */
int native_code_add(struct native_code *n, const struct native_sample_at *l,
		    const struct sample_window *window, const struct trace *t);

int native_code_finish(const struct native_code *n, const struct trace *t,
		       struct analysis_native *out);

/* Page faults by Python line: the kernel's samples of them, each with the sample nearest in time.
 */

struct fault_totals {
	uint32_t stack; /* id; 0: no Python, or it was not sampled */
	uint64_t minor, major;
	int64_t last_ns;
};

struct fault_lines {
	struct fault_totals *items;
	size_t count, cap;
	struct pair_map at; /* (0, stack) */
};

void fault_lines_init(struct fault_lines *f);
void fault_lines_release(struct fault_lines *f);

/* `window`: sorted, of the fault's process and time; NULL: none.  -1: no memory. */
int fault_lines_add(struct fault_lines *f, const struct fault_at *fault,
		    const struct sample_window *window);

/* Fills in the lines of a->memory; needs a->gpu, which knows lines of stacks.  -1: no memory. */
int fault_lines_finish(const struct fault_lines *f, struct analysis *a);

#endif
