/*
 * What an importer has found, in any order, becomes a trace.
 *
 * An importer of any format calls build_process(), build_thread(), build_name() and
 * build_function() for the numbers that spans refer to, then build_span_add() and
 * build_activity_add() for each thing that happened, and at the end build_write().  That sorts
 * spans by thread and time, nests them, joins device work with the calls that started it, gives
 * every call the Python stack that was open around it, and writes the records that our own
 * recorder would have written.
 *
 * Times are nanoseconds of whatever clock the file has: the earliest becomes time 0.  Numbers
 * that come back begin at 1; 0 means that memory ran out, and so does -1.
 */
#ifndef IMPORT_BUILD_H
#define IMPORT_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/record.h"

struct build;

/* What a span is.  The order is that of the nesting where two take the same time. */
enum build_kind {
	BUILD_SCOPE,    /* the user's annotation; may overlap others.  name: build_name() */
	BUILD_PYTHON,   /* a Python function.  name: build_function() */
	BUILD_LAYER,    /* a module of a model.  name: build_layer() */
	BUILD_FUNCTION, /* any other: an operator, a generic span.  name: build_function() */
	BUILD_CUDA,     /* a call of CUDA or HIP.  name: build_name(); detail: correlation, or 0 */
	BUILD_MARK,     /* a moment.  name: build_name() */
	BUILD_COUNTER,  /* a value from start_ns on.  name: build_name(); `value` instead of end_ns
			 */
	BUILD_KINDS
};

#define BUILD_SPAN_NVTX 1
#define BUILD_OPEN INT64_MAX /* an end that was never recorded */

struct build_span {
	int64_t start_ns;
	union {
		int64_t end_ns; /* not before start_ns; or BUILD_OPEN */
		double value;
	};
	uint32_t thread; /* build_thread() */
	uint32_t name;
	/*
	 * BUILD_CUDA: correlation.  BUILD_SCOPE, BUILD_MARK: number of the asynchronous operation
	 * that it belongs to, in which alone it nests; 0: none.
	 */
	uint32_t detail;
	uint32_t stack;    /* BUILD_CUDA: build_frame(); 0: what is open around it */
	uint32_t kind : 4; /* enum build_kind */
	/*
	 * BUILD_CUDA: 1 + enum cuda_call; 0: the name tells.  BUILD_SCOPE, BUILD_MARK:
	 * BUILD_SPAN_NVTX: `name` is one of build_nvtx().
	 */
	uint32_t call : 5;
	uint32_t stream : 23; /* BUILD_CUDA, a wait: 1 + the stream's number; 0: unknown */
};

struct build_activity {
	int64_t start_ns, end_ns;
	uint32_t process; /* build_process(); 0: that of the call with this correlation */
	uint32_t name;    /* kernels: build_name(), mangled or not */
	uint32_t device, context, stream;
	uint32_t correlation; /* 0: none */
	uint32_t grid[3], block[3];
	uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
	uint32_t graph; /* 0: none */
	uint64_t graph_node;
	uint64_t bytes;              /* copies and memsets */
	uint8_t kind;                /* RECORD_GPU_KERNEL, _COPY, _MEMSET, _GRAPH (a whole one) */
	uint8_t copy;                /* enum gpu_copy */
	uint8_t source, destination; /* enum gpu_memory */
	bool asynchronous;
	bool told; /* ... whether it is; else the name of its call tells */
};

struct build_device {
	uint32_t number;
	const char *name; /* copied, as all texts */
	uint64_t memory_bytes, bandwidth_kb_s;
	uint32_t multiprocessors, clock_khz, capability;
};

int build_new(struct build **out, struct err *err);
void build_free(struct build *b); /* NULL is a no-op */

/* Keys are the importer's own; the same key gives the same number. */
uint32_t build_process(struct build *b, uint64_t key, uint32_t pid);
uint32_t build_thread(struct build *b, uint32_t process, uint64_t key, uint32_t tid);
uint32_t build_process_of(const struct build *b, uint32_t thread);
void build_process_name(struct build *b, uint32_t process, uint32_t name);
void build_thread_name(struct build *b, uint32_t thread, uint32_t name);
/* It turns out to be one of another process. */
void build_thread_assign(struct build *b, uint32_t thread, uint32_t process);
/* The same as above, unless it has a name. */
void build_process_called(struct build *b, uint32_t process, uint32_t name);
void build_thread_called(struct build *b, uint32_t thread, uint32_t name);

uint32_t build_name(struct build *b, const char *text, size_t bytes);
const char *build_text(const struct build *b, uint32_t name); /* borrowed; "" for 0 */
uint32_t build_function(struct build *b, uint32_t name, uint32_t file, uint32_t line);

/*
 * A layer: its name below the module `root` that it was named from, which are classes or names of
 * modules; name 0: it is a root.  root BUILD_OUTERMOST: the outermost layer that is open around it
 * where it first comes, or none.
 */
#define BUILD_OUTERMOST UINT32_MAX
uint32_t build_layer(struct build *b, uint32_t name, uint32_t class_name, uint32_t root);

/* A range or mark of NVTX's: numbers are of build_name(), 0 where there is none. */
struct build_nvtx {
	uint32_t name, domain, category_name;
	uint32_t category, colour;
	enum nvtx_kind kind;
};
uint32_t build_nvtx(struct build *b, const struct build_nvtx *x);

/* The stack that `function` makes on top of `caller` (0: none). */
uint32_t build_frame(struct build *b, uint32_t caller, uint32_t function);

int build_span_add(struct build *b, const struct build_span *s);
int build_activity_add(struct build *b, const struct build_activity *a);
int build_device_add(struct build *b, const struct build_device *d); /* again: replaces */

/* A fact about the run (trace_info()), and a line for the user in the report. */
int build_info(struct build *b, const char *key, const char *value);
int build_note(struct build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The recording lasted from one to the other, whatever happened in it. */
void build_window(struct build *b, int64_t start_ns, int64_t end_ns);

/* Its time 0 in nanoseconds since 1970 is that of the earliest event plus this. */
void build_epoch(struct build *b, int64_t offset_ns);

/*
 * Writes the trace into an empty file.  Uses the build up: afterwards only build_free() may
 * follow.
 */
int build_write(struct build *b, int fd, struct err *err);

/* What a call of CUDA's or HIP's does, by its name. */
enum cuda_call cuda_call_of_name(const char *name);

#endif
