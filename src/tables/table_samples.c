/* Samples of threads: those of the sampler, and the kernel's of native code and CPU loss. */
#include "tables/table_cursor.h"
#include "timeline/frame_lines.h"
#include "timeline/sample_walk.h"

/* A cursor whose rows come from the samples. */
struct sampled {
	struct table_cursor base;
	struct sample_reader *reader;
	struct row_queue queue;
	int64_t id; /* of the next row */
	const void *row;
	struct frame_lines lines;
};

static int sampled_open(struct table_cursor *c, const struct sample_visitor *v, size_t row_bytes,
			struct err *err)
{
	struct sampled *s = (struct sampled *)c;

	row_queue_init(&s->queue, row_bytes);
	return sample_reader_new(&s->reader, source_trace(c->source), v, err);
}

static int sampled_next(struct table_cursor *c, struct err *err)
{
	struct sampled *s = (struct sampled *)c;
	int rc = 1;

	while (!(s->row = row_queue_pop(&s->queue)) && rc > 0) {
		rc = sample_reader_next(s->reader, err);
		if (s->queue.failed)
			return err_set(err, "out of memory");
	}
	s->id += s->row != NULL;
	return s->row ? 1 : rc;
}

static void sampled_close(struct table_cursor *c)
{
	struct sampled *s = (struct sampled *)c;

	sample_reader_free(s->reader);
	row_queue_release(&s->queue);
}

/* A thread without Python has no number here. */
static void cell_known_thread(const struct table_cursor *c, size_t thread, size_t which,
			      struct cell *out)
{
	if (thread < trace_thread_count(source_trace(c->source)))
		cell_thread(c, thread, which, out);
}

/* Samples of Python stacks. */

#define SAMPLE(C, T)                                                                        \
	C(T, id, INTEGER, "", "number of the row in this table")                            \
	C(T, start_ns, INTEGER, "ns",                                                       \
	  "start of the time that the row represents: halfway to the preceding sample")     \
	C(T, end_ns, INTEGER, "ns", "end of that time: halfway to the following sample")    \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                               \
	C(T, first_ns, INTEGER, "ns", "time of the first sample of the row")                \
	C(T, last_ns, INTEGER, "ns", "time of the last sample of the row")                  \
	C(T, count, INTEGER, "", "number of equal consecutive samples")                     \
	THREAD_COLUMNS(C, T)                                                                \
	C(T, state, TEXT, "",                                                               \
	  "`running`, `gil_wait`, `lock_wait`, `io_wait`, `off_cpu`, `sleep` or `unknown`") \
	C(T, has_gil, BOOLEAN, "", "the thread had the GIL")                                \
	C(T, uncertain, BOOLEAN, "", "the innermost frame is uncertain")                    \
	C(T, lock, INTEGER, "", "address of the lock that it waited for")                   \
	C(T, holder, INTEGER, "", "the thread that had the lock: threads.thread")           \
	C(T, depth, INTEGER, "", "frames of the stack")                                     \
	C(T, function, TEXT, "", "innermost function")                                      \
	C(T, file, TEXT, "", "its file")                                                    \
	C(T, line, INTEGER, "", "the line that it was executing")                           \
	C(T, stack, TEXT, "", "functions of the whole stack, outermost first, separated by `;`")

enum { SAMPLE(COLUMN_NUMBER, SAMPLE) };
static const struct column sample_columns[] = { SAMPLE(COLUMN_ENTRY, SAMPLE) };

struct sample_row {
	struct sample sample;
	size_t thread;
	int64_t start_ns, end_ns;
};

static void visit_sample(void *ctx, const struct timed_sample *s)
{
	const struct sample_row row = { *s->sample, s->thread, s->start_ns, s->end_ns };

	row_queue_push(&((struct sampled *)ctx)->queue, &row);
}

static int samples_open(struct table_cursor *c, struct err *err)
{
	const struct sample_visitor visitor = { .ctx = c, .sample = visit_sample };

	return sampled_open(c, &visitor, sizeof(struct sample_row), err);
}

static const char *state_name(const struct sample *s)
{
	static const char *const names[SAMPLE_STATES] = {
		[SAMPLE_UNKNOWN] = "unknown",   [SAMPLE_RUNNING] = "running",
		[SAMPLE_GIL_WAIT] = "gil_wait", [SAMPLE_LOCK_WAIT] = "lock_wait",
		[SAMPLE_IO_WAIT] = "io_wait",   [SAMPLE_OFF_CPU] = "off_cpu",
		[SAMPLE_SLEEP] = "sleep",
	};
	enum sample_state state = sample_state(s);

	return names[state < SAMPLE_STATES ? state : SAMPLE_UNKNOWN];
}

static const char *code_name(const struct trace *t, uint32_t code)
{
	const struct trace_code *known = trace_code(t, code);

	return known ? known->name : "(unknown)";
}

