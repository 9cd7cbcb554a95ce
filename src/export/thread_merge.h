/*
 * The activities of one thread, of all kinds, as slices that nest on one track.
 *
 * Functions and layers begin and end as the walk over the events reports; scopes and CUDA calls
 * are intervals that are known beforehand.  All open slices are in one stack, in the order in
 * which they began.  If a slice ends while one inside it continues, the two overlap: the inner one
 * goes to another track, except that a function whose end was inferred (a pause of the recording,
 * a repair) goes there itself.
 */
#ifndef EXPORT_THREAD_MERGE_H
#define EXPORT_THREAD_MERGE_H

#include "export/track_set.h"

#define TIMED_MAX 64u /* scopes and CUDA calls that are open at once; more go aside */

struct open_slice {
	enum slice_kind kind;
	bool aside;
	int64_t start_ns;
	int64_t end_ns; /* of scopes and CUDA calls */
	size_t index;   /* ... ; of functions and layers their number */
};

/*
 * Slices that wait for an outer one that began at the same moment, or for another one that waits
 * and ends where they begin.
 */
struct held_slices {
	struct slice *items; /* in order of their starts */
	size_t count, cap;
	int64_t last_end_ns; /* of the one that was added last, the latest */
};

struct thread_merge {
	struct event_walk *walk;
	struct track_set *tracks;
	size_t thread; /* NO_THREAD: none yet */
	struct track_group *group;
	struct open_slice *open; /* in the order in which they began */
	size_t count, cap;
	size_t timed;            /* of them, scopes and CUDA calls */
	int64_t ends[TIMED_MAX]; /* of those, in no order */
	int64_t next_end_ns;     /* the first of them */
	size_t next_scope, next_call;
	struct held_slices held;
	int64_t now_ns; /* the latest that was reached */
	int64_t gap_ns; /* where the last gap ended: functions without an entry begin there */
	bool crossed;   /* something open then has ended */
	bool failed;    /* no memory */
};

void thread_merge_init(struct thread_merge *m, struct event_walk *w, struct track_set *tracks);
void thread_merge_release(struct thread_merge *m);

/* Something happens in a thread; threads come one after the other. */
void thread_merge_reach(struct thread_merge *m, size_t thread, int64_t time_ns);
void thread_merge_finish(struct thread_merge *m); /* the last thread is over */

void thread_merge_open(struct thread_merge *m, enum slice_kind kind, size_t number,
		       int64_t start_ns);
/* own_end: it is known when it ended. */
void thread_merge_close(struct thread_merge *m, struct slice *s, size_t number, bool own_end);
void thread_merge_gap(struct thread_merge *m, int64_t end_ns);

/* Writes the held slices that began at `from` or later, the longest first. */
void held_slices_flush(struct held_slices *h, const struct event_sink *sink, int64_t from_ns);
int held_slices_add(struct held_slices *h, const struct slice *s); /* -1: no memory */

#endif
