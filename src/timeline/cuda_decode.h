/*
 * The one decoder of what a trace says of CUDA calls and of the device's work (format/record.h).
 * Pure: a payload in, numbers out.  Numbers beyond what a field can be are cut to its largest.
 */
#ifndef TIMELINE_CUDA_DECODE_H
#define TIMELINE_CUDA_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/trace.h"
#include "timeline/gpu.h"

#define STREAM_UNKNOWN UINT32_MAX

/* A payload, or what is left of it. */
struct payload {
	const uint8_t *at, *end;
};

static inline struct payload event_payload(const struct event_batch *b, size_t i)
{
	return (struct payload){ b->payload + b->payload_at[i], b->payload + b->payload_at[i + 1] };
}

static inline uint32_t cut_to_u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/*
 * Up to n varints, which p is moved behind; 0 where it ends early.  Returns how many there were;
 * p->at is NULL where one of them is none.
 */
size_t payload_fields(struct payload *p, uint64_t *fields, size_t n);

/* RECORD_CUDA_ENTER; the id of the record is the name's. */
struct cuda_entry {
	enum cuda_call what;
	uint32_t correlation;
	uint32_t stack;  /* id; 0: none */
	uint32_t stream; /* that it waits for; STREAM_UNKNOWN */
	uint64_t bytes;
};

bool cuda_entry_decode(struct cuda_entry *out, const struct event_batch *b, size_t i);

/*
 * RECORD_GPU_KERNEL to _GRAPH.  A program does the same work again and again: only times and
 * correlation differ.  They are decoded first; the rest, `where` and `what`, is the key by which
 * equal work is known, and is decoded once.
 */
struct work_record {
	uint64_t start_ns, duration_ns; /* CLOCK_MONOTONIC; start 0: unknown */
	uint32_t correlation;
	struct payload where, what;
};

/* What a key can have at most. */
#define WORK_WHERE_MAX 30u
#define WORK_WHAT_MAX 110u

bool work_record_decode(struct work_record *out, const struct event_batch *b, size_t i);

/* Everything but process, capture and a kernel's name; id and kind are the record's. */
void work_decode(struct gpu_work *out, const struct work_record *r, uint8_t kind, uint32_t id);

#endif
