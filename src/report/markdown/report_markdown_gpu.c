/* The chapter about the GPU: what it did, who made it, what each step saw of it. */
#include <inttypes.h>

#include "report/markdown/markdown.h"
#include "report/plain_text.h"

#define LEAST_SHARE 0.0005 /* of all kernels: less would read 0.0 % */

static void add_devices(struct buf *out, const struct gpu_section *s)
{
	char f[TEXT_FIGURE];

	for (size_t i = 0; i < s->device_count; i++) {
		const struct gpu_device *d = &s->devices[i];

		buf_printf(out, "- Device %" PRIu32 ": ", d->number);
		markdown_code(out, d->name, false);
		buf_printf(out, ", %s, %" PRIu32 " multiprocessors\n",
			   text_bytes(f, d->memory_bytes), d->multiprocessors);
	}
}

static void add_sum(struct buf *out, const char *title, const struct gpu_sum *sum)
{
	char f[2][TEXT_FIGURE];

	if (!sum->count)
		return;
	buf_printf(out, "- %s: %" PRIu64 ", %s", title, sum->count,
		   text_duration(f[0], (double)sum->total_ns));
	if (sum->bytes)
		buf_printf(out, ", %s", text_bytes(f[1], sum->bytes));
	buf_add_byte(out, '\n');
}

static void add_summary(struct buf *out, const struct gpu_section *s)
{
	double recorded_ns = (double)s->busy_ns + (double)s->idle_ns;
	char f[5][TEXT_FIGURE];

	add_devices(out, s);
	buf_printf(out, "- Busy: %s (%s), idle %s (%s), between the first and the last activity",
		   text_share(f[0], (double)s->busy_ns, recorded_ns),
		   text_duration(f[1], (double)s->busy_ns),
		   text_share(f[2], (double)s->idle_ns, recorded_ns),
		   text_duration(f[3], (double)s->idle_ns));
	if (s->paused_ns)
		buf_printf(out, "; %s between them were not recorded",
			   text_duration(f[4], (double)s->paused_ns));
	buf_add_byte(out, '\n');
	add_sum(out, "Kernels", &s->kernel_sum);
	add_sum(out, "Copies", &s->copy_sum);
	add_sum(out, "Memsets", &s->memset_sum);
	add_sum(out, "Graphs, as a whole", &s->graph_sum);
}

static void add_kernels(struct buf *out, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = report_rows(detail, s->kernel_group_count, 5, 20);
	char f[4][TEXT_FIGURE];

	while (rows > 1 && report_leaves_out(detail, (double)s->kernel_groups[rows - 1].total_ns,
					     (double)s->kernel_sum.total_ns, LEAST_SHARE))
		rows--;
	if (!rows)
		return;
	buf_add_str(out, "\n### Kernels\n\n"
			 "| kernel | count | total | share | mean | longest |\n"
			 "|---|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_kernel_figures *k = &s->kernel_groups[i];

		buf_add_str(out, "| ");
		markdown_cell(out, k->name);
		if (k->variants > 1)
			buf_printf(out, ", %" PRIu64 " variants", k->variants);
		buf_printf(out, " | %" PRIu64 " | %s | %s | %s | %s |\n", k->count,
			   text_duration(f[0], (double)k->total_ns),
			   text_share(f[1], (double)k->total_ns, (double)s->kernel_sum.total_ns),
			   text_duration(f[2], (double)k->total_ns / (double)k->count),
			   text_duration(f[3], (double)k->longest_ns));
	}
	markdown_more(out, rows, s->kernel_group_count);
	buf_add_str(out, "\nShare: of the time of all kernels.\n");
}

static void add_copies(struct buf *out, const struct gpu_section *s)
{
	char f[2][TEXT_FIGURE];

	if (!s->copy_count)
		return;
	buf_add_str(out, "\n### Copies\n\n"
			 "| copy | from | to | async | count | bytes | time | GB/s |\n"
			 "|---|---|---|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < s->copy_count; i++) {
		const struct gpu_copy_figures *c = &s->copies[i];

		buf_printf(out, "| %s | %s | %s | %s | %" PRIu64 " | %s | %s | ", c->kind,
			   c->source, c->destination, c->asynchronous ? "yes" : "no", c->count,
			   text_bytes(f[0], c->bytes), text_duration(f[1], (double)c->total_ns));
		if (c->total_ns > 0)
			buf_printf(out, "%.3g", (double)c->bytes / (double)c->total_ns);
		buf_add_str(out, " |\n");
	}
}

