/*
 * Damaged traces whose checksums are right.  A seed is taken apart into its blocks, unpacked; a
 * mutant is a copy of them in which fields, entries, events and blocks have been changed, put
 * together again.  It depends on the seeds and one number only, so any of them can be made again.
 *
 * It is longer than 600 lines because every kind of block has mutations of its own.
 */
#ifndef FUZZ_TRACE_MUTANT_H
#define FUZZ_TRACE_MUTANT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/varint.h"
#include "format/trace_layout.h"

#define MUTANT_BYTES 24576u        /* about as much as a mutant keeps of a long seed's events */
#define MUTANT_BOMB_EVENTS 100000u /* in a block made of repetitions */

struct mutant_block {
	struct block_header header; /* its sizes, codec and checksum are computed */
	uint8_t *raw;
	size_t bytes;
	bool sizes_forged; /* header.raw_bytes and codec are used as they stand */
	bool packed;
};

struct mutant_seed {
	struct mutant_block *blocks;
	size_t count, cap;
};

struct mutant_random {
	uint64_t state;
};

static void mutant_need(bool ok)
{
	if (!ok)
		abort();
}

/* splitmix64 */
static uint64_t mutant_next(struct mutant_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* From 0 to n - 1; 0 where n is 0. */
static size_t mutant_below(struct mutant_random *r, size_t n)
{
	return n ? (size_t)(mutant_next(r) % n) : 0;
}

static bool mutant_one_in(struct mutant_random *r, size_t n)
{
	return !mutant_below(r, n);
}

/* A number that a program is likely to be wrong about, or one near `old`. */
static uint64_t mutant_number(struct mutant_random *r, uint64_t old)
{
	static const uint64_t odd[] = {
		0,
		1,
		2,
		7,
		127,
		128,
		255,
		256,
		4096,
		65535,
		65536,
		1u << 20,
		INT32_MAX,
		1u << 31,
		UINT32_MAX,
		1ull << 32,
		INT64_MAX,
		1ull << 63,
		UINT64_MAX,
		1ull << 61,
		1ull << 62,
		(1ull << 62) - 1,
		(1ull << 63) - 2,
		1000000000,
	};

	switch (mutant_below(r, 4)) {
	case 0:
		return old + mutant_below(r, 9) - 4;
	case 1:
		return mutant_next(r) >> mutant_below(r, 64);
	default:
		return odd[mutant_below(r, sizeof(odd) / sizeof(*odd))];
	}
}

static struct mutant_block *mutant_add(struct mutant_seed *s, const struct mutant_block *from)
{
	struct mutant_block *b;

	if (s->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->blocks = realloc(s->blocks, s->cap * sizeof(*s->blocks));
		mutant_need(s->blocks != NULL);
	}
	b = &s->blocks[s->count++];
	*b = *from;
	b->raw = malloc(from->bytes + 1);
	mutant_need(b->raw != NULL);
	if (from->bytes)
		memcpy(b->raw, from->raw, from->bytes);
	return b;
}

static void mutant_release(struct mutant_seed *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->blocks[i].raw);
	free(s->blocks);
	memset(s, 0, sizeof(*s));
}

static void mutant_remove(struct mutant_seed *s, size_t at)
{
	free(s->blocks[at].raw);
	memmove(&s->blocks[at], &s->blocks[at + 1], (--s->count - at) * sizeof(*s->blocks));
}

