/* What the analysis found: totals of functions, findings, metrics. */
#include "rules/metrics.h"
#include "tables/table_cursor.h"

/* Functions. */

#define FUNCTION(C, T)                                                           \
	C(T, name, TEXT, "", "qualified name")                                   \
	C(T, file, TEXT, "", "its file; NULL: unknown")                          \
	C(T, line, INTEGER, "", "first line of its definition")                  \
	C(T, calls, INTEGER, "", "calls that were recorded")                     \
	C(T, total_ns, INTEGER, "ns", "time in it and what it called")           \
	C(T, self_ns, INTEGER, "ns", "time in it alone")                         \
	C(T, self_error_ns, INTEGER, "ns",                                       \
	  "how much chance can move self_ns (95 %); NULL: it is by calls")       \
	C(T, longest_ns, INTEGER, "ns", "longest call; NULL: none was recorded") \
	C(T, waits, BOOLEAN, "", "its own time is waiting")                      \
	C(T, samples, INTEGER, "", "looks that found it running itself")

enum { FUNCTION(COLUMN_NUMBER, FUNCTION) };
static const struct column function_columns[] = { FUNCTION(COLUMN_ENTRY, FUNCTION) };

static int functions_open(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);

	if (!a)
		return -1;
	position_count(c, a->function_count);
	return 0;
}

static void functions_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct analysis_function *f =
		&source_analysis(c->source, NULL)->functions[position_of(c)];

	switch (column) {
	case FUNCTION_name:
		cell_text(out, f->name);
		break;
	case FUNCTION_file:
		cell_text_or_null(out, f->file);
		break;
	case FUNCTION_line:
		if (f->line)
			cell_int(out, f->line);
		break;
	case FUNCTION_calls:
		cell_uint(out, f->calls);
		break;
	case FUNCTION_total_ns:
		cell_int(out, f->total_ns);
		break;
	case FUNCTION_self_ns:
		cell_int(out, f->self_ns);
		break;
	case FUNCTION_self_error_ns:
		if (f->sampled)
			cell_int(out, f->self_error_ns);
		break;
	case FUNCTION_longest_ns:
		if (f->longest_ns)
			cell_int(out, f->longest_ns);
		break;
	case FUNCTION_waits:
		cell_int(out, f->waits);
		break;
	case FUNCTION_samples:
		cell_uint(out, f->samples);
		break;
	}
}

const struct table table_functions = {
	.name = "functions",
	.meaning = "a Python function, with its totals in all processes",
	TABLE_COLUMNS(function_columns),
	.indexes = "",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = functions_open,
	.next = position_next,
	.cell = functions_cell,
};

/* Findings. */

#define FINDING(C, T)                                                               \
	C(T, rank, INTEGER, "", "1 is what to fix first")                           \
	C(T, finding, TEXT, "", "its id: docs/findings; of a custom rule its name") \
	C(T, title, TEXT, "", "in one line")                                        \
	C(T, severity, TEXT, "", "`high`, `medium` or `low`")                       \
	C(T, confidence, REAL, "", "0 to 1")                                        \
	C(T, saving_ms, REAL, "ms", "what a step would be shorter by")              \
	C(T, saving_low_ms, REAL, "ms", "at least")                                 \
	C(T, saving_high_ms, REAL, "ms", "at most")                                 \
	C(T, saving_share, REAL, "", "of the step")                                 \
	C(T, step, TEXT, "", "name of that kind of step")                           \
	C(T, function, TEXT, "", "where to act: the function")                      \
	C(T, file, TEXT, "", "its file")                                            \
	C(T, line, INTEGER, "", "the line in it")                                   \
	C(T, evidence, TEXT, "", "sentences, one in a line")                        \
	C(T, suggestions, TEXT, "", "sentences, one in a line")

enum { FINDING(COLUMN_NUMBER, FINDING) };
static const struct column finding_columns[] = { FINDING(COLUMN_ENTRY, FINDING) };

