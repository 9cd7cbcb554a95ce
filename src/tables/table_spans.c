/*
 * What comes out of a walk over the events thread by thread, block by block: spans of functions,
 * layers, and the times of which events are missing.
 */
#include "tables/table_cursor.h"
#include "timeline/sampled_spans.h"

/* Spans. */

#define SPAN(C, T)                                                                              \
	C(T, id, INTEGER, "", "number of the span")                                             \
	C(T, kind, TEXT, "",                                                                    \
	  "`function`: a traced call; `gc`: a garbage collection; `sampled`: a function whose " \
	  "calls were not traced, derived from samples")                                        \
	C(T, name, TEXT, "", "qualified name of the function")                                  \
	C(T, file, TEXT, "", "its source file; NULL: unknown")                                  \
	C(T, line, INTEGER, "", "first line of its definition")                                 \
	C(T, start_ns, INTEGER, "ns", "when it was entered")                                    \
	C(T, end_ns, INTEGER, "ns", "when it was left")                                         \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                                   \
	C(T, self_ns, INTEGER, "ns", "duration without the spans inside it")                    \
	C(T, depth, INTEGER, "", "number of spans around it in its thread")                     \
	THREAD_COLUMNS(C, T)                                                                    \
	C(T, resumed, BOOLEAN, "", "a resumed generator or coroutine, not a call")              \
	C(T, open_start, BOOLEAN, "",                                                           \
	  "its entry is missing: it was running when the recording began or resumed")           \
	C(T, open_end, BOOLEAN, "",                                                             \
	  "its exit is missing: it had not ended when the recording did")                       \
	C(T, repaired, BOOLEAN, "", "its exit was lost; the end is inferred")                   \
	C(T, has_gap, BOOLEAN, "", "it was open when events were lost")                         \
	C(T, paused, BOOLEAN, "", "it ends where the recording of calls was paused")            \
	C(T, collected, INTEGER, "", "of a garbage collection: number of freed objects")        \
	C(T, samples, INTEGER, "", "of a sampled span: number of samples")                      \
	C(T, error_ns, INTEGER, "ns", "of a sampled span: possible error of its start and end")

enum { SPAN(COLUMN_NUMBER, SPAN) };
static const struct column span_columns[] = { SPAN(COLUMN_ENTRY, SPAN) };

struct span_row {
	struct span span;
	uint64_t samples, collected;
	int64_t error_ns;
};

struct span_cursor {
	struct walked walked;
	struct traced_calls traced;
	struct sampled_spans *sampled;
	const struct span_row *row;
};

static void visit_function(void *ctx, const struct span *s)
{
	struct span_cursor *c = ctx;

	traced_calls_add_span(&c->traced, s);
	row_queue_push(&c->walked.queue, &(struct span_row){ .span = *s });
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	struct span_cursor *c = ctx;

	row_queue_push(&c->walked.queue, &(struct span_row){ .span = *s, .collected = collected });
}

static void visit_throttled(void *ctx, const struct throttled *l)
{
	traced_calls_add_throttled(&((struct span_cursor *)ctx)->traced, l);
}

static void visit_pause(void *ctx, const struct pause *p)
{
	traced_calls_add_pause(&((struct span_cursor *)ctx)->traced, p);
}

static void visit_sampled(void *ctx, const struct sampled_span *s)
{
	struct span_cursor *c = ctx;
	const struct span_row row = {
		.span = {
			.thread = s->thread,
			.function = s->function,
			.depth = s->depth,
			.flags = SPAN_CALL,
			.start_ns = s->start_ns,
			.end_ns = s->end_ns,
			.self_ns = s->self_ns,
		},
		.samples = s->samples,
		.error_ns = s->error_ns,
	};

	row_queue_push(&c->walked.queue, &row);
}

static int spans_open(struct table_cursor *c, struct err *err)
{
	const struct timeline_visitor visitor = {
		.ctx = c,
		.function = visit_function,
		.gc = visit_gc,
		.throttled = visit_throttled,
		.pause = visit_pause,
	};

	return walked_open((struct walked *)c, &visitor, sizeof(struct span_row), err);
}

static void spans_close(struct table_cursor *c)
{
	struct span_cursor *s = (struct span_cursor *)c;

	sampled_spans_free(s->sampled);
	traced_calls_release(&s->traced);
	walked_close(c);
}

/* Those of samples come behind all that were traced: only then it is known which those are. */
static int spans_next(struct table_cursor *c, struct err *err)
{
	struct span_cursor *s = (struct span_cursor *)c;
	const void *row = NULL;
	int rc = s->sampled ? 0 : walked_next(&s->walked, &row, err);

	if (rc < 0)
		return -1;
	if (!row && !s->sampled &&
	    sampled_spans_new(&s->sampled, source_trace(c->source), s->walked.timeline, &s->traced,
			      visit_sampled, c, err))
		return -1;
	for (rc = 1; !row && !(row = row_queue_pop(&s->walked.queue)) && rc > 0;) {
		rc = sampled_spans_next(s->sampled, err);
		if (s->walked.queue.failed)
			return err_set(err, "out of memory");
		if (rc <= 0)
			return rc;
	}
	if (s->sampled)
		s->walked.id++;
	s->row = row;
	return 1;
}

