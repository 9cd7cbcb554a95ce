/*
 * The trace file, written.  Small facts (INFO, NOTE, PROCESS, THREAD, END) are
 * written at once, a block each; definitions and events are collected.  Every
 * block is one pwrite() at the end of the last whole one, so a writer that is
 * killed leaves at most one block cut short.
 *
 * It is longer than 600 lines because tables, events, samples and series share one file, its
 * queues and its way to fail.
 */
#include "format/trace_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "base/varint.h"
#include "format/stamp.h"
#include "format/trace_layout.h"
#include "format/trace_samples.h"
#include "format/trace_series.h"

#define ZSTD_LEVEL 1
#define FULL_EVENTS 32768u        /* events that fill a block */
#define FULL_SAMPLES 16384u       /* samples, or points of series, that do */
#define FULL_BYTES (256u << 10)   /* payload or definition bytes that do */
#define PENDING_EVENTS (4u << 20) /* of all threads together; bounds the memory */
#define COMPRESS_FROM 96u         /* smaller payloads are stored as they are */
#define STARTS 256u               /* of the newest blocks; those of a full disk are cut off again */
#define ROOM_LEAST 2048u          /* bytes to free on a full disk, and more ... */
#define ROOM_PER_THREAD 256u      /* ... for each thread that still has to be accounted for */

struct trace_writer {
	int fd;
	uint64_t bytes; /* up to the end of the last whole block */
	struct trace_start start;
	ZSTD_CCtx *zstd;
	struct event_queue *queues; /* one per thread that lives */
	size_t queue_count, queue_cap;
	struct event_queue *last;     /* the thread of the latest event */
	struct idmap queue_of;        /* thread id -> position in queues */
	struct idmap processes;       /* process id -> 0 */
	size_t pending;               /* events in all queues */
	struct sample_queues samples; /* one per process that has any */
	struct series_queue series;
	struct buf defs;
	uint32_t def_count;
	struct buf entry, payload, block; /* reused from block to block */
	uint64_t starts[STARTS]; /* of the blocks since the last table block, the oldest overwritten
				  */
	uint64_t start_count;
	bool failed;
	bool closed;        /* by trace_writer_make_room(): only table entries are written */
	struct err failure; /* what every later call answers */
};

static int fail(struct trace_writer *w, struct err *err)
{
	w->failed = true;
	return err_set(err, "%s", w->failure.text);
}

static int fail_memory(struct trace_writer *w, struct err *err)
{
	err_set(&w->failure, "cannot write the trace: out of memory");
	return fail(w, err);
}

static int append(struct trace_writer *w, const void *data, size_t bytes, struct err *err)
{
	const char *from = data;
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pwrite(w->fd, from + done, bytes - done, (off_t)(w->bytes + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!n)
				errno = ENOSPC;
			err_errno(&w->failure, "cannot write the trace");
			/* Where it cannot be cut, a reader stops at the broken block anyway. */
			(void)!ftruncate(w->fd, (off_t)w->bytes);
			return fail(w, err);
		}
		done += (size_t)n;
	}
	w->bytes += bytes;
	return 0;
}

static struct trace_start clocks_read(void)
{
	return (struct trace_start){
		.realtime_ns = (int64_t)stamp_of(CLOCK_REALTIME),
		.monotonic_ns = (int64_t)stamp_monotonic(),
	};
}

static int header_write(struct trace_writer *w, struct err *err)
{
	uint8_t header[TRACE_HEADER_BYTES] = TRACE_MAGIC;

	put_le(header + 8, TRACE_VERSION, 4);
	put_le(header + 12, TRACE_HEADER_BYTES, 4);
	put_le(header + 16, (uint64_t)w->start.realtime_ns, 8);
	put_le(header + 24, (uint64_t)w->start.monotonic_ns, 8);
	put_le(header + 44, crc32(0, header, 44), 4);
	return append(w, header, sizeof(header), err);
}

int trace_writer_restart(struct trace_writer *w, struct err *err)
{
	uint64_t end = w->bytes;

	if (w->failed)
		return fail(w, err);
	w->bytes = 0;
	w->start = clocks_read();
	if (header_write(w, err))
		return -1;
	w->bytes = end;
	return 0;
}

int trace_writer_new(struct trace_writer **out, int fd, struct err *err)
{
	const struct trace_start now = clocks_read();

	return trace_writer_new_at(out, fd, &now, err);
}