static void stack_cell(struct table_cursor *c, const struct trace_frame *frames, size_t count,
		       struct cell *out)
{
	struct buf *text = cell_compose(c);

	while (count--) {
		size_t at = text->len;

		buf_add_str(text, code_name(source_trace(c->source), frames[count].code));
		for (; at < text->len; at++)
			if (text->data[at] == ';')
				text->data[at] = ':';
		if (count)
			buf_add_byte(text, ';');
	}
	cell_composed(c, out);
}

static void frame_cell(struct table_cursor *c, const struct sample *s, size_t column,
		       struct cell *out)
{
	const struct trace *t = source_trace(c->source);
	size_t count = 0;
	const struct trace_frame *frames = trace_stack(t, s->stack, &count);
	const struct trace_code *code = count ? trace_code(t, frames[0].code) : NULL;
	uint32_t line;

	switch (column) {
	case SAMPLE_depth:
		cell_uint(out, count);
		break;
	case SAMPLE_function:
		if (count)
			cell_text(out, code_name(t, frames[0].code));
		break;
	case SAMPLE_file:
		cell_text_or_null(out, code ? code->file : NULL);
		break;
	case SAMPLE_line:
		line = count ? frame_lines_find(&((struct sampled *)c)->lines, t, &frames[0]) : 0;
		if (line)
			cell_int(out, line);
		break;
	case SAMPLE_stack:
		if (count)
			stack_cell(c, frames, count, out);
		break;
	}
}

static void samples_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct sampled *cursor = (const struct sampled *)c;
	const struct sample_row *row = cursor->row;
	const struct sample *s = &row->sample;

	switch (column) {
	case SAMPLE_id:
		cell_int(out, cursor->id - 1);
		break;
	case SAMPLE_start_ns:
		cell_int(out, row->start_ns);
		break;
	case SAMPLE_end_ns:
		cell_int(out, row->end_ns);
		break;
	case SAMPLE_duration_ns:
		cell_int(out, row->end_ns - row->start_ns);
		break;
	case SAMPLE_first_ns:
		cell_int(out, s->first_ns);
		break;
	case SAMPLE_last_ns:
		cell_int(out, s->last_ns);
		break;
	case SAMPLE_count:
		cell_int(out, s->count);
		break;
	case SAMPLE_thread:
	case SAMPLE_pid:
	case SAMPLE_tid:
		cell_thread(c, row->thread, column - SAMPLE_thread, out);
		break;
	case SAMPLE_state:
		cell_text(out, state_name(s));
		break;
	case SAMPLE_has_gil:
		cell_int(out, (s->flags & SAMPLE_HAS_GIL) != 0);
		break;
	case SAMPLE_uncertain:
		cell_int(out, (s->flags & SAMPLE_LEAF_UNSTABLE) != 0);
		break;
	case SAMPLE_lock:
		if (s->lock)
			cell_uint(out, s->lock);
		break;
	case SAMPLE_holder:
		if (s->holder)
			cell_int(out, s->holder);
		break;
	default:
		frame_cell(c, s, column, out);
		break;
	}
}

const struct table table_samples = {
	.name = "samples",
	.meaning = "equal consecutive samples of a thread; the durations of a thread's rows add up "
		   "to the time during which it was sampled",
	TABLE_COLUMNS(sample_columns),
	.indexes = "thread start_ns",
	.cursor_bytes = sizeof(struct sampled),
	.open = samples_open,
	.next = sampled_next,
	.cell = samples_cell,
	.close = sampled_close,
};

/* Samples of native code, by the kernel. */

#define NATIVE(C, T)                                                                             \
	C(T, id, INTEGER, "", "number of the row in this table")                                 \
	C(T, kind, TEXT, "",                                                                     \
	  "`cpu`: the thread was running this code; `fault`, `major_fault`: it had page faults " \
	  "there")                                                                               \
	C(T, time_ns, INTEGER, "ns", "time of the sample")                                       \
	C(T, count, INTEGER, "", "page faults that the row represents; 1 for `cpu`")             \
	C(T, process, INTEGER, "", "the process: processes.process")                             \
	C(T, thread, INTEGER, "", "the thread: threads.thread; NULL: a thread without Python")   \
	C(T, pid, INTEGER, "", "process id of the operating system")                             \
	C(T, tid, INTEGER, "", "thread id of the operating system")                              \
	C(T, symbol, TEXT, "", "the function's symbol name")                                     \
	C(T, library, TEXT, "", "its file")

enum { NATIVE(COLUMN_NUMBER, NATIVE) };
static const struct column native_columns[] = { NATIVE(COLUMN_ENTRY, NATIVE) };

struct native_row {
	const char *kind;
	uint32_t process, place, count;
	size_t thread;
	int64_t time_ns;
};

static void visit_native(void *ctx, const struct native_sample_at *n)
{
	const struct native_row row = { "cpu", n->process, n->place, 1, n->thread, n->time_ns };

	if (!(n->flags & SAMPLE_AWAY))
		row_queue_push(&((struct sampled *)ctx)->queue, &row);
}

