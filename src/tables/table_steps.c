/* Steps one by one, their kinds, and what those spent their time on. */
#include "tables/table_cursor.h"

/* Steps. */

#define STEP(C, T)                                                                                \
	C(T, id, INTEGER, "", "number of the step")                                               \
	C(T, kind, INTEGER, "", "kind of step: step_kinds.kind")                                  \
	C(T, name, TEXT, "", "name of the kind")                                                  \
	C(T, start_ns, INTEGER, "ns", "when it began")                                            \
	C(T, end_ns, INTEGER, "ns", "when it ended")                                              \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns: its latency")                        \
	C(T, pace, TEXT, "",                                                                      \
	  "`slow`: among the slowest 5 % of its kind; `typical`: near the median; NULL: neither") \
	THREAD_COLUMNS(C, T)

enum { STEP(COLUMN_NUMBER, STEP) };
static const struct column step_columns[] = { STEP(COLUMN_ENTRY, STEP) };

static int steps_open(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);

	if (!a)
		return -1;
	position_count(c, a->step_items.count);
	return 0;
}

static void steps_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct analysis *a = source_analysis(c->source, NULL);
	const struct step_item *s = &a->step_items.items[position_of(c)];
	size_t kind = s->kind;

	switch (column) {
	case STEP_id:
		cell_uint(out, position_of(c));
		break;
	case STEP_kind:
		cell_uint(out, kind);
		break;
	case STEP_name:
		cell_text(out, kind < a->step_count ? a->steps[kind].name : NULL);
		break;
	case STEP_start_ns:
		cell_int(out, s->start_ns);
		break;
	case STEP_end_ns:
		cell_int(out, s->end_ns);
		break;
	case STEP_duration_ns:
		cell_int(out, s->end_ns - s->start_ns);
		break;
	case STEP_pace:
		if (s->group != STEPS_ALL)
			cell_text(out, s->group == STEPS_SLOW ? "slow" : "typical");
		break;
	case STEP_thread:
	case STEP_pid:
	case STEP_tid:
		cell_thread(c, s->thread, column - STEP_thread, out);
		break;
	}
}

const struct table table_steps = {
	.name = "steps",
	.meaning = "a step (a request, a batch) that ended, without warm-up; of the first 32 kinds",
	TABLE_COLUMNS(step_columns),
	.indexes = "id kind",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = steps_open,
	.next = position_next,
	.seek = position_seek,
	.cell = steps_cell,
};

/* Kinds of steps. */

#define STEP_KIND(C, T)                                                                          \
	C(T, kind, INTEGER, "", "number of the kind; 0 is the most important one")               \
	C(T, name, TEXT, "", "its name")                                                         \
	C(T, domain, TEXT, "", "NVTX domain")                                                    \
	C(T, source, TEXT, "",                                                                   \
	  "how the steps were found: `scope`, `nvtx`, `loop`, `module`, `whole-run`")            \
	C(T, pid, INTEGER, "", "process id of the steps")                                        \
	C(T, count, INTEGER, "", "steps that ended, including warm-up")                          \
	C(T, warmup, INTEGER, "", "of these, warm-up steps, which are omitted from the figures") \
	C(T, unended, INTEGER, "", "steps that did not end, which are omitted from the figures") \
	C(T, mean_ns, REAL, "ns", "mean duration")                                               \
	C(T, p50_ns, INTEGER, "ns", "median")                                                    \
	C(T, p95_ns, INTEGER, "ns", "95th percentile")                                           \
	C(T, p99_ns, INTEGER, "ns", "99th percentile")                                           \
	C(T, max_ns, INTEGER, "ns", "longest duration")                                          \
	C(T, total_ns, INTEGER, "ns", "total duration of all steps that ended")

enum { STEP_KIND(COLUMN_NUMBER, STEP_KIND) };
static const struct column kind_columns[] = { STEP_KIND(COLUMN_ENTRY, STEP_KIND) };

static int kinds_open(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);

	if (!a)
		return -1;
	position_count(c, a->step_count);
	return 0;
}

