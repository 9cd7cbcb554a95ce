/*
 * The trace file, opened: header, walk over the blocks, index of the events.
 *
 * Blocks are read with pread(), not mapped: a file that is cut while it is read
 * must be an error, not a SIGBUS.  The walk checks every checksum once, so that
 * damage is known, and named in the report, before anything is computed from
 * the file; trace_batch_read() checks again what it reads.
 */
#include "format/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"

void *table_add(struct table *t, size_t bytes_each)
{
	void *items = array_grow(t->items, &t->cap, t->count + 1, bytes_each);
	char *entry;

	if (!items)
		return NULL;
	t->items = items;
	entry = (char *)items + t->count++ * bytes_each;
	memset(entry, 0, bytes_each);
	return entry;
}

/* Bytes read, fewer than n only at the end of the file; -1: errno is set. */
static ssize_t read_at(int fd, void *to, size_t n, uint64_t offset)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

void block_payload_release(struct block_payload *p)
{
	buf_release(&p->stored);
	buf_release(&p->raw);
	ZSTD_freeDCtx(p->zstd);
	p->zstd = NULL;
}

/* The first half of block_payload_read(): leaves the bytes in `stored`. */
static int block_payload_check(struct block_payload *p, int fd, uint64_t offset,
			       const struct block_header *h, const char **why)
{
	void *to;
	ssize_t got;

	*why = TRACE_NO_MEMORY;
	buf_clear(&p->stored);
	to = buf_reserve(&p->stored, h->stored_bytes);
	if (!to)
		return -1;
	*why = "the block cannot be read";
	got = read_at(fd, to, h->stored_bytes, offset + BLOCK_HEADER_BYTES);
	if (got < 0)
		return -1;
	*why = "the file ends inside a block";
	if ((size_t)got < h->stored_bytes)
		return -1;
	*why = "a checksum is wrong";
	return crc32(0, to, h->stored_bytes) == h->payload_crc ? 0 : -1;
}

/* From `stored` to `data`. */
static int block_payload_unpack(struct block_payload *p, const struct block_header *h,
				const char **why)
{
	void *to;

	p->bytes = h->raw_bytes;
	if (h->codec == CODEC_RAW) {
		p->data = (const uint8_t *)p->stored.data;
		return 0;
	}
	*why = TRACE_NO_MEMORY;
	if (!p->zstd)
		p->zstd = ZSTD_createDCtx();
	buf_clear(&p->raw);
	to = buf_reserve(&p->raw, h->raw_bytes);
	if (!p->zstd || !to)
		return -1;
	*why = "a block cannot be decompressed";
	p->data = to;
	return ZSTD_decompressDCtx(p->zstd, to, h->raw_bytes, p->stored.data, h->stored_bytes) ==
			       h->raw_bytes
		       ? 0
		       : -1;
}

int block_payload_read(struct block_payload *p, int fd, uint64_t offset,
		       const struct block_header *h, const char **why)
{
	if (block_payload_check(p, fd, offset, h, why) || block_payload_unpack(p, h, why))
		return -1;
	*why = "its columns are inconsistent";
	return 0;
}

/* Known formats that are not traces; NULL: unknown. */
static const char *guess_format(const uint8_t *head, size_t n)
{
	size_t i = 0;

	if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b)
		return "a gzip file";
	if (n >= 15 && !memcmp(head, "SQLite format 3", 15))
		return "an SQLite database";
	while (i < n && strchr(" \t\r\n", head[i]) && head[i])
		i++;
	if (i < n && (head[i] == '{' || head[i] == '['))
		return "a JSON file";
	return NULL;
}

static int not_a_trace(const char *path, const uint8_t *head, size_t n, struct err *err)
{
	const char *guess = guess_format(head, n);

	if (!guess)
		return err_set(err, "%s is not an InferScope trace", path);
	return err_set(err, "%s is not an InferScope trace: it looks like %s", path, guess);
}

