/* When the GPU of a process was busy, and when that is unknown. */
#ifndef ANALYZE_GPU_GPU_BUSY_H
#define ANALYZE_GPU_GPU_BUSY_H

#include "analyze/figures/gpu_figures.h"

/*
 * Where the activities of a process are in the list, with running sums at regular distances: a
 * section's busy time up to a time takes a short walk from there, and no memory for each activity.
 */
struct gpu_busy_mark {
	int64_t before_ns; /* busy, by all activities before these */
	int64_t until_ns;  /* when the last of them had ended; INT64_MIN: none has times */
};

struct gpu_busy {
	const struct gpu_timeline *timeline;
	size_t first, count; /* activities */
	struct gpu_busy_mark marks[];
};

/*
 * Fills in the busy time, pauses, first_ns, last_ns, busy_ns and idle_ns of the
 * section of activities [begin, end), all of one process; its changes in order
 * of time.  -1: out of memory.
 */
int gpu_busy_collect(struct gpu_section *s, const struct gpu_timeline *g, size_t begin, size_t end,
		     const struct gpu_change_ref *changes, size_t change_count);

/*
 * When all activities of the section before one of them had ended, by its index; INT64_MIN: none of
 * them has times.  The cursor, at first zero, makes the next question about a later one cheap.
 */
struct gpu_busy_cursor {
	size_t activity; /* of the section, 0 the first */
	int64_t until_ns;
};

int64_t gpu_busy_until(const struct gpu_section *s, size_t activity, struct gpu_busy_cursor *at);

/* Busy time between two moments. */
int64_t gpu_busy_between(const struct gpu_section *s, int64_t start_ns, int64_t end_ns);

/* How much of the time between two moments was not recorded. */
int64_t gpu_paused_between(const struct gpu_section *s, int64_t start_ns, int64_t end_ns);

/* 0 for an end before its start; no overflow. */
int64_t gpu_length(int64_t start_ns, int64_t end_ns);

/* The first call of a thread, or of a later one, that does not begin before a time. */
size_t gpu_call_find(const struct gpu_timeline *g, size_t thread, int64_t time_ns);

#endif