/* Takes a file apart, up to where it makes no sense; checksums do not matter. */
static void mutant_seed_read(struct mutant_seed *s, const uint8_t *data, size_t size)
{
	size_t at = size >= TRACE_HEADER_BYTES ? (size_t)get_le(data + 12, 4) : size;

	while (at < size && size - at >= BLOCK_HEADER_BYTES) {
		const uint8_t *head = data + at, *stored = head + BLOCK_HEADER_BYTES;
		struct mutant_block b = { 0 };
		size_t bytes = (size_t)get_le(head + 8, 4), raw = (size_t)get_le(head + 12, 4);

		at += BLOCK_HEADER_BYTES;
		if (bytes > size - at || raw > BLOCK_RAW_MAX)
			return;
		at += bytes;
		b.header.type = (uint16_t)get_le(head + 4, 2);
		b.header.thread = get_le(head + 16, 8);
		b.header.first_index = get_le(head + 24, 8);
		b.header.count = (uint32_t)get_le(head + 32, 4);
		b.packed = get_le(head + 6, 2) == CODEC_ZSTD;
		b.bytes = b.packed ? raw : bytes;
		b.raw = malloc(b.bytes + 1);
		mutant_need(b.raw != NULL);
		if (!b.packed)
			memcpy(b.raw, stored, bytes);
		if (!b.packed || ZSTD_decompress(b.raw, raw, stored, bytes) == raw)
			mutant_add(s, &b);
		free(b.raw);
	}
}

/* Replaces `cut` bytes at `at`. */
static void mutant_replace(struct mutant_block *b, size_t at, size_t cut, const void *with,
			   size_t n)
{
	uint8_t *raw = malloc(b->bytes - cut + n + 1);

	mutant_need(raw != NULL);
	memcpy(raw, b->raw, at);
	if (n)
		memcpy(raw + at, with, n);
	memcpy(raw + at + n, b->raw + at + cut, b->bytes - at - cut);
	free(b->raw);
	b->raw = raw;
	b->bytes += n - cut;
}

/* A varint in the middle of some bytes becomes another one. */
static void mutant_varint(struct mutant_random *r, struct mutant_block *b)
{
	uint8_t text[VARINT_MAX];
	uint64_t old = 0;
	size_t at = mutant_below(r, b->bytes);
	const uint8_t *end;

	if (!b->bytes)
		return;
	end = varint_get(b->raw + at, b->raw + b->bytes, &old);
	mutant_replace(b, at, end ? (size_t)(end - b->raw) - at : 1, text,
		       varint_put(text, mutant_number(r, old)));
}

static void mutant_bytes(struct mutant_random *r, struct mutant_block *b)
{
	size_t at = mutant_below(r, b->bytes), n = mutant_below(r, 8);

	if (!b->bytes)
		return;
	switch (mutant_below(r, 4)) {
	case 0:
		b->raw[at] ^= (uint8_t)(1u << mutant_below(r, 8));
		break;
	case 1:
		b->raw[at] = (uint8_t)mutant_next(r);
		break;
	case 2:
		mutant_replace(b, at, n < b->bytes - at ? n : b->bytes - at, NULL, 0);
		break;
	default:
		put_le(b->raw + at, mutant_number(r, 0),
		       b->bytes - at < 4 ? (unsigned)(b->bytes - at) : 4);
		break;
	}
}

static void mutant_header(struct mutant_random *r, struct mutant_block *b)
{
	struct block_header *h = &b->header;

	switch (mutant_below(r, 6)) {
	case 0:
		h->count = (uint32_t)mutant_number(r, h->count);
		break;
	case 1:
		h->thread = mutant_number(r, h->thread);
		break;
	case 2:
		h->first_index = mutant_number(r, h->first_index);
		break;
	case 3:
		h->type = (uint16_t)mutant_below(r, BLOCK_WATCHED + 2);
		break;
	case 4:
		b->sizes_forged = true;
		h->codec = (uint16_t)mutant_below(r, 3);
		h->raw_bytes = (uint32_t)mutant_number(r, b->bytes);
		break;
	default:
		b->packed = !b->packed;
		break;
	}
}

