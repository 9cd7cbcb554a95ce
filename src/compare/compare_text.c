/* The words that all formats of a comparison share, and the way to a file. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compare/compare_report.h"
#include "report/html/html_put.h"
#include "report/plain_text.h"

#define SMALL 0.001 /* of a step: a change that has no row unless all have */

const struct compared_part_text compared_part_texts[COMPARED_PARTS] = {
	[PART_CLASS] = { "Classes of time", "class", "classes",
			 "Mean per step. The parts of each side add up to its mean step.", false },
	[PART_KERNEL] = { "Kernels", "kernel", "kernels",
			  "Device time per step of what the steps launched; if that is unknown, of "
			  "the whole run, divided by its steps.",
			  true },
	[PART_GPU_LAYER] = { "Layers, GPU", "layer", "gpu_layers",
			     "Device time per step of what a layer launched itself, without the "
			     "layers inside it.",
			     true },
	[PART_CPU_LAYER] = { "Layers, CPU", "layer", "cpu_layers",
			     "Time of the thread per step in a layer itself, without the layers "
			     "inside it.",
			     true },
	[PART_STEP_FUNCTION] = { "Functions", "function", "step_functions",
				 "Self time per step of all threads while steps ran, by samples.",
				 false },
	[PART_RUN_FUNCTION] = { "Functions", "function", "functions",
				"Self time of the whole run, start-up included, divided by all its "
				"steps.",
				true },
	[PART_LINE] = { "Lines", "line", "lines",
			"Mean per step. Lines are the innermost lines of user code; device time "
			"belongs to the line that launched it.",
			false },
};

void comparison_verdict(struct buf *out, const struct comparison *c)
{
	const struct step_change *d = &c->change;

	if (!d->known)
		buf_printf(out, "not tested: %+.1f %%", 100 * d->ratio);
	else if (!d->significant)
		buf_printf(out, "no significant change: %+.1f %%", 100 * d->ratio);
	else
		buf_printf(out, "%s by %.1f %%", d->ratio > 0 ? "slower" : "faster",
			   100 * fabs(d->ratio));
}

void comparison_because(struct buf *out, const struct comparison *c)
{
	const struct step_change *d = &c->change;

	if (!d->known) {
		buf_add_str(out, "too few steps for a test");
		return;
	}
	buf_printf(out, "%s of a step, 95 %% interval %+.1f %% to %+.1f %%, ",
		   step_statistic_name(c->statistic), 100 * d->low, 100 * d->high);
	if (d->p_value < 0.0001)
		buf_add_str(out, "p < 0.0001");
	else
		buf_printf(out, "p = %.2g", d->p_value);
}

const char *compared_delta(char out[TEXT_FIGURE], double ns)
{
	char figure[TEXT_FIGURE];

	text_duration(figure, fabs(ns));
	snprintf(out, TEXT_FIGURE, "%s%.*s", ns < 0 ? "-" : "+", TEXT_FIGURE - 2, figure);
	return out;
}

const char *compared_percent(char out[TEXT_FIGURE], double before, double after)
{
	double change = after / before - 1;

	if (!(before > 0))
		snprintf(out, TEXT_FIGURE, "%s", after > 0 ? "new" : "");
	else if (!(after > 0))
		snprintf(out, TEXT_FIGURE, "gone");
	else if (change >= 10)
		snprintf(out, TEXT_FIGURE, after / before < 1000 ? "x %.3g" : "x %.0f",
			 after / before);
	else
		snprintf(out, TEXT_FIGURE, "%+.1f %%", 100 * change);
	return out;
}

bool compared_row_is_small(const struct comparison *c, const struct compared_row *r,
			   enum report_detail detail)
{
	double step_ns = fmax(c->sides[0].ns[STATISTIC_MEAN], c->sides[1].ns[STATISTIC_MEAN]);

	return report_leaves_out(detail, fabs(compared_row_change(r)), step_ns, SMALL);
}

void compared_row_place(struct buf *out, const struct compared_row *r)
{
	uint32_t line = r->in_after ? r->line : r->line_before;

	if (!*r->file)
		return;
	buf_add_str(out, r->file);
	if (line)
		buf_printf(out, ":%" PRIu32, line);
	if (r->part == PART_LINE && r->in_before && r->in_after && r->line != r->line_before)
		buf_printf(out, " (was %" PRIu32 ")", r->line_before);
}

static void no_plots(struct buf *out, const char *heading, size_t n, void *context)
{
	(void)out;
	(void)heading;
	(void)n;
	(void)context;
}

static void comparison_html(struct buf *out, const struct comparison *c, enum report_detail detail)
{
	const struct html_hooks hooks = { no_plots, NULL };
	struct html_page page;

	html_page_init(&page);
	buf_add_str(&page.title, "InferScope diff: ");
	html_text(&page.title, c->sides[1].step);
	comparison_markdown(&page.markdown, c, detail);
	html_page_finish(out, &page, &hooks);
}

int comparison_write(const struct comparison *c, const char *path, enum report_detail detail,
		     struct err *err)
{
	const struct report_backend *backend = report_backend_for(path, err);
	struct buf text;
	int rc;

	if (!backend)
		return -1;
	buf_init(&text);
	if (backend == &report_json)
		comparison_json(&text, c, detail);
	else if (backend == &report_html)
		comparison_html(&text, c, detail);
	else
		comparison_markdown(&text, c, detail);
	rc = report_write_text(path, &text, err);
	buf_release(&text);
	return rc;
}
