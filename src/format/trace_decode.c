/*
 * The events of one block, unpacked column by column.  The kinds and the
 * payload stay where decompression put them; times, ids and payload positions
 * are written to arrays.  Everything is checked against the block's own sizes:
 * a checksum says that a block is as it was written, not who wrote it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/varint.h"
#include "format/trace_reader.h"
#include "format/trace_samples.h"
#include "format/trace_series.h"

struct batch_memory {
	struct block_payload payload;
	size_t cap; /* events the arrays have room for */
	uint32_t *ids;
	int64_t *times_ns;
	uint32_t *payload_at;
};

void event_batch_init(struct event_batch *b)
{
	memset(b, 0, sizeof(*b));
}

static void arrays_free(struct batch_memory *m)
{
	free(m->ids);
	free(m->times_ns);
	free(m->payload_at);
	m->ids = m->payload_at = NULL;
	m->times_ns = NULL;
	m->cap = 0;
}

void event_batch_release(struct event_batch *b)
{
	struct batch_memory *m = b->memory;

	if (m) {
		block_payload_release(&m->payload);
		arrays_free(m);
		free(m);
	}
	event_batch_init(b);
}

static int arrays_fit(struct batch_memory *m, size_t count)
{
	if (count <= m->cap)
		return 0;
	arrays_free(m);
	m->ids = malloc(count * sizeof(*m->ids));
	m->times_ns = malloc(count * sizeof(*m->times_ns));
	m->payload_at = malloc((count + 1) * sizeof(*m->payload_at));
	if (!m->ids || !m->times_ns || !m->payload_at) {
		arrays_free(m);
		return -1;
	}
	m->cap = count;
	return 0;
}

/* varint_get() with the two shortest lengths first: nearly all values are that small. */
static inline const uint8_t *next_varint(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
	if (end - p >= 2) {
		if (p[0] < 0x80) {
			*value = p[0];
			return p + 1;
		}
		if (p[1] < 0x80) {
			*value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
			return p + 2;
		}
	}
	return varint_get(p, end, value);
}

static int decode_times(int64_t *times_ns, size_t count, int64_t base_ns, const uint8_t *p,
			const uint8_t *end)
{
	uint64_t now = (uint64_t)base_ns;
	uint64_t odd = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t delta;

		p = next_varint(p, end, &delta);
		if (!p)
			return -1;
		now += (uint64_t)unzigzag(delta);
		odd |= (now + (TRACE_TIME_LIMIT - 1)) > 2u * (TRACE_TIME_LIMIT - 1);
		times_ns[i] = (int64_t)now;
	}
	return odd || p != end ? -1 : 0;
}

static int decode_ids(uint32_t *ids, size_t count, const uint8_t *p, const uint8_t *end)
{
	uint64_t odd = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t id;

		p = next_varint(p, end, &id);
		if (!p)
			return -1;
		odd |= id >> 32;
		ids[i] = (uint32_t)id;
	}
	return odd || p != end ? -1 : 0;
}

static int decode_lengths(uint32_t *payload_at, const uint8_t *kinds, size_t count,
			  uint32_t payload_bytes, const uint8_t *p, const uint8_t *end)
{
	uint32_t at = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes;

		payload_at[i] = at;
		if (!(kinds[i] & RECORD_PAYLOAD))
			continue;
		p = next_varint(p, end, &bytes);
		if (!p || bytes > payload_bytes - at)
			return -1;
		at += (uint32_t)bytes;
	}
	payload_at[count] = at;
	return at == payload_bytes && p == end ? 0 : -1;
}

static int decode(struct event_batch *b, struct batch_memory *m, const struct block_header *h)
{
	const uint8_t *p = m->payload.data;
	struct events_prefix prefix;
	const uint8_t *kinds, *times, *ids, *lengths, *payload;

	if (m->payload.bytes < EVENTS_PREFIX_BYTES)
		return -1;
	prefix.base_ns = (int64_t)get_le(p, 8);
	prefix.times_bytes = (uint32_t)get_le(p + 8, 4);
	prefix.ids_bytes = (uint32_t)get_le(p + 12, 4);
	prefix.lengths_bytes = (uint32_t)get_le(p + 16, 4);
	prefix.payload_bytes = (uint32_t)get_le(p + 20, 4);
	if ((uint64_t)EVENTS_PREFIX_BYTES + h->count + prefix.times_bytes + prefix.ids_bytes +
		    prefix.lengths_bytes + prefix.payload_bytes !=
	    m->payload.bytes)
		return -1;
	kinds = p + EVENTS_PREFIX_BYTES;
	times = kinds + h->count;
	ids = times + prefix.times_bytes;
	lengths = ids + prefix.ids_bytes;
	payload = lengths + prefix.lengths_bytes;
	if (decode_times(m->times_ns, h->count, prefix.base_ns, times, ids) ||
	    decode_ids(m->ids, h->count, ids, lengths) ||
	    decode_lengths(m->payload_at, kinds, h->count, prefix.payload_bytes, lengths, payload))
		return -1;
	b->count = h->count;
	b->first_index = h->first_index;
	b->kinds = kinds;
	b->ids = m->ids;
	b->times_ns = m->times_ns;
	b->payload_at = m->payload_at;
	b->payload = payload;
	return 0;
}