/* Table blocks: an entry is a varint length and that many bytes. */
static void mutant_entry(struct mutant_random *r, struct mutant_block *b)
{
	size_t nth = mutant_below(r, b->header.count), at = 0, next = 0;
	uint8_t text[VARINT_MAX];
	struct mutant_block entry = { 0 };
	uint64_t n = 0;

	for (size_t i = 0; i <= nth; i++) {
		const uint8_t *p = varint_get(b->raw + next, b->raw + b->bytes, &n);

		if (!p || n > (size_t)(b->raw + b->bytes - p))
			return;
		at = next;
		next = (size_t)(p - b->raw) + (size_t)n;
	}
	entry.bytes = (size_t)n;
	entry.raw = malloc(entry.bytes + 1);
	mutant_need(entry.raw != NULL);
	memcpy(entry.raw, b->raw + next - n, entry.bytes);
	if (mutant_one_in(r, 4)) /* there twice */
		b->header.count++;
	else
		mutant_replace(b, at, next - at, NULL, 0);
	for (size_t i = mutant_below(r, 3) + 1; i; i--)
		mutant_one_in(r, 3) ? mutant_bytes(r, &entry) : mutant_varint(r, &entry);
	mutant_replace(b, at, 0, entry.raw, entry.bytes);
	mutant_replace(b, at, 0, text, varint_put(text, entry.bytes));
	free(entry.raw);
}

/* Table blocks: an entry again and again, each with an id of its own. */
static void mutant_entry_bomb(struct mutant_random *r, struct mutant_block *b)
{
	size_t many = 1 + mutant_below(r, MUTANT_BOMB_EVENTS / 10), id_at = 0;
	const uint8_t *p, *end;
	uint8_t text[VARINT_MAX];
	uint64_t n = 0, id = 0;
	struct buf out;

	p = varint_get(b->raw, b->raw + b->bytes, &n);
	if (!p || !n || n > (size_t)(b->raw + b->bytes - p))
		return;
	id_at = b->header.type == BLOCK_DEFS; /* behind the kind */
	end = n > id_at ? varint_get(p + id_at, p + n, &id) : NULL;
	if (!end)
		return;
	buf_init(&out);
	for (size_t i = 0; i < many; i++) {
		size_t id_bytes = varint_put(text, (uint32_t)(id + i)),
		       rest = (size_t)(p + n - end);

		buf_add_varint(&out, id_at + id_bytes + rest);
		buf_add(&out, p, id_at);
		buf_add(&out, text, id_bytes);
		buf_add(&out, end, rest);
	}
	mutant_need(!out.failed);
	free(b->raw);
	b->raw = (uint8_t *)out.data;
	b->bytes = out.len;
	b->header.count = (uint32_t)many;
	b->packed = true;
}

/* SAMPLES and SERIES: columns of varints, whose lengths stand in front. */
static void mutant_column(struct mutant_random *r, struct mutant_block *b)
{
	size_t columns = b->header.type == BLOCK_SAMPLES ? SAMPLES_COLUMNS : SERIES_COLUMNS;
	size_t column = mutant_below(r, columns), at = 8 + 4 * columns, n, old_bytes, new_bytes;
	uint8_t text[VARINT_MAX], *size = b->raw + 8 + 4 * column;
	const uint8_t *p, *end, *next;
	uint64_t old = 0;

	if (b->bytes < at)
		return;
	for (size_t i = 0; i < column; i++)
		at += (size_t)get_le(b->raw + 8 + 4 * i, 4);
	n = (size_t)get_le(size, 4);
	if (!n || at > b->bytes || n > b->bytes - at)
		return;
	p = b->raw + at;
	end = p + n;
	for (size_t skip = mutant_below(r, b->header.count); skip; skip--) {
		next = varint_get(p, end, &old);
		if (!next || next == end)
			break;
		p = next;
	}
	next = varint_get(p, end, &old);
	if (!next)
		return;
	old_bytes = (size_t)(next - p);
	new_bytes = varint_put(text, mutant_one_in(r, 2) ? (uint32_t)mutant_number(r, old)
							 : mutant_number(r, old));
	put_le(size, n + new_bytes - old_bytes, 4);
	mutant_replace(b, (size_t)(p - b->raw), old_bytes, text, new_bytes);
}

/* An event of a block, as its columns have it. */
struct mutant_event {
	uint64_t delta, id;
	uint64_t bytes;
	uint8_t kind;
	const uint8_t *payload;
};

