/* The chapters about what steps spent their time on, and the table of why the GPU was idle. */
#include <inttypes.h>
#include <string.h>

#include "report/markdown/markdown.h"
#include "report/plain_text.h"
#include "report/table_rows.h"

#define LEAST_SHARE 0.001     /* of a step: less reads 0.0 or 0.1 % */
#define LEAST_BLAME 0.005     /* of the idle time */
#define LEAST_DIFFERENCE 0.01 /* of what slow steps took longer */
#define BLAME_ROWS 12u

static void add_function(struct buf *out, const struct place *p)
{
	if (p->name)
		markdown_cell(out, p->name);
	else
		buf_add_str(out, "(unknown)");
}

/* Function, place and what it called or waited for: three cells. */
static void add_place(struct buf *out, const struct time_cause *c, const char *root)
{
	double percent = c->ns > 0 ? 100 * (double)c->inner_ns / (double)c->ns : 0;

	add_function(out, &c->where);
	buf_add_str(out, " | ");
	if (c->where.name && c->where.file)
		markdown_place(out, c->where.file, c->where.line, root);
	buf_add_str(out, " | ");
	if (c->waited_for.name) {
		buf_add_str(out, "waited for ");
		markdown_cell(out, c->waited_for.name);
	} else if (c->inner.name) {
		buf_add_str(out, "called ");
		markdown_cell(out, c->inner.name);
		/* The row's time is not all spent there. */
		if (percent < 99.5)
			buf_printf(out, " for %.0f %% of it", percent);
	}
}

static void add_part(struct buf *out, const char *title, int64_t ns, int64_t error_ns,
		     const struct step_breakdown *b)
{
	double steps = (double)b->steps;
	char f[2][TEXT_FIGURE];

	buf_printf(out, "- %s: %s (%s)", title, text_duration(f[0], (double)ns / steps),
		   text_share(f[1], (double)ns, (double)b->total_ns));
	if (error_ns)
		buf_printf(out, " ± %s", text_duration(f[0], (double)error_ns / steps));
	buf_add_byte(out, '\n');
}

static void add_parts(struct buf *out, const struct step_breakdown *b, enum report_detail detail)
{
	const struct time_part *unknown = &b->parts[TIME_UNATTRIBUTED];
	struct breakdown_rows r;

	breakdown_rows(&r, b, detail == DETAIL_FULL);
	for (size_t i = 0; i < r.count; i++)
		add_part(out, time_class_title(r.order[i]), b->parts[r.order[i]].ns,
			 b->parts[r.order[i]].error_ns, b);
	if (r.small)
		add_part(out, "Others", r.small_ns, 0, b);
	add_part(out, time_class_title(TIME_UNATTRIBUTED), unknown->ns, unknown->error_ns, b);
}

/* Where the time went: what would read 0.0 % says nothing, but for the first. */
static size_t cause_rows(const struct step_breakdown *b, enum report_detail detail)
{
	size_t rows = report_rows(detail, b->cause_count, 5, 15);

	while (rows > 1 && report_leaves_out(detail, (double)b->causes[rows - 1].ns,
					     (double)b->total_ns, LEAST_SHARE))
		rows--;
	return rows;
}

static void add_causes(struct buf *out, const struct step_breakdown *b, const char *time,
		       const char *root, enum report_detail detail)
{
	size_t rows = cause_rows(b, detail);
	char f[2][TEXT_FIGURE];

	buf_printf(out,
		   "| what | function | where | detail | %s | share |\n"
		   "|---|---|---|---|--:|--:|\n",
		   time);
	for (size_t i = 0; i < rows; i++) {
		const struct time_cause *c = &b->causes[i];

		buf_printf(out, "| %s | ", time_class_title(c->what));
		add_place(out, c, root);
		buf_printf(out, " | %s | %s |\n",
			   text_duration(f[0], (double)c->ns / (double)b->steps),
			   text_share(f[1], (double)c->ns, (double)b->total_ns));
	}
	markdown_more(out, rows, b->cause_count);
}

static void add_slow(struct buf *out, const struct slow_steps *s, const char *root,
		     enum report_detail detail)
{
	size_t rows = report_rows(detail, s->cause_count, 3, 8);
	char f[2][TEXT_FIGURE];

	while (rows > 1 && report_leaves_out(detail, s->causes[rows - 1].more_ns,
					     s->mean_ns - s->typical_mean_ns, LEAST_DIFFERENCE))
		rows--;

	if (!rows)
		return;
	buf_printf(out,
		   "\n### Slow steps\n\n"
		   "Mean of the slowest (%zu): %s, of those around the median (%zu): %s. "
		   "Additional time in the slow ones:\n\n"
		   "| what | function | where | detail | more per step | in total |\n"
		   "|---|---|---|---|--:|--:|\n",
		   s->steps, text_duration(f[0], s->mean_ns), s->typical_steps,
		   text_duration(f[1], s->typical_mean_ns));
	for (size_t i = 0; i < rows; i++) {
		const struct time_cause *c = &s->causes[i].cause;

		buf_printf(out, "| %s | ", time_class_title(c->what));
		add_place(out, c, root);
		buf_printf(out, " | %s | %s |\n", text_duration(f[0], s->causes[i].more_ns),
			   text_duration(f[1], (double)c->ns / (double)s->steps));
	}
	markdown_more(out, rows, s->cause_count);
}