static void add_line(struct buf *out, const struct gpu_line_figures *l, const char *root)
{
	buf_add_str(out, "| ");
	markdown_place(out, l->file, l->line, root);
	buf_add_str(out, " | ");
	markdown_cell(out, l->function);
}

static void add_launch(struct buf *out, const struct gpu_line_figures *l, const char *root)
{
	char f[2][TEXT_FIGURE];

	add_line(out, l, root);
	buf_printf(out, " | %" PRIu64 " | %s | %s |\n", l->calls,
		   text_duration(f[0], (double)l->gpu_ns), text_duration(f[1], (double)l->api_ns));
}

#define LAUNCH_TABLE                                        \
	"| line | function | launches | GPU | in calls |\n" \
	"|---|---|--:|--:|--:|\n"

static void add_lines(struct buf *out, const struct gpu_section *s, const char *root,
		      enum report_detail detail)
{
	size_t rows = report_rows(detail, s->line_count, 5, 20);
	size_t most = report_rows(detail, s->line_count, 3, 5);
	bool same_order = true;

	if (!rows)
		return;
	buf_add_str(out, "\n### Lines that started GPU work\n\n" LAUNCH_TABLE);
	for (size_t i = 0; i < rows; i++)
		add_launch(out, &s->lines[i], root);
	markdown_more(out, rows, s->line_count);
	for (size_t i = 0; i < most; i++)
		same_order &= s->most_calls[i].line == &s->lines[i];
	if (!same_order && rows < s->line_count) {
		buf_add_str(out, "\nBy number of launches:\n\n" LAUNCH_TABLE);
		for (size_t i = 0; i < most; i++)
			add_launch(out, s->most_calls[i].line, root);
	}
	buf_add_str(out, "\nLaunches: of kernels, graphs, copies and memsets. GPU: time of all "
			 "work they started. Lines are the innermost lines of user code.\n");
}

static void add_waits(struct buf *out, const struct gpu_section *s, const char *root,
		      enum report_detail detail)
{
	size_t rows = report_rows(detail, s->sync_count, 5, 20);
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n### Lines that waited for the GPU\n\n"
			 "| line | function | calls | time | longest |\n"
			 "|---|---|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_line_figures *l = &s->syncs[i];

		add_line(out, l, root);
		buf_printf(out, " | %" PRIu64 " | %s | %s |\n", l->calls,
			   text_duration(f[0], (double)l->api_ns),
			   text_duration(f[1], (double)l->longest_ns));
	}
	markdown_more(out, rows, s->sync_count);
}

static void add_graphs(struct buf *out, const struct gpu_section *s, const char *root,
		       enum report_detail detail)
{
	size_t rows = report_rows(detail, s->graph_count, 5, 20);
	bool unknown = false, whole = false;
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out,
		    "\n### CUDA graphs\n\n"
		    "| graph | captured | launched | replays | median | total | kernels | copies "
		    "| memsets |\n|--:|---|---|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_graph_figures *g = &s->graphs[i];

		buf_printf(out, "| %" PRIu32 " | ", g->graph);
		markdown_place(out, g->captured.file ? g->captured.file : "", g->captured.line,
			       root);
		buf_add_str(out, " | ");
		markdown_place(out, g->launched.file ? g->launched.file : "", g->launched.line,
			       root);
		buf_printf(out,
			   " | %" PRIu64 " | %s | %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n",
			   g->replays, text_duration(f[0], (double)g->median_ns),
			   text_duration(f[1], (double)g->total_ns), g->kernels, g->copies,
			   g->memsets);
		unknown |= g->known_nodes < g->nodes;
		whole |= g->replays_by_node < g->replays;
	}
	markdown_more(out, rows, s->graph_count);
	buf_add_str(out,
		    "\nOne row per instance. Median and total: from the start of a replay's first "
		    "node to the end of its last. Kernels, copies and memsets: per replay; their "
		    "time counts for the captured line and layer");
	buf_add_str(out, unknown ? ", or for those of the launch where the captured ones are "
				   "unknown.\n"
				 : ".\n");
	if (whole)
		buf_add_str(out, "Some replays were recorded as a whole, without their nodes.\n");
}