/* Returns where the first block begins, 0 on error. */
static uint64_t header_read(struct trace *t, struct err *err)
{
	uint8_t head[TRACE_HEADER_BYTES];
	ssize_t got = read_at(t->fd, head, sizeof(head), 0);
	size_t n = got < 0 ? 0 : (size_t)got;
	size_t magic_bytes = strlen(TRACE_MAGIC);
	uint64_t version, header_bytes;

	if (got < 0) {
		err_errno(err, "cannot read %s", t->path);
		return 0;
	}
	if (!n) {
		err_set(err, "%s is empty", t->path);
		return 0;
	}
	if (memcmp(head, TRACE_MAGIC, n < magic_bytes ? n : magic_bytes) != 0) {
		not_a_trace(t->path, head, n, err);
		return 0;
	}
	version = n >= 12 ? get_le(head + 8, 4) : TRACE_VERSION;
	if (version > TRACE_VERSION) {
		err_set(err,
			"%s was written by a newer InferScope: format %llu, this one reads up to "
			"%u",
			t->path, (unsigned long long)version, TRACE_VERSION);
		return 0;
	}
	if (n < sizeof(head)) {
		err_set(err, "%s ends inside its header: nothing was recorded", t->path);
		return 0;
	}
	header_bytes = get_le(head + 12, 4);
	if (!version || get_le(head + 44, 4) != crc32(0, head, 44) ||
	    header_bytes < TRACE_HEADER_BYTES || header_bytes > TRACE_HEADER_BYTES_MAX) {
		err_set(err, "%s is damaged: its header is invalid", t->path);
		return 0;
	}
	t->start.realtime_ns = (int64_t)get_le(head + 16, 8);
	t->start.monotonic_ns = (int64_t)get_le(head + 24, 8);
	return header_bytes;
}

/* A block header that is intact, belongs to a block that is all there, and has plausible sizes. */
static int block_header_read(const struct trace *t, uint64_t offset, struct block_header *h,
			     const char **why)
{
	uint8_t head[BLOCK_HEADER_BYTES];
	ssize_t got = read_at(t->fd, head, sizeof(head), offset);

	*why = "the block cannot be read";
	if (got < 0)
		return -1;
	*why = "the file ends inside a block";
	if ((size_t)got < sizeof(head))
		return -1;
	*why = "this is not the start of a block";
	if (get_le(head, 4) != BLOCK_MAGIC || get_le(head + 40, 4) != crc32(0, head, 40))
		return -1;
	h->type = (uint16_t)get_le(head + 4, 2);
	h->codec = (uint16_t)get_le(head + 6, 2);
	h->stored_bytes = (uint32_t)get_le(head + 8, 4);
	h->raw_bytes = (uint32_t)get_le(head + 12, 4);
	h->thread = get_le(head + 16, 8);
	h->first_index = get_le(head + 24, 8);
	h->count = (uint32_t)get_le(head + 32, 4);
	h->payload_crc = (uint32_t)get_le(head + 44, 4);
	*why = "a block has impossible sizes";
	if (h->raw_bytes > BLOCK_RAW_MAX || h->stored_bytes > h->raw_bytes)
		return -1;
	*why = "the file ends inside a block";
	return t->file_bytes - offset - BLOCK_HEADER_BYTES < h->stored_bytes ? -1 : 0;
}

static int events_index(struct trace *t, uint64_t offset, const struct block_header *h,
			const char **why)
{
	struct thread_entry *thread;
	struct event_block *block;
	uint32_t at = IDMAP_NONE;

	*why = "a block has impossible sizes";
	if (!h->count || h->count > BLOCK_EVENTS_MAX || h->first_index >= TRACE_INDEX_LIMIT ||
	    h->raw_bytes < EVENTS_PREFIX_BYTES + 3 * h->count)
		return -1;
	*why = "events of an unknown thread";
	if (h->thread <= UINT32_MAX)
		at = idmap_find(&t->thread_at, (uint32_t)h->thread);
	if (at == IDMAP_NONE)
		return -1;
	*why = "events of a thread are out of order";
	thread = (struct thread_entry *)t->threads.items + at;
	if (h->first_index < thread->next_index)
		return -1;
	*why = TRACE_NO_MEMORY;
	block = table_add(&t->blocks, sizeof(*block));
	if (!block)
		return -1;
	block->offset = offset;
	block->thread = at;
	block->header = *h;
	thread->next_index = h->first_index + h->count;
	thread->stored += h->count;
	thread->block_count++;
	t->event_count += h->count;
	return 0;
}

