/* The layers and the functions with most time: each table takes what the names leave. */
#include <string.h>

#include "report/layer_rows.h"
#include "report/plain_text.h"
#include "report/terminal/terminal_text.h"

#define FUNCTION_ROWS 7u
#define ROWS 10u      /* of both tables */
#define SHORT_ROWS 5u /* of both, in a short report */
#define TABLE_HEAD 2u /* an empty line, and the titles */

static size_t at_most(size_t n, size_t limit)
{
	return n < limit ? n : limit;
}

/* Function and place side by side. */
static void add_where(struct terminal *s, const struct analysis *a, const char *function,
		      const char *file, uint32_t line, size_t columns)
{
	size_t name = columns / 2, where = columns - name - 2, width;
	struct buf place;

	buf_init(&place);
	if (*file)
		text_add_place(&place, file, line, a->run.root);
	buf_add_str(&s->out, "  ");
	terminal_left(s, function, name);
	buf_add_str(&s->out, "  ");
	terminal_colour(s, DIM);
	text_add_clipped_tail(&s->out, buf_string(&place), where);
	terminal_plain(s);
	width = text_width(buf_string(&place));
	text_add_padding(&s->out, width < where ? where - width : 0);
	s->out.failed |= place.failed;
	buf_release(&place);
}

/* The line above a table; `titles` of its columns behind the first end with NULL. */
static void add_titles(struct terminal *s, const char *table, size_t columns,
		       const char *const *titles)
{
	buf_add_str(&s->out, "\n  ");
	terminal_colour(s, DIM);
	terminal_left(s, table, columns);
	for (; *titles; titles++)
		terminal_right(s, *titles, COLUMN);
	terminal_plain(s);
	buf_add_byte(&s->out, '\n');
}

static void add_function(struct terminal *s, const struct analysis *a, size_t i, size_t columns,
			 double all_ns)
{
	const struct analysis_function *fn = &a->functions[i];
	char f[TEXT_FIGURE], calls[TEXT_FIGURE + sizeof("≥")], self[TEXT_FIGURE + 1];

	add_where(s, a, fn->name, fn->file, fn->line, columns);
	snprintf(calls, sizeof(calls), "%s%s", a->trust.pauses || fn->throttled ? "≥" : "",
		 text_count(f, fn->calls));
	/* By samples: about. */
	snprintf(self, sizeof(self), "%s%s", fn->sampled ? "~" : "",
		 text_duration(f, (double)fn->self_ns));
	terminal_right(s, fn->sampled && !fn->calls ? "" : calls, COLUMN);
	terminal_right(s, self, COLUMN);
	terminal_right(s, text_share(f, (double)fn->self_ns, all_ns), COLUMN);
	terminal_right(s, text_duration(f, (double)fn->total_ns), COLUMN);
	buf_add_byte(&s->out, '\n');
}

/* Those of the steps: their calls are not known by the time. */
static void add_step_functions(struct terminal *s, const struct analysis *a, size_t limit)
{
	static const char *const titles[] = { "self", "share", "total", NULL };
	size_t rows = at_most(a->in_steps.count, limit);
	size_t columns = s->width - 2 - 3 * COLUMN;
	char f[TEXT_FIGURE];

	if (!rows)
		return;
	add_titles(s,
		   a->steps[0].source == STEP_WHOLE_RUN ? "hottest functions of that time"
							: "hottest functions while steps ran",
		   columns, titles);
	for (size_t i = 0; i < rows; i++) {
		const struct step_function *fn = &a->in_steps.items[i];

		add_where(s, a, fn->name, fn->file, fn->line, columns);
		terminal_right(s, text_duration(f, (double)fn->self_ns), COLUMN);
		terminal_right(s, text_share(f, (double)fn->self_ns, (double)a->in_steps.self_ns),
			       COLUMN);
		terminal_right(s, text_duration(f, (double)fn->total_ns), COLUMN);
		buf_add_byte(&s->out, '\n');
	}
}

/* Those of the whole run. */
static void add_all_functions(struct terminal *s, const struct analysis *a, size_t limit)
{
	static const char *const titles[] = { "calls", "self", "share", "total", NULL };
	size_t rows = at_most(a->working_count, limit);
	size_t columns = s->width - 2 - 4 * COLUMN;
	double all_ns = 0;

	if (!rows)
		return;
	for (size_t i = 0; i < a->working_count; i++)
		all_ns += (double)a->functions[i].self_ns;
	add_titles(s, "hottest functions", columns, titles);
	for (size_t i = 0; i < rows; i++)
		add_function(s, a, i, columns, all_ns);
}

static size_t function_count(const struct analysis *a)
{
	return a->in_steps.known ? a->in_steps.count : a->working_count;
}

static void add_functions(struct terminal *s, const struct analysis *a, size_t limit)
{
	if (a->in_steps.known)
		add_step_functions(s, a, limit);
	else
		add_all_functions(s, a, limit);
}

