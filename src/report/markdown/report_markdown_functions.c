/* The functions that took most time: of the steps where that is known, else of the whole run. */
#include <inttypes.h>

#include "report/markdown/markdown.h"
#include "report/plain_text.h"

/* Markdown: NVTX ranges. */

void markdown_domain(struct buf *out, const char *domain)
{
	if (!domain)
		return;
	buf_add_str(out, " (NVTX");
	if (*domain) {
		buf_add_str(out, ", ");
		markdown_cell(out, domain);
	}
	buf_add_byte(out, ')');
}

static void add_category(struct buf *out, const struct trace_nvtx *n)
{
	if (*n->category_name)
		markdown_cell(out, n->category_name);
	else if (n->category)
		buf_printf(out, "%" PRIu32, n->category);
}

static void add_range(struct buf *out, const struct analysis_nvtx_range *r, bool gpu)
{
	char f[3][TEXT_FIGURE];

	buf_add_str(out, "| ");
	markdown_cell(out, r->what->name);
	buf_add_str(out, " | ");
	if (*r->what->domain)
		markdown_cell(out, r->what->domain);
	buf_add_str(out, " | ");
	add_category(out, r->what);
	buf_printf(out, " | %" PRIu64, r->count);
	if (r->throttled)
		buf_add_str(out, ", partly recorded");
	if (r->unended)
		buf_printf(out, ", %" PRIu64 " without end", r->unended);
	buf_printf(out, " | %s | %s | %s |", text_duration(f[0], (double)r->total_ns),
		   text_duration(f[1], (double)r->self_ns),
		   text_duration(f[2], (double)r->longest_ns));
	if (gpu && r->gpu_count)
		buf_printf(out, " %s |", text_duration(f[0], (double)r->gpu_ns));
	else if (gpu)
		buf_add_str(out, " ? |");
	buf_add_byte(out, '\n');
}

void markdown_nvtx(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->nvtx_count, 5, 30);
	bool gpu = a->gpu.section_count > 0;

	if (!rows)
		return;
	buf_printf(out,
		   "\n## NVTX ranges\n\n"
		   "| range | domain | category | count | total | self | longest |%s\n"
		   "|---|---|---|--:|--:|--:|--:|%s\n",
		   gpu ? " GPU |" : "", gpu ? "--:|" : "");
	for (size_t i = 0; i < rows; i++)
		add_range(out, &a->nvtx[i], gpu);
	markdown_more(out, rows, a->nvtx_count);
	buf_add_str(out, "\nSelf: without the ranges and scopes inside.");
	if (gpu)
		buf_add_str(out, " GPU: the time of all work that the range's thread launched "
				 "during the range.");
	buf_add_byte(out, '\n');
}

#define ROWS 20u
#define LEAST_SHARE 0.001 /* less says nothing, */
#define LEAST_ROWS 5u     /* unless all of them have so little */

static void add_function(struct buf *out, const struct analysis *a, size_t i, double all_ns)
{
	const struct analysis_function *fn = &a->functions[i];
	char f[3][TEXT_FIGURE];

	buf_add_str(out, "| ");
	markdown_cell(out, fn->name);
	buf_add_str(out, " | ");
	markdown_place(out, fn->file, fn->line, a->run.root);
	if (fn->sampled && !fn->calls)
		buf_printf(out, " | | ");
	else
		buf_printf(out, " | %s%" PRIu64 "%s | ", a->trust.pauses ? "≥ " : "", fn->calls,
			   fn->throttled ? ", then throttled" : "");
	buf_add_str(out, text_duration(f[0], (double)fn->self_ns));
	if (fn->sampled)
		buf_printf(out, " ± %s", text_duration(f[0], (double)fn->self_error_ns));
	buf_add_str(out, " |");
	if (!fn->waits)
		buf_printf(out, " %s | %s |", text_share(f[1], (double)fn->self_ns, all_ns),
			   text_duration(f[2], (double)fn->total_ns));
	buf_add_byte(out, '\n');
}

static bool any_sampled(const struct analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++) {
		if (a->functions[i].sampled)
			return true;
	}
	return false;
}