/* A block whose entries take `least` bytes each, behind a prefix. */
static int columns_index(struct table *blocks, uint64_t offset, const struct block_header *h,
			 uint64_t prefix, uint64_t least, const char **why)
{
	struct column_block *block;

	*why = "a block has impossible sizes";
	if (!h->count || h->count > BLOCK_EVENTS_MAX || h->raw_bytes < prefix + least * h->count)
		return -1;
	*why = TRACE_NO_MEMORY;
	block = table_add(blocks, sizeof(*block));
	if (!block)
		return -1;
	block->offset = offset;
	block->header = *h;
	return 0;
}

static int samples_index(struct trace *t, uint64_t offset, const struct block_header *h,
			 const char **why)
{
	*why = "samples of an unknown process";
	if (h->thread > UINT32_MAX || idmap_find(&t->process_at, (uint32_t)h->thread) == IDMAP_NONE)
		return -1;
	return columns_index(&t->samples, offset, h, SAMPLES_PREFIX_BYTES, SAMPLES_COLUMNS - 1,
			     why);
}

static int block_load(struct trace *t, uint64_t offset, const struct block_header *h,
		      struct block_payload *payload, const char **why)
{
	bool known = h->type >= BLOCK_INFO && h->type <= BLOCK_WATCHED;

	if (block_payload_check(payload, t->fd, offset, h, why))
		return -1;
	if (!known)
		return 0;
	*why = "a block has an unknown codec";
	if (h->codec != CODEC_ZSTD && (h->codec != CODEC_RAW || h->stored_bytes != h->raw_bytes))
		return -1;
	*why = "the file unpacks to more than a trace of this size can contain,";
	t->unpacked_bytes += h->raw_bytes;
	if (!t->own_work &&
	    t->unpacked_bytes > TRACE_UNPACK_RATIO * t->file_bytes + TRACE_UNPACK_FREE)
		return -1;
	if (h->type == BLOCK_EVENTS)
		return events_index(t, offset, h, why);
	if (h->type == BLOCK_SAMPLES)
		return samples_index(t, offset, h, why);
	if (h->type == BLOCK_SERIES)
		return columns_index(&t->series, offset, h, SERIES_PREFIX_BYTES, SERIES_COLUMNS - 1,
				     why);
	return block_payload_unpack(payload, h, why)
		       ? -1
		       : trace_tables_load(t, h->type, h->count, payload->data, payload->bytes,
					   why);
}

static int damage_set(struct trace *t, const char *what, uint64_t offset)
{
	struct err text;

	err_set(&text, "%s at offset %llu of %llu", what, (unsigned long long)offset,
		(unsigned long long)t->file_bytes);
	t->damage = strdup(text.text);
	return t->damage ? 0 : -1;
}

/* Instead of the end, where the caller has no memory for more. */
static int limit_set(struct trace *t)
{
	struct err text;

	err_set(&text,
		"only the first %.1f %% of the trace was read: all of it needs more memory than "
		"--max-memory allows",
		100 * trace_read_share(t));
	t->damage = strdup(text.text);
	return t->damage ? 0 : -1;
}

