/* The chapter about layers: the tree of each model, and the single layers that took most. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/figures/stats.h"
#include "report/layer_rows.h"
#include "report/markdown/markdown.h"
#include "report/plain_text.h"

/* Columns that a run without a GPU has no use for. */
static void add_titles(struct buf *out, const char *first, bool gpu)
{
	buf_printf(out, "| %s | class | calls |%s CPU | CPU self |\n|---|---|--:|%s--:|--:|\n",
		   first, gpu ? " kernels | GPU | share | GPU self | gaps |" : "",
		   gpu ? "--:|--:|--:|--:|--:|" : "");
}

static void add_figures(struct buf *out, const struct layer_figures *s, bool folded, bool gpu,
			double all_ns)
{
	char f[4][TEXT_FIGURE];

	buf_printf(out, " | %s%" PRIu64 " |", folded ? "≥ " : "", s->calls);
	if (gpu)
		buf_printf(out, " %" PRIu64 " | %s | %s | %s | %s |", s->kernels,
			   text_duration(f[0], (double)s->gpu_ns),
			   text_share(f[1], (double)s->gpu_ns, all_ns),
			   text_duration(f[2], (double)s->self_gpu_ns),
			   text_duration(f[3], (double)s->launch_gap_ns));
	buf_printf(out, " %s | %s |\n", text_duration(f[0], (double)s->cpu_ns),
		   text_duration(f[1], (double)s->self_cpu_ns));
}

static double all_gpu_ns(const struct analysis_layers *l)
{
	double all_ns = (double)l->outside_gpu_ns;

	for (size_t i = 0; i < l->count; i++)
		all_ns += (double)l->items[i].sum.self_gpu_ns;
	return all_ns;
}

static void add_tree(struct buf *out, const struct analysis *a, enum report_detail detail, bool gpu,
		     double all_ns)
{
	struct layer_rows rows;
	struct buf name;
	char f[2][TEXT_FIGURE];

	buf_init(&name);
	if (layer_rows_collect(&rows, &a->layers, report_rows(detail, a->layers.count, 10, 40)))
		out->failed = true;
	add_titles(out, "layer", gpu);
	for (size_t i = 0; i < rows.count && !out->failed; i++) {
		const struct layer_row *r = &rows.items[i];
		unsigned indent = layer_row_indent(&rows, i);

		if (!r->shown)
			continue;
		buf_add_str(out, "| ");
		for (unsigned k = 0; k < indent; k++)
			buf_add_str(out, "&emsp;");
		buf_clear(&name);
		layer_row_name(&name, &rows, i);
		markdown_cell(out, buf_string(&name));
		if (r->layers > 1)
			buf_printf(out, " × %zu", r->layers);
		if (r->parent == LAYER_NONE && a->process_count > 1)
			buf_printf(out, " in process %" PRIu32, r->pid);
		buf_add_str(out, " | ");
		markdown_cell(out, r->class_name);
		add_figures(out, &r->sum, r->folded, gpu, all_ns);
	}
	if (gpu)
		buf_printf(out, "| outside all layers | | | %" PRIu64 " | %s | %s | %s | | | |\n",
			   a->layers.outside_kernels,
			   text_duration(f[0], (double)a->layers.outside_gpu_ns),
			   text_share(f[1], (double)a->layers.outside_gpu_ns, all_ns), f[0]);
	markdown_more(out, rows.shown, rows.count);
	out->failed |= name.failed;
	buf_release(&name);
	layer_rows_release(&rows);
}

/* By what they did themselves: the GPU's part first. */
static int most_self_first(const void *a, const void *b)
{
	const struct analysis_layer *x = *(const struct analysis_layer *const *)a;
	const struct analysis_layer *y = *(const struct analysis_layer *const *)b;

	if (x->sum.self_gpu_ns != y->sum.self_gpu_ns)
		return x->sum.self_gpu_ns > y->sum.self_gpu_ns ? -1 : 1;
	if (x->sum.self_cpu_ns != y->sum.self_cpu_ns)
		return x->sum.self_cpu_ns > y->sum.self_cpu_ns ? -1 : 1;
	return x < y ? -1 : x > y; /* they lie in one array */
}

static void add_flat(struct buf *out, const struct analysis *a, enum report_detail detail, bool gpu,
		     double all_ns)
{
	const struct analysis_layers *l = &a->layers;
	size_t rows = report_rows(detail, l->count, 5, 10);
	const struct analysis_layer **order = calloc(l->count, sizeof(const void *));
	const char *last_root = NULL;
	bool many = false;

	if (!order) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < l->count; i++) {
		order[i] = &l->items[i];
		many |= last_root && l->items[i].root != last_root;
		last_root = l->items[i].root;
	}
	qsort(order, l->count, sizeof(const void *), most_self_first);
	buf_add_str(out, "\nLargest self times:\n\n");
	add_titles(out, "layer", gpu);
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_layer *one = order[i];

		buf_add_str(out, "| ");
		markdown_cell(out, one->name);
		if (many && one->root != one->name) {
			buf_add_str(out, " of ");
			markdown_cell(out, one->root);
		}
		buf_add_str(out, " | ");
		markdown_cell(out, one->class_name);
		add_figures(out, &one->sum, one->folded, gpu, all_ns);
	}
	markdown_more(out, rows, l->count);
	free(order);
}

/* In which the GPU was not recorded, in all processes. */
static int64_t paused_ns(const struct analysis_gpu *gpu)
{
	int64_t ns = 0;

	for (size_t i = 0; i < gpu->section_count; i++)
		ns = stats_add(ns, gpu->sections[i].paused_ns);
	return ns;
}

void markdown_layers(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	double all_ns = all_gpu_ns(&a->layers);
	bool gpu = all_ns > 0;
	char f[TEXT_FIGURE];

	if (!a->layers.count)
		return;
	buf_add_str(out, "\n## Layers\n\n");
	add_tree(out, a, detail, gpu, all_ns);
	add_flat(out, a, detail, gpu, all_ns);
	buf_add_str(out, "\nCPU: time of the layer's thread in the layer, including waits. Self: "
			 "without the layers inside it.");
	if (gpu)
		buf_add_str(out,
			    " GPU: time of all work launched in it; share: of all GPU time. Gaps: "
			    "GPU idle time between the first and the last work of a call.");
	if (gpu && paused_ns(&a->gpu))
		buf_printf(out,
			   " The GPU was not recorded for %s: kernels and GPU times cover the "
			   "rest.",
			   text_duration(f, (double)paused_ns(&a->gpu)));
	if (a->layers.folded)
		buf_add_str(out, " ≥: further calls are counted in the enclosing layer.");
	buf_add_byte(out, '\n');
}