int trace_writer_new_at(struct trace_writer **out, int fd, const struct trace_start *start,
			struct err *err)
{
	struct trace_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, "cannot write the trace: out of memory");
	w->fd = fd;
	w->start = *start;
	idmap_init(&w->queue_of);
	idmap_init(&w->processes);
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		fail_memory(w, err);
		goto out;
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	if (header_write(w, err))
		goto out;
	*out = w;
	return 0;
out:
	trace_writer_free(w);
	return -1;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->queue_count; i++)
		event_queue_release(&w->queues[i]);
	free(w->queues);
	sample_queues_release(&w->samples);
	series_queue_release(&w->series);
	idmap_release(&w->queue_of);
	idmap_release(&w->processes);
	ZSTD_freeCCtx(w->zstd);
	buf_release(&w->defs);
	buf_release(&w->payload);
	buf_release(&w->block);
	buf_release(&w->entry);
	free(w);
}

const struct trace_start *trace_writer_start(const struct trace_writer *w)
{
	return &w->start;
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->bytes;
}

static bool is_table(uint16_t type)
{
	return type != BLOCK_EVENTS && type != BLOCK_DEFS && type != BLOCK_SAMPLES &&
	       type != BLOCK_SERIES;
}

/* Compresses where that helps; fills in the header's sizes, codec and checksums. */
static int block_write(struct trace_writer *w, struct block_header h, const struct buf *payload,
		       struct err *err)
{
	size_t bound = ZSTD_compressBound(payload->len);
	uint8_t *head, *body;
	size_t stored = 0;
	uint64_t start = w->bytes;

	buf_clear(&w->block);
	head = buf_reserve(&w->block, BLOCK_HEADER_BYTES + bound);
	if (!head || payload->failed)
		return fail_memory(w, err);
	body = head + BLOCK_HEADER_BYTES;
	if (payload->len >= COMPRESS_FROM)
		stored = ZSTD_compress2(w->zstd, body, bound, payload->data, payload->len);
	h.codec = CODEC_ZSTD;
	if (!stored || ZSTD_isError(stored) || stored >= payload->len) {
		h.codec = CODEC_RAW;
		stored = payload->len;
		memcpy(body, payload->data, stored);
	}
	put_le(head, BLOCK_MAGIC, 4);
	put_le(head + 4, h.type, 2);
	put_le(head + 6, h.codec, 2);
	put_le(head + 8, stored, 4);
	put_le(head + 12, payload->len, 4);
	put_le(head + 16, h.thread, 8);
	put_le(head + 24, h.first_index, 8);
	put_le(head + 32, h.count, 4);
	put_le(head + 36, 0, 4);
	put_le(head + 40, crc32(0, head, 40), 4);
	put_le(head + 44, crc32(0, body, (uInt)stored), 4);
	if (append(w, head, BLOCK_HEADER_BYTES + stored, err))
		return -1;
	if (is_table(h.type))
		w->start_count = 0;
	else
		w->starts[w->start_count++ % STARTS] = start;
	return 0;
}

int trace_writer_make_room(struct trace_writer *w)
{
	uint64_t room = ROOM_LEAST + ROOM_PER_THREAD * w->queue_count;
	uint64_t oldest = w->start_count > STARTS ? w->start_count - STARTS : 0;

	for (uint64_t i = w->start_count; i-- > oldest;) {
		uint64_t start = w->starts[i % STARTS];

		if (w->bytes - start < room && i > oldest)
			continue;
		if (ftruncate(w->fd, (off_t)start))
			return -1;
		w->bytes = start;
		w->start_count = 0;
		w->failed = false;
		w->closed = true;
		w->last = NULL; /* no event takes the short way */
		return 0;
	}
	return -1;
}

/* A table block of one entry, whose bytes are in w->entry. */
static int entry_write(struct trace_writer *w, uint16_t type, struct err *err)
{
	struct block_header h = { .type = type, .count = 1 };

	if (w->entry.failed)
		return fail_memory(w, err);
	if (w->entry.len > BLOCK_RAW_MAX - VARINT_MAX)
		return err_set(err, "a text of %zu bytes is too long for a trace", w->entry.len);
	buf_clear(&w->payload);
	buf_add_varint(&w->payload, w->entry.len);
	buf_add(&w->payload, w->entry.data, w->entry.len);
	return block_write(w, h, &w->payload, err);
}

static struct buf *entry_begin(struct trace_writer *w)
{
	buf_clear(&w->entry);
	return &w->entry;
}