/* Loads the blocks up to the first that is not good.  -1: no memory. */
static int blocks_walk(struct trace *t, uint64_t offset)
{
	struct block_payload payload = { 0 };
	const char *why = NULL;

	while (offset < t->read_bytes && !t->has_end) {
		struct block_header h;

		if (block_header_read(t, offset, &h, &why) ||
		    block_load(t, offset, &h, &payload, &why))
			break;
		why = NULL;
		offset += BLOCK_HEADER_BYTES + h.stored_bytes;
	}
	block_payload_release(&payload);
	if (why && !strcmp(why, TRACE_NO_MEMORY))
		return -1;
	if (why)
		return damage_set(t, why, offset);
	if (!t->has_end && offset < t->file_bytes) {
		t->read_bytes = offset;
		return limit_set(t);
	}
	t->read_bytes = t->file_bytes;
	if (t->has_end && offset < t->file_bytes)
		return damage_set(t, "something follows the end of the recording,", offset);
	if (!t->has_end) {
		t->damage = strdup("the recording has no end: its recorder was killed or had no "
				   "room, or is still writing");
		return t->damage ? 0 : -1;
	}
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct trace_process *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread_entry *x = a, *y = b;

	return (x->public.id > y->public.id) - (x->public.id < y->public.id);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct event_block *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort(struct table *t, size_t bytes_each, int (*compare)(const void *, const void *))
{
	if (t->count)
		qsort(t->items, t->count, bytes_each, compare);
}

/* From load order to the order that is promised, and the counts made to add up. */
static int tables_finish(struct trace *t)
{
	struct thread_entry *threads = t->threads.items;
	struct event_block *blocks = t->blocks.items;
	size_t *position;
	size_t at = 0;

	sort(&t->processes, sizeof(struct trace_process), compare_processes);
	sort(&t->watched, sizeof(struct trace_process), compare_processes);
	if (!t->threads.count)
		return 0;
	position = malloc(t->threads.count * sizeof(*position));
	if (!position)
		return -1;
	for (size_t i = 0; i < t->threads.count; i++)
		threads[i].loaded_at = i;
	sort(&t->threads, sizeof(*threads), compare_threads);
	for (size_t i = 0; i < t->threads.count; i++) {
		struct trace_thread *p = &threads[i].public;

		position[threads[i].loaded_at] = i;
		threads[i].first_block = at;
		at += threads[i].block_count;
		/* A recorder that was killed could not write the final figures. */
		if (p->produced < threads[i].next_index)
			p->produced = threads[i].next_index;
		p->lost = p->produced - threads[i].stored;
	}
	for (size_t i = 0; i < t->blocks.count; i++)
		blocks[i].thread = position[blocks[i].thread];
	sort(&t->blocks, sizeof(*blocks), compare_blocks);
	free(position);
	return 0;
}

static int file_open(struct trace *t, struct err *err)
{
	struct stat st;

	/* A FIFO must not block here; a regular file does not care. */
	if (t->fd < 0)
		t->fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 || fstat(t->fd, &st))
		return err_errno(err, "cannot open %s", t->path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, "%s is a directory, not a trace", t->path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, "%s is not a regular file", t->path);
	t->file_bytes = (uint64_t)st.st_size;
	return 0;
}

/* fd: an open file, or -1: `path` is to be opened. */
static int open_part(struct trace **out, int fd, const char *path, uint64_t bytes, struct err *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	uint64_t first;
	int rc = -1;

	if (!t) {
		if (fd >= 0)
			close(fd);
		return err_set(err, "cannot open %s: out of memory", path);
	}
	t->fd = fd;
	t->own_work = fd >= 0;
	idmap_init(&t->process_at);
	idmap_init(&t->watched_at);
	idmap_init(&t->thread_at);
	idmap_init(&t->def_at);
	idmap_init(&t->lines_at);
	t->path = strdup(path);
	if (!t->path) {
		err_set(err, "cannot open %s: out of memory", path);
		goto out;
	}
	if (file_open(t, err))
		goto out;
	t->read_bytes = bytes < t->file_bytes ? bytes : t->file_bytes;
	first = header_read(t, err);
	if (!first)
		goto out;
	if (blocks_walk(t, first) || tables_finish(t)) {
		err_set(err, "cannot open %s: out of memory", path);
		goto out;
	}
	*out = t;
	t = NULL; /* the caller owns it now */
	rc = 0;
out:
	trace_close(t);
	return rc;
}

int trace_open(struct trace **out, const char *path, struct err *err)
{
	return trace_open_part(out, path, UINT64_MAX, err);
}

int trace_open_part(struct trace **out, const char *path, uint64_t bytes, struct err *err)
{
	return open_part(out, -1, path, bytes, err);
}

int trace_open_fd(struct trace **out, int fd, const char *name, const char *missing,
		  struct err *err)
{
	if (open_part(out, fd, name, UINT64_MAX, err))
		return -1;
	if (!missing || (*out)->damage)
		return 0;
	(*out)->damage = strdup(missing);
	if ((*out)->damage)
		return 0;
	trace_close(*out);
	*out = NULL;
	return err_set(err, "cannot open %s: out of memory", name);
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	idmap_release(&t->process_at);
	idmap_release(&t->watched_at);
	idmap_release(&t->thread_at);
	idmap_release(&t->def_at);
	idmap_release(&t->lines_at);
	free(t->infos.items);
	free(t->notes.items);
	free(t->processes.items);
	free(t->watched.items);
	free(t->threads.items);
	free(t->defs.items);
	free(t->lines.items);
	free(t->blocks.items);
	free(t->samples.items);
	free(t->series.items);
	arena_release(&t->texts);
	free(t->damage);
	free(t->path);
	free(t);
}
