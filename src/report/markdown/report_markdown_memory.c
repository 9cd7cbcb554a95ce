/* Markdown: memory, page faults, pressure and the GPUs' memory. */
#include <inttypes.h>

#include "report/markdown/markdown.h"
#include "report/memory_text.h"

static void add_sentence(struct buf *out, struct buf *text, const char *before, const char *after)
{
	buf_add_str(out, before);
	markdown_escaped(out, buf_string(text));
	buf_add_str(out, after);
}

static void add_meaning(struct buf *out, const struct analysis *a)
{
	struct buf text;
	bool first = true;

	buf_init(&text);
	memory_text_meaning(&text, a);
	add_sentence(out, &text, "In short: ", ".\n");
	for (size_t i = 0; i < a->memory.warning_count; i++) {
		if (!i && memory_concern_is_memory(a->memory.warnings[i].what))
			continue; /* that was it */
		buf_clear(&text);
		memory_text_warning(&text, a, &a->memory.warnings[i]);
		add_sentence(out, &text, first ? "\n- " : "- ", "\n");
		first = false;
	}
	out->failed |= text.failed;
	buf_release(&text);
}

static void add_level(struct buf *out, bool known, double bytes)
{
	char f[TEXT_FIGURE];

	buf_printf(out, " %s |", known ? memory_text_bytes(f, bytes) : "");
}

static void add_total(struct buf *out, const struct memory_total *t,
		      const char *(*text)(char[TEXT_FIGURE], double))
{
	char f[TEXT_FIGURE];

	buf_printf(out, " %s |", t->known ? text(f, (double)t->sum) : "");
}

static void add_process(struct buf *out, const struct memory_process *p, const char *root)
{
	buf_printf(out, "| %" PRIu32 " | ", p->pid);
	markdown_process(out, p->name, root, true);
	if (!p->recorded)
		buf_add_str(out, ", without the agent");
	buf_add_str(out, " |");
	add_level(out, p->rss.known, (double)p->rss.first);
	add_level(out, p->rss.known, (double)p->rss_peak_bytes);
	add_level(out, p->rss.known, (double)p->rss.last);
	buf_add_byte(out, ' ');
	if (p->rss.known)
		memory_text_trend(out, &p->rss_trend);
	buf_add_str(out, " |");
	add_level(out, p->swap.known, (double)p->swap.peak);
	add_total(out, &p->minor_faults, memory_text_count);
	add_total(out, &p->major_faults, memory_text_count);
	add_total(out, &p->read_bytes, memory_text_bytes);
	add_total(out, &p->written_bytes, memory_text_bytes);
	add_level(out, p->gpu_bytes.known, (double)p->gpu_bytes.peak);
	buf_add_byte(out, '\n');
}

static void add_processes(struct buf *out, const struct analysis_memory *m, const char *root,
			  enum report_detail detail)
{
	size_t rows = report_rows(detail, m->process_count, 5, 12);

	if (!rows)
		return;
	buf_add_str(out, "\n| pid | process | RSS at start | peak | at end | per second | swapped "
			 "| minor faults | major faults | read | written | on the GPU |\n"
			 "|--:|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++)
		add_process(out, &m->processes[i], root);
	markdown_more(out, rows, m->process_count);
}

static void add_calls(struct buf *out, const struct memory_step_figures *m,
		      enum cuda_memory_call alloc, enum cuda_memory_call release)
{
	const struct cuda_memory_sum *a = &m->cuda.calls[alloc], *r = &m->cuda.calls[release];
	double n = (double)m->cuda_steps;
	char f[3][TEXT_FIGURE];

