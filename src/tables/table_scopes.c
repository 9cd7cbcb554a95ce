/* What the program marked: scopes and NVTX ranges, marks, and all counters. */
#include <stdlib.h>

#include "tables/table_cursor.h"

static const char *nvtx_domain(const struct trace_nvtx *n)
{
	return n && *n->domain ? n->domain : NULL;
}

/* Scopes. */

#define SCOPE(C, T)                                                                            \
	C(T, id, INTEGER, "", "number of the scope")                                           \
	C(T, kind, TEXT, "",                                                                   \
	  "`scope`: an InferScope scope; `push`: an NVTX range that nests; `start`: one that " \
	  "does not")                                                                          \
	C(T, name, TEXT, "", "its name")                                                       \
	C(T, domain, TEXT, "", "NVTX domain; NULL: the default domain")                        \
	C(T, category, TEXT, "", "NVTX category: its name, or its number")                     \
	C(T, start_ns, INTEGER, "ns", "when it began")                                         \
	C(T, end_ns, INTEGER, "ns", "when it ended; NULL: it had not ended")                   \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                                  \
	C(T, depth, INTEGER, "", "number of scopes around it")                                 \
	C(T, parent, INTEGER, "", "the innermost scope around it: scopes.id")                  \
	THREAD_COLUMNS(C, T)                                                                   \
	C(T, task, INTEGER, "", "number of its asyncio task")                                  \
	C(T, args, TEXT, "", "its metadata, as a JSON object")                                 \
	C(T, end_args, TEXT, "", "metadata given when it ended, as a JSON object")

enum { SCOPE(COLUMN_NUMBER, SCOPE) };
static const struct column scope_columns[] = { SCOPE(COLUMN_ENTRY, SCOPE) };

static int scopes_open(struct table_cursor *c, struct err *err)
{
	const struct timeline *tl = source_timeline(c->source, err);

	if (!tl)
		return -1;
	position_count(c, timeline_scope_count(tl));
	return 0;
}

static const char *scope_kind(const struct scope *s)
{
	if (!s->nvtx)
		return "scope";
	return s->nvtx->kind == NVTX_STARTED ? "start" : "push";
}

static void category_cell(struct table_cursor *c, const struct trace_nvtx *n, struct cell *out)
{
	if (n && *n->category_name) {
		cell_text(out, n->category_name);
	} else if (n && n->category) {
		buf_printf(cell_compose(c), "%u", n->category);
		cell_composed(c, out);
	}
}

static void scopes_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct scope *s = timeline_scope(source_timeline(c->source, NULL), position_of(c));

	switch (column) {
	case SCOPE_id:
		cell_uint(out, position_of(c));
		break;
	case SCOPE_kind:
		cell_text(out, scope_kind(s));
		break;
	case SCOPE_name:
		cell_text(out, s->name);
		break;
	case SCOPE_domain:
		cell_text(out, nvtx_domain(s->nvtx));
		break;
	case SCOPE_category:
		category_cell(c, s->nvtx, out);
		break;
	case SCOPE_start_ns:
		cell_int(out, s->start_ns);
		break;
	case SCOPE_end_ns:
		if (s->ended)
			cell_int(out, s->end_ns);
		break;
	case SCOPE_duration_ns:
		if (s->ended)
			cell_int(out, s->end_ns - s->start_ns);
		break;
	case SCOPE_depth:
		cell_int(out, s->depth);
		break;
	case SCOPE_parent:
		if (s->parent != SCOPE_NONE)
			cell_uint(out, s->parent);
		break;
	case SCOPE_thread:
	case SCOPE_pid:
	case SCOPE_tid:
		cell_thread(c, s->thread, column - SCOPE_thread, out);
		break;
	case SCOPE_task:
		if (s->task)
			cell_uint(out, s->task);
		break;
	case SCOPE_args:
		cell_args(c, s->args, s->args_bytes, out);
		break;
	case SCOPE_end_args:
		cell_args(c, s->end_args, s->end_args_bytes, out);
		break;
	}
}

const struct table table_scopes = {
	.name = "scopes",
	.meaning = "a scope of the program, or an NVTX range",
	TABLE_COLUMNS(scope_columns),
	.indexes = "id name start_ns",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = scopes_open,
	.next = position_next,
	.seek = position_seek,
	.cell = scopes_cell,
};

/* Marks. */