static void spans_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct span_cursor *cursor = (const struct span_cursor *)c;
	const struct span_row *row = cursor->row;
	const struct span *s = &row->span;
	bool is_gc = s->function == UINT32_MAX;
	const struct place *f =
		is_gc ? NULL : timeline_function(cursor->walked.timeline, s->function);

	switch (column) {
	case SPAN_id:
		cell_int(out, cursor->walked.id - 1);
		break;
	case SPAN_kind:
		cell_text(out, is_gc ? "gc" : row->samples ? "sampled" : "function");
		break;
	case SPAN_name:
		cell_text(out, f ? f->name : "garbage collection");
		break;
	case SPAN_file:
		cell_text_or_null(out, f ? f->file : NULL);
		break;
	case SPAN_line:
		if (f && f->line)
			cell_int(out, f->line);
		break;
	case SPAN_start_ns:
		cell_int(out, s->start_ns);
		break;
	case SPAN_end_ns:
		cell_int(out, s->end_ns);
		break;
	case SPAN_duration_ns:
		cell_int(out, s->end_ns - s->start_ns);
		break;
	case SPAN_self_ns:
		cell_int(out, s->self_ns);
		break;
	case SPAN_depth:
		cell_int(out, s->depth);
		break;
	case SPAN_thread:
	case SPAN_pid:
	case SPAN_tid:
		cell_thread(c, s->thread, column - SPAN_thread, out);
		break;
	case SPAN_resumed:
		cell_int(out, !is_gc && !(s->flags & SPAN_CALL));
		break;
	case SPAN_open_start:
		cell_int(out, (s->flags & SPAN_OPEN_START) != 0);
		break;
	case SPAN_open_end:
		cell_int(out, (s->flags & SPAN_OPEN_END) != 0);
		break;
	case SPAN_repaired:
		cell_int(out, (s->flags & SPAN_REPAIRED) != 0);
		break;
	case SPAN_has_gap:
		cell_int(out, (s->flags & SPAN_GAP) != 0);
		break;
	case SPAN_paused:
		cell_int(out, (s->flags & SPAN_PAUSED) != 0);
		break;
	case SPAN_collected:
		if (is_gc)
			cell_uint(out, row->collected);
		break;
	case SPAN_samples:
		if (row->samples)
			cell_uint(out, row->samples);
		break;
	case SPAN_error_ns:
		if (row->samples)
			cell_int(out, row->error_ns);
		break;
	}
}

const struct table table_spans = {
	.name = "spans",
	.meaning = "the execution of a Python function from entry to exit, or a garbage collection",
	TABLE_COLUMNS(span_columns),
	.indexes = "thread name start_ns",
	.cursor_bytes = sizeof(struct span_cursor),
	.open = spans_open,
	.next = spans_next,
	.cell = spans_cell,
	.close = spans_close,
};

/* Calls of layers. */

#define LAYER(C, T)                                                                    \
	C(T, id, INTEGER, "", "number of the call")                                    \
	C(T, name, TEXT, "",                                                           \
	  "qualified name of the module in its model; for the model itself its class") \
	C(T, class, TEXT, "", "class of the module")                                   \
	C(T, model, TEXT, "", "class of the model that it belongs to")                 \
	C(T, start_ns, INTEGER, "ns", "when the call began")                           \
	C(T, end_ns, INTEGER, "ns", "when it ended")                                   \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns, including waits")         \
	C(T, self_ns, INTEGER, "ns", "duration without the layers inside it")          \
	C(T, depth, INTEGER, "", "number of layers around it in its thread")           \
	THREAD_COLUMNS(C, T)                                                           \
	C(T, complete, BOOLEAN, "", "its end was recorded")                            \
	C(T, kernels, INTEGER, "", "kernels that its thread launched during the call") \
	C(T, gpu_ns, INTEGER, "ns",                                                    \
	  "GPU time of all work that its thread launched during the call; overlaps count twice")

enum { LAYER(COLUMN_NUMBER, LAYER) };
static const struct column layer_columns[] = { LAYER(COLUMN_ENTRY, LAYER) };

struct layer_cursor {
	struct walked walked;
	const struct layer_span *row;
};

static void visit_layer(void *ctx, const struct layer_span *s)
{
	row_queue_push(&((struct walked *)ctx)->queue, s);
}

static int layers_open(struct table_cursor *c, struct err *err)
{
	const struct timeline_visitor visitor = { .ctx = c, .layer = visit_layer };

	return walked_open((struct walked *)c, &visitor, sizeof(struct layer_span), err);
}

static int layers_next(struct table_cursor *c, struct err *err)
{
	const void *row;
	int rc = walked_next((struct walked *)c, &row, err);

	((struct layer_cursor *)c)->row = row;
	return rc;
}

static void launched_cell(struct table_cursor *c, const struct layer_span *s, bool kernels,
			  struct cell *out)
{
	const struct gpu_owners *o = source_gpu_owners(c->source, NULL);
	struct launched sum;

