/* What to do: the findings that are sure, then the others. */
#include "report/markdown/markdown.h"
#include "report/plain_text.h"

static void add_where(struct buf *out, const struct place *p, const char *root)
{
	markdown_code(out, p->name, false);
	if (!p->file || !*p->file)
		return;
	buf_add_str(out, ", ");
	markdown_place(out, p->file, p->line, root);
}

static void add_saving(struct buf *out, const struct analysis_finding *f, const struct analysis *a)
{
	const char *of = a->steps[0].source == STEP_WHOLE_RUN ? "the run" : "each step";
	char t[3][TEXT_FIGURE], share[TEXT_FIGURE];

	if (f->saving_ns > 0)
		buf_printf(out, "%s of %s (%s; %s to %s)", text_duration(t[0], f->saving_ns), of,
			   text_share(share, f->saving_share, 1),
			   text_duration(t[1], f->saving_low_ns),
			   text_duration(t[2], f->saving_high_ns));
	else if (f->saving_high_ns > 0)
		buf_printf(out, "up to %s of %s", text_duration(t[0], f->saving_high_ns), of);
	else
		buf_add_str(out, "unknown");
}

static void add_texts(struct buf *out, const char *mark, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		buf_add_str(out, mark);
		markdown_escaped(out, texts[i]);
		buf_add_byte(out, '\n');
	}
}

static void add_finding(struct buf *out, size_t number, const struct analysis_finding *f,
			const struct analysis *a)
{
	buf_printf(out, "\n### %zu. ", number);
	markdown_escaped(out, f->title);
	buf_add_str(out, " (");
	markdown_code(out, f->id, false);
	buf_add_str(out, ")\n\n- Saving: ");
	add_saving(out, f, a);
	buf_printf(out, "\n- Confidence: %.2f\n", f->confidence);
	if (f->where.name) {
		buf_add_str(out, "- Where: ");
		add_where(out, &f->where, a->run.root);
		buf_add_byte(out, '\n');
	}
	buf_add_str(out, "- Because:\n");
	add_texts(out, "  - ", f->evidence, f->evidence_count);
	buf_add_str(out, "- Try:\n");
	add_texts(out, "  - ", f->suggestions, f->suggestion_count);
}

static void add_rows(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_findings *all = &a->findings;
	size_t count = all->count - all->sure_count;
	size_t rows = report_rows(detail, count, 5, 30);

	if (!count)
		return;
	buf_add_str(out,
		    "\n## Also seen\n\n| finding | where | saving | confidence | because | try "
		    "|\n|---|---|--:|--:|---|---|\n");
	for (size_t i = all->sure_count; i < all->sure_count + rows; i++) {
		const struct analysis_finding *f = &all->items[i];
		char t[TEXT_FIGURE];

		buf_add_str(out, "| ");
		markdown_cell(out, f->id);
		buf_add_str(out, " | ");
		if (f->where.name) {
			markdown_cell(out, f->where.name);
			buf_add_byte(out, ' ');
			markdown_place(out, f->where.file ? f->where.file : "", f->where.line,
				       a->run.root);
		}
		buf_printf(out, " | %s | %.2f | ",
			   f->saving_ns > 0 ? text_duration(t, f->saving_ns) : "", f->confidence);
		markdown_escaped(out, f->evidence[0]);
		buf_add_str(out, " | ");
		markdown_escaped(out, f->suggestions[0]);
		buf_add_str(out, " |\n");
	}
	markdown_more(out, rows, count);
}

void markdown_findings(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_findings *all = &a->findings;

	/* Of a run in which no model was seen there is nothing to fix, and nothing that is not. */
	if (!all->count && a->steps[0].source == STEP_WHOLE_RUN && !a->steps[0].model_parts)
		return;
	buf_add_str(out, "\n## Fix first\n");
	if (!all->count)
		buf_add_str(out, "\nNothing: no rule found time that could be saved.\n");
	else if (!all->sure_count)
		buf_add_str(out, "\nNothing: no finding has enough confidence to be listed "
				 "here.\n");
	for (size_t i = 0; i < all->sure_count; i++)
		add_finding(out, i + 1, &all->items[i], a);
	add_rows(out, a, detail);
}