#define MARK(C, T)                                                                             \
	C(T, id, INTEGER, "", "number of the mark")                                            \
	C(T, name, TEXT, "", "its name")                                                       \
	C(T, domain, TEXT, "", "NVTX domain; NULL: the default domain, or an InferScope mark") \
	C(T, time_ns, INTEGER, "ns", "when it was set")                                        \
	THREAD_COLUMNS(C, T)                                                                   \
	C(T, task, INTEGER, "", "number of its asyncio task")                                  \
	C(T, args, TEXT, "", "its metadata, as a JSON object")

enum { MARK(COLUMN_NUMBER, MARK) };
static const struct column mark_columns[] = { MARK(COLUMN_ENTRY, MARK) };

struct mark_row {
	struct annotation mark;
	size_t args_at;
};

struct mark_cursor {
	struct walked walked;
	const struct mark_row *row;
	struct buf args; /* of the rows that wait */
};

static void visit_mark(void *ctx, const struct annotation *a)
{
	struct mark_cursor *c = ctx;

	if (a->kind != RECORD_MARK)
		return;
	if (row_queue_is_empty(&c->walked.queue))
		buf_clear(&c->args);
	row_queue_push(&c->walked.queue, &(struct mark_row){ *a, c->args.len });
	buf_add(&c->args, a->args, a->args_bytes);
}

static int marks_open(struct table_cursor *c, struct err *err)
{
	const struct timeline_visitor visitor = { .ctx = c, .annotation = visit_mark };

	buf_init(&((struct mark_cursor *)c)->args);
	return walked_open((struct walked *)c, &visitor, sizeof(struct mark_row), err);
}

static int marks_next(struct table_cursor *c, struct err *err)
{
	struct mark_cursor *m = (struct mark_cursor *)c;
	const void *row;
	int rc = walked_next(&m->walked, &row, err);

	m->row = row;
	return m->args.failed ? err_set(err, "out of memory") : rc;
}

static void marks_close(struct table_cursor *c)
{
	buf_release(&((struct mark_cursor *)c)->args);
	walked_close(c);
}

static void marks_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct mark_cursor *cursor = (const struct mark_cursor *)c;
	const struct annotation *a = &cursor->row->mark;
	const struct trace *t = source_trace(c->source);
	const char *name = trace_string(t, a->name);

	switch (column) {
	case MARK_id:
		cell_int(out, cursor->walked.id - 1);
		break;
	case MARK_name:
		cell_text(out, name ? name : "(unknown)");
		break;
	case MARK_domain:
		cell_text(out, nvtx_domain(trace_nvtx(t, a->name)));
		break;
	case MARK_time_ns:
		cell_int(out, a->time_ns);
		break;
	case MARK_thread:
	case MARK_pid:
	case MARK_tid:
		cell_thread(c, a->thread, column - MARK_thread, out);
		break;
	case MARK_task:
		if (a->task)
			cell_uint(out, a->task);
		break;
	case MARK_args:
		cell_args(c, (const uint8_t *)cursor->args.data + cursor->row->args_at,
			  a->args_bytes, out);
		break;
	}
}

const struct table table_marks = {
	.name = "marks",
	.meaning = "a moment that the program marked, or an NVTX mark",
	TABLE_COLUMNS(mark_columns),
	.indexes = "name",
	.cursor_bytes = sizeof(struct mark_cursor),
	.open = marks_open,
	.next = marks_next,
	.cell = marks_cell,
	.close = marks_close,
};

/* Counters: the program's first, thread by thread, then what was read from outside. */

#define COUNTER(C, T)                                                                             \
	C(T, source, TEXT, "",                                                                    \
	  "`program`: set by the program; `system`: read by the recorder (/proc, control group, " \
	  "NVML, PyTorch's cache)")                                                               \
	C(T, name, TEXT, "", "its name; of a system counter with its unit")                       \
	C(T, time_ns, INTEGER, "ns", "when it had the value")                                     \
	C(T, value, REAL, "", "the value, in `unit`")                                             \
	C(T, unit, TEXT, "", "`bytes`, `count`, ...; NULL: a counter of the program")             \
	C(T, nature, TEXT, "",                                                                    \
	  "`gauge`: a level, which holds until the next row; `total`: a count that grows")        \
	C(T, process, INTEGER, "",                                                                \
	  "process that it belongs to: processes.process; NULL: the machine")                     \
	C(T, pid, INTEGER, "", "process id of the operating system")                              \
	C(T, instance, INTEGER, "", "of a system counter: device or NUMA node; else 0")           \
	C(T, thread, INTEGER, "", "of a program's counter: the thread that set it")

