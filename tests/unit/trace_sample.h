/* A small trace with everything in it, for the tests of the trace file. */
#ifndef TESTS_TRACE_SAMPLE_H
#define TESTS_TRACE_SAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/trace_writer.h"

#define SAMPLE_CODE_ID 7u
#define SAMPLE_NAME_ID 9u
#define SAMPLE_EVENTS 8u /* of thread 1 */

#define must(call)                                                    \
	do {                                                          \
		if (call) {                                           \
			fprintf(stderr, "%s: %s\n", #call, err.text); \
			abort();                                      \
		}                                                     \
	} while (0)

/* A file in memory that trace_open() can open by path. */
struct memory_file {
	int fd;
	char path[64];
};

static inline void memory_file_init(struct memory_file *f)
{
	f->fd = memfd_create("trace", MFD_CLOEXEC);
	if (f->fd < 0)
		abort();
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
}

static inline void memory_file_fill(struct memory_file *f, const void *data, size_t bytes)
{
	if (ftruncate(f->fd, 0) || pwrite(f->fd, data, bytes, 0) != (ssize_t)bytes)
		abort();
}

static inline size_t memory_file_bytes(const struct memory_file *f)
{
	return (size_t)lseek(f->fd, 0, SEEK_END);
}

static inline void sample_event(struct trace_writer *w, uint64_t index, uint8_t kind, uint32_t id,
				int64_t time_ns, const char *payload, size_t bytes)
{
	struct err err;

	must(trace_write_event(w, 1, index, kind, id, time_ns, payload, bytes, &err));
}

static inline void sample_write(int fd)
{
	static const char code[] = "\x2a\x05outermain.py"; /* line 42, "outer", main.py */
	struct trace_process process = {
		.id = 1,
		.pid = 4711,
		.parent_pid = 4710,
		.python_version = 0x030c03f0,
		.end_ns = TRACE_UNKNOWN_NS,
		.name = "main.py",
	};
	struct trace_thread thread = { .id = 1,
				       .process = 1,
				       .tid = 4711,
				       .start_ns = 10,
				       .end_ns = TRACE_UNKNOWN_NS,
				       .name = "MainThread" };
	struct trace_thread other = {
		.id = 2, .process = 1, .tid = 4712, .start_ns = 20, .end_ns = 90, .name = ""
	};
	struct trace_end end = { .wall_ns = 12345, .exit_status = 3 };
	struct trace_writer *w;
	struct err err;

	must(trace_writer_new(&w, fd, &err));
	must(trace_write_info(w, "command", "python3", &err));
	must(trace_write_info(w, "command", "main.py", &err));
	must(trace_write_note(w, "a note", &err));
	must(trace_write_process(w, &process, &err));
	must(trace_write_thread(w, &other, &err));
	must(trace_write_thread(w, &thread, &err));
	must(trace_write_def(w, DEF_CODE, SAMPLE_CODE_ID, code, sizeof(code) - 1, &err));
	must(trace_write_def(w, DEF_STRING, SAMPLE_NAME_ID, "step", 4, &err));
	sample_event(w, 0, RECORD_CALL, SAMPLE_CODE_ID, 1000, NULL, 0);
	sample_event(w, 1, RECORD_SCOPE_BEGIN, SAMPLE_NAME_ID, 1100, "\x01\x00", 2);
	sample_event(w, 2, RECORD_GC_BEGIN, 2, 1200, NULL, 0);
	sample_event(w, 3, RECORD_GC_END, 2, 1300, "\x05", 1);
	sample_event(w, 4, RECORD_SCOPE_END, SAMPLE_NAME_ID, 1400, "\x01", 1);
	sample_event(w, 5, RECORD_RETURN, SAMPLE_CODE_ID, 1500, NULL, 0);
	/* Ten are lost. */
	sample_event(w, 16, RECORD_RETURN, SAMPLE_CODE_ID, 1450, NULL, 0);
	sample_event(w, 17, RECORD_MARK, SAMPLE_NAME_ID, 1600, "\x00", 1);
	thread.produced = 18;
	thread.lost = 10;
	thread.end_ns = 1700;
	must(trace_write_thread(w, &thread, &err));
	process.end_ns = 1800;
	must(trace_write_process(w, &process, &err));
	must(trace_write_end(w, &end, &err));
	trace_writer_free(w);
}

#endif