	if (!m->cuda.known) {
		buf_add_str(out, " |");
		return;
	}
	if (!a->count && !r->count) {
		buf_add_str(out, " none |");
		return;
	}
	buf_printf(out, " %s, %s, %s freed |", memory_text_count(f[0], (double)a->count / n),
		   memory_text_bytes(f[1], (double)a->bytes / n),
		   memory_text_count(f[2], (double)r->count / n));
}

static void add_step(struct buf *out, const struct analysis_step *s)
{
	const struct memory_step_figures *m = &s->memory;
	char f[TEXT_FIGURE];

	buf_add_str(out, "| ");
	if (s->source == STEP_WHOLE_RUN)
		buf_add_str(out, s->name);
	else
		markdown_cell(out, s->name);
	markdown_domain(out, s->domain);
	buf_printf(out, " | %" PRIu32 " | ", s->pid);
	if (m->steps)
		buf_printf(out, "%s | ", memory_text_bytes(f, m->rss_growth_bytes));
	else
		buf_add_str(out, "| ");
	if (m->steps)
		memory_text_trend(out, &m->rss);
	buf_add_str(out, " | ");
	memory_text_per_step(out, &m->minor_faults, memory_text_count);
	buf_add_str(out, " | ");
	memory_text_per_step(out, &m->major_faults, memory_text_count);
	buf_add_str(out, " | ");
	memory_text_per_step(out, &m->read_bytes, memory_text_bytes);
	buf_add_str(out, " | ");
	memory_text_per_step(out, &m->written_bytes, memory_text_bytes);
	buf_add_str(out, " | ");
	if (m->kernel_us.known)
		buf_add_str(out, text_duration(f, 1000 * m->kernel_us.mean));
	buf_add_str(out, " |");
	add_calls(out, m, CUDA_MEMORY_ALLOC, CUDA_MEMORY_FREE);
	add_calls(out, m, CUDA_MEMORY_HOST_ALLOC, CUDA_MEMORY_HOST_FREE);
	buf_add_byte(out, '\n');
}

static bool step_is_known(const struct analysis_step *s)
{
	return s->memory.steps || s->memory.cuda.known;
}

static void add_steps(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t known = 0, rows, shown = 0;

	for (size_t i = 0; i < a->step_count; i++)
		known += step_is_known(&a->steps[i]);
	rows = report_rows(detail, known, 5, 30);
	if (!rows)
		return;
	buf_add_str(out,
		    "\n### In each step\n\n"
		    "| step | pid | RSS grew by | in the second half | minor faults | major "
		    "faults | read | written | in the kernel | device memory | pinned memory |\n"
		    "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < a->step_count && shown < rows; i++) {
		if (!step_is_known(&a->steps[i]))
			continue;
		add_step(out, &a->steps[i]);
		shown++;
	}
	markdown_more(out, rows, known);
	buf_add_str(out,
		    "\nMeans without warm-up, of the whole process during its steps; in "
		    "parentheses the possible range, because samples do not coincide with the "
		    "steps' boundaries. In the second half: whether resident memory still grows, "
		    "by the minimum of several steps, and its 95 % interval. CUDA memory: "
		    "allocations, their bytes, and calls that free.\n");
}

static void add_lines(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_memory *m = &a->memory;
	size_t rows = report_rows(detail, m->line_count, 3, 15);
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n### Lines with page faults\n\n"
			 "| line | function | minor faults | major faults |\n|---|---|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct memory_line *l = &m->lines[i];

		buf_add_str(out, "| ");
		markdown_place(out, l->place.name ? l->place.file : "", l->place.line, a->run.root);
		buf_add_str(out, " | ");
		if (l->place.name)
			markdown_cell(out, l->place.name);
		else
			buf_add_str(out, "no Python function");
		buf_printf(out, " | %s | %s |\n",
			   text_share(f[0], (double)l->minor, (double)m->seen_minor),
			   text_share(f[1], (double)l->major, (double)m->seen_major));
	}
	markdown_more(out, rows, m->line_count);
	buf_add_str(out, "\nShares of the faults with a known location, which are only part of all "
			 "faults: the totals are above.\n");
}

static void add_pressure(struct buf *out, const char *what, const struct memory_pressure *p,
			 bool has_full)
{
	if (!p->known)
		return;
	buf_printf(out, "- Waiting for %s (PSI of the %s): some task %.1f %% of the time", what,
		   p->of_container ? "container" : "machine", 100 * p->some_share);
	if (has_full)
		buf_printf(out, ", all of them %.1f %%", 100 * p->full_share);
	buf_add_byte(out, '\n');
}