static int findings_open(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);

	if (!a)
		return -1;
	position_count(c, a->findings.count);
	return 0;
}

static void lines_cell(struct table_cursor *c, const char *const *lines, size_t count,
		       struct cell *out)
{
	struct buf *text = cell_compose(c);

	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_byte(text, '\n');
		buf_add_str(text, lines[i]);
	}
	cell_composed(c, out);
}

static void findings_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct analysis_finding *f =
		&source_analysis(c->source, NULL)->findings.items[position_of(c)];

	switch (column) {
	case FINDING_rank:
		cell_uint(out, position_of(c) + 1);
		break;
	case FINDING_finding:
		cell_text(out, f->id);
		break;
	case FINDING_title:
		cell_text(out, f->title);
		break;
	case FINDING_severity:
		cell_text(out, finding_severity_name(f->severity));
		break;
	case FINDING_confidence:
		cell_real(out, f->confidence);
		break;
	case FINDING_saving_ms:
		cell_real(out, f->saving_ns / 1e6);
		break;
	case FINDING_saving_low_ms:
		cell_real(out, f->saving_low_ns / 1e6);
		break;
	case FINDING_saving_high_ms:
		cell_real(out, f->saving_high_ns / 1e6);
		break;
	case FINDING_saving_share:
		cell_real(out, f->saving_share);
		break;
	case FINDING_step:
		cell_text(out, f->step);
		break;
	case FINDING_function:
		cell_text(out, f->where.name);
		break;
	case FINDING_file:
		cell_text_or_null(out, f->where.name ? f->where.file : NULL);
		break;
	case FINDING_line:
		if (f->where.name && f->where.line)
			cell_int(out, f->where.line);
		break;
	case FINDING_evidence:
		lines_cell(c, f->evidence, f->evidence_count, out);
		break;
	case FINDING_suggestions:
		lines_cell(c, f->suggestions, f->suggestion_count, out);
		break;
	}
}

const struct table table_findings = {
	.name = "findings",
	.meaning = "a finding of the built-in rules",
	TABLE_COLUMNS(finding_columns),
	.indexes = "",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = findings_open,
	.next = position_next,
	.cell = findings_cell,
};

/* Metrics. */

#define METRIC(C, T)                                                \
	C(T, name, TEXT, "", "name of the metric: docs/METRICS.md") \
	C(T, value, REAL, "", "its value; NULL: unknown")           \
	C(T, unit, TEXT, "", "unit of the value; NULL: none")       \
	C(T, meaning, TEXT, "", "what it is")

enum { METRIC(COLUMN_NUMBER, METRIC) };
static const struct column metric_columns[] = { METRIC(COLUMN_ENTRY, METRIC) };

struct metric_cursor {
	struct position_cursor position;
	struct metrics metrics;
};

static int metrics_open(struct table_cursor *c, struct err *err)
{
	const struct analysis *a = source_analysis(c->source, err);

	if (!a)
		return -1;
	metrics_measure(&((struct metric_cursor *)c)->metrics, a);
	position_count(c, METRIC_COUNT);
	return 0;
}

static void metrics_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct metric *m = &metrics_table[position_of(c)];

	switch (column) {
	case METRIC_name:
		cell_text(out, m->name);
		break;
	case METRIC_value:
		cell_real(out, metric_value(&((struct metric_cursor *)c)->metrics, position_of(c)));
		break;
	case METRIC_unit:
		cell_text_or_null(out, m->unit);
		break;
	case METRIC_meaning:
		cell_text(out, m->meaning);
		break;
	}
}

const struct table table_metrics = {
	.name = "metrics",
	.meaning = "a figure of the run that rules may use, of the most important kind of steps",
	TABLE_COLUMNS(metric_columns),
	.indexes = "name",
	.cursor_bytes = sizeof(struct metric_cursor),
	.open = metrics_open,
	.next = position_next,
	.cell = metrics_cell,
};
