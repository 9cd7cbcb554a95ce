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

	/* The user's annotations; id = string id of the name, or that of a DEF_NVTX. */
	RECORD_SCOPE_BEGIN = RECORD_PAYLOAD | 9, /* varint instance, varint task, args */
	RECORD_SCOPE_END = RECORD_PAYLOAD | 10,  /* varint instance, args */
	RECORD_MARK = RECORD_PAYLOAD | 11,       /* varint task, args */

	/*
	 * A Python function (id = code id) that was already running when the recording
	 * began or went on (RECORD_PAUSED); outermost first.  Entered like by RECORD_CALL,
	 * but not a call.
	 */
	RECORD_RUNNING = 12,

	/*
	 * A CUDA call, in the thread that made it; id = string id of its name.
	 * Payload: varint enum cuda_call, varint correlation, varint stack id (0: none),
	 * varint bytes (copies, allocations; else 0).  Synchronisations with a stream may
	 * add varint 1 + its number, as the activities have it (0 or absent: unknown).
	 */
	RECORD_CUDA_ENTER = RECORD_PAYLOAD | 13,
	RECORD_CUDA_EXIT = 14, /* id = correlation */

	/*
	 * What the device did.  The event's own time is when CUPTI reported it; the payload
	 * begins with varint start (CLOCK_MONOTONIC ns; 0: unknown), varint duration
	 * (ns), varint device, context, stream, correlation.  Then, all varints:
	 *   kernel   grid x y z, block x y z, registers, static and dynamic shared
	 *            bytes, graph id, graph node id (0: not in a graph);
	 *            id = string id of its (mangled) name
	 *   copy     bytes, source and destination enum gpu_memory, 1 if asynchronous,
	 *            graph id, graph node id;      id = enum gpu_copy
	 *   memset   bytes, value, 1 if asynchronous, graph id, graph node id;
	 *            id = enum gpu_memory
	 *   graph    graph id (a whole graph launch, recorded without its nodes); id = 0
	 */
	RECORD_GPU_KERNEL = RECORD_PAYLOAD | 15,
	RECORD_GPU_COPY = RECORD_PAYLOAD | 16,
	RECORD_GPU_MEMSET = RECORD_PAYLOAD | 17,
	RECORD_GPU_GRAPH = RECORD_PAYLOAD | 18,

	/* CUPTI's own overhead: varint start, varint duration; id = its kind. */
	RECORD_GPU_OVERHEAD = RECORD_PAYLOAD | 19,
	/* The GPU recording of this process changed; id = enum gpu_state, payload: a text. */
	RECORD_GPU_STATE = RECORD_PAYLOAD | 20,
	RECORD_GPU_DROPPED = 21, /* id = records that CUPTI dropped since the last one of these */
	/*
	 * A device that was seen; id = its number.  Payload: varints global memory
	 * bytes, its bandwidth in kB/s, multiprocessors, core clock in kHz, compute
	 * capability (10 * major + minor); the rest is the name.
	 */
	RECORD_GPU_DEVICE = RECORD_PAYLOAD | 22,

	/* The user's counter (id = string id of its name) has a value: 8 bytes, as ARG_FLOAT. */
	RECORD_COUNTER = RECORD_PAYLOAD | 23,

	/*
	 * Another tool takes this thread's calls from us (CPython 3.8 to 3.11 have one
	 * profile function per thread); the next of RECORD_CALL .. RECORD_UNWIND says that
	 * we are back.  id = code id of the function that set it, 0 where unknown.
	 */
	RECORD_DISPLACED = 24,

	/*
	 * For the budget's sake the function (id = code id) is not traced from here on in
	 * this thread: what is open of it has no end.  0: nothing is omitted any more; what
	 * runs then of such functions has an end and no beginning.
	 */
	RECORD_LEFT_OUT = 25,

	/*
	 * The budget is spent: calls of this thread are not recorded, beginning id microseconds
	 * before this record (it is written late if the thread had no event).  What was open then
	 * has no end.  When recording resumes, RECORD_RUNNING lists the functions that the thread
	 * is in, outermost first; without any it is in none.
	 */
	RECORD_PAUSED = 26,

	/*
	 * id = 0: for the budget's sake RECORD_UNWIND and RECORD_THROW are not recorded from here
	 * on in this thread; 1: they are again.
	 */
	RECORD_UNWINDING = 27,

	/*
	 * A layer of the model (id = layer id) began or ended in this thread.  They nest: an
	 * end closes the newest open one of its id, and what was begun since has no end.
	 */
	RECORD_LAYER_BEGIN = 28,
	RECORD_LAYER_END = 29,
	/*
	 * For the budget's sake the layer (id) is not recorded from here on in this thread: it
	 * counts for the layer around it, and what is open of it has no end.  0: all of them
	 * are recorded again.
	 */
	RECORD_LAYERS_FOLDED = 30,

	/*
	 * Nodes of CUDA graphs, by the numbers that activities have.  Created: in the thread and
	 * at the time of the call that was captured or that added it; id = stack id of that call
	 * (0: none), payload: varint node.  Cloned, as instantiation does with every node: id = 0,
	 * payload: varint new node, varint the original; a RECORD_GRAPH_NODE of the new one, if
	 * there is one, has no meaning then.
	 */
	RECORD_GRAPH_NODE = RECORD_PAYLOAD | 31,
	RECORD_GRAPH_CLONE = RECORD_PAYLOAD | 32,

	/*
	 * For the budget's sake NVTX's ranges or marks of this DEF_NVTX (id) are not recorded
	 * from here on in this process; what is open of them ends as usual.  0: all of them
	 * are recorded again.
	 */
	RECORD_NVTX_LEFT_OUT = 33,

	/*
	 * Quantities of this process that its agent has read; id = instance.  Payload: varint enum
	 * series_kind, varint value, repeated.  The recorder turns them into points of series
	 * (series.h).
	 */
	RECORD_SERIES = RECORD_PAYLOAD | 34,
};