static void add_container(struct buf *out, const struct memory_machine *m)
{
	char f[3][TEXT_FIGURE];

	if (m->container.known) {
		buf_printf(out, "- Container: up to %s used",
			   memory_text_bytes(f[0], (double)m->container.peak));
		if (m->container_max.known)
			buf_printf(out, " of %s",
				   memory_text_bytes(f[0], (double)m->container_max.least));
		else
			buf_add_str(out, ", without a limit");
		if (m->limit == MEMORY_LIMIT_CONTAINER)
			buf_printf(out, "; at least %s left at all times",
				   memory_text_bytes(f[0], (double)m->least_left_bytes));
		if (m->limit_hits.known && m->limit_hits.sum)
			buf_printf(out, "; the limit was reached %" PRId64 " times",
				   m->limit_hits.sum);
		buf_add_byte(out, '\n');
	}
	if (m->throttled_us.known && m->throttled_us.sum)
		buf_printf(out, "- Throttled by the container's CPU limit: %s\n",
			   text_duration(f[0], (double)m->throttled_us.sum * 1e3));
}

static void add_machine(struct buf *out, const struct memory_machine *m)
{
	char f[3][TEXT_FIGURE];

	if (m->available.known) {
		buf_printf(out, "- Machine: at least %s available",
			   memory_text_bytes(f[0], (double)m->available.least));
		if (m->total.known)
			buf_printf(out, ", of %s", memory_text_bytes(f[0], (double)m->total.last));
		if (m->swap_used.known && m->swap_used.peak)
			buf_printf(out, "; up to %s of swap used",
				   memory_text_bytes(f[0], (double)m->swap_used.peak));
		buf_add_byte(out, '\n');
	}
	if (m->other_node_known)
		buf_printf(out,
			   "- Pages of all programs that were allocated for a CPU of another node: "
			   "%.1f %%\n",
			   100 * m->other_node_share);
}

static void add_nodes(struct buf *out, const struct memory_process *p)
{
	char f[TEXT_FIGURE];

	if (p->node_count < 2)
		return;
	buf_printf(out, "- Process %" PRIu32 " by node:", p->pid);
	for (size_t i = 0; i < p->node_count; i++) {
		const struct memory_node *n = &p->nodes[i];

		buf_printf(out, "%s node %" PRIu32 " %s", i ? "," : "", n->node,
			   memory_text_bytes(f, n->bytes.mean));
		if (n->threads.known)
			buf_printf(out, " and %.3g threads", n->threads.mean);
	}
	if (p->remote_known)
		buf_printf(out, "; %.1f %% on nodes where none of its threads ran",
			   100 * p->remote_share);
	buf_add_byte(out, '\n');
}

static void add_throttles(struct buf *out, const struct memory_gpu *g)
{
	if (!g->throttles_known || g->throttled_share <= 0)
		return;
	buf_printf(out, "; throttled %.0f %% of the time", 100 * g->throttled_share);
	for (size_t i = 0; i < MEMORY_THROTTLES; i++) {
		if (g->throttles[i].share > 0)
			buf_printf(out, ", %s %.0f %%", g->throttles[i].name,
				   100 * g->throttles[i].share);
	}
}

/*
 * A last reading that is longer before the end is noted: the memory may have changed since.
 */
#define UNSEEN_LONG_NS 3000000000

