#include "format/trace_samples.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/varint.h"
#include "format/trace_layout.h"

int sample_queue_push(struct sample_queue *q, const struct sample *s)
{
	struct sample *grown = array_grow(q->items, &q->cap, q->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	q->items = grown;
	grown[q->count++] = *s;
	return 0;
}

void sample_queue_release(struct sample_queue *q)
{
	free(q->items);
	q->items = NULL;
	q->count = q->cap = 0;
}

struct sample_queue *sample_queues_of(struct sample_queues *all, uint32_t process)
{
	struct sample_queue *grown;

	for (size_t i = 0; i < all->count; i++) {
		if (all->items[i].process == process)
			return &all->items[i];
	}
	grown = array_grow(all->items, &all->cap, all->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	all->items = grown;
	grown[all->count] = (struct sample_queue){ .process = process };
	return &grown[all->count++];
}

void sample_queues_release(struct sample_queues *all)
{
	for (size_t i = 0; i < all->count; i++)
		sample_queue_release(&all->items[i]);
	free(all->items);
	memset(all, 0, sizeof(*all));
}

/* Whole microseconds, rounded down, also below 0. */
static int64_t to_us(int64_t ns)
{
	return ns / 1000 - (ns % 1000 < 0);
}

/*
 * What a sample has in a column; `last_us` is the first time of the one before it.
 * The details are a column of those samples alone that have some.
 */
static uint64_t value_of(const struct sample *s, enum samples_column column, int64_t last_us)
{
	switch (column) {
	case SAMPLES_THREADS:
		return s->thread;
	case SAMPLES_TIMES:
		return zigzag(to_us(s->first_ns) - last_us);
	case SAMPLES_LENGTHS:
		return s->last_ns > s->first_ns ? (uint64_t)(to_us(s->last_ns) - to_us(s->first_ns))
						: 0;
	case SAMPLES_COUNTS:
		return s->count;
	case SAMPLES_STACKS:
		return s->stack;
	case SAMPLES_FLAGS:
		return s->flags;
	default:
		return 0;
	}
}

static void encode_column(struct buf *out, const struct sample_queue *q, enum samples_column c)
{
	int64_t last_us = to_us(q->items[0].first_ns);

	for (size_t i = 0; i < q->count; i++) {
		const struct sample *s = &q->items[i];

		if (c == SAMPLES_DETAILS) {
			if (!(s->flags & SAMPLE_WAITS_FOR_LOCK))
				continue;
			buf_add_varint(out, s->lock);
			buf_add_varint(out, s->holder);
			continue;
		}
		buf_add_varint(out, value_of(s, c, last_us));
		last_us = to_us(s->first_ns);
	}
}

int sample_queue_encode(struct sample_queue *q, struct buf *out)
{
	uint8_t prefix[SAMPLES_PREFIX_BYTES];

	buf_clear(out);
	memset(prefix, 0, sizeof(prefix));
	put_le(prefix, (uint64_t)(to_us(q->items[0].first_ns) * 1000), 8);
	buf_add(out, prefix, sizeof(prefix));
	for (unsigned c = 0; c < SAMPLES_COLUMNS; c++) {
		size_t before = out->len;

		encode_column(out, q, (enum samples_column)c);
		put_le(prefix + 8 + (size_t)4 * c, out->len - before, 4);
	}
	if (out->failed)
		return -1;
	memcpy(out->data, prefix, sizeof(prefix));
	q->count = 0;
	return 0;
}

static bool time_is_sound(int64_t us)
{
	return us > -TRACE_TIME_LIMIT / 1000 && us < TRACE_TIME_LIMIT / 1000;
}

/* False: no sample has this value. */
static bool take_value(struct sample *s, enum samples_column column, uint64_t value,
		       int64_t *last_us)
{
	uint32_t *const words[SAMPLES_COLUMNS] = {
		[SAMPLES_THREADS] = &s->thread,
		[SAMPLES_COUNTS] = &s->count,
		[SAMPLES_STACKS] = &s->stack,
		[SAMPLES_FLAGS] = &s->flags,
	};

	if (column == SAMPLES_TIMES) {
		int64_t delta_us = unzigzag(value);

		if (!time_is_sound(delta_us) || !time_is_sound(*last_us + delta_us))
			return false;
		*last_us += delta_us;
		s->first_ns = *last_us * 1000;
		return true;
	}
	if (column == SAMPLES_LENGTHS) {
		if (value >= (uint64_t)TRACE_TIME_LIMIT / 1000 ||
		    !time_is_sound(s->first_ns / 1000 + (int64_t)value))
			return false;
		s->last_ns = s->first_ns + (int64_t)value * 1000;
		return true;
	}
	*words[column] = (uint32_t)value;
	return value <= UINT32_MAX && (column != SAMPLES_COUNTS || value > 0);
}

static const uint8_t *take_details(struct sample *s, const uint8_t *p, const uint8_t *end)
{
	uint64_t holder = 0;

	p = varint_get(p, end, &s->lock);
	p = p ? varint_get(p, end, &holder) : NULL;
	s->holder = (uint32_t)holder;
	return holder <= UINT32_MAX ? p : NULL;
}

static int decode_column(struct sample *out, size_t count, enum samples_column column,
			 int64_t base_ns, const uint8_t *p, const uint8_t *end)
{
	int64_t last_us = base_ns / 1000;

	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		if (column == SAMPLES_DETAILS) {
			if (out[i].flags & SAMPLE_WAITS_FOR_LOCK)
				p = take_details(&out[i], p, end);
		} else {
			p = varint_get(p, end, &value);
			if (p && !take_value(&out[i], column, value, &last_us))
				p = NULL;
		}
		if (!p)
			return -1;
	}
	return p == end ? 0 : -1;
}

int samples_decode(struct sample *out, size_t count, const uint8_t *payload, size_t bytes)
{
	const uint8_t *p = payload + SAMPLES_PREFIX_BYTES;
	size_t left = bytes - SAMPLES_PREFIX_BYTES;
	int64_t base_ns;

	if (bytes < SAMPLES_PREFIX_BYTES)
		return -1;
	base_ns = (int64_t)get_le(payload, 8);
	if (!time_is_sound(base_ns / 1000))
		return -1;
	memset(out, 0, count * sizeof(*out));
	for (unsigned c = 0; c < SAMPLES_COLUMNS; c++) {
		uint32_t column_bytes = (uint32_t)get_le(payload + 8 + (size_t)4 * c, 4);

		if (column_bytes > left ||
		    decode_column(out, count, (enum samples_column)c, base_ns, p, p + column_bytes))
			return -1;
		p += column_bytes;
		left -= column_bytes;
	}
	return left ? -1 : 0;
}