/* What a CUDA call does, as far as the analysis cares. */
enum cuda_call {
	CUDA_CALL_OTHER = 0,
	CUDA_CALL_LAUNCH = 1, /* a kernel */
	CUDA_CALL_GRAPH_LAUNCH = 2,
	CUDA_CALL_COPY = 3, /* may return before it is done: see RECORD_GPU_COPY */
	CUDA_CALL_MEMSET = 4,
	CUDA_CALL_SYNC_DEVICE = 5, /* waits for all work of the context */
	CUDA_CALL_SYNC_STREAM = 6, /* waits for a stream */
	CUDA_CALL_SYNC_EVENT = 7,  /* waits for an event */
	CUDA_CALL_ALLOC = 8,       /* device memory */
	CUDA_CALL_FREE = 9,
	CUDA_CALL_HOST_ALLOC = 10, /* pinned memory, and its registration */
	CUDA_CALL_HOST_FREE = 11,
	CUDA_CALL_STREAM_CREATE = 12,
	CUDA_CALL_CONTEXT_CREATE = 13,
	CUDA_CALL_MODULE_LOAD = 14,
	CUDA_CALL_GRAPH_BUILD = 15, /* capture, instantiation */
};

/* The numbers are CUPTI's. */
enum gpu_copy {
	GPU_COPY_UNKNOWN = 0,
	GPU_COPY_HOST_TO_DEVICE = 1,
	GPU_COPY_DEVICE_TO_HOST = 2,
	GPU_COPY_DEVICE_TO_DEVICE = 8,
	GPU_COPY_HOST_TO_HOST = 9,
	GPU_COPY_PEER = 10,
};

enum gpu_memory {
	GPU_MEMORY_UNKNOWN = 0,
	GPU_MEMORY_PAGEABLE = 1,
	GPU_MEMORY_PINNED = 2,
	GPU_MEMORY_DEVICE = 3,
	GPU_MEMORY_ARRAY = 4,
	GPU_MEMORY_MANAGED = 5,
};

enum gpu_state {
	GPU_STATE_RECORDING = 1,   /* first line: CUPTI's version; second: what it cannot record */
	GPU_STATE_UNAVAILABLE = 2, /* never began: the text says why and what to do */
	GPU_STATE_PAUSED = 3,  /* in traces of before 2026-11-18: not recorded until RECORDING */
	GPU_STATE_STOPPED = 4, /* for good, e.g. a second device got work */
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
	/* A Python stack, innermost first: varint code id (0: unknown), varint offset in bytes */
	DEF_STACK = RECORD_PAYLOAD | 3,
	/*
	 * Lines of a code object (id = code id): varint Python minor version, rest: a
	 * raw line table of that version.  A long one of a later version is written
	 * as 3.10 would have.
	 */
	DEF_LINES = RECORD_PAYLOAD | 4,
	/*
	 * A place in native code: varint string id of the function as the linker knows it
	 * (0: unknown), varint string id of the file (0: none).
	 */
	DEF_NATIVE = RECORD_PAYLOAD | 5,
	/*
	 * Attributes of an NVTX range or mark: varint enum nvtx_kind, varint colour (ARGB; 0:
	 * none), varint category (0: none), varint length + bytes of the domain (empty: the
	 * default one), varint length + bytes of the category's name (empty: it has none), rest:
	 * the name.
	 */
	DEF_NVTX = RECORD_PAYLOAD | 6,
	/*
	 * A layer, one for each module object of a process: varint layer id of the root that it
	 * was named from (0: it is one itself), varint length + bytes of its class' name, rest:
	 * its name below the root (empty for a root).
	 */
	DEF_LAYER = RECORD_PAYLOAD | 7,
};

enum nvtx_kind {
	NVTX_PUSHED = 1,  /* nests in what is open in its thread, and ends there */
	NVTX_STARTED = 2, /* ends whenever and in whichever thread; nests in nothing */
	NVTX_MARKED = 3,
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
	ARG_OBJECT = 6, /* the type's name (varint length + bytes); the value is not recorded */
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
#define STACK_FRAMES_MAX 512u /* of a DEF_STACK; a reader takes the innermost ones only */

static inline uint32_t record_bytes(uint32_t payload_bytes)
{
	return (uint32_t)sizeof(struct record) + ((payload_bytes + 7u) & ~7u);
}

#endif