static void kinds_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct analysis_step *s = &source_analysis(c->source, NULL)->steps[position_of(c)];

	switch (column) {
	case STEP_KIND_kind:
		cell_uint(out, position_of(c));
		break;
	case STEP_KIND_name:
		cell_text(out, s->name);
		break;
	case STEP_KIND_domain:
		cell_text_or_null(out, s->domain);
		break;
	case STEP_KIND_source:
		cell_text(out, step_source_name(s->source));
		break;
	case STEP_KIND_pid:
		cell_int(out, s->pid);
		break;
	case STEP_KIND_count:
		cell_uint(out, s->count);
		break;
	case STEP_KIND_warmup:
		cell_uint(out, s->warmup);
		break;
	case STEP_KIND_unended:
		cell_uint(out, s->unended);
		break;
	case STEP_KIND_mean_ns:
		cell_real(out, s->mean_ns);
		break;
	case STEP_KIND_p50_ns:
		cell_int(out, s->p50_ns);
		break;
	case STEP_KIND_p95_ns:
		cell_int(out, s->p95_ns);
		break;
	case STEP_KIND_p99_ns:
		cell_int(out, s->p99_ns);
		break;
	case STEP_KIND_max_ns:
		cell_int(out, s->max_ns);
		break;
	case STEP_KIND_total_ns:
		cell_int(out, s->total_ns);
		break;
	}
}

const struct table table_step_kinds = {
	.name = "step_kinds",
	.meaning = "a kind of step, with its figures",
	TABLE_COLUMNS(kind_columns),
	.indexes = "kind",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = kinds_open,
	.next = position_next,
	.seek = position_seek,
	.cell = kinds_cell,
};

/* Parts of the steps' time. */

#define PART(C, T)                                                                          \
	C(T, kind, INTEGER, "", "the kind of step: step_kinds.kind")                        \
	C(T, step, TEXT, "", "its name")                                                    \
	C(T, class, TEXT, "", "`gpu_compute`, `h2d`, ..., as in report.json")               \
	C(T, steps, INTEGER, "", "number of steps in the sum")                              \
	C(T, ns, INTEGER, "ns", "time of this class in all these steps")                    \
	C(T, share, REAL, "", "share of the steps' time; the shares of a kind add up to 1") \
	C(T, error_ns, INTEGER, "ns", "half of the 95 % interval of what comes from samples")

enum { PART(COLUMN_NUMBER, PART) };
static const struct column part_columns[] = { PART(COLUMN_ENTRY, PART) };

static int parts_next(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);
	int rc;

	/* Kinds of which nothing is known have no parts. */
	while ((rc = position_next(c, err)) > 0)
		if (a->steps[position_of(c) / TIME_CLASSES].breakdown.steps)
			break;
	return rc;
}

static int parts_open(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);

	if (!a)
		return -1;
	position_count(c, a->step_count * TIME_CLASSES);
	return 0;
}

static void parts_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct analysis *a = source_analysis(c->source, NULL);
	size_t kind = position_of(c) / TIME_CLASSES;
	enum time_class class = position_of(c) % TIME_CLASSES;
	const struct step_breakdown *b = &a->steps[kind].breakdown;

	switch (column) {
	case PART_kind:
		cell_uint(out, kind);
		break;
	case PART_step:
		cell_text(out, a->steps[kind].name);
		break;
	case PART_class:
		cell_text(out, time_class_name(class));
		break;
	case PART_steps:
		cell_uint(out, b->steps);
		break;
	case PART_ns:
		cell_int(out, b->parts[class].ns);
		break;
	case PART_share:
		if (b->total_ns > 0)
			cell_real(out, (double)b->parts[class].ns / (double)b->total_ns);
		break;
	case PART_error_ns:
		cell_int(out, b->parts[class].error_ns);
		break;
	}
}

const struct table table_breakdown = {
	.name = "breakdown",
	.meaning = "a class of time in a kind of step; every nanosecond is in exactly one class",
	TABLE_COLUMNS(part_columns),
	.indexes = "kind",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = parts_open,
	.next = parts_next,
	.cell = parts_cell,
};