static bool mutant_events_read(const struct mutant_block *b, struct mutant_event *events, size_t n)
{
	const uint8_t *p = b->raw + EVENTS_PREFIX_BYTES + n, *end = b->raw + b->bytes;
	const uint8_t *payload;

	for (size_t i = 0; i < n && p; i++)
		p = varint_get(p, end, &events[i].delta);
	for (size_t i = 0; i < n && p; i++)
		p = varint_get(p, end, &events[i].id);
	for (size_t i = 0; i < n && p; i++) {
		events[i].kind = b->raw[EVENTS_PREFIX_BYTES + i];
		if (events[i].kind & RECORD_PAYLOAD)
			p = varint_get(p, end, &events[i].bytes);
	}
	payload = p;
	for (size_t i = 0; i < n && p; i++) {
		if (events[i].bytes > (size_t)(end - payload))
			return false;
		events[i].payload = payload;
		payload += events[i].bytes;
	}
	return p != NULL;
}

static void mutant_events_write(struct mutant_block *b, const struct mutant_event *events, size_t n)
{
	uint8_t prefix[EVENTS_PREFIX_BYTES] = { 0 };
	struct buf out;
	size_t before;

	memcpy(prefix, b->raw, 8);
	buf_init(&out);
	buf_add(&out, prefix, sizeof(prefix));
	for (size_t i = 0; i < n; i++)
		buf_add_byte(&out, events[i].kind);
	for (unsigned column = 0; column < 4; column++) {
		before = out.len;
		for (size_t i = 0; i < n; i++) {
			const struct mutant_event *e = &events[i];

			if (column < 2)
				buf_add_varint(&out, column ? e->id : e->delta);
			else if (e->kind & RECORD_PAYLOAD && column == 2)
				buf_add_varint(&out, e->bytes);
			else if (e->kind & RECORD_PAYLOAD)
				buf_add(&out, e->payload, (size_t)e->bytes);
		}
		put_le(prefix + 8 + (size_t)4 * column, out.len - before, 4);
	}
	mutant_need(!out.failed);
	memcpy(out.data, prefix, sizeof(prefix));
	free(b->raw);
	b->raw = (uint8_t *)out.data;
	b->bytes = out.len;
	b->header.count = (uint32_t)n;
}

/* Payloads are varints, most of them. */
static void mutant_payload(struct mutant_random *r, struct mutant_event *e, uint8_t room[64])
{
	struct mutant_block b = { .bytes = e->bytes < 40 ? (size_t)e->bytes : 40 };

	b.raw = malloc(b.bytes + 1);
	mutant_need(b.raw != NULL);
	if (b.bytes)
		memcpy(b.raw, e->payload, b.bytes);
	mutant_one_in(r, 4) ? mutant_bytes(r, &b) : mutant_varint(r, &b);
	e->bytes = b.bytes < 64 ? b.bytes : 64;
	memcpy(room, b.raw, (size_t)e->bytes);
	e->payload = room;
	free(b.raw);
}

static void mutant_event(struct mutant_random *r, struct mutant_event *events, size_t n, size_t at,
			 uint8_t room[64])
{
	struct mutant_event *e = &events[at], other = events[mutant_below(r, n)];

	switch (mutant_below(r, 7)) {
	case 0:
		e->kind = (uint8_t)((e->kind & RECORD_PAYLOAD) | (1 + mutant_below(r, 36)));
		break;
	case 1:
		e->id = (uint32_t)mutant_number(r, e->id);
		break;
	case 2:
		e->id = other.id;
		break;
	case 3:
		e->delta = zigzag((int64_t)mutant_number(r, 0) / 4);
		break;
	case 4:
		*e = other;
		break;
	case 5:
		e->delta = zigzag((int64_t)mutant_below(r, 2000000) - 1000000);
		break;
	default:
		if (e->kind & RECORD_PAYLOAD)
			mutant_payload(r, e, room);
		break;
	}
}