static void add_streams(struct buf *out, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = report_rows(detail, s->stream_count, 5, 20);
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n### Streams\n\n"
			 "| device | stream | busy | of the span | kernels | copies | memsets |\n"
			 "|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_stream_figures *q = &s->streams[i];

		buf_printf(out,
			   "| %" PRIu32 " | %" PRIu32 " | %s | %s | %" PRIu64 " | %" PRIu64
			   " | %" PRIu64 " |\n",
			   q->device, q->stream, text_duration(f[0], (double)q->busy_ns),
			   text_share(f[1], (double)q->busy_ns,
				      (double)s->busy_ns + (double)s->idle_ns),
			   q->kernels, q->copies, q->memsets);
	}
	markdown_more(out, rows, s->stream_count);
}

static void add_calls(struct buf *out, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = report_rows(detail, s->call_count, 5, 20);
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n### CUDA calls\n\n| call | count | total | longest |\n"
			 "|---|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_call_figures *c = &s->calls[i];

		buf_add_str(out, "| ");
		markdown_cell(out, c->name);
		buf_printf(out, " | %" PRIu64 " | %s | %s |\n", c->count,
			   text_duration(f[0], (double)c->total_ns),
			   text_duration(f[1], (double)c->longest_ns));
	}
	markdown_more(out, rows, s->call_count);
}

static void add_step(struct buf *out, const struct analysis_step *s)
{
	const struct gpu_step_figures *g = &s->gpu;
	char f[4][TEXT_FIGURE];

	buf_add_str(out, "| ");
	if (s->source != STEP_WHOLE_RUN)
		markdown_cell(out, s->name);
	else
		buf_add_str(out, s->name);
	markdown_domain(out, s->domain);
	buf_printf(out, " | %" PRIu32 " | %s | %s | ", s->pid,
		   text_duration(f[0], (double)g->busy_ns),
		   text_duration(f[1], (double)g->idle_ns));
	if (g->launches_known)
		buf_printf(out, "%" PRIu64 " | %" PRIu64 " | %s | %s | %s |\n", g->kernels,
			   g->copies, text_bytes(f[0], g->h2d_bytes),
			   text_bytes(f[1], g->d2h_bytes),
			   text_duration(f[2], (double)g->launched_ns));
	else
		buf_add_str(out, "? | ? | ? | ? | ? |\n");
}

static void add_steps(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t limit = report_rows(detail, a->step_count, 5, 30), rows = 0, all = 0;

	for (size_t i = 0; i < a->step_count; i++)
		all += a->steps[i].gpu.steps > 0;
	if (!all)
		return;
	buf_add_str(out, "\n### In each step\n\n"
			 "| step | pid | GPU busy | GPU idle | kernels | copies | H2D | D2H | "
			 "launched |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < a->step_count && rows < limit; i++) {
		if (!a->steps[i].gpu.steps)
			continue;
		add_step(out, &a->steps[i]);
		rows++;
	}
	markdown_more(out, rows, all);
	buf_add_str(out,
		    "\nMedians without warm-up. Busy and idle: during the step. Other columns: "
		    "work launched by the step's thread during the step; launched: its GPU time; ? "
		    "where steps of several tasks interleave on a thread.\n");
}

void markdown_gpu(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	for (size_t i = 0; i < a->gpu.section_count; i++) {
		const struct gpu_section *s = &a->gpu.sections[i];

		buf_add_str(out, "\n## GPU");
		if (a->gpu.section_count > 1) {
			buf_printf(out, " of process %" PRIu32 ", ", s->pid);
			markdown_process(out, s->name, a->run.root, false);
		}
		buf_add_str(out, "\n\n");
		add_summary(out, s);
		markdown_blame(out, s, a->run.root, detail);
		if (!i)
			add_steps(out, a, detail);
		add_kernels(out, s, detail);
		add_copies(out, s);
		add_lines(out, s, a->run.root, detail);
		add_waits(out, s, a->run.root, detail);
		add_graphs(out, s, a->run.root, detail);
		add_streams(out, s, detail);
		add_calls(out, s, detail);
	}
}
