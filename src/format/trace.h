/*
 * Reading a trace file (.isc; docs/FORMAT.md).
 *
 * A trace is opened once: the block headers are indexed, everything but the
 * events is decoded, and the events are decoded block by block on demand, so
 * memory is bounded by the index and the names, not by the length of the run.
 * A file that ends inside a block, or whose next block is damaged, is readable
 * up to there: trace_open() succeeds, trace_damage() says what is missing.
 *
 * All times are nanoseconds since the start of the recording.  All strings are
 * borrowed from the trace and are valid UTF-8 and NUL-terminated.
 */
#ifndef FORMAT_TRACE_H
#define FORMAT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/record.h"
#include "format/sample.h"
#include "format/series.h"

#define TRACE_UNKNOWN_NS (-1) /* an end that was never recorded */

struct trace; /* immutable after trace_open(); threads may share it */

/* Time 0 of the trace on two clocks of the recording machine. */
struct trace_start {
	int64_t realtime_ns; /* since 1970, UTC */
	int64_t monotonic_ns;
};

struct trace_process {
	uint32_t id; /* unique in the trace, unlike the pid */
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t python_version; /* PY_VERSION_HEX, 0 for a native program */
	int64_t start_ns, end_ns;
	const char *name;
	bool accounted;               /* else the rest is unknown */
	int64_t overhead_ns;          /* what recording has cost it, by its own account */
	int64_t gpu_overhead_ns;      /* of it: launches, copies and memsets */
	int64_t graph_overhead_ns;    /* of it: nodes of CUDA graphs */
	uint32_t event_cost_ps;       /* of a call event, measured at the start; 0: it was not */
	uint64_t throttled_functions; /* traced no longer, for the budget's sake */
};

struct trace_thread {
	uint32_t id;      /* unique in the trace, unlike the tid */
	uint32_t process; /* id of its trace_process */
	uint32_t tid;
	int64_t start_ns, end_ns;
	uint64_t produced, lost; /* records; what is stored is produced - lost, always */
	const char *name;        /* "" where it has none */
	/* What the kernel counted between start and end; 0 where it was not asked. */
	bool timed;
	int64_t on_cpu_ns;
	int64_t queued_ns; /* ready, while another thread had the CPU */
};

struct trace_code {
	const char *name; /* qualified */
	const char *file;
	uint32_t line; /* first line of the definition */
};

/* A frame of a Python stack. */
struct trace_frame {
	uint32_t code;   /* id; 0: unknown */
	uint32_t offset; /* of the instruction it was at, in bytes */
};

/* A place in native code. */
struct trace_native {
	uint32_t symbol, library; /* string ids; 0: unknown */
};

/* Attributes of an NVTX range or mark. */
struct trace_nvtx {
	enum nvtx_kind kind;
	const char *name;
	const char *domain;        /* "": the default one */
	uint32_t category;         /* 0: none */
	const char *category_name; /* "": it has none */
	uint32_t colour;           /* ARGB; 0: none */
};

/* A layer of a model: one module object of one process. */
struct trace_layer {
	uint32_t root;    /* layer id of the module that it was named from; 0: it is one itself */
	const char *name; /* below its root: "transformer.h.3.attn"; of a root: "" */
	const char *class_name; /* "GPT2Attention" */
};

/* The lines of a code object, as CPython keeps them: for timeline/line_tables.h. */
struct trace_lines {
	uint32_t python_minor; /* of the CPython 3 that made the table */
	const uint8_t *table;
	size_t bytes;
};

/* How the run ended; absent when the recorder did not live to write it. */
struct trace_end {
	int64_t wall_ns;     /* of the recording */
	int32_t exit_status; /* of the workload: 0-255, 128 + signal when killed; -1 still running
			      */
};

int trace_open(struct trace **out, const char *path, struct err *err);

/*
 * The same, as if the recorder had ended with the last block that begins in the first `bytes`:
 * for a reader that has no memory for more.  trace_damage() reports it.
 */
int trace_open_part(struct trace **out, const char *path, uint64_t bytes, struct err *err);

/*
 * The same for an open file, from its beginning; the descriptor belongs to the trace from here on,
 * also on failure.  `name` is used in messages.  missing: what trace_damage() returns if the file
 * itself is whole, because its writer knows that something is missing; NULL: nothing.
 */
int trace_open_fd(struct trace **out, int fd, const char *name, const char *missing,
		  struct err *err);
double trace_read_share(const struct trace *t); /* of the file; 1 unless memory set a limit */

void trace_close(struct trace *t); /* NULL is a no-op */

/*
 * One line that says what is missing: from which offset on, or, where the file
 * stops between two blocks, the end.  NULL when the file is whole.
 */
const char *trace_damage(const struct trace *t);
const struct trace_start *trace_start(const struct trace *t);
const struct trace_end *trace_end(const struct trace *t); /* NULL when absent */

/*
 * Facts about the run, in the order in which they were written; a key may occur
 * more than once ("command" does, once for each argument).  NULL past the last.
 */
