/*
 * The bytes of a trace file, shared by its writer and its reader and by no one
 * else.  docs/FORMAT.md is the specification; this is its transcription.
 */
#ifndef FORMAT_TRACE_LAYOUT_H
#define FORMAT_TRACE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/varint.h"
#include "format/record.h"

#define TRACE_MAGIC "ISCTRACE"
#define TRACE_VERSION 1u
#define TRACE_HEADER_BYTES 48u
#define TRACE_HEADER_BYTES_MAX 4096u

#define BLOCK_MAGIC 0x42435349u /* "ISCB" */
#define BLOCK_HEADER_BYTES 48u
#define BLOCK_RAW_MAX (16u << 20)
#define BLOCK_EVENTS_MAX (1u << 20)

/*
 * What the blocks of a file of N bytes may unpack to: N times the first plus the second.  Real
 * traces unpack to 2 to 7 times their size; this bounds what a forged one can make a reader do.
 */
#define TRACE_UNPACK_RATIO 32u
#define TRACE_UNPACK_FREE (4u << 20)

/* Times lie strictly between -TRACE_TIME_LIMIT and TRACE_TIME_LIMIT: differences never overflow. */
#define TRACE_TIME_LIMIT ((int64_t)1 << 62)
#define TRACE_INDEX_LIMIT ((uint64_t)1 << 62)

enum block_type {
	BLOCK_INFO = 1,
	BLOCK_NOTE = 2,
	BLOCK_PROCESS = 3,
	BLOCK_THREAD = 4,
	BLOCK_DEFS = 5,
	BLOCK_EVENTS = 6,
	BLOCK_END = 7,
	BLOCK_SAMPLES = 8,
	BLOCK_SERIES = 9,
	BLOCK_WATCHED = 10,
};

enum block_codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };

struct block_header {
	uint16_t type;
	uint16_t codec;
	uint32_t stored_bytes;
	uint32_t raw_bytes;
	uint64_t thread;
	uint64_t first_index;
	uint32_t count;
	uint32_t payload_crc;
};

/* An EVENTS payload: this prefix, then the columns in this order, kinds first. */
#define EVENTS_PREFIX_BYTES 24u

struct events_prefix {
	int64_t base_ns;
	uint32_t times_bytes;
	uint32_t ids_bytes;
	uint32_t lengths_bytes;
	uint32_t payload_bytes;
};

/* A SAMPLES payload: i64 base time, u32 bytes of each column, then the columns in this order. */
enum samples_column {
	SAMPLES_THREADS,
	SAMPLES_TIMES,
	SAMPLES_LENGTHS,
	SAMPLES_COUNTS,
	SAMPLES_STACKS,
	SAMPLES_FLAGS,
	SAMPLES_DETAILS,
	SAMPLES_COLUMNS,
};

#define SAMPLES_PREFIX_BYTES (8u + 4u * SAMPLES_COLUMNS)

/* A SERIES payload: likewise. */
enum series_column {
	SERIES_COLUMN_TABLE, /* the series of the block */
	SERIES_COLUMN_TIMES,
	SERIES_COLUMN_REFS, /* which series, by its place in the table */
	SERIES_COLUMN_VALUES,
	SERIES_COLUMNS,
};

#define SERIES_PREFIX_BYTES (8u + 4u * SERIES_COLUMNS)

static inline void put_le(uint8_t *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t get_le(const uint8_t *from, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

/*
 * The events of one thread that are not written yet, and their coding as the
 * payload of an EVENTS block.
 */

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
