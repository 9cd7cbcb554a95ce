/*
 * Writing a trace file (.isc; docs/FORMAT.md): append-only, block by block.
 *
 * After each successful call the file is a valid trace up to its last whole
 * block.  A write that fails (a full disk) cuts the file back to its last whole
 * block and fails every later call with the same text.  One thread.
 */
#ifndef FORMAT_TRACE_WRITER_H
#define FORMAT_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/sample.h"
#include "format/series.h"
#include "format/trace.h"

struct trace_writer;

/*
 * Writes the file header, from offset 0 of an empty file.  The descriptor stays
 * the caller's and must outlive the writer.  The clocks are read here: this is
 * time 0 of the trace.
 */
int trace_writer_new(struct trace_writer **out, int fd, struct err *err);

/* The same with clocks that were read elsewhere: for what another tool recorded. */
int trace_writer_new_at(struct trace_writer **out, int fd, const struct trace_start *start,
			struct err *err);

/* Makes this time 0.  Only facts and notes may have been written before. */
int trace_writer_restart(struct trace_writer *w, struct err *err);
const struct trace_start *trace_writer_start(const struct trace_writer *w);
void trace_writer_free(struct trace_writer *w); /* writes nothing; NULL is a no-op */

int trace_write_info(struct trace_writer *w, const char *key, const char *value, struct err *err);
int trace_write_note(struct trace_writer *w, const char *text, struct err *err);

/*
 * May be called again for the same id: the later one counts.  A process comes
 * before its threads, a thread before its events.
 */
int trace_write_process(struct trace_writer *w, const struct trace_process *p, struct err *err);
int trace_write_thread(struct trace_writer *w, const struct trace_thread *t, struct err *err);

/* One without an agent: it has series only, and an id that no other process has.  Likewise. */
int trace_write_observed(struct trace_writer *w, const struct trace_process *p, struct err *err);

/*
 * The thread will make no more events: writes out what is collected of it and
 * gives up what is kept for it, so that memory is bounded by the threads that live.
 */
int trace_writer_forget(struct trace_writer *w, uint32_t thread, struct err *err);

/*
 * Definitions and events are collected and written as blocks by
 * trace_writer_flush(), or earlier when a block is full; definitions before
 * the events that may use them.  The payload is copied.
 */
int trace_write_def(struct trace_writer *w, uint8_t kind, uint32_t id, const void *payload,
		    size_t bytes, struct err *err);

/*
 * index: how many records the thread had produced before this one; a jump is a
 * loss.  A thread that was not written, an index that goes back and a payload
 * the kind does not allow are refused (-1, text set); the writer lives on.
 */
int trace_write_event(struct trace_writer *w, uint32_t thread, uint64_t index, uint8_t kind,
		      uint32_t id, int64_t time_ns, const void *payload, size_t bytes,
		      struct err *err);

/*
 * Collected by process, like events by thread.  The process was written before;
 * the thread must be before the trace ends.
 */
int trace_write_sample(struct trace_writer *w, uint32_t process, const struct sample *s,
		       struct err *err);

/* Likewise, of all series together.  Its process, unless that is 0, was written before. */
int trace_write_point(struct trace_writer *w, const struct series_point *p, struct err *err);

/*
 * Writes out what is collected; older_than_ns > 0: only blocks of events, samples or series begun
 * that long before now_ns.
 */
int trace_writer_flush(struct trace_writer *w, int64_t now_ns, int64_t older_than_ns,
		       struct err *err);

/* Flushes everything and writes the end block. */
int trace_write_end(struct trace_writer *w, const struct trace_end *end, struct err *err);

/*
 * After a write has failed: cuts off the newest blocks of events, so that what is known of
 * processes and threads can still be written, how many events they made above all.  Events,
 * definitions, samples and points are taken from here on and not written; there must be no end. -1:
 * there is nothing to cut, and the writer stays failed.
 */
int trace_writer_make_room(struct trace_writer *w);

uint64_t trace_writer_bytes(const struct trace_writer *w); /* written so far */

#endif
