/* What the analysis found: totals of functions, findings, metrics. */
#include "rules/metrics.h"
#include "tables/table_cursor.h"

/* Functions. */

#define FUNCTION(C, T)                                                                          \
	C(T, name, TEXT, "", "qualified name")                                                  \
	C(T, file, TEXT, "", "its source file; NULL: unknown")                                  \
	C(T, line, INTEGER, "", "first line of its definition")                                 \
	C(T, calls, INTEGER, "", "recorded calls")                                              \
	C(T, total_ns, INTEGER, "ns", "time in the function and in what it called")             \
	C(T, self_ns, INTEGER, "ns", "time in the function itself")                             \
	C(T, self_error_ns, INTEGER, "ns",                                                      \
	  "half of the 95 % interval of self_ns if it comes from samples; NULL: it comes from " \
	  "calls")                                                                              \
	C(T, longest_ns, INTEGER, "ns", "longest call; NULL: no call was recorded")             \
	C(T, waits, BOOLEAN, "", "its self time is waiting")                                    \
	C(T, samples, INTEGER, "", "samples in which it was innermost and running")

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

#define FINDING(C, T)                                                                    \
	C(T, rank, INTEGER, "", "order of importance; 1: fix this first")                \
	C(T, finding, TEXT, "", "its id, see docs/findings; for a custom rule its name") \
	C(T, title, TEXT, "", "the finding in one line")                                 \
	C(T, severity, TEXT, "", "`high`, `medium` or `low`")                            \
	C(T, confidence, REAL, "", "confidence, 0 to 1")                                 \
	C(T, saving_ms, REAL, "ms", "expected reduction of a step")                      \
	C(T, saving_low_ms, REAL, "ms", "lower end of its 80 % interval")                \
	C(T, saving_high_ms, REAL, "ms", "upper end of its 80 % interval")               \
	C(T, saving_share, REAL, "", "saving as a share of the step")                    \
	C(T, step, TEXT, "", "name of the kind of step")                                 \
	C(T, function, TEXT, "", "the function to change")                               \
	C(T, file, TEXT, "", "its file")                                                 \
	C(T, line, INTEGER, "", "the line in it")                                        \
	C(T, evidence, TEXT, "", "sentences, one per line")                              \
	C(T, suggestions, TEXT, "", "sentences, one per line")

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

#define METRIC(C, T)                                                    \
	C(T, name, TEXT, "", "name of the metric, see docs/METRICS.md") \
	C(T, value, REAL, "", "its value; NULL: unknown")               \
	C(T, unit, TEXT, "", "unit of the value; NULL: it has none")    \
	C(T, meaning, TEXT, "", "what the metric measures")

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
	.meaning = "a figure that rules can use, for the most important kind of step",
	TABLE_COLUMNS(metric_columns),
	.indexes = "name",
	.cursor_bytes = sizeof(struct metric_cursor),
	.open = metrics_open,
	.next = position_next,
	.cell = metrics_cell,
};