static int damaged(const struct trace *t, uint64_t offset, const char *why, struct err *err)
{
	if (!strcmp(why, TRACE_NO_MEMORY))
		return err_set(err, "cannot read %s: " TRACE_NO_MEMORY, t->path);
	return err_set(err, "%s is damaged at offset %llu of %llu: %s", t->path,
		       (unsigned long long)offset, (unsigned long long)trace_byte_count(t), why);
}

size_t trace_batch_count(const struct trace *t, size_t thread)
{
	const struct thread_entry *threads = t->threads.items;

	return threads[thread].block_count;
}

int trace_batch_read(const struct trace *t, size_t thread, size_t nth, struct event_batch *b,
		     struct err *err)
{
	const struct thread_entry *threads = t->threads.items;
	const struct event_block *blocks = t->blocks.items;
	const struct event_block *block = &blocks[threads[thread].first_block + nth];
	struct batch_memory *m = b->memory;
	const char *why = "its columns are inconsistent";

	b->count = 0;
	if (!m)
		m = b->memory = calloc(1, sizeof(*m));
	if (!m || arrays_fit(m, block->header.count))
		return err_set(err, "cannot read %s: out of memory", t->path);
	if (block_payload_read(&m->payload, t->fd, block->offset, &block->header, &why) ||
	    decode(b, m, &block->header))
		return damaged(t, block->offset, why, err);
	return 0;
}

struct sample_memory {
	struct block_payload payload;
	struct sample *samples;
	size_t cap;
};

void sample_batch_init(struct sample_batch *b)
{
	memset(b, 0, sizeof(*b));
}

void sample_batch_release(struct sample_batch *b)
{
	struct sample_memory *m = b->memory;

	if (m) {
		block_payload_release(&m->payload);
		free(m->samples);
		free(m);
	}
	sample_batch_init(b);
}

size_t trace_sample_batch_count(const struct trace *t)
{
	return t->samples.count;
}

static int samples_fit(struct sample_memory *m, size_t count)
{
	struct sample *grown = array_grow(m->samples, &m->cap, count, sizeof(*grown));

	if (!grown)
		return -1;
	m->samples = grown;
	return 0;
}

int trace_sample_batch_read(const struct trace *t, size_t nth, struct sample_batch *b,
			    struct err *err)
{
	const struct column_block *block = (const struct column_block *)t->samples.items + nth;
	struct sample_memory *m = b->memory;
	const char *why = "its columns are inconsistent";

	b->count = 0;
	if (!m)
		m = b->memory = calloc(1, sizeof(*m));
	if (!m || samples_fit(m, block->header.count))
		return err_set(err, "cannot read %s: out of memory", t->path);
	if (block_payload_read(&m->payload, t->fd, block->offset, &block->header, &why) ||
	    samples_decode(m->samples, block->header.count, m->payload.data, m->payload.bytes))
		return damaged(t, block->offset, why, err);
	b->process = (uint32_t)block->header.thread;
	b->count = block->header.count;
	b->samples = m->samples;
	return 0;
}

struct series_memory {
	struct block_payload payload;
	struct series_point *points; /* and behind them as much room for decoding */
	size_t cap;
};

void series_batch_init(struct series_batch *b)
{
	memset(b, 0, sizeof(*b));
}

void series_batch_release(struct series_batch *b)
{
	struct series_memory *m = b->memory;

	if (m) {
		block_payload_release(&m->payload);
		free(m->points);
		free(m);
	}
	series_batch_init(b);
}

size_t trace_series_batch_count(const struct trace *t)
{
	return t->series.count;
}

int trace_series_batch_read(const struct trace *t, size_t nth, struct series_batch *b,
			    struct err *err)
{
	const struct column_block *block = (const struct column_block *)t->series.items + nth;
	size_t count = block->header.count;
	struct series_memory *m = b->memory;
	const char *why = "its columns are inconsistent";
	struct series_point *grown;

	b->count = 0;
	if (!m)
		m = b->memory = calloc(1, sizeof(*m));
	grown = m ? array_grow(m->points, &m->cap, 2 * count, sizeof(*grown)) : NULL;
	if (!grown)
		return err_set(err, "cannot read %s: out of memory", t->path);
	m->points = grown;
	if (block_payload_read(&m->payload, t->fd, block->offset, &block->header, &why) ||
	    series_decode(grown, grown + count, count, m->payload.data, m->payload.bytes))
		return damaged(t, block->offset, why, err);
	b->count = count;
	b->points = grown;
	return 0;
}