static void add_signed(struct buf *b, int64_t value)
{
	buf_add_varint(b, zigzag(value));
}

/* A time beyond the limits, which a reader would refuse, becomes the limit. */
static void add_time(struct buf *b, int64_t ns)
{
	const int64_t max = TRACE_TIME_LIMIT - 1;

	add_signed(b, ns < -max ? -max : ns > max ? max : ns);
}

static void add_count(struct buf *b, uint64_t count)
{
	buf_add_varint(b, count < TRACE_INDEX_LIMIT ? count : TRACE_INDEX_LIMIT);
}

static void add_text(struct buf *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	buf_add_varint(b, len);
	buf_add(b, s, len);
}

int trace_write_info(struct trace_writer *w, const char *key, const char *value, struct err *err)
{
	struct buf *entry = entry_begin(w);

	if (w->failed)
		return fail(w, err);
	add_text(entry, key);
	buf_add_str(entry, value);
	return entry_write(w, BLOCK_INFO, err);
}

int trace_write_note(struct trace_writer *w, const char *text, struct err *err)
{
	struct buf *entry = entry_begin(w);

	if (w->failed)
		return fail(w, err);
	buf_add_str(entry, text);
	return entry_write(w, BLOCK_NOTE, err);
}

/* watched: it has no agent, and so neither a Python that is known nor an account. */
static int write_process(struct trace_writer *w, const struct trace_process *p, bool watched,
			 struct err *err)
{
	struct buf *entry = entry_begin(w);

	if (w->failed)
		return fail(w, err);
	if (idmap_put(&w->processes, p->id, 0))
		return fail_memory(w, err);
	buf_add_varint(entry, p->id);
	buf_add_varint(entry, p->pid);
	buf_add_varint(entry, p->parent_pid);
	if (!watched)
		buf_add_varint(entry, p->python_version);
	add_time(entry, p->start_ns);
	add_time(entry, p->end_ns);
	add_text(entry, p->name);
	if (!watched && p->accounted) {
		add_time(entry, p->overhead_ns);
		buf_add_varint(entry, p->event_cost_ps);
		buf_add_varint(entry, p->throttled_functions);
		add_time(entry, p->gpu_overhead_ns);
		add_time(entry, p->graph_overhead_ns);
	}
	return entry_write(w, watched ? BLOCK_WATCHED : BLOCK_PROCESS, err);
}

int trace_write_process(struct trace_writer *w, const struct trace_process *p, struct err *err)
{
	return write_process(w, p, false, err);
}

int trace_write_observed(struct trace_writer *w, const struct trace_process *p, struct err *err)
{
	return write_process(w, p, true, err);
}

static int queue_add(struct trace_writer *w, uint32_t thread)
{
	struct event_queue *queues =
		array_grow(w->queues, &w->queue_cap, w->queue_count + 1, sizeof(*queues));

	if (!queues)
		return -1;
	w->queues = queues;
	w->last = NULL; /* it may have moved */
	event_queue_init(&queues[w->queue_count], thread);
	return idmap_put(&w->queue_of, thread, (uint32_t)w->queue_count++);
}

int trace_write_thread(struct trace_writer *w, const struct trace_thread *t, struct err *err)
{
	struct buf *entry = entry_begin(w);

	if (w->failed)
		return fail(w, err);
	if (idmap_find(&w->processes, t->process) == IDMAP_NONE)
		return err_set(err, "thread %u comes before its process %u", t->id, t->process);
	if (idmap_find(&w->queue_of, t->id) == IDMAP_NONE && queue_add(w, t->id))
		return fail_memory(w, err);
	buf_add_varint(entry, t->id);
	buf_add_varint(entry, t->process);
	buf_add_varint(entry, t->tid);
	add_time(entry, t->start_ns);
	add_time(entry, t->end_ns);
	add_count(entry, t->produced);
	add_count(entry, t->lost);
	add_text(entry, t->name);
	if (t->timed) {
		add_time(entry, t->on_cpu_ns);
		add_time(entry, t->queued_ns);
	}
	return entry_write(w, BLOCK_THREAD, err);
}

static int defs_flush(struct trace_writer *w, struct err *err)
{
	struct block_header h = { .type = BLOCK_DEFS, .count = w->def_count };

	if (!w->def_count)
		return 0;
	if (block_write(w, h, &w->defs, err))
		return -1;
	buf_clear(&w->defs);
	w->def_count = 0;
	return 0;
}

