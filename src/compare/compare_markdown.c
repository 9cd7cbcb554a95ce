/* The Markdown report of a comparison; the HTML report is made from it. */
#include <string.h>

#include "compare/compare_report.h"
#include "report/markdown/markdown.h"
#include "report/plain_text.h"

static const char *const side_names[2] = { "Before", "After" };

static void add_side(struct buf *out, const struct comparison *c, size_t side)
{
	const struct compared_run *first = &c->runs[side][0];

	buf_printf(out, "- %s: ", side_names[side]);
	for (size_t i = 0; i < c->run_count[side]; i++) {
		if (i)
			buf_add_str(out, ", ");
		markdown_code(out, c->runs[side][i].path, false);
	}
	if (*first->command) {
		buf_add_str(out, ": ");
		markdown_code(out, first->command, false);
	}
	buf_add_byte(out, '\n');
}

static void add_head(struct buf *out, const struct comparison *c)
{
	struct buf text;

	buf_init(&text);
	buf_add_str(out, "# InferScope diff\n\n");
	comparison_verdict(&text, c);
	buf_printf(out, "**%s** (", buf_string(&text));
	buf_clear(&text);
	comparison_because(&text, c);
	buf_printf(out, "%s)\n\n- Step: ", buf_string(&text));
	markdown_code(out, c->sides[0].step, false);
	if (strcmp(c->sides[0].step, c->sides[1].step) != 0) {
		buf_add_str(out, " before, ");
		markdown_code(out, c->sides[1].step, false);
		buf_add_str(out, " after");
	}
	buf_add_byte(out, '\n');
	for (size_t side = 0; side < 2; side++)
		add_side(out, c, side);
	out->failed |= text.failed;
	buf_release(&text);
}

static void add_steps(struct buf *out, const struct comparison *c)
{
	const struct compared_side *before = &c->sides[0], *after = &c->sides[1];
	char f[4][TEXT_FIGURE];

	buf_add_str(out, "\n## Step time\n\n| | before | after | change | |\n"
			 "|---|--:|--:|--:|--:|\n");
	for (enum step_statistic s = 0; s < STEP_STATISTICS; s++)
		buf_printf(out, "| %s | %s | %s | %s | %s |\n", step_statistic_name(s),
			   text_duration(f[0], before->ns[s]), text_duration(f[1], after->ns[s]),
			   compared_delta(f[2], after->ns[s] - before->ns[s]),
			   compared_percent(f[3], before->ns[s], after->ns[s]));
	buf_printf(out, "| steps | %zu | %zu | | |\n| traces | %zu | %zu | | |\n", before->steps,
		   after->steps, c->run_count[0], c->run_count[1]);
	if (c->run_count[0] > 1 || c->run_count[1] > 1)
		buf_add_str(out, "\nMeans of the traces of a side, without warm-up.\n");
	else
		buf_add_str(out, "\nWithout warm-up.\n");
	if (c->change.known)
		buf_printf(out,
			   "\nTest: moderated t-test of the logarithm of the %s, run by run; %.0f "
			   "degrees of freedom, standard deviation of a run %.1f %%. Two runs of "
			   "the same program are called different in at most %.0f of 100 "
			   "comparisons.\n",
			   step_statistic_name(c->statistic), c->change.df, 100 * c->change.spread,
			   100 * STEP_TEST_ALPHA);
}

static void add_row(struct buf *out, const struct compared_row *r)
{
	char f[5][TEXT_FIGURE];
	struct buf place;

	buf_init(&place);
	compared_row_place(&place, r);
	buf_add_str(out, "| ");
	if (r->part == PART_CLASS)
		buf_add_str(out, r->name);
	else
		markdown_cell(out, r->name);
	if (place.len) {
		buf_add_byte(out, ' ');
		markdown_cell(out, buf_string(&place));
	}
	if (r->part == PART_LINE)
		buf_printf(out, " | %s", r->detail);
	buf_printf(out, " | %s | %s | %s | %s%s |", text_duration(f[0], r->before_ns),
		   text_duration(f[1], r->after_ns), compared_delta(f[2], compared_row_change(r)),
		   compared_percent(f[3], r->before_ns, r->after_ns), r->significant ? " \\*" : "");
	if (compared_part_texts[r->part].counted)
		buf_printf(out, " %.4g | %.4g |", r->before_count, r->after_count);
	buf_add_byte(out, '\n');
	out->failed |= place.failed;
	buf_release(&place);
}

static void add_part(struct buf *out, const struct comparison *c, enum compared_part part,
		     enum report_detail detail)
{
	const struct compared_part_text *text = &compared_part_texts[part];
	size_t count, shown;
	const struct compared_row *rows = comparison_rows(c, part, &count);

	shown = report_rows(detail, count, 5, 20);
	while (shown && compared_row_is_small(c, &rows[shown - 1], detail))
		shown--;
	if (!count)
		return;
	buf_printf(out, "\n## %s\n\n", text->title);
	if (!shown) {
		buf_add_str(out, "No change of 0.1 % of a step or more.\n");
		return;
	}
	buf_printf(out, "| %s |%s before | after | change | |%s\n|---|%s--:|--:|--:|--:|%s\n",
		   text->column, part == PART_LINE ? " class |" : "",
		   text->counted ? " count before | after |" : "", part == PART_LINE ? "---|" : "",
		   text->counted ? "--:|--:|" : "");
	for (size_t i = 0; i < shown; i++)
		add_row(out, &rows[i]);
	markdown_more(out, shown, count);
	buf_printf(out, "\n%s \\*: more than chance explains, of all rows of the table.\n",
		   text->means);
}

static void add_findings(struct buf *out, const struct comparison *c)
{
	if (!c->finding_count)
		return;
	buf_add_str(out, "\n## Findings\n\n| | finding | where | saving before | after |\n"
			 "|---|---|---|--:|--:|\n");
	for (size_t i = 0; i < c->finding_count; i++) {
		const struct compared_findings_row *r = &c->findings[i];
		const struct compared_finding *f = r->newest;
		char figure[TEXT_FIGURE];

		buf_printf(out, "| %s | ", !r->before ? "new" : !r->after ? "gone" : "stayed");
		markdown_cell(out, f->id);
		buf_add_str(out, " | ");
		if (f->function) {
			markdown_cell(out, f->function);
			buf_add_byte(out, ' ');
			markdown_place(out, f->file, f->line, NULL);
		}
		buf_printf(out, " | %s |",
			   r->before ? text_duration(figure, r->before->saving_ns) : "");
		buf_printf(out, " %s |\n",
			   r->after ? text_duration(figure, r->after->saving_ns) : "");
	}
}

void comparison_markdown(struct buf *out, const struct comparison *c, enum report_detail detail)
{
	add_head(out, c);
	add_steps(out, c);
	for (enum compared_part part = 0; part < COMPARED_PARTS; part++)
		add_part(out, c, part, detail);
	add_findings(out, c);
	if (!c->notes.count)
		return;
	buf_add_str(out, "\n## Notes\n\n");
	for (size_t i = 0; i < c->notes.count; i++) {
		buf_add_str(out, "- ");
		markdown_escaped(out, c->notes.items[i]);
		buf_add_byte(out, '\n');
	}
}