void markdown_breakdown(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_step *s = &a->steps[0];
	const struct step_breakdown *b = &s->breakdown;
	char f[2][TEXT_FIGURE];

	if (!b->steps)
		return;
	buf_add_str(out, "\n## Timeline Breakdown\n\n");
	if (s->source == STEP_WHOLE_RUN) {
		buf_printf(out, "No steps were found; %s, %s:\n\n", s->name,
			   text_duration(f[0], (double)b->total_ns));
	} else {
		double mean_ns = (double)b->total_ns / (double)b->steps;
		size_t all = s->count - s->warmup;

		buf_printf(out, "Mean of %zu ", b->steps);
		if (breakdown_throttled(s))
			buf_printf(out, "of %zu ", all);
		markdown_code(out, s->name, false);
		if (breakdown_throttled(s))
			buf_add_str(out, ", those with the GPU recorded throughout");
		buf_printf(out, ", %s", text_duration(f[0], mean_ns));
		if (breakdown_throttled(s))
			buf_printf(out, " (of all: %s)", text_duration(f[1], s->mean_ns));
		buf_add_str(out, ":\n\n");
	}
	add_parts(out, b, detail);
	buf_add_str(out, "\nThe parts add up to the total.");
	if (a->gpu.section_count)
		buf_add_str(out, " Where several activities overlap, the device takes precedence "
				 "over the host: host time is the time not hidden by the GPU.");
	buf_add_byte(out, '\n');
	if (b->shared)
		buf_add_str(out, "Steps of several asyncio tasks interleave: these figures include "
				 "what other tasks did on the same thread.\n");
}

void markdown_causes(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct step_breakdown *b = &a->steps[0].breakdown;

	if (!b->steps || !b->cause_count)
		return;
	buf_add_str(out, "\n## Where the time went\n\n");
	add_causes(out, b, a->steps[0].source == STEP_WHOLE_RUN ? "time" : "per step", a->run.root,
		   detail);
	add_slow(out, &b->slow, a->run.root, detail);
}

/* They are in order of what they cost steps: some in the middle may be next to nothing. */
static bool is_worth_a_row(const struct gpu_section *s, const struct idle_cause *c,
			   double in_steps_ns, enum report_detail detail)
{
	return !report_leaves_out(detail, (double)c->ns, (double)s->idle_ns, LEAST_BLAME) ||
	       (c->in_steps_ns &&
		!report_leaves_out(detail, (double)c->in_steps_ns, in_steps_ns, LEAST_BLAME));
}

void markdown_blame(struct buf *out, const struct gpu_section *s, const char *root,
		    enum report_detail detail)
{
	const struct idle_blame *b = &s->blame;
	size_t limit = report_rows(detail, b->count, 5, BLAME_ROWS), rows = 0;
	double in_steps_ns = 0;
	bool outside = false;
	char f[3][TEXT_FIGURE];

	if (!s->idle_ns)
		return;
	for (size_t i = 0; i < b->count; i++)
		in_steps_ns += (double)b->items[i].in_steps_ns;
	buf_printf(out, "\n### Why the GPU was idle\n\n%s idle",
		   text_duration(f[0], (double)s->idle_ns));
	if (b->no_load_ns)
		buf_printf(out, ", of which %s without load",
			   text_duration(f[1], (double)b->no_load_ns));
	if (b->unexplained_ns)
		buf_printf(out, "; %s unexplained", text_duration(f[2], (double)b->unexplained_ns));
	buf_add_str(out, ".\n");
	if (!limit)
		return;
	buf_add_str(out, "\n| cause | function | where | detail | idle | per step | share |\n"
			 "|---|---|---|---|--:|--:|--:|\n");
	for (size_t i = 0; i < b->count && rows < limit; i++) {
		const struct idle_cause *c = &b->items[i];
		struct time_cause cause;

		if (rows && !is_worth_a_row(s, c, in_steps_ns, detail))
			continue;
		rows++;
		outside |= b->steps && !c->in_steps_ns;
		buf_printf(out, "| %s | ",
			   c->latency ? "Launch latency" : time_class_title(c->what));
		cause = idle_time_cause(c);
		add_place(out, &cause, root);
		buf_printf(out, " | %s | %s | %s |\n", text_duration(f[0], (double)c->ns),
			   b->steps && c->in_steps_ns
				   ? text_duration(f[1], (double)c->in_steps_ns / (double)b->steps)
				   : "",
			   text_share(f[2], (double)c->ns, (double)s->idle_ns));
	}
	markdown_more(out, rows, b->count);
	buf_printf(
		out,
		"\nEach gap in the GPU's work is attributed to what the thread that launched the "
		"next work was doing.%s\n",
		outside ? " An empty per-step cell: outside the steps, or in warm-up." : "");
}