enum { COUNTER(COLUMN_NUMBER, COUNTER) };
static const struct column counter_columns[] = { COUNTER(COLUMN_ENTRY, COUNTER) };

struct counter_row {
	const char *name;
	const struct series_quantity *quantity; /* NULL: of the program's */
	int64_t time_ns;
	double value;
	size_t thread;
	uint32_t process, instance;
};

struct counter_cursor {
	struct walked walked;
	const struct counter_row *row;
	struct series_batch batch;
	size_t block;
};

static void visit_counter(void *ctx, const struct annotation *a)
{
	struct counter_cursor *c = ctx;
	const struct trace *t = source_trace(c->walked.base.source);
	const char *name = trace_string(t, a->name);
	const struct counter_row row = {
		.name = name ? name : "(unknown)",
		.time_ns = a->time_ns,
		.value = a->value,
		.thread = a->thread,
		.process = trace_thread(t, a->thread)->process,
	};

	if (a->kind == RECORD_COUNTER)
		row_queue_push(&c->walked.queue, &row);
}

static int counters_open(struct table_cursor *c, struct err *err)
{
	const struct timeline_visitor visitor = { .ctx = c, .annotation = visit_counter };

	series_batch_init(&((struct counter_cursor *)c)->batch);
	return walked_open((struct walked *)c, &visitor, sizeof(struct counter_row), err);
}

static void counters_close(struct table_cursor *c)
{
	series_batch_release(&((struct counter_cursor *)c)->batch);
	walked_close(c);
}

static void push_points(struct counter_cursor *c)
{
	for (size_t i = 0; i < c->batch.count; i++) {
		const struct series_point *p = &c->batch.points[i];
		const struct series_quantity *q = series_quantity(p->kind);
		const struct counter_row row = {
			.name = q ? q->name : NULL,
			.quantity = q,
			.time_ns = p->time_ns,
			.value = (double)p->value,
			.process = p->process,
			.instance = p->instance,
		};

		if (q && (!p->process || source_process(c->walked.base.source, p->process) ||
			  source_observed(c->walked.base.source, p->process)))
			row_queue_push(&c->walked.queue, &row);
	}
}

static int counters_next(struct table_cursor *cursor, struct err *err)
{
	struct counter_cursor *c = (struct counter_cursor *)cursor;
	const struct trace *t = source_trace(cursor->source);
	const void *row;
	int rc = walked_next(&c->walked, &row, err);
	struct err why;

	while (!rc && c->block < trace_series_batch_count(t)) {
		if (!trace_series_batch_read(t, c->block++, &c->batch, &why))
			push_points(c);
		else if (err_is_memory(&why))
			rc = err_set(err, "out of memory");
		if (c->walked.queue.failed)
			rc = err_set(err, "out of memory");
		if (!rc && (row = row_queue_pop(&c->walked.queue)))
			rc = 1;
	}
	c->row = row;
	return rc;
}

static void counters_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct counter_row *row = ((const struct counter_cursor *)c)->row;
	const struct series_quantity *q = row->quantity;
	const struct trace_process *p = source_process(c->source, row->process);

	if (!p)
		p = source_observed(c->source, row->process);
	switch (column) {
	case COUNTER_source:
		cell_text(out, q ? "system" : "program");
		break;
	case COUNTER_name:
		cell_text(out, row->name);
		break;
	case COUNTER_time_ns:
		cell_int(out, row->time_ns);
		break;
	case COUNTER_value:
		cell_real(out, row->value);
		break;
	case COUNTER_unit:
		cell_text(out, q ? series_unit_name(q->unit) : NULL);
		break;
	case COUNTER_nature:
		cell_text(out, q && q->nature == SERIES_TOTAL ? "total" : "gauge");
		break;
	case COUNTER_process:
		if (row->process)
			cell_int(out, row->process);
		break;
	case COUNTER_pid:
		if (p)
			cell_int(out, p->pid);
		break;
	case COUNTER_instance:
		if (q)
			cell_int(out, row->instance);
		break;
	case COUNTER_thread:
		if (!q)
			cell_thread(c, row->thread, CELL_THREAD, out);
		break;
	}
}

const struct table table_counters = {
	.name = "counters",
	.meaning = "a value of a counter; a system value that does not change has two rows, for "
		   "the first and the last reading",
	TABLE_COLUMNS(counter_columns),
	.indexes = "name",
	.cursor_bytes = sizeof(struct counter_cursor),
	.open = counters_open,
	.next = counters_next,
	.cell = counters_cell,
	.close = counters_close,
};