int trace_write_def(struct trace_writer *w, uint8_t kind, uint32_t id, const void *payload,
		    size_t bytes, struct err *err)
{
	uint8_t head[1 + VARINT_MAX];
	size_t head_bytes;

	if (w->failed)
		return fail(w, err);
	if (w->closed)
		return 0;
	if (bytes > DEF_PAYLOAD_MAX)
		return err_set(err, "definition %u is too long", id);
	head[0] = kind;
	head_bytes = 1 + varint_put(head + 1, id);
	buf_add_varint(&w->defs, head_bytes + bytes);
	buf_add(&w->defs, head, head_bytes);
	buf_add(&w->defs, payload, bytes);
	w->def_count++;
	return w->defs.len >= FULL_BYTES ? defs_flush(w, err) : 0;
}

static int queue_flush(struct trace_writer *w, struct event_queue *q, struct err *err)
{
	struct block_header h = {
		.type = BLOCK_EVENTS,
		.thread = q->thread,
		.first_index = q->next_index - q->count,
		.count = (uint32_t)q->count,
	};

	if (!q->count)
		return 0;
	if (defs_flush(w, err))
		return -1;
	w->pending -= q->count;
	if (event_queue_encode(q, &w->payload))
		return fail_memory(w, err);
	return block_write(w, h, &w->payload, err);
}

int trace_writer_forget(struct trace_writer *w, uint32_t thread, struct err *err)
{
	uint32_t at = idmap_find(&w->queue_of, thread);

	if (w->failed)
		return fail(w, err);
	if (at == IDMAP_NONE || w->closed)
		return 0;
	if (queue_flush(w, &w->queues[at], err))
		return -1;
	event_queue_release(&w->queues[at]);
	idmap_remove(&w->queue_of, thread);
	w->last = NULL;
	w->queue_count--;
	if (at == w->queue_count)
		return 0;
	w->queues[at] = w->queues[w->queue_count]; /* the last one fills the place */
	return idmap_put(&w->queue_of, w->queues[at].thread, at) ? fail_memory(w, err) : 0;
}

static int samples_flush(struct trace_writer *w, struct sample_queue *q, struct err *err)
{
	struct block_header h = {
		.type = BLOCK_SAMPLES,
		.thread = q->process,
		.count = (uint32_t)q->count,
	};

	if (!q->count)
		return 0;
	if (defs_flush(w, err))
		return -1;
	if (sample_queue_encode(q, &w->payload))
		return fail_memory(w, err);
	return block_write(w, h, &w->payload, err);
}

int trace_write_sample(struct trace_writer *w, uint32_t process, const struct sample *s,
		       struct err *err)
{
	struct sample_queue *q;

	if (w->failed)
		return fail(w, err);
	if (w->closed)
		return 0;
	if (idmap_find(&w->processes, process) == IDMAP_NONE)
		return err_set(err, "a sample comes before its process %u", process);
	q = sample_queues_of(&w->samples, process);
	if (!q || sample_queue_push(q, s))
		return fail_memory(w, err);
	return q->count >= FULL_SAMPLES ? samples_flush(w, q, err) : 0;
}

/* Queues that are written out are given up: the process may be gone. */
static int samples_flush_old(struct trace_writer *w, int64_t now_ns, int64_t older_than_ns,
			     struct err *err)
{
	for (size_t i = 0; i < w->samples.count;) {
		struct sample_queue *q = &w->samples.items[i];

		if (older_than_ns > 0 && q->count && q->items[0].last_ns > now_ns - older_than_ns) {
			i++;
			continue;
		}
		if (samples_flush(w, q, err))
			return -1;
		sample_queue_release(q);
		*q = w->samples.items[--w->samples.count]; /* the last one fills the place */
	}
	return 0;
}

static int series_flush(struct trace_writer *w, struct err *err)
{
	struct block_header h = { .type = BLOCK_SERIES };

	if (!series_queue_points(&w->series))
		return 0;
	h.count = series_queue_encode(&w->series, &w->payload);
	return h.count ? block_write(w, h, &w->payload, err) : fail_memory(w, err);
}

int trace_write_point(struct trace_writer *w, const struct series_point *p, struct err *err)
{
	if (w->failed)
		return fail(w, err);
	if (w->closed)
		return 0;
	if (p->process && idmap_find(&w->processes, p->process) == IDMAP_NONE)
		return err_set(err, "a point comes before its process %u", p->process);
	if (series_queue_push(&w->series, p))
		return fail_memory(w, err);
	return series_queue_points(&w->series) >= FULL_SAMPLES ? series_flush(w, err) : 0;
}

