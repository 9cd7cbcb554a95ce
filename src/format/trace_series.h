/*
 * Points of series that are not written yet, and their coding as the payload of a SERIES block
 * (docs/FORMAT.md).  Of consecutive points with the same value the first and the last are kept, in
 * each block: a reader knows how long a value was observed to hold, and if the recorder is killed,
 * all but the last second is in the trace.
 */
#ifndef FORMAT_TRACE_SERIES_H
#define FORMAT_TRACE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/series.h"

/* A series of this block. */
struct series_run {
	struct series_point last; /* its latest point, */
	bool kept;                /* which is in `items` already */
};

struct series_item {
	size_t run; /* position */
	int64_t time_ns, value;
};

struct series_queue {
	int64_t first_ns; /* of the oldest point */
	struct series_item *items;
	size_t count, cap;
	struct series_run *runs;
	size_t run_count, run_cap;
	size_t latest; /* run of the latest point: rounds have the same order, the next one follows
			*/
};

/* -1: no memory. */
int series_queue_push(struct series_queue *q, const struct series_point *p);
void series_queue_release(struct series_queue *q);

/* How many points its block would have at most. */
size_t series_queue_points(const struct series_queue *q);

/*
 * Replaces the contents of `out` with the coded points, returns how many there are, and empties
 * the queue.  0: there is none, or no memory.
 */
uint32_t series_queue_encode(struct series_queue *q, struct buf *out);

/*
 * The other way: exactly `count` points.  `scratch` has room for as many.  -1: the payload
 * is invalid.
 */
int series_decode(struct series_point *out, struct series_point *scratch, size_t count,
		  const uint8_t *payload, size_t bytes);

#endif