static void mutant_events(struct mutant_random *r, struct mutant_block *b)
{
	size_t n = b->header.count, changes = 1 + mutant_below(r, mutant_one_in(r, 8) ? 64 : 6);
	struct mutant_event *events;
	uint8_t rooms[64][64];

	if (!n || n > BLOCK_EVENTS_MAX || b->bytes < EVENTS_PREFIX_BYTES + n)
		return;
	events = calloc(n, sizeof(*events));
	mutant_need(events != NULL);
	if (mutant_events_read(b, events, n)) {
		while (changes--)
			mutant_event(r, events, n, mutant_below(r, n), rooms[changes]);
		mutant_events_write(b, events, n);
	}
	free(events);
}

/* A few events again and again: a small file with many of them. */
static void mutant_bomb(struct mutant_random *r, struct mutant_block *b)
{
	size_t n = b->header.count, few, from, many = mutant_below(r, MUTANT_BOMB_EVENTS) + 1;
	struct mutant_event *events, *all;

	if (!n || n > BLOCK_EVENTS_MAX || b->bytes < EVENTS_PREFIX_BYTES + n)
		return;
	few = 1 + mutant_below(r, n < 16 ? n : 16);
	from = mutant_below(r, n - few + 1);
	events = calloc(n, sizeof(*events));
	all = calloc(many, sizeof(*all));
	mutant_need(events && all);
	if (mutant_events_read(b, events, n)) {
		bool count_up = mutant_one_in(r, 2);

		for (size_t i = 0; i < many; i++) {
			all[i] = events[from + i % few];
			all[i].id += count_up ? (uint32_t)(i / few) : 0;
		}
		mutant_events_write(b, all, many);
		b->packed = true;
	}
	free(events);
	free(all);
}

/* The block stays one that a reader takes, mostly. */
static void mutant_content(struct mutant_random *r, struct mutant_block *b)
{
	if (b->header.type == BLOCK_EVENTS)
		mutant_one_in(r, 40) ? mutant_bomb(r, b) : mutant_events(r, b);
	else if (b->header.type == BLOCK_SAMPLES || b->header.type == BLOCK_SERIES)
		mutant_column(r, b);
	else if (b->header.type != BLOCK_END)
		mutant_one_in(r, 40) ? mutant_entry_bomb(r, b) : mutant_entry(r, b);
}

/* Rather one with events, samples, points or names: a bad one of the others ends the reading. */
static struct mutant_block *mutant_pick(struct mutant_random *r, struct mutant_seed *m)
{
	struct mutant_block *b = NULL;

	for (unsigned tries = 0; tries < 4; tries++) {
		b = &m->blocks[mutant_below(r, m->count)];
		if (b->header.type == BLOCK_EVENTS || b->header.type == BLOCK_SAMPLES ||
		    b->header.type == BLOCK_SERIES || b->header.type == BLOCK_DEFS)
			break;
	}
	return b;
}

/* Blocks are damaged, lost, repeated, moved, taken from other traces. */
static void mutant_change(struct mutant_random *r, struct mutant_seed *m,
			  const struct mutant_seed *seeds, size_t seed_count)
{
	const struct mutant_seed *other = &seeds[mutant_below(r, seed_count)];
	size_t at = mutant_below(r, m->count);
	struct mutant_block *b = &m->blocks[at], held;

	switch (mutant_below(r, 9)) {
	case 0:
		mutant_header(r, b);
		break;
	case 1:
		mutant_bytes(r, b);
		break;
	case 2:
		mutant_varint(r, b);
		break;
	case 3:
		if (m->count > 1)
			mutant_remove(m, at);
		break;
	case 4: /* twice, the second anywhere */
	case 5:
		held = *b;
		mutant_add(m, &held);
		at = m->count - 1;
		/* fall through */
	case 6: { /* moved */
		size_t to = mutant_below(r, m->count);

		held = m->blocks[at];
		m->blocks[at] = m->blocks[to];
		m->blocks[to] = held;
		break;
	}
	case 7: /* from another trace */
		if (other->count) {
			size_t to = mutant_below(r, m->count);

			mutant_add(m, &other->blocks[mutant_below(r, other->count)]);
			held = m->blocks[m->count - 1];
			m->blocks[m->count - 1] = m->blocks[to];
			m->blocks[to] = held;
		}
		break;
	default:
		mutant_content(r, b);
		break;
	}
}