static void add_gpu(struct buf *out, const struct memory_gpu *g)
{
	char f[2][TEXT_FIGURE];

	buf_printf(out, "- GPU %" PRIu32 ": up to %s", g->device,
		   memory_text_bytes(f[0], (double)g->peak_bytes));
	if (g->total.known)
		buf_printf(out, " of %s", memory_text_bytes(f[0], (double)g->total.last));
	buf_printf(out, " in use, by all programs (%s at start, %s at end",
		   memory_text_bytes(f[0], (double)g->used.first),
		   memory_text_bytes(f[1], (double)g->used.last));
	if (g->unseen_ns > UNSEEN_LONG_NS)
		buf_printf(out, ", %s before the end", text_duration(f[0], (double)g->unseen_ns));
	if (g->used_trend.kind != TREND_UNKNOWN) {
		buf_add_str(out, "; per second: ");
		memory_text_trend(out, &g->used_trend);
	}
	buf_add_byte(out, ')');
	if (g->sm_clock_mhz.known)
		buf_printf(out, "; clock %.0f MHz on average", g->sm_clock_mhz.mean);
	if (g->sm_clock_mhz.known && g->sm_clock_max_mhz.known)
		buf_printf(out, " of %" PRId64, g->sm_clock_max_mhz.last);
	if (g->power_mw.known)
		buf_printf(out, "; %.0f W on average", g->power_mw.mean / 1e3);
	if (g->power_mw.known && g->power_limit_mw.known)
		buf_printf(out, " of %.0f", (double)g->power_limit_mw.last / 1e3);
	if (g->pcie_generation.known && g->pcie_width.known)
		buf_printf(out, "; PCIe %" PRId64 " ×%" PRId64, g->pcie_generation.peak,
			   g->pcie_width.peak);
	add_throttles(out, g);
	buf_add_byte(out, '\n');
}

/* What is reserved and not in tensors has one of two reasons, and they have different cures. */
static void add_torch(struct buf *out, const struct memory_process *p, const struct memory_torch *t)
{
	int64_t idle = t->reserved.last - t->allocated.last, whole = idle - t->split.last;
	char f[4][TEXT_FIGURE];

	buf_printf(out,
		   "- PyTorch in process %" PRIu32 ", device %" PRIu32 ": %s reserved at end, %s "
		   "of it for tensors (peaks: %s and %s)",
		   p->pid, t->device, memory_text_bytes(f[0], (double)t->reserved.last),
		   memory_text_bytes(f[1], (double)t->allocated.last),
		   memory_text_bytes(f[2], (double)t->reserved_peak_bytes),
		   memory_text_bytes(f[3], (double)t->allocated_peak_bytes));
	if (t->split.known && idle > 0)
		buf_printf(out,
			   "; the rest: %s in completely free blocks, kept since a peak, and %s in "
			   "fragments between tensors",
			   memory_text_bytes(f[0], (double)(whole > 0 ? whole : 0)),
			   memory_text_bytes(f[1], (double)t->split.last));
	if (t->retries)
		buf_printf(out, "; cache released for lack of memory: %s",
			   memory_text_times(f[0], t->retries));
	if (t->ooms)
		buf_printf(out, "; out of memory: %s", memory_text_times(f[0], t->ooms));
	buf_add_byte(out, '\n');
}

static void add_limits(struct buf *out, const struct analysis_memory *m, enum report_detail detail)
{
	static const char heading[] = "\n### Limits and pressure\n\n";
	size_t nodes = report_rows(detail, m->process_count, 1, 5), before = out->len;

	buf_add_str(out, heading);
	add_container(out, &m->machine);
	add_machine(out, &m->machine);
	add_pressure(out, "memory", &m->machine.memory, true);
	add_pressure(out, "input and output", &m->machine.io, true);
	add_pressure(out, "a CPU", &m->machine.cpu, false);
	for (size_t i = 0; i < nodes; i++)
		add_nodes(out, &m->processes[i]);
	for (size_t i = 0; i < m->gpu_count; i++)
		add_gpu(out, &m->gpus[i]);
	for (size_t i = 0; i < m->process_count; i++) {
		for (size_t k = 0; k < m->processes[i].torch_count; k++)
			add_torch(out, &m->processes[i], &m->processes[i].torch[k]);
	}
	for (size_t i = 0; i < m->missing_count; i++) {
		buf_add_str(out, "- Unknown: ");
		markdown_escaped(out, m->missing[i]);
		buf_add_byte(out, '\n');
	}
	if (out->len == before + sizeof(heading) - 1)
		out->len = before; /* nothing to say */
}

void markdown_memory(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_memory *m = &a->memory;

	if (!m->recorded)
		return;
	buf_add_str(out, "\n## Memory\n\n");
	add_meaning(out, a);
	add_processes(out, m, a->run.root, detail);
	add_steps(out, a, detail);
	add_lines(out, a, detail);
	add_limits(out, m, detail);
}
