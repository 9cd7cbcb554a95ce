/*
 * The samples of one process that are not written yet, and their coding as the
 * payload of a SAMPLES block (docs/FORMAT.md).
 */
#ifndef FORMAT_TRACE_SAMPLES_H
#define FORMAT_TRACE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/sample.h"

struct sample_queue {
	uint32_t process;
	struct sample *items;
	size_t count, cap;
};

struct sample_queues {
	struct sample_queue *items;
	size_t count, cap;
};

/* The queue of a process, made where there is none; NULL: no memory. */
struct sample_queue *sample_queues_of(struct sample_queues *all, uint32_t process);
void sample_queues_release(struct sample_queues *all);

/* -1: no memory. */
int sample_queue_push(struct sample_queue *q, const struct sample *s);
void sample_queue_release(struct sample_queue *q);

/* Replaces the contents of `out` with the coded samples and empties the queue.  -1: no memory. */
int sample_queue_encode(struct sample_queue *q, struct buf *out);

/* The other way: exactly `count` samples.  -1: the payload is invalid. */
int samples_decode(struct sample *out, size_t count, const uint8_t *payload, size_t bytes);

#endif