static void mutant_put_block(struct buf *out, const struct mutant_block *b)
{
	uint8_t head[BLOCK_HEADER_BYTES] = { 0 }, *packed = NULL;
	const uint8_t *stored = b->raw;
	size_t bytes = b->bytes;
	uint16_t codec = CODEC_RAW;

	if (b->packed && b->bytes > 16) {
		size_t room = ZSTD_compressBound(b->bytes);

		packed = malloc(room);
		mutant_need(packed != NULL);
		room = ZSTD_compress(packed, room, b->raw, b->bytes, 1);
		if (!ZSTD_isError(room) && room < b->bytes) {
			stored = packed;
			bytes = room;
			codec = CODEC_ZSTD;
		}
	}
	put_le(head, BLOCK_MAGIC, 4);
	put_le(head + 4, b->header.type, 2);
	put_le(head + 6, b->sizes_forged ? b->header.codec : codec, 2);
	put_le(head + 8, bytes, 4);
	put_le(head + 12, b->sizes_forged ? b->header.raw_bytes : b->bytes, 4);
	put_le(head + 16, b->header.thread, 8);
	put_le(head + 24, b->header.first_index, 8);
	put_le(head + 32, b->header.count, 4);
	put_le(head + 40, crc32(0, head, 40), 4);
	put_le(head + 44, crc32(0, stored, (uInt)bytes), 4);
	buf_add(out, head, sizeof(head));
	buf_add(out, stored, bytes);
	free(packed);
}

static void mutant_put_header(struct buf *out)
{
	uint8_t head[TRACE_HEADER_BYTES] = { 0 };

	memcpy(head, TRACE_MAGIC, strlen(TRACE_MAGIC));
	put_le(head + 8, TRACE_VERSION, 4);
	put_le(head + 12, TRACE_HEADER_BYTES, 4);
	put_le(head + 16, 1700000000000000000u, 8);
	put_le(head + 24, 1000000000u, 8);
	put_le(head + 44, crc32(0, head, 44), 4);
	buf_add(out, head, sizeof(head));
}

/* A long seed has more events than a mutant needs; all its definitions stay. */
static void mutant_copy(struct mutant_random *r, struct mutant_seed *m,
			const struct mutant_seed *from)
{
	size_t bytes = 0;

	for (size_t i = 0; i < from->count; i++)
		bytes += from->blocks[i].header.type == BLOCK_EVENTS ? from->blocks[i].bytes : 0;
	for (size_t i = 0; i < from->count; i++) {
		if (from->blocks[i].header.type != BLOCK_EVENTS ||
		    mutant_below(r, bytes + 1) < MUTANT_BYTES)
			mutant_add(m, &from->blocks[i]);
	}
}

/* Mutant number `n` of these seeds, into an empty buffer. */
static void mutant_make(struct buf *out, const struct mutant_seed *seeds, size_t seed_count,
			uint64_t n)
{
	struct mutant_random r = { n * 0xd1342543de82ef95u + 1 };
	const struct mutant_seed *seed = &seeds[mutant_below(&r, seed_count)];
	size_t changes = 1 + mutant_below(&r, mutant_one_in(&r, 4) ? 24 : 6);
	bool rough = mutant_one_in(&r, 3); /* else the contents of blocks are changed only */
	struct mutant_seed m = { 0 };

	mutant_copy(&r, &m, seed);
	while (changes-- && m.count) {
		if (rough)
			mutant_change(&r, &m, seeds, seed_count);
		else
			mutant_content(&r, mutant_pick(&r, &m));
	}
	mutant_put_header(out);
	for (size_t i = 0; i < m.count; i++)
		mutant_put_block(out, &m.blocks[i]);
	if (rough && mutant_one_in(&r, 8))
		out->len -= mutant_below(&r, out->len - TRACE_HEADER_BYTES + 1);
	mutant_need(!out->failed);
	mutant_release(&m);
}

#endif
