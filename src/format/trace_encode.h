/*
 * The events of one thread that are not written yet, and their coding as the
 * payload of an EVENTS block.
 */
#ifndef FORMAT_TRACE_ENCODE_H
#define FORMAT_TRACE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/varint.h"
#include "format/record.h"

struct event_queue {
	uint32_t thread;
	uint64_t next_index; /* of the thread's next event, unless some are lost */
	size_t count, cap;
	uint8_t *kinds;
	uint32_t *ids;
	int64_t *times_ns;
	struct buf lengths, payload; /* of the kinds that have one */
};

void event_queue_init(struct event_queue *q, uint32_t thread);
void event_queue_release(struct event_queue *q); /* events and memory go, thread and index stay */

/* Makes room for at least one more event; -1: no memory. */
int event_queue_grow(struct event_queue *q);

/* The caller has seen to it that count < cap. */
static inline void event_queue_push(struct event_queue *q, uint8_t kind, uint32_t id,
				    int64_t time_ns, const void *payload, size_t bytes)
{
	size_t n = q->count;

	q->kinds[n] = kind;
	q->ids[n] = id;
	q->times_ns[n] = time_ns;
	q->count = n + 1;
	q->next_index++;
	if (kind & RECORD_PAYLOAD) {
		buf_add_varint(&q->lengths, bytes);
		buf_add(&q->payload, payload, bytes);
	}
}

/* Replaces the contents of `out` with the coded events and empties the queue.  -1: no memory. */
int event_queue_encode(struct event_queue *q, struct buf *out);

#endif
