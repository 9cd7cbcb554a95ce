/*
 * The inside of an opened trace, shared by the files of the reader:
 * trace_reader.c opens and indexes, trace_tables.c decodes everything but the
 * events, trace_decode.c the events.
 */
#ifndef FORMAT_TRACE_READER_H
#define FORMAT_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "format/trace.h"
#include "format/trace_layout.h"

/* The reason for a failure that is not the file's: never reported as damage. */
#define TRACE_NO_MEMORY "out of memory"

struct info_entry {
	const char *key, *value;
};

struct def_entry {
	uint8_t kind;
	union {
		struct trace_code code; /* DEF_CODE; DEF_STRING: code.name is the text */
		struct {                /* DEF_STACK */
			const struct trace_frame *frames;
			size_t count;
		} stack;
		struct trace_native native; /* DEF_NATIVE */
		const struct trace_nvtx *nvtx;
		struct trace_layer layer; /* DEF_LAYER */
	};
};

struct thread_entry {
	struct trace_thread public;
	uint64_t next_index; /* behind its last event block */
	uint64_t stored;     /* events */
	size_t first_block;  /* in trace.blocks, once they are sorted */
	size_t block_count;
	size_t loaded_at; /* position while loading */
};

struct event_block {
	uint64_t offset; /* of the block header in the file */
	size_t thread;   /* position in trace.threads */
	struct block_header header;
};

/* SAMPLES and SERIES */
struct column_block {
	uint64_t offset;
	struct block_header header;
};

/* A growing array; `items` is cast to the entry's type by those who know it. */
struct table {
	void *items;
	size_t count, cap;
};

/* A cleared entry at the end, or NULL. */
void *table_add(struct table *t, size_t bytes_each);

struct trace {
	char *path; /* for messages */
	int fd;
	bool own_work; /* this process wrote it: it may unpack to anything */
	uint64_t file_bytes;
	uint64_t read_bytes;     /* blocks that begin before this are read */
	uint64_t unpacked_bytes; /* of all blocks so far */
	struct trace_start start;
	bool has_end;
	struct trace_end end;
	char *damage;
	uint64_t event_count;
	bool has_layers;
	struct arena texts;
	struct table infos;     /* struct info_entry */
	struct table notes;     /* const char * */
	struct table processes; /* struct trace_process */
	struct table watched;   /* likewise */
	struct table threads;   /* struct thread_entry */
	struct table defs;      /* struct def_entry */
	struct table lines;     /* struct trace_lines */
	struct table blocks;    /* struct event_block, by thread and then in file order */
	struct table samples;   /* struct column_block, in file order */
	struct table series;    /* likewise */
	struct idmap process_at, watched_at, thread_at; /* id -> position while loading */
	struct idmap def_at, lines_at;                  /* id -> position, for good */
};

/* A block's payload as it was before compression.  Reused from block to block. */
struct block_payload {
	struct buf stored, raw;
	ZSTD_DCtx *zstd; /* made when first needed */
	const uint8_t *data;
	size_t bytes;
};

void block_payload_release(struct block_payload *p);

/*
 * Reads, checks and unpacks the payload of the block at `offset`.  -1: `why`
 * says what is wrong with it, in words that go behind "at offset N".
 */
int block_payload_read(struct block_payload *p, int fd, uint64_t offset,
		       const struct block_header *h, const char **why);

/*
 * Decodes a table block (all types but EVENTS, SAMPLES and SERIES) into the trace.  Unknown types
 * are no error.
 */
int trace_tables_load(struct trace *t, uint16_t type, uint32_t count, const uint8_t *data,
		      size_t bytes, const char **why);

#endif
