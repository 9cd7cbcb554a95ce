/*
 * The inside of the tables, shared by the files that define them.
 *
 * A table is an X-macro of columns, a cursor that begins with struct table_cursor, and functions:
 * next() moves to a row, cell() is a switch over the columns' numbers.  Rows that come out of a
 * walk over the events in pieces wait in a struct row_queue.
 */
#ifndef TABLES_TABLE_CURSOR_H
#define TABLES_TABLE_CURSOR_H

#include "analyze/analysis.h"
#include "base/json.h"
#include "tables/gpu_owners.h"
#include "tables/step_index.h"
#include "tables/table.h"
#include "tables/table_source.h"
#include "timeline/gpu.h"
#include "timeline/timeline.h"

struct table_cursor {
	const struct table *table;
	struct table_source *source;
	struct buf text; /* of the cell that was composed last */
	bool failed;     /* a cell was omitted: no memory */
};

/* A table's columns are a list X(C, T) of C(T, name, TYPE, unit, meaning); T is its prefix. */
#define COLUMN_NUMBER(T, name, type, unit, meaning) T##_##name,
#define COLUMN_ENTRY(T, name, type, unit, meaning) { #name, COLUMN_##type, unit, meaning },

#define TABLE_COLUMNS(list) .columns = list, .column_count = sizeof(list) / sizeof(*(list))

#define THREAD_COLUMNS(C, T)                                         \
	C(T, thread, INTEGER, "", "the thread: threads.thread")      \
	C(T, pid, INTEGER, "", "process id of the operating system") \
	C(T, tid, INTEGER, "", "thread id of the operating system")

/* Cells. */

static inline void cell_int(struct cell *out, int64_t value)
{
	out->kind = CELL_INTEGER;
	out->integer = value;
}

/* Larger ones do not fit a column: they are given as negative numbers, bit for bit. */
static inline void cell_uint(struct cell *out, uint64_t value)
{
	cell_int(out, (int64_t)value);
}

static inline void cell_real(struct cell *out, double value)
{
	if (value != value) /* NaN: unknown */
		return;
	out->kind = CELL_REAL;
	out->real = value;
}

static inline void cell_text(struct cell *out, const char *text)
{
	if (!text)
		return;
	out->kind = CELL_TEXT;
	out->text = text;
}

/* Where "" says that there is none. */
static inline void cell_text_or_null(struct cell *out, const char *text)
{
	cell_text(out, text && *text ? text : NULL);
}

static inline void cell_time(struct cell *out, int64_t ns)
{
	if (ns != TRACE_UNKNOWN_NS)
		cell_int(out, ns);
}

/* The three cells of THREAD_COLUMNS, in their order, of a thread's position. */
enum thread_cell { CELL_THREAD, CELL_PID, CELL_TID };
void cell_thread(const struct table_cursor *c, size_t thread, size_t which, struct cell *out);

/* The step that the thread at a position was in at a moment. */
void cell_step(struct table_cursor *c, size_t thread, int64_t time_ns, struct cell *out);

/* To compose a text: cell_compose() empties the buffer, cell_composed() makes it the cell's. */
struct buf *cell_compose(struct table_cursor *c);
void cell_composed(struct table_cursor *c, struct cell *out);

/* The metadata of a scope or mark as a JSON object; NULL where it has none. */
void cell_args(struct table_cursor *c, const uint8_t *args, size_t bytes, struct cell *out);

/* Rows that wait to be read. */

struct row_queue {
	char *rows;
	size_t row_bytes;
	size_t count, cap, at; /* at: of the one that is read, plus one */
	bool failed;           /* no memory */
};

void row_queue_init(struct row_queue *q, size_t row_bytes);
void row_queue_release(struct row_queue *q);
void row_queue_push(struct row_queue *q, const void *row);
/* The next one, NULL: none.  Valid until the next push. */
const void *row_queue_pop(struct row_queue *q);

static inline bool row_queue_is_empty(const struct row_queue *q)
{
	return q->at == q->count;
}

/* A table of what a walk over the events finds, block by block. */
struct walked {
	struct table_cursor base;
	struct timeline *timeline;
	struct timeline_reader *reader;
	struct row_queue queue; /* the visitor pushes */
	int64_t id;             /* of the next row */
};

int walked_open(struct walked *w, const struct timeline_visitor *v, size_t row_bytes,
		struct err *err);
int walked_next(struct walked *w, const void **row, struct err *err); /* 1, 0 or -1 */
void walked_close(struct table_cursor *c);

/* A table of what can be counted and reached by position. */
struct position_cursor {
	struct table_cursor base;
	size_t at, count; /* at: the row's position plus one */
};

int position_next(struct table_cursor *c, struct err *err);
bool position_seek(struct table_cursor *c, int64_t id); /* an id is a position */

static inline size_t position_of(const struct table_cursor *c)
{
	return ((const struct position_cursor *)c)->at - 1;
}

static inline void position_count(struct table_cursor *c, size_t count)
{
	((struct position_cursor *)c)->count = count;
}

/* The tables, by the files that define them. */
extern const struct table table_info, table_processes, table_threads, table_gaps, table_devices;
extern const struct table table_spans, table_scopes, table_marks, table_layers;
extern const struct table table_kernels, table_copies, table_memsets, table_graphs, table_api;
extern const struct table table_samples, table_native, table_off_cpu;
extern const struct table table_counters;
extern const struct table table_steps, table_step_kinds, table_breakdown, table_functions;
extern const struct table table_findings, table_metrics;

#endif
