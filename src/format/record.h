/*
 * The events: what a record in a ring and an event in a trace file mean.
 *
 * One numbering serves both.  Kinds with RECORD_PAYLOAD set carry bytes after
 * the fixed part; a reader that does not know a kind can therefore always
 * step over it.  Numbers are never reused (docs/FORMAT.md lists them).
 */
#ifndef FORMAT_RECORD_H
#define FORMAT_RECORD_H

#include <stdint.h>

#define RECORD_PAYLOAD 0x80u

enum record_kind {
	/* Python functions; id = code id. */
	RECORD_CALL = 1,   /* a function was entered */
	RECORD_RESUME = 2, /* a generator or coroutine goes on */
	RECORD_THROW = 3,  /* ... goes on with an exception thrown into it */
	RECORD_RETURN = 4, /* left by return */
	RECORD_YIELD = 5,  /* left by yield or await; may be resumed */
	RECORD_UNWIND = 6, /* left by an exception */

	/* Garbage collection; id = generation. */
	RECORD_GC_BEGIN = 7,
	RECORD_GC_END = RECORD_PAYLOAD | 8, /* payload: varint objects collected */

	/* The user's annotations; id = string id of the name. */
	RECORD_SCOPE_BEGIN = RECORD_PAYLOAD | 9, /* varint instance, varint task, args */
	RECORD_SCOPE_END = RECORD_PAYLOAD | 10,  /* varint instance */
	RECORD_MARK = RECORD_PAYLOAD | 11,       /* varint task, args */

	/*
	 * A Python function (id = code id) that was already running when the recording
	 * began; outermost first.  Entered like by RECORD_CALL, but not a call.
	 */
	RECORD_RUNNING = 12,
};

/*
 * Definitions.  They travel apart from events so that an overflow, which
 * drops events, never takes a name away.  Ids are unique in a run, across all
 * its processes, and are never 0.
 */
enum def_kind {
	DEF_STRING = RECORD_PAYLOAD | 1, /* the bytes, UTF-8 */
	/* varint first line, varint length + bytes of the qualified name, rest: file name */
	DEF_CODE = RECORD_PAYLOAD | 2,
};

/*
 * Args: metadata of scopes and marks, repeated to the end of the payload:
 * one type byte, the key (varint length + bytes), then the value.
 */
enum arg_type {
	ARG_NONE = 0,
	ARG_FALSE = 1,
	ARG_TRUE = 2,
	ARG_INT = 3,    /* zigzag varint */
	ARG_FLOAT = 4,  /* 8 bytes, IEEE 754 little endian */
	ARG_STRING = 5, /* varint length + bytes */
	ARG_OBJECT = 6, /* the type's name (varint length + bytes); the value was not looked at */
	ARG_CUT = 7,    /* empty key, no value: further metadata did not fit */
};

/* A record as it lies in a ring block; the next one follows at a multiple of 8 bytes. */
struct record {
	uint64_t stamp; /* ticks of the session's clock */
	uint32_t id;
	uint8_t kind;
	uint8_t zero;
	uint16_t payload_bytes; /* 0 unless kind has RECORD_PAYLOAD */
};

#define RECORD_PAYLOAD_MAX 4096u /* longer metadata is cut by the agent */
#define DEF_PAYLOAD_MAX 8192u

static inline uint32_t record_bytes(uint32_t payload_bytes)
{
	return (uint32_t)sizeof(struct record) + ((payload_bytes + 7u) & ~7u);
}

#endif
