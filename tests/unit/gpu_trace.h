/*
 * Traces of a GPU for tests, written through the real writer.  Host times are the
 * trace's; device times are given the same way and stored as CLOCK_MONOTONIC.
 */
#ifndef TESTS_GPU_TRACE_H
#define TESTS_GPU_TRACE_H

#include <string.h>

#include "base/buf.h"
#include "timeline/gpu.h"
#include "trace_sample.h"

struct gpu_trace {
	struct memory_file file;
	struct trace_writer *writer;
	uint64_t index[8]; /* produced, by thread id */
	uint32_t next_id;
	struct buf payload;
	struct trace *trace;
	struct gpu_timeline *gpu;
};

/* Processes 1 and 2; threads 1, 2 and 3 belong to the first, 4 and 5 to the second. */
static inline void gpu_trace_begin(struct gpu_trace *t)
{
	struct err err;

	memset(t, 0, sizeof(*t));
	t->next_id = 1000;
	buf_init(&t->payload);
	memory_file_init(&t->file);
	must(trace_writer_new(&t->writer, t->file.fd, &err));
	for (uint32_t id = 1; id <= 2; id++) {
		struct trace_process p = { .id = id, .pid = 100 * id, .name = "app", .end_ns = -1 };

		must(trace_write_process(t->writer, &p, &err));
	}
	for (uint32_t id = 1; id <= 5; id++) {
		struct trace_thread p = {
			.id = id, .process = id <= 3 ? 1 : 2, .tid = id, .end_ns = -1, .name = ""
		};

		must(trace_write_thread(t->writer, &p, &err));
	}
}

static inline uint32_t gpu_trace_define(struct gpu_trace *t, uint8_t kind, const void *data,
					size_t bytes)
{
	struct err err;

	must(trace_write_def(t->writer, kind, t->next_id, data, bytes, &err));
	return t->next_id++;
}

static inline uint32_t gpu_trace_string(struct gpu_trace *t, const char *s)
{
	return gpu_trace_define(t, DEF_STRING, s, strlen(s));
}

static inline void gpu_trace_event(struct gpu_trace *t, uint32_t thread, uint8_t kind, uint32_t id,
				   int64_t time_ns)
{
	struct err err;

	must(trace_write_event(t->writer, thread, t->index[thread]++, kind, id, time_ns,
			       t->payload.data, t->payload.len, &err));
	buf_clear(&t->payload);
}

static inline void gpu_trace_fields(struct gpu_trace *t, const uint64_t *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add_varint(&t->payload, fields[i]);
}

struct call_spec {
	uint32_t thread, name, correlation, stack;
	enum cuda_call what;
	uint64_t bytes, stream_plus_1;
	int64_t start_ns, end_ns; /* end < start: no exit */
};

static inline void gpu_trace_call(struct gpu_trace *t, const struct call_spec *c)
{
	const uint64_t fields[] = { c->what, c->correlation, c->stack, c->bytes, c->stream_plus_1 };

	gpu_trace_fields(t, fields, c->stream_plus_1 ? 5 : 4);
	gpu_trace_event(t, c->thread, RECORD_CUDA_ENTER, c->name, c->start_ns);
	if (c->end_ns >= c->start_ns)
		gpu_trace_event(t, c->thread, RECORD_CUDA_EXIT, c->correlation, c->end_ns);
}

struct activity_spec {
	uint32_t thread, id, correlation;
	uint8_t kind;
	uint32_t context, stream;
	int64_t start_ns, end_ns;
	uint64_t more[11]; /* what the kind has behind the common fields */
};

static inline void gpu_trace_activity(struct gpu_trace *t, const struct activity_spec *a)
{
	uint64_t zero_ns = (uint64_t)trace_writer_start(t->writer)->monotonic_ns;
	const uint64_t fields[] = { (uint64_t)a->start_ns + zero_ns,
				    (uint64_t)(a->end_ns - a->start_ns),
				    0,
				    a->context,
				    a->stream,
				    a->correlation };

	gpu_trace_fields(t, fields, 6);
	gpu_trace_fields(t, a->more, 11);
	gpu_trace_event(t, a->thread, a->kind, a->id, a->end_ns > 0 ? a->end_ns : 0);
}

/* Ends the trace and reads it. */
static inline void gpu_trace_read(struct gpu_trace *t)
{
	struct trace_end end = { .wall_ns = 1 };
	struct err err;

	must(trace_write_end(t->writer, &end, &err));
	must(trace_open(&t->trace, t->file.path, &err));
	must(gpu_timeline_new(&t->gpu, t->trace, &err));
}

static inline void gpu_trace_release(struct gpu_trace *t)
{
	gpu_timeline_free(t->gpu);
	trace_close(t->trace);
	trace_writer_free(t->writer);
	buf_release(&t->payload);
	close(t->file.fd);
}

#endif