	if (!o) {
		c->failed = true;
		return;
	}
	sum = gpu_owners_launched(o, s->thread, s->start_ns, s->end_ns);
	cell_int(out, kernels ? (int64_t)sum.kernels : sum.gpu_ns);
}

static void layers_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct layer_cursor *cursor = (const struct layer_cursor *)c;
	const struct layer_span *s = cursor->row;
	const struct trace *t = source_trace(c->source);
	const struct trace_layer *l = trace_layer(t, s->id);
	const struct trace_layer *root = l && l->root ? trace_layer(t, l->root) : l;

	switch (column) {
	case LAYER_id:
		cell_int(out, cursor->walked.id - 1);
		break;
	case LAYER_name:
		cell_text(out, source_layer_name(c->source, s->id));
		break;
	case LAYER_class:
		cell_text(out, l ? l->class_name : "(unknown)");
		break;
	case LAYER_model:
		cell_text(out, root ? root->class_name : "(unknown)");
		break;
	case LAYER_start_ns:
		cell_int(out, s->start_ns);
		break;
	case LAYER_end_ns:
		cell_int(out, s->end_ns);
		break;
	case LAYER_duration_ns:
		cell_int(out, s->end_ns - s->start_ns);
		break;
	case LAYER_self_ns:
		cell_int(out, s->self_ns);
		break;
	case LAYER_depth:
		cell_int(out, s->depth);
		break;
	case LAYER_thread:
	case LAYER_pid:
	case LAYER_tid:
		cell_thread(c, s->thread, column - LAYER_thread, out);
		break;
	case LAYER_complete:
		cell_int(out, !s->flags);
		break;
	case LAYER_kernels:
	case LAYER_gpu_ns:
		launched_cell(c, s, column == LAYER_kernels, out);
		break;
	}
}

const struct table table_layers = {
	.name = "layers",
	.meaning = "a call of a layer of a model",
	TABLE_COLUMNS(layer_columns),
	.indexes = "name thread start_ns",
	.cursor_bytes = sizeof(struct layer_cursor),
	.open = layers_open,
	.next = layers_next,
	.cell = layers_cell,
	.close = walked_close,
};

/* Times without events. */

#define GAP(C, T)                                                                        \
	C(T, kind, TEXT, "",                                                             \
	  "`lost`: events were lost; `paused`: calls were not recorded, to stay within " \
	  "--max-overhead")                                                              \
	C(T, start_ns, INTEGER, "ns", "when it began")                                   \
	C(T, end_ns, INTEGER, "ns", "when it ended")                                     \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                            \
	C(T, events, INTEGER, "", "number of lost events; NULL: a pause")                \
	THREAD_COLUMNS(C, T)

enum { GAP(COLUMN_NUMBER, GAP) };
static const struct column gap_columns[] = { GAP(COLUMN_ENTRY, GAP) };

struct gap_row {
	struct gap gap;
	bool paused;
};

struct gap_cursor {
	struct walked walked;
	const struct gap_row *row;
};

static void visit_gap(void *ctx, const struct gap *g)
{
	row_queue_push(&((struct walked *)ctx)->queue, &(struct gap_row){ *g, false });
}

static void visit_gap_pause(void *ctx, const struct pause *p)
{
	const struct gap_row row = { { p->thread, p->start_ns, p->end_ns, 0 }, true };

	row_queue_push(&((struct walked *)ctx)->queue, &row);
}

static int gaps_open(struct table_cursor *c, struct err *err)
{
	const struct timeline_visitor visitor = {
		.ctx = c,
		.gap = visit_gap,
		.pause = visit_gap_pause,
	};

	return walked_open((struct walked *)c, &visitor, sizeof(struct gap_row), err);
}

static int gaps_next(struct table_cursor *c, struct err *err)
{
	const void *row;
	int rc = walked_next((struct walked *)c, &row, err);

	((struct gap_cursor *)c)->row = row;
	return rc;
}

static void gaps_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct gap_row *row = ((const struct gap_cursor *)c)->row;

	switch (column) {
	case GAP_kind:
		cell_text(out, row->paused ? "paused" : "lost");
		break;
	case GAP_start_ns:
		cell_int(out, row->gap.start_ns);
		break;
	case GAP_end_ns:
		cell_int(out, row->gap.end_ns);
		break;
	case GAP_duration_ns:
		cell_int(out, row->gap.end_ns - row->gap.start_ns);
		break;
	case GAP_events:
		if (!row->paused)
			cell_uint(out, row->gap.lost);
		break;
	case GAP_thread:
	case GAP_pid:
	case GAP_tid:
		cell_thread(c, row->gap.thread, column - GAP_thread, out);
		break;
	}
}

const struct table table_gaps = {
	.name = "gaps",
	.meaning = "a period in which events of a thread are missing",
	TABLE_COLUMNS(gap_columns),
	.indexes = "",
	.cursor_bytes = sizeof(struct gap_cursor),
	.open = gaps_open,
	.next = gaps_next,
	.cell = gaps_cell,
	.close = walked_close,
};