int trace_writer_flush(struct trace_writer *w, int64_t now_ns, int64_t older_than_ns,
		       struct err *err)
{
	if (w->failed)
		return fail(w, err);
	if (w->closed)
		return 0;
	if (defs_flush(w, err))
		return -1;
	for (size_t i = 0; i < w->queue_count; i++) {
		struct event_queue *q = &w->queues[i];

		if (older_than_ns > 0 && q->count && q->times_ns[0] > now_ns - older_than_ns)
			continue;
		if (queue_flush(w, q, err))
			return -1;
		event_queue_release(q); /* a thread this slow needs no large arrays */
	}
	if ((older_than_ns <= 0 || w->series.first_ns <= now_ns - older_than_ns) &&
	    series_flush(w, err))
		return -1;
	return samples_flush_old(w, now_ns, older_than_ns, err);
}

/* What an event must keep to, so that a reader takes it. */
static int event_check(const struct event_queue *q, uint64_t index, uint8_t kind, int64_t time_ns,
		       size_t bytes, struct err *err)
{
	if (index < q->next_index || index >= TRACE_INDEX_LIMIT)
		return err_set(err, "events of thread %u are out of order", q->thread);
	if (bytes > (kind & RECORD_PAYLOAD ? RECORD_PAYLOAD_MAX : 0))
		return err_set(err, "an event of kind %u with %zu bytes of payload", kind, bytes);
	if (time_ns <= -TRACE_TIME_LIMIT || time_ns >= TRACE_TIME_LIMIT)
		return err_set(err, "an event of thread %u at an impossible time", q->thread);
	return 0;
}

/* Makes room for the event with this index, behind a gap where there is one. */
static int queue_prepare(struct trace_writer *w, struct event_queue *q, uint64_t index,
			 struct err *err)
{
	if (index > q->next_index || q->count >= FULL_EVENTS || q->payload.len >= FULL_BYTES) {
		if (queue_flush(w, q, err))
			return -1;
		q->next_index = index;
	}
	if (w->pending >= PENDING_EVENTS && trace_writer_flush(w, 0, 0, err))
		return -1;
	if (q->count == q->cap && event_queue_grow(q))
		return fail_memory(w, err);
	return 0;
}

/* The way of every event that is not simply the next one of the same thread. */
static int write_event_slowly(struct trace_writer *w, uint32_t thread, uint64_t index, uint8_t kind,
			      uint32_t id, int64_t time_ns, const void *payload, size_t bytes,
			      struct err *err)
{
	uint32_t at = idmap_find(&w->queue_of, thread);
	struct event_queue *q;

	if (w->failed)
		return fail(w, err);
	if (w->closed)
		return 0;
	if (at == IDMAP_NONE)
		return err_set(err, "an event comes before its thread %u", thread);
	q = &w->queues[at];
	if (event_check(q, index, kind, time_ns, bytes, err) || queue_prepare(w, q, index, err))
		return -1;
	event_queue_push(q, kind, id, time_ns, payload, bytes);
	w->pending++;
	w->last = q;
	return 0;
}

int trace_write_event(struct trace_writer *w, uint32_t thread, uint64_t index, uint8_t kind,
		      uint32_t id, int64_t time_ns, const void *payload, size_t bytes,
		      struct err *err)
{
	struct event_queue *q = w->last;
	/* Both limits in one comparison. */
	bool odd_time = (uint64_t)time_ns + (TRACE_TIME_LIMIT - 1) > 2u * (TRACE_TIME_LIMIT - 1);

	if (!q || q->thread != thread || q->next_index != index || q->count == q->cap || bytes ||
	    odd_time || w->failed)
		return write_event_slowly(w, thread, index, kind, id, time_ns, payload, bytes, err);
	event_queue_push(q, kind, id, time_ns, NULL, 0);
	w->pending++;
	return 0;
}

int trace_write_end(struct trace_writer *w, const struct trace_end *end, struct err *err)
{
	struct buf *entry;

	if (trace_writer_flush(w, 0, 0, err))
		return -1;
	entry = entry_begin(w);
	add_time(entry, end->wall_ns);
	add_signed(entry, end->exit_status);
	return entry_write(w, BLOCK_END, err);
}
