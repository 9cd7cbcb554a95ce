#include "format/trace_layout.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_EVENTS 512u

void event_queue_init(struct event_queue *q, uint32_t thread)
{
	memset(q, 0, sizeof(*q));
	q->thread = thread;
	buf_init(&q->lengths);
	buf_init(&q->payload);
}

void event_queue_release(struct event_queue *q)
{
	free(q->kinds);
	free(q->ids);
	free(q->times_ns);
	q->kinds = NULL;
	q->ids = NULL;
	q->times_ns = NULL;
	q->count = q->cap = 0;
	buf_release(&q->lengths);
	buf_release(&q->payload);
}

static int resize(void *array, size_t count, size_t bytes_each)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = realloc(old, count * bytes_each);
	if (!grown)
		return -1;
	memcpy(array, &grown, sizeof(grown));
	return 0;
}

int event_queue_grow(struct event_queue *q)
{
	size_t cap = q->cap ? 2 * q->cap : FIRST_EVENTS;

	if (resize(&q->kinds, cap, sizeof(*q->kinds)) || resize(&q->ids, cap, sizeof(*q->ids)) ||
	    resize(&q->times_ns, cap, sizeof(*q->times_ns)))
		return -1;
	q->cap = cap;
	return 0;
}

/*
 * Both columns return the position behind what they wrote; the caller made room for the worst
 * case.
 */

static uint8_t *encode_times(const struct event_queue *q, uint8_t *to)
{
	int64_t last = q->times_ns[0];

	for (size_t i = 0; i < q->count; i++) {
		to += varint_put(to, zigzag(q->times_ns[i] - last));
		last = q->times_ns[i];
	}
	return to;
}

static uint8_t *encode_ids(const struct event_queue *q, uint8_t *to)
{
	for (size_t i = 0; i < q->count; i++)
		to += varint_put(to, q->ids[i]);
	return to;
}

int event_queue_encode(struct event_queue *q, struct buf *out)
{
	size_t n = q->count;
	size_t worst =
		EVENTS_PREFIX_BYTES + n * (1 + VARINT_MAX + 5) + q->lengths.len + q->payload.len;
	uint8_t *start, *times, *ids, *lengths;

	buf_clear(out);
	start = buf_reserve(out, worst);
	if (!start || q->lengths.failed || q->payload.failed)
		return -1;
	memcpy(start + EVENTS_PREFIX_BYTES, q->kinds, n);
	times = start + EVENTS_PREFIX_BYTES + n;
	ids = encode_times(q, times);
	lengths = encode_ids(q, ids);
	put_le(start, (uint64_t)q->times_ns[0], 8);
	put_le(start + 8, (uint64_t)(ids - times), 4);
	put_le(start + 12, (uint64_t)(lengths - ids), 4);
	put_le(start + 16, q->lengths.len, 4);
	put_le(start + 20, q->payload.len, 4);
	out->len = (size_t)(lengths - start);
	buf_add(out, q->lengths.data, q->lengths.len);
	buf_add(out, q->payload.data, q->payload.len);
	q->count = 0;
	buf_clear(&q->lengths);
	buf_clear(&q->payload);
	return 0;
}