static void visit_fault(void *ctx, const struct fault_at *f)
{
	const struct native_row row = { f->major ? "major_fault" : "fault",
					f->process,
					f->place,
					f->count,
					f->thread,
					f->time_ns };

	row_queue_push(&((struct sampled *)ctx)->queue, &row);
}

static int native_open(struct table_cursor *c, struct err *err)
{
	const struct sample_visitor visitor = {
		.ctx = c,
		.native = visit_native,
		.fault = visit_fault,
	};

	return sampled_open(c, &visitor, sizeof(struct native_row), err);
}

static void native_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct sampled *cursor = (const struct sampled *)c;
	const struct native_row *row = cursor->row;
	const struct trace *t = source_trace(c->source);
	const struct trace_native *n = trace_native(t, row->place);

	switch (column) {
	case NATIVE_id:
		cell_int(out, cursor->id - 1);
		break;
	case NATIVE_kind:
		cell_text(out, row->kind);
		break;
	case NATIVE_time_ns:
		cell_int(out, row->time_ns);
		break;
	case NATIVE_count:
		cell_int(out, row->count);
		break;
	case NATIVE_process:
		cell_int(out, row->process);
		break;
	case NATIVE_thread:
		cell_known_thread(c, row->thread, CELL_THREAD, out);
		break;
	case NATIVE_pid:
		cell_int(out, source_pid(c->source, row->process));
		break;
	case NATIVE_tid:
		cell_known_thread(c, row->thread, CELL_TID, out);
		break;
	case NATIVE_symbol:
		cell_text(out, n && n->symbol ? trace_string(t, n->symbol) : NULL);
		break;
	case NATIVE_library:
		cell_text(out, n && n->library ? trace_string(t, n->library) : NULL);
		break;
	}
}

const struct table table_native = {
	.name = "native_samples",
	.meaning = "a sample of native code, taken by the kernel",
	TABLE_COLUMNS(native_columns),
	.indexes = "thread",
	.cursor_bytes = sizeof(struct sampled),
	.open = native_open,
	.next = sampled_next,
	.cell = native_cell,
	.close = sampled_close,
};

/* Times without a CPU, by the kernel. */

#define AWAY(C, T)                                                                             \
	C(T, kind, TEXT, "",                                                                   \
	  "`waiting`: the thread waited; `preempted`: another thread got its CPU")             \
	C(T, start_ns, INTEGER, "ns", "when it lost its CPU (exact)")                          \
	C(T, end_ns, INTEGER, "ns", "when it got a CPU again")                                 \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                                  \
	C(T, process, INTEGER, "", "the process: processes.process")                           \
	C(T, thread, INTEGER, "", "the thread: threads.thread; NULL: a thread without Python") \
	C(T, pid, INTEGER, "", "process id of the operating system")                           \
	C(T, tid, INTEGER, "", "thread id of the operating system")

enum { AWAY(COLUMN_NUMBER, AWAY) };
static const struct column away_columns[] = { AWAY(COLUMN_ENTRY, AWAY) };

static void visit_away(void *ctx, const struct native_sample_at *n)
{
	if (n->flags & SAMPLE_AWAY)
		row_queue_push(&((struct sampled *)ctx)->queue, n);
}

static int off_cpu_open(struct table_cursor *c, struct err *err)
{
	const struct sample_visitor visitor = { .ctx = c, .native = visit_away };

	return sampled_open(c, &visitor, sizeof(struct native_sample_at), err);
}

static void off_cpu_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct native_sample_at *row = ((const struct sampled *)c)->row;

	switch (column) {
	case AWAY_kind:
		cell_text(out,
			  (row->flags & SAMPLE_STATE) == SAMPLE_RUNNING ? "preempted" : "waiting");
		break;
	case AWAY_start_ns:
		cell_int(out, row->time_ns);
		break;
	case AWAY_end_ns:
		cell_int(out, row->end_ns);
		break;
	case AWAY_duration_ns:
		cell_int(out, row->end_ns - row->time_ns);
		break;
	case AWAY_process:
		cell_int(out, row->process);
		break;
	case AWAY_thread:
		cell_known_thread(c, row->thread, CELL_THREAD, out);
		break;
	case AWAY_pid:
		cell_int(out, source_pid(c->source, row->process));
		break;
	case AWAY_tid:
		cell_known_thread(c, row->thread, CELL_TID, out);
		break;
	}
}

const struct table table_off_cpu = {
	.name = "off_cpu",
	.meaning =
		"a period of 1 ms or more in which a thread had no CPU, as reported by the kernel",
	TABLE_COLUMNS(away_columns),
	.indexes = "thread",
	.cursor_bytes = sizeof(struct sampled),
	.open = off_cpu_open,
	.next = sampled_next,
	.cell = off_cpu_cell,
	.close = sampled_close,
};
