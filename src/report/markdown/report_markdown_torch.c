/* Markdown: loading of data, compilation. */
#include <inttypes.h>

#include "report/markdown/markdown.h"
#include "report/plain_text.h"

static void add_sum(struct buf *out, const struct torch_sum *s)
{
	char f[2][TEXT_FIGURE];

	if (s->count)
		buf_printf(out, " %" PRIu64 " | %s | %s |", s->count,
			   text_duration(f[0], (double)s->total_ns),
			   text_duration(f[1], (double)s->longest_ns));
	else
		buf_add_str(out, " | | |");
}

static void add_loading(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_torch *t = &a->torch;
	size_t rows = 0, all = 0, limit;

	for (size_t i = 0; i < t->process_count; i++)
		all += t->processes[i].waits.count || t->processes[i].loads.count;
	limit = report_rows(detail, all, 5, 12);
	if (!t->waits.count && !t->loads.count)
		return;
	buf_add_str(out,
		    "\n## Loading of data (PyTorch)\n\n"
		    "| process | pid | waits | time | longest | batches loaded | time | longest |\n"
		    "|---|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < t->process_count && rows < limit; i++) {
		const struct torch_process *p = &t->processes[i];

		if (!p->waits.count && !p->loads.count)
			continue;
		rows++;
		buf_add_str(out, "| ");
		markdown_process(out, p->name, a->run.root, true);
		buf_printf(out, "%s | %" PRIu32 " |", p->worker ? " (DataLoader worker)" : "",
			   p->pid);
		add_sum(out, &p->waits);
		add_sum(out, &p->loads);
		buf_add_byte(out, '\n');
	}
	markdown_more(out, rows, all);
	if (t->waits.count)
		buf_add_str(out, "\nWaits: the process was idle until the workers of its "
				 "DataLoader delivered a batch.\n");
}

static void add_graphs(struct buf *out, const struct analysis *a)
{
	for (size_t i = 0; i < a->torch.process_count; i++) {
		const struct torch_process *p = &a->torch.processes[i];
		char f[TEXT_FIGURE];

		if (!p->graphs.count)
			continue;
		buf_printf(out,
			   "\nCompiled graphs ran %" PRIu64 " times in process %" PRIu32 ", for %s",
			   p->graphs.count, p->pid, text_duration(f, (double)p->graphs.total_ns));
		if (p->gpu_count)
			buf_printf(out, ", and launched %s of GPU work",
				   text_duration(f, (double)p->gpu_ns));
		buf_add_str(out, ".\n");
	}
}

/* Why functions were compiled again, the same functions as in the table above. */
static void add_reasons(struct buf *out, const struct analysis_torch *t, size_t rows,
			enum report_detail detail)
{
	for (size_t i = 0; i < rows; i++) {
		const struct torch_compiled *c = &t->compiled[i];
		size_t shown = report_rows(detail, c->reason_count, 3, 30);

		if (!c->reason_count)
			continue;
		buf_add_str(out, "\n");
		markdown_escaped(out, *c->function ? c->function : "(unknown)");
		buf_add_str(out, " was recompiled because:\n\n");
		for (size_t k = 0; k < shown; k++) {
			buf_add_str(out, "- ");
			markdown_escaped(out, c->reasons[k].text);
			if (c->reasons[k].count > 1)
				buf_printf(out, " (%" PRIu64 " times)", c->reasons[k].count);
			buf_add_byte(out, '\n');
		}
		markdown_more(out, shown, c->reason_count);
	}
}

static void add_compilation(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_torch *t = &a->torch;
	size_t rows = report_rows(detail, t->compiled_count, 5, 30);
	char f[2][TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n## Compilation (PyTorch)\n\n"
			 "| function | where | pid | compilations | time | longest |\n"
			 "|---|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct torch_compiled *c = &t->compiled[i];

		buf_add_str(out, "| ");
		markdown_cell(out, *c->function ? c->function : "(unknown)");
		buf_add_str(out, " | ");
		markdown_place(out, c->file, c->line, a->run.root);
		buf_printf(out, " | %" PRIu32 " | %" PRIu64 " | %s | %s |\n", c->pid, c->sum.count,
			   text_duration(f[0], (double)c->sum.total_ns),
			   text_duration(f[1], (double)c->sum.longest_ns));
	}
	markdown_more(out, rows, t->compiled_count);
	buf_printf(out,
		   "\n%" PRIu64 " compilations took %s; %" PRIu64 " of them were recompilations, "
		   "after a call failed the guards of the compiled code.\n",
		   t->compilations.count, text_duration(f[0], (double)t->compilations.total_ns),
		   t->recompilations);
	add_reasons(out, t, rows, detail);
	add_graphs(out, a);
}

void markdown_torch(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	add_loading(out, a, detail);
	add_compilation(out, a, detail);
}
