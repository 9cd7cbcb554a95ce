/*
 * The looks at the threads of one process over some stretch of time, so that what
 * several threads did at the same moment can be seen together.
 */
#ifndef ANALYZE_LOOK_WINDOW_H
#define ANALYZE_LOOK_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/trace.h"

/* Looks in a row at one thread that found the same, and the time they stand for. */
struct look {
	uint32_t thread; /* position, as in trace_thread() */
	uint32_t stack;  /* id; 0: none */
	uint32_t flags;  /* enum sample_flag */
	uint64_t lock;
	int64_t start_ns, end_ns;
};

/* A thread's looks: from items[first] on, in order of time. */
struct window_thread {
	uint32_t thread; /* position in the trace */
	size_t first, count;
};

struct look_window {
	uint32_t process; /* id */
	struct look *items;
	size_t count, cap;
	struct window_thread *threads; /* after look_window_sort() */
	size_t thread_count, thread_cap;
};

void look_window_release(struct look_window *w);
int look_window_add(struct look_window *w, const struct look *l); /* -1: no memory */
void look_window_clear(struct look_window *w);                    /* keeps the memory */

/* Orders the looks by thread and time. */
int look_window_sort(struct look_window *w);

/* NULL where it was not looked at. */
const struct window_thread *look_window_thread(const struct look_window *w, uint32_t thread);

/* The first look at the thread that ends behind this time; NULL: none. */
const struct look *look_window_at(const struct look_window *w, const struct window_thread *t,
				  int64_t time_ns);

/* The one after it, of the same thread; NULL: none. */
const struct look *look_window_next(const struct look_window *w, const struct window_thread *t,
				    const struct look *l);

/* How much of [start, end) a look covers. */
static inline int64_t look_overlap_ns(const struct look *l, int64_t start_ns, int64_t end_ns)
{
	int64_t from = l->start_ns > start_ns ? l->start_ns : start_ns;
	int64_t to = l->end_ns < end_ns ? l->end_ns : end_ns;

	return to > from ? to - from : 0;
}

static inline enum sample_state look_state(const struct look *l)
{
	return (enum sample_state)(l->flags & SAMPLE_STATE);
}

/* The code id of the innermost function that is known; 0: none. */
uint32_t look_innermost(const struct trace *t, const struct look *l);

/*
 * The innermost function that the thread was in all the time from start to end, as a code
 * id; 0: none, or it was not looked at.
 */
uint32_t look_window_common(const struct look_window *w, const struct trace *t,
			    const struct window_thread *thread, int64_t start_ns, int64_t end_ns);
/* Of these the innermost one that is the user's own, where there is one. */
uint32_t look_window_users(const struct look_window *w, const struct trace *t,
			   const struct window_thread *thread, int64_t start_ns, int64_t end_ns);

/* The function of the user's that the thread was in most of the time; 0: none, or not known. */
uint32_t look_window_mostly(const struct look_window *w, const struct trace *t,
			    const struct window_thread *thread, int64_t start_ns, int64_t end_ns);

/* Whether the function is anywhere on the stack. */
bool look_contains(const struct trace *t, const struct look *l, uint32_t code);

#endif
