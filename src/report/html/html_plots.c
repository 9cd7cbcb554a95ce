#include "report/html/html_put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/gpu/gpu_busy.h"
#include "report/table_rows.h"

#define BUSY_BINS 300

static void plot_breakdown(struct buf *out, struct html_plots *p)
{
	const struct step_breakdown *b = &p->analysis->steps[0].breakdown;
	struct svg_part parts[TIME_CLASSES];
	char figures[TIME_CLASSES][3 * TEXT_FIGURE], f[2][TEXT_FIGURE];
	enum time_class order[TIME_CLASSES];
	size_t n = breakdown_order(b, order);

	for (size_t i = 0; i < n; i++) {
		double ns = (double)b->parts[order[i]].ns, all_ns = (double)b->total_ns;

		snprintf(figures[i], sizeof(figures[i]), "%s (%s)",
			 text_duration(f[0], ns / (double)b->steps), text_share(f[1], ns, all_ns));
		parts[i] = (struct svg_part){
			.colour = time_class_name(order[i]),
			.title = time_class_title(order[i]),
			.figures = figures[i],
			.share = all_ns > 0 ? ns / all_ns : 0,
		};
	}
	svg_bar(out, "What a step spent its time on", parts, n);
}

/* What to do first, beside how long it takes and where that goes: the finding at the top. */
static void put_first_finding(struct buf *out, const struct analysis *a)
{
	const struct analysis_finding *f = a->findings.items;
	const char *of = a->steps[0].source == STEP_WHOLE_RUN ? "the run" : "each step";
	char figure[TEXT_FIGURE], share[TEXT_FIGURE];
	bool sure = a->findings.sure_count > 0;

	if (!a->findings.count)
		return;
	buf_printf(
		out, "<p class=\"first\"><strong>%s</strong> <a href=\"#%s\">",
		sure ? "Fix first:" : "Seen, but not certain:", sure ? "fix-first" : "also-seen");
	html_text(out, f->title);
	buf_add_str(out, "</a>");
	if (f->saving_ns > 0)
		buf_printf(out, ": saves about %s of %s (%s)", text_duration(figure, f->saving_ns),
			   of, text_share(share, f->saving_share, 1));
	else if (f->saving_high_ns > 0)
		buf_printf(out, ": saves up to %s of %s", text_duration(figure, f->saving_high_ns),
			   of);
	buf_add_str(out, "</p>\n");
}

static void add_key(struct buf *out, size_t row, enum time_class what)
{
	buf_printf(out, "#timeline-breakdown li:nth-child(%zu){--key:var(--%s)}\n", row + 1,
		   time_class_name(what));
}

/* The row of several small parts has no colour. */
void html_plots_key(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	struct breakdown_rows r;

	if (!breakdown_rows(&r, &a->steps[0].breakdown, detail == DETAIL_FULL))
		return;
	for (size_t i = 0; i < r.count; i++)
		add_key(out, i, r.order[i]);
	add_key(out, r.count + (r.small > 0), TIME_UNATTRIBUTED);
}

static const char *duration_figure(char out[TEXT_FIGURE], double ns)
{
	return text_duration(out, ns);
}

static const char *bytes_figure(char out[TEXT_FIGURE], double bytes)
{
	return text_bytes(out, (uint64_t)bytes);
}

static const char *percent_figure(char out[TEXT_FIGURE], double percent)
{
	snprintf(out, TEXT_FIGURE, "%.0f %%", percent);
	return out;
}

/* "BEFORE NAME AFTER" as HTML; NUL-terminated in the buffer. */
static const char *labelled(struct buf *label, const char *before, const char *name,
			    const char *after)
{
	buf_clear(label);
	buf_add_str(label, before);
	html_text(label, name);
	buf_add_str(label, after);
	return buf_string(label);
}