static void add_layer(struct terminal *s, const struct layer_rows *rows, size_t i, size_t columns,
		      double all_ns)
{
	const struct layer_row *r = &rows->items[i];
	size_t indent = 2 * at_most(layer_row_indent(rows, i), 6), width;
	char f[TEXT_FIGURE], calls[TEXT_FIGURE + sizeof("≥")];
	int64_t ns = rows->by_gpu ? r->sum.gpu_ns : r->sum.cpu_ns;
	struct buf name;

	buf_init(&name);
	layer_row_name(&name, rows, i);
	if (r->layers > 1)
		buf_printf(&name, " ×%zu", r->layers);
	width = text_width(buf_string(&name));
	text_add_padding(&s->out, 2 + indent);
	columns -= indent;
	if (width + 3 < columns && strcmp(buf_string(&name), r->class_name) != 0) {
		text_add_clean(&s->out, buf_string(&name));
		buf_add_str(&s->out, "  ");
		terminal_colour(s, DIM);
		terminal_left(s, r->class_name, columns - width - 2);
		terminal_plain(s);
	} else {
		terminal_left(s, buf_string(&name), columns);
	}
	snprintf(calls, sizeof(calls), "%s%s", r->folded ? "≥" : "", text_count(f, r->sum.calls));
	terminal_right(s, calls, COLUMN);
	if (rows->by_gpu)
		terminal_right(s, text_count(f, r->sum.kernels), COLUMN);
	terminal_right(s, text_duration(f, (double)ns), COLUMN);
	terminal_right(s, text_share(f, (double)ns, all_ns), COLUMN);
	terminal_right(
		s, text_duration(f, (double)(rows->by_gpu ? r->sum.cpu_ns : r->sum.self_cpu_ns)),
		COLUMN);
	buf_add_byte(&s->out, '\n');
	s->out.failed |= name.failed;
	buf_release(&name);
}

static void add_outside(struct terminal *s, const struct analysis_layers *l, size_t columns,
			double all_ns)
{
	char f[TEXT_FIGURE];

	buf_add_str(&s->out, "  ");
	terminal_left(s, "(outside all layers)", columns + COLUMN);
	terminal_right(s, text_count(f, l->outside_kernels), COLUMN);
	terminal_right(s, text_duration(f, (double)l->outside_gpu_ns), COLUMN);
	terminal_right(s, text_share(f, (double)l->outside_gpu_ns, all_ns), COLUMN);
	buf_add_byte(&s->out, '\n');
}

/* Of what their shares are: all GPU time, or the CPU time of the outermost layers. */
static double all_layers_ns(const struct analysis_layers *l, bool gpu)
{
	double all_ns = gpu ? (double)l->outside_gpu_ns : 0;

	for (size_t i = 0; i < l->count; i++)
		all_ns += (double)(gpu ? l->items[i].sum.self_gpu_ns : l->items[i].sum.self_cpu_ns);
	return all_ns;
}

static void add_layers(struct terminal *s, const struct analysis *a, size_t limit)
{
	static const char *const titles[2][6] = {
		{ "calls", "CPU", "share", "self", NULL },
		{ "calls", "kernels", "GPU", "share", "CPU", NULL },
	};
	bool outside = a->layers.outside_gpu_ns > 0;
	struct layer_rows rows;
	size_t columns;
	double all_ns;

	if (!a->layers.count || limit <= outside)
		return;
	if (layer_rows_collect(&rows, &a->layers, limit - outside)) {
		s->out.failed = true;
		layer_rows_release(&rows);
		return;
	}
	columns = s->width - 2 - (rows.by_gpu ? 5 : 4) * COLUMN;
	all_ns = all_layers_ns(&a->layers, rows.by_gpu);
	add_titles(s, "layers", columns, titles[rows.by_gpu]);
	for (size_t i = 0; i < rows.count; i++) {
		if (rows.items[i].shown)
			add_layer(s, &rows, i, columns, all_ns);
	}
	if (outside && rows.by_gpu)
		add_outside(s, &a->layers, columns, all_ns);
	layer_rows_release(&rows);
}

/* Rows of a number of tables that fit into so many lines. */
static size_t rows_in(size_t lines, size_t tables, enum report_detail detail)
{
	size_t rows = lines > tables * TABLE_HEAD ? lines - tables * TABLE_HEAD : 0;

	return at_most(rows, detail == DETAIL_SHORT ? SHORT_ROWS : ROWS);
}

void terminal_tables(struct terminal *s, const struct analysis *a, size_t lines,
		     enum report_detail detail)
{
	size_t rows, functions;

	if (!a->layers.count) {
		add_functions(s, a, at_most(rows_in(lines, 1, detail), FUNCTION_ROWS));
		return;
	}
	rows = rows_in(lines, 2, detail);
	functions = at_most(rows * 2 / 5, function_count(a));
	if (!functions)
		rows = rows_in(lines, 1, detail);
	add_layers(s, a, rows - functions);
	add_functions(s, a, functions);
}
