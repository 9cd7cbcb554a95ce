/* The chapter about the critical path of the steps. */
#include "report/markdown/markdown.h"
#include "report/plain_text.h"

#define LEAST_SHARE 0.001 /* of the path: less reads 0.0 or 0.1 % */

static void add_part(struct buf *out, const struct critical_part *c,
		     const struct analysis_critical_path *p, const char *root)
{
	char f[2][TEXT_FIGURE];

	buf_printf(out, "| %s%s | ", c->kind == CRITICAL_LATENCY ? "Latency: " : "",
		   time_class_title(c->what));
	if (c->where.name)
		markdown_cell(out, c->where.name);
	else
		buf_add_str(out, "(unknown)");
	buf_add_str(out, " | ");
	if (c->where.name && c->where.file)
		markdown_place(out, c->where.file, c->where.line, root);
	buf_add_str(out, " | ");
	if (c->kernel)
		markdown_cell(out, c->kernel);
	buf_printf(out, " | %s | %s |\n", text_duration(f[0], (double)c->ns / (double)p->steps),
		   text_share(f[1], (double)c->ns, (double)p->total_ns));
}

static void add_layers(struct buf *out, const struct analysis_critical_path *p,
		       enum report_detail detail)
{
	size_t rows = report_rows(detail, p->layer_count, 0, 8);
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n| layer | class | per step | share |\n|---|---|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct critical_layer *l = &p->layers[i];

		buf_add_str(out, "| ");
		markdown_cell(out, *l->name ? l->name : "(model)");
		buf_add_str(out, " | ");
		markdown_cell(out, l->class_name);
		buf_printf(out, " | %s | %s |\n",
			   text_duration(f[0], (double)l->ns / (double)p->steps),
			   text_share(f[1], (double)l->ns, (double)p->total_ns));
	}
	markdown_more(out, rows, p->layer_count);
}

/* Without a device it is what the breakdown says. */
void markdown_critical_path(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_critical_path *p = &a->critical_path;
	size_t rows = report_rows(detail, p->part_count, 3, 10);
	char f[4][TEXT_FIGURE];

	while (rows > 1 && report_leaves_out(detail, (double)p->parts[rows - 1].ns,
					     (double)p->total_ns, LEAST_SHARE))
		rows--;
	if (!p->steps || !p->gpu || !rows)
		return;
	buf_printf(out, "\n## Critical path\n\nMean of %zu ", p->steps);
	markdown_code(out, a->steps[0].name, false);
	if (p->behind)
		buf_add_str(out, ", with the work that they leave to the GPU");
	buf_printf(out,
		   ": %s, of which host %s, device %s, latencies %s. A step becomes shorter only "
		   "if something on this path does. An unchanged replay is off by %.1f %% of a "
		   "step and %.1f %% of the GPU's idle time.\n\n"
		   "| what | function | where | kernel | per step | share |\n"
		   "|---|---|---|---|--:|--:|\n",
		   text_duration(f[0], (double)p->total_ns / (double)p->steps),
		   text_share(f[1], (double)p->kinds_ns[CRITICAL_HOST], (double)p->total_ns),
		   text_share(f[2], (double)p->kinds_ns[CRITICAL_DEVICE], (double)p->total_ns),
		   text_share(f[3], (double)p->kinds_ns[CRITICAL_LATENCY], (double)p->total_ns),
		   100 * p->step_error, 100 * p->idle_error);
	for (size_t i = 0; i < rows; i++)
		add_part(out, &p->parts[i], p, a->run.root);
	markdown_more(out, rows, p->part_count);
	add_layers(out, p, detail);
}