static void plot_steps(struct buf *out, struct html_plots *p)
{
	const struct analysis *a = p->analysis;
	struct buf label;

	if (!a->curves)
		return;
	buf_init(&label);
	for (size_t i = 0; i < a->step_count && i < CURVE_STEPS; i++) {
		const struct analysis_step *s = &a->steps[i];
		const struct step_curve *c = &a->curves->steps[i];
		const struct svg_mark marks[] = {
			{ "p50", (double)s->p50_ns },
			{ "p99", (double)s->p99_ns },
		};

		if (!c->latency.count)
			continue;
		buf_add_str(out, "<div class=\"pair\">\n");
		svg_curve(out,
			  &(struct svg_axes){
				  .label = labelled(&label, "Latency of ", s->name,
						    " over time, without warm-up"),
				  .figure = duration_figure,
				  .marks = marks,
				  .mark_count = s->p99_ns > 1.2 * (double)s->p50_ns ? 2 : 1,
			  },
			  &c->latency);
		svg_histogram(out, labelled(&label, "Steps of ", s->name, " by their latency"),
			      &c->histogram);
		buf_add_str(out, "</div>\n");
	}
	out->failed |= label.failed;
	buf_release(&label);
}

/* Where nothing was recorded there is nothing to draw. */
static void busy_curve(struct curve *c, const struct gpu_section *s)
{
	curve_init(c, s->first_ns, s->last_ns);
	for (size_t i = 0; i < BUSY_BINS; i++) {
		int64_t length_ns = s->last_ns - s->first_ns;
		int64_t from_ns =
			s->first_ns + (int64_t)((double)length_ns * (double)i / BUSY_BINS);
		int64_t to_ns =
			s->first_ns + (int64_t)((double)length_ns * (double)(i + 1) / BUSY_BINS);
		int64_t known_ns = to_ns - from_ns - gpu_paused_between(s, from_ns, to_ns);

		if (known_ns > 0)
			curve_add(c, from_ns + (to_ns - from_ns) / 2,
				  100 * (double)gpu_busy_between(s, from_ns, to_ns) /
					  (double)known_ns);
	}
}

static void plot_gpu(struct buf *out, struct html_plots *p)
{
	const struct analysis_gpu *gpu = &p->analysis->gpu;
	struct curve c;

	if (p->gpu_chapters >= gpu->section_count)
		return;
	busy_curve(&c, &gpu->sections[p->gpu_chapters++]);
	svg_curve(out,
		  &(struct svg_axes){
			  .label = "Share of time the GPU was busy",
			  .figure = percent_figure,
			  .top = 100,
			  .filled = true,
			  .wide = true,
		  },
		  &c);
}

static void plot_memory(struct buf *out, struct html_plots *p)
{
	const struct analysis *a = p->analysis;
	char after[32], number[16];
	struct buf label;

	if (!a->curves)
		return;
	buf_init(&label);
	buf_add_str(out, "<div class=\"pair\">\n");
	for (size_t i = 0; i < a->memory.process_count && i < CURVE_PROCESSES; i++) {
		const struct memory_process *m = &a->memory.processes[i];

		snprintf(after, sizeof(after), ", process %" PRIu32, m->pid);
		svg_curve(out,
			  &(struct svg_axes){
				  .label = labelled(&label, "Resident memory of ", m->name, after),
				  .figure = bytes_figure,
				  .filled = true,
			  },
			  &a->curves->rss[i]);
	}
	for (size_t i = 0; i < a->memory.gpu_count && i < CURVE_PROCESSES; i++) {
		snprintf(number, sizeof(number), "%" PRIu32, a->memory.gpus[i].device);
		svg_curve(out,
			  &(struct svg_axes){
				  .label = labelled(&label, "Memory in use on GPU ", number, ""),
				  .figure = bytes_figure,
				  .filled = true,
			  },
			  &a->curves->gpu_used[i]);
	}
	buf_add_str(out, "</div>\n");
	out->failed |= label.failed;
	buf_release(&label);
}

static const struct chapter_plot {
	const char *heading; /* begins with */
	void (*plot)(struct buf *out, struct html_plots *p);
} chapter_plots[] = {
	{ "Timeline Breakdown", plot_breakdown },
	{ "Steps", plot_steps },
	{ "GPU", plot_gpu },
	{ "Memory", plot_memory },
};

void html_plots_add(struct buf *out, const char *heading, size_t n, void *context)
{
	const struct html_plots *plots = context;

	if (!n)
		put_first_finding(out, plots->analysis);
	for (size_t i = 0; i < sizeof(chapter_plots) / sizeof(*chapter_plots); i++) {
		size_t length = strlen(chapter_plots[i].heading);

		if (n >= length && !memcmp(heading, chapter_plots[i].heading, length))
			chapter_plots[i].plot(out, context);
	}
}