const char *trace_info(const struct trace *t, const char *key, size_t nth);
size_t trace_info_count(const struct trace *t); /* all keys together */
const char *trace_info_key(const struct trace *t, size_t i);
const char *trace_info_value(const struct trace *t, size_t i);

/* What the recorder or an agent had to say to the user, oldest first. */
size_t trace_note_count(const struct trace *t);
const char *trace_note(const struct trace *t, size_t i);

/*
 * Processes and threads by position, in order of their ids.  The process of a
 * thread is always there.
 */
size_t trace_process_count(const struct trace *t);
const struct trace_process *trace_process(const struct trace *t, size_t i);

/*
 * Likewise, processes without an agent: they have series, and nothing else.  Known of them are
 * id, pids, times and name.
 */
size_t trace_observed_count(const struct trace *t);
const struct trace_process *trace_observed(const struct trace *t, size_t i);

size_t trace_thread_count(const struct trace *t);
const struct trace_thread *trace_thread(const struct trace *t, size_t i);

/* NULL where an id was never defined: callers show "(unknown)" and count it. */
const char *trace_string(const struct trace *t, uint32_t id); /* NVTX's names too */
const struct trace_nvtx *trace_nvtx(const struct trace *t, uint32_t id);
const struct trace_layer *trace_layer(const struct trace *t, uint32_t id);
const struct trace_code *trace_code(const struct trace *t, uint32_t id);
/* Innermost first; NULL where it was never defined. */
const struct trace_frame *trace_stack(const struct trace *t, uint32_t id, size_t *count);
const struct trace_native *trace_native(const struct trace *t, uint32_t id); /* NULL likewise */
const struct trace_lines *trace_lines(const struct trace *t, uint32_t code); /* NULL likewise */
bool trace_has_layers(const struct trace *t); /* at least one is defined */

uint64_t trace_event_count(const struct trace *t); /* stored, all threads */
uint64_t trace_byte_count(const struct trace *t);  /* size of the file */

/*
 * The events of one block, decoded into arrays owned by the batch: event i has
 * kinds[i], ids[i], times_ns[i] and payload bytes
 * payload[payload_at[i] .. payload_at[i + 1]).
 */
struct event_batch {
	size_t count;
	uint64_t first_index; /* of its thread; a jump from the previous batch is a loss */
	const uint8_t *kinds; /* enum record_kind, or a kind this version does not know */
	const uint32_t *ids;
	const int64_t *times_ns;
	const uint32_t *payload_at; /* count + 1 entries */
	const uint8_t *payload;
	void *memory; /* private */
};

void event_batch_init(struct event_batch *b);
void event_batch_release(struct event_batch *b);

/*
 * The event blocks of the thread at position `thread`, in order.  A batch is
 * filled again by each read and belongs to one thread at a time.
 */
size_t trace_batch_count(const struct trace *t, size_t thread);
int trace_batch_read(const struct trace *t, size_t thread, size_t nth, struct event_batch *b,
		     struct err *err);

/*
 * The samples, block by block as they were written: those of a thread in order,
 * those of different threads and processes in any.  A batch is filled again by each
 * read.
 */
struct sample_batch {
	uint32_t process; /* id */
	size_t count;
	const struct sample *samples; /* their threads may be unknown to the trace */
	void *memory;                 /* private */
};

void sample_batch_init(struct sample_batch *b);
void sample_batch_release(struct sample_batch *b);
size_t trace_sample_batch_count(const struct trace *t);
int trace_sample_batch_read(const struct trace *t, size_t nth, struct sample_batch *b,
			    struct err *err);

/*
 * Series, block by block as they were written: the points of a series in order, those of different
 * series in any.  A value that stays is given by two points, when it was first and last seen.  A
 * batch is filled again by each read.
 */
struct series_batch {
	size_t count;
	const struct series_point *points; /* of kinds and processes that may be unknown */
	void *memory;                      /* private */
};

void series_batch_init(struct series_batch *b);
void series_batch_release(struct series_batch *b);
size_t trace_series_batch_count(const struct trace *t);
int trace_series_batch_read(const struct trace *t, size_t nth, struct series_batch *b,
			    struct err *err);

/* The position of the thread with this id; trace_thread_count() where there is none. */
size_t trace_thread_find(const struct trace *t, uint32_t id);

/*
 * The metadata of scopes and marks, one key and value after the other
 * (enum arg_type in format/record.h).
 */

struct trace_args {
	const uint8_t *at, *end;
};

struct trace_arg {
	enum arg_type type;
	const char *key; /* borrowed; any bytes, not terminated */
	size_t key_bytes;
	int64_t integer;  /* ARG_INT */
	double real;      /* ARG_FLOAT */
	const char *text; /* ARG_STRING, ARG_OBJECT; like key */
	size_t text_bytes;
};

void trace_args_init(struct trace_args *a, const uint8_t *args, size_t bytes);

/* False at the end, which is also where bytes begin that are invalid. */
bool trace_args_next(struct trace_args *a, struct trace_arg *out);

const char *cuda_call_name(enum cuda_call what); /* "launch", "copy", ..., "other" */

#endif