/* Of the whole run, by calls where they were recorded. */
static void add_functions(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->working_count, 10, 30);
	double all_ns = 0;

	if (!rows)
		return;
	for (size_t i = 0; i < a->working_count; i++)
		all_ns += (double)a->functions[i].self_ns;
	buf_add_str(out, "| function | where | calls | self | share | total |\n"
			 "|---|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++)
		add_function(out, a, i, all_ns);
	markdown_more(out, rows, a->working_count);
	buf_add_str(out,
		    "\nSelf: without called functions and garbage collection, including waits in C "
		    "code. Share: of the self time of all these functions, in all threads.\n");
	if (any_sampled(a))
		buf_add_str(out,
			    "Times with ± are estimated from samples, for functions whose calls "
			    "were only partly recorded; ± is the 95 % interval.\n");
}

/* Threads that wait are not where time is lost, but it is good to know what for. */
static void add_waits(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t count = a->function_count - a->working_count;
	size_t rows = report_rows(detail, count, 3, 10);

	while (rows > LEAST_ROWS &&
	       report_leaves_out(detail, (double)a->functions[a->working_count + rows - 1].self_ns,
				 (double)a->run.wall_ns, LEAST_SHARE))
		rows--;
	if (!rows)
		return;
	buf_add_str(out,
		    "\n## Waiting\n\n| function | where | calls | time |\n|---|---|--:|--:|\n");
	for (size_t i = 0; i < rows; i++)
		add_function(out, a, a->working_count + i, 0);
	markdown_more(out, rows, count);
}

/* What the table is about, and what it is not. */
static void write_interval(struct buf *out, const struct analysis *a)
{
	const struct step_functions *s = &a->in_steps;
	int64_t took_ns = s->until_ns - s->from_ns, left_ns = a->run.wall_ns - took_ns;
	char f[2][TEXT_FIGURE];

	if (a->steps[0].source == STEP_WHOLE_RUN) {
		buf_printf(out, "Interval %s", a->steps[0].name);
	} else {
		buf_add_str(out, "From the first ");
		markdown_code(out, a->steps[0].name, false);
		buf_printf(out, "%s to the end of the last",
			   a->steps[0].warmup ? " after warm-up" : "");
	}
	buf_printf(out, ": %s of %s, from %" PRIu64 " samples of all threads.",
		   text_duration(f[0], (double)took_ns),
		   text_duration(f[1], (double)a->run.wall_ns), s->samples);
	if (left_ns > 0)
		buf_printf(out, " Excluded: the %s before and after",
			   text_duration(f[0], (double)left_ns));
	if (left_ns > 0 && s->importing_ns > 0)
		buf_printf(out, ", including %s for importing modules",
			   text_duration(f[0], (double)s->importing_ns));
	if (left_ns > 0)
		buf_add_str(out, ".");
	buf_add_str(out, "\n\n");
}

static void add_step_functions(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct step_functions *s = &a->in_steps;
	size_t rows = report_rows(detail, s->count, 10, ROWS);
	char f[4][TEXT_FIGURE];

	while (rows > LEAST_ROWS && report_leaves_out(detail, (double)s->items[rows - 1].self_ns,
						      (double)s->self_ns, LEAST_SHARE))
		rows--;
	write_interval(out, a);
	buf_add_str(out, "| function | where | self | share | total |\n|---|---|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct step_function *fn = &s->items[i];

		buf_add_str(out, "| ");
		markdown_cell(out, fn->name);
		buf_add_str(out, " | ");
		markdown_place(out, fn->file, fn->line, a->run.root);
		buf_printf(out, " | %s ± %s | %s | %s |\n",
			   text_duration(f[0], (double)fn->self_ns),
			   text_duration(f[1], (double)fn->error_ns),
			   text_share(f[2], (double)fn->self_ns, (double)s->self_ns),
			   text_duration(f[3], (double)fn->total_ns));
	}
	markdown_more(out, rows, s->count);
	buf_add_str(out,
		    "\nSelf: without called functions, including waits in C code. Share: of the "
		    "self time of all these functions. ±: the 95 % interval of sampling.\n");
}

void markdown_functions(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	if (a->in_steps.known || a->working_count)
		buf_add_str(out, "\n## Hottest functions\n\n");
	if (a->in_steps.known)
		add_step_functions(out, a, detail);
	if (a->in_steps.known && detail == DETAIL_FULL && a->working_count)
		buf_add_str(out, "\n### In the whole run\n\n");
	if (!a->in_steps.known && a->steps[0].source != STEP_WHOLE_RUN && a->working_count)
		buf_add_str(out, "For the whole run, including start-up: without samples the steps "
				 "cannot be separated.\n\n");
	if (!a->in_steps.known || detail == DETAIL_FULL)
		add_functions(out, a, detail);
	add_waits(out, a, detail);
}
