/* The Markdown report. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/steps/startup.h"
#include "report/markdown/markdown.h"
#include "report/plain_text.h"
#include "report/report.h"
#include "report/table_rows.h"

/* Of requests: how many come through, and how many are there at a time. */
static void add_service(struct buf *out, const struct analysis_step *s)
{
	char f[2][TEXT_FIGURE];

	if (s->source != STEP_REQUEST || s->service.per_second <= 0)
		return;
	buf_printf(out, "; p99 %s; %.3g per second, %.1f at a time on average, %zu at most",
		   text_duration(f[0], (double)s->p99_ns), s->service.per_second,
		   s->service.concurrency_mean, s->service.concurrency_most);
	if (s->service.busy_share < 0.995)
		buf_printf(out, ", none for %s of the time",
			   text_share(f[1], 1 - s->service.busy_share, 1));
}

/*
 * A step that lasts until the next one begins includes waiting for requests, which is no latency.
 */
static void add_idle(struct buf *out, const struct step_breakdown *b)
{
	char figure[TEXT_FIGURE];

	if (b->steps && b->parts[TIME_IDLE].ns >= b->total_ns / 10 && b->total_ns > 0)
		buf_printf(out, "; %s of the mean is waiting for work",
			   text_share(figure, (double)b->parts[TIME_IDLE].ns, (double)b->total_ns));
}

static void add_head(struct buf *out, const struct analysis *a)
{
	const struct analysis_run *run = &a->run;
	const struct analysis_step *first = &a->steps[0];
	struct buf command;
	char figure[TEXT_FIGURE];

	buf_add_str(out, "# InferScope Report\n\n");
	if (a->trust.partial)
		buf_add_str(out, "**This report is partial**: part of the trace is missing, see "
				 "[Trust](#trust).\n\n");
	buf_printf(out, "End-to-end latency: %s", text_duration(figure, (double)first->p50_ns));
	if (first->source != STEP_WHOLE_RUN) {
		buf_printf(out, " (median of %zu ", first->count - first->warmup);
		markdown_code(out, first->name, false);
		add_service(out, first);
		add_idle(out, &first->breakdown);
		buf_add_byte(out, ')');
	} else {
		buf_printf(out, " (no steps were found: %s)", first->name);
	}
	buf_printf(out, "\n\nBound: %s (", a->verdict.bound);
	markdown_escaped(out, a->verdict.because);
	buf_add_str(out, ")\n\n");
	if (run->command_count) {
		buf_init(&command);
		for (size_t i = 0; i < run->command_count; i++) {
			if (i)
				buf_add_byte(&command, ' ');
			text_add_argument(&command, run->command[i]);
		}
		buf_add_str(out, "- Command: ");
		markdown_code(out, buf_string(&command), false);
		buf_add_byte(out, '\n');
		out->failed |= command.failed;
		buf_release(&command);
	}
	if (run->root) {
		buf_add_str(out, "- Paths: below ");
		markdown_code(out, run->root, false);
		buf_add_byte(out, '\n');
	}
	buf_printf(out, "- Wall time: %s\n", text_duration(figure, (double)run->wall_ns));
	if (run->exit_known)
		buf_printf(out, "- Exit status: %d\n", run->exit_status);
	else
		buf_add_str(out, "- Exit status: unknown\n");
	if (run->python) {
		buf_add_str(out, "- Python: ");
		markdown_escaped(out, run->python);
		buf_add_byte(out, '\n');
	}
	if (run->framework_count) {
		buf_add_str(out, "- Frameworks: ");
		for (size_t i = 0; i < run->framework_count; i++) {
			buf_add_str(out, i ? ", " : "");
			markdown_escaped(out, run->frameworks[i].name);
			if (run->frameworks[i].version) {
				buf_add_byte(out, ' ');
				markdown_escaped(out, run->frameworks[i].version);
			}
		}
		buf_add_byte(out, '\n');
	}
	if (run->started) {
		buf_add_str(out, "- Started: ");
		markdown_escaped(out, run->started);
		buf_add_byte(out, '\n');
	}
}

/* How steps were found, and how to choose others. */
static void add_how(struct buf *out, const struct analysis *a)
{
	if (a->steps[0].source == STEP_WHOLE_RUN) {
		buf_add_str(out, "No steps were found, so one part of the run is judged; "
				 "`inferscope.scope()` marks them.\n");
		return;
	}
	if (!a->steps_are)
		return;
	buf_printf(out, "Steps are %s.", a->steps_are);
	if (a->candidate_count > 1)
		buf_printf(out,
			   " `inferscope analyze --step NAME` chooses another of %zu candidates; "
			   "`--detail full` lists them.",
			   a->candidate_count);
	buf_add_byte(out, '\n');
}

#define CANDIDATE_ROWS                                                             \
	100 /* of a hostile trace, or one whose ranges all have names of their own \
	     */

static void add_candidates(struct buf *out, const struct analysis *a)
{
	size_t rows = a->candidate_count < CANDIDATE_ROWS ? a->candidate_count : CANDIDATE_ROWS;
	char f[TEXT_FIGURE];

	if (!rows)
		return;
	buf_add_str(out, "\n### Candidates for the step\n\n| candidate | pid | found by | count | "
			 "mean | points | outcome |\n|---|--:|---|--:|--:|--:|---|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_candidate *c = &a->candidates[i];

		buf_add_str(out, "| ");
		markdown_cell(out, c->name);
		markdown_domain(out, c->domain);
		buf_printf(out, " | %" PRIu32 " | %s | %zu | %s | %.1f | %s |\n", c->pid,
			   c->found_by, c->count, text_duration(f, c->mean_ns), c->score,
			   c->because);
	}
	markdown_more(out, rows, a->candidate_count);
}

static void add_steps(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->step_count, 5, 30);
	char f[5][TEXT_FIGURE];

	buf_add_str(out, "\n## Steps\n\n"
			 "| step | pid | count | warm-up | mean | p50 | p95 | p99 | longest |\n"
			 "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_step *s = &a->steps[i];

		buf_add_str(out, "| ");
		if (s->source == STEP_WHOLE_RUN)
			buf_add_str(out, s->name);
		else
			markdown_cell(out, s->name);
		markdown_domain(out, s->domain);
		buf_printf(out, " | %" PRIu32 " | %zu | %zu | %s | %s | %s | %s | %s |\n", s->pid,
			   s->count, s->warmup, text_duration(f[0], s->mean_ns),
			   text_duration(f[1], (double)s->p50_ns),
			   text_duration(f[2], (double)s->p95_ns),
			   text_duration(f[3], (double)s->p99_ns),
			   text_duration(f[4], (double)s->max_ns));
	}
	markdown_more(out, rows, a->step_count);
	buf_add_str(out, "\nPercentiles are measured values (nearest rank), without warm-up.\n");
	add_how(out, a);
	if (detail == DETAIL_FULL)
		add_candidates(out, a);
}

#define STARTUP_ROWS 5 /* places */

/* The time before the first step, which is in no figure of the steps. */
static void add_startup(struct buf *out, const struct analysis *a)
{
	const struct analysis_startup *s = &a->startup;
	double all_ns = (double)(s->until_ns - s->from_ns);
	char f[2][TEXT_FIGURE];

	if (!s->known)
		return;
	buf_printf(out,
		   "\n## Start-up\n\n%s before the first step, which the figures of the steps "
		   "exclude:\n\n| what | time | share |\n|---|--:|--:|\n",
		   text_duration(f[0], all_ns));
	for (int i = 0; i < STARTUP_PARTS; i++) {
		if (s->parts_ns[i] <= 0)
			continue;
		buf_printf(out, "| %s | %s | %s |\n", startup_part_title((enum startup_part)i),
			   text_duration(f[0], (double)s->parts_ns[i]),
			   text_share(f[1], (double)s->parts_ns[i], all_ns));
	}
	if (!s->place_count)
		return;
	buf_add_str(out, "\nBy user function, including what it calls:\n\n| function | where | "
			 "time |\n|---|---|--:|\n");
	for (size_t i = 0; i < s->place_count && i < STARTUP_ROWS; i++) {
		buf_add_str(out, "| ");
		markdown_cell(out, s->places[i].name);
		buf_add_str(out, " | ");
		markdown_place(out, s->places[i].file, s->places[i].line, a->run.root);
		buf_printf(out, " | %s |\n", text_duration(f[0], (double)s->places[i].ns));
	}
}

static void add_processes(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->process_count, 5, 12);

	if (!rows)
		return;
	buf_add_str(out,
		    "\n## Processes\n\n| pid | name | threads | events |\n|--:|---|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_process *p = &a->processes[i];

		buf_printf(out, "| %" PRIu32 " | ", p->pid);
		markdown_process(out, p->name, a->run.root, true);
		buf_printf(out, " | %zu | %" PRIu64 " |\n", p->threads, p->events);
	}
	markdown_more(out, rows, a->process_count);
}

static void add_threads(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->thread_count, 5, 12);
	const struct analysis_thread **threads = thread_rows(a);
	char f[2][TEXT_FIGURE];

	out->failed |= !threads;
	if (!rows || !threads) {
		free(threads);
		return;
	}
	buf_add_str(out, "\n## Threads\n\n| pid | thread | name | lifetime | in functions | on CPU "
			 "| queued | events | lost |\n|--:|--:|---|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_thread *t = threads[i];
		double lived_ns = (double)(t->end_ns - t->start_ns);

		buf_printf(out, "| %" PRIu32 " | %" PRIu32 " | ", t->pid, t->tid);
		if (*t->name)
			markdown_cell(out, t->name);
		buf_printf(out, " | %s | %s |", text_duration(f[0], lived_ns),
			   text_share(f[1], (double)t->covered_ns, lived_ns));
		if (t->timed)
			buf_printf(out, " %s | %s |", text_duration(f[0], (double)t->on_cpu_ns),
				   text_duration(f[1], (double)t->queued_ns));
		else
			buf_add_str(out, " | |");
		buf_printf(out, " %" PRIu64 " | %" PRIu64 " |\n", t->events, t->lost);
	}
	free(threads);
	markdown_more(out, rows, a->thread_count);
	buf_add_str(out, "\nQueued: ready to run, but other threads occupied the CPUs.\n");
}

static void add_gc(struct buf *out, const struct analysis *a)
{
	const struct analysis_gc *gc = &a->gc;
	char f[3][TEXT_FIGURE];

	buf_add_str(out, "\n## Garbage collection\n\n");
	if (!gc->count) {
		buf_add_str(out, "None recorded.\n");
		return;
	}
	buf_printf(out,
		   "%" PRIu64 " collection%s (generation 0: %" PRIu64 ", 1: %" PRIu64
		   ", 2: %" PRIu64
		   ") took %s, %s of the wall time; the longest took %s. They freed %" PRIu64
		   " object%s.\n",
		   gc->count, notes_plural(gc->count), gc->by_generation[0], gc->by_generation[1],
		   gc->by_generation[2], text_duration(f[0], (double)gc->total_ns),
		   text_share(f[1], (double)gc->total_ns, (double)a->run.wall_ns),
		   text_duration(f[2], (double)gc->longest_ns), gc->collected,
		   notes_plural(gc->collected));
}

static void add_marks(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->mark_count, 5, 30);

	if (!rows)
		return;
	buf_add_str(out, "\n## Marks\n\n| mark | count |\n|---|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		buf_add_str(out, "| ");
		markdown_cell(out, a->marks[i].name);
		markdown_domain(out, a->marks[i].domain);
		buf_printf(out, " | %" PRIu64 " |\n", a->marks[i].count);
	}
	markdown_more(out, rows, a->mark_count);
}

static void add_counters(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->counter_count, 5, 30);

	if (!rows)
		return;
	buf_add_str(out, "\n## Counters\n\n| counter | pid | values | min | mean | max | last "
			 "|\n|---|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_counter *c = &a->counters[i];

		buf_add_str(out, "| ");
		markdown_cell(out, c->name);
		buf_printf(out, " | %" PRIu32 " | %" PRIu64 " | %.6g | %.6g | %.6g | %.6g |\n",
			   c->pid, c->count, c->min, c->mean, c->max, c->last);
	}
	markdown_more(out, rows, a->counter_count);
	buf_add_str(out, "\nMean: of the values, not weighted by time.\n");
}

static void add_trust(struct buf *out, const struct analysis *a)
{
	const struct analysis_trust *t = &a->trust;
	char figure[TEXT_FIGURE];

	buf_printf(out, "\n## Trust\n\n- %" PRIu64 " events stored, %" PRIu64 " lost\n", t->events,
		   t->dropped);
	if (a->gpu.section_count && t->clock_error_ns >= 0)
		buf_printf(out, "- the clocks of host and GPU agree within %s\n",
			   text_duration(figure, (double)t->clock_error_ns));
	if (t->overhead_known)
		buf_printf(out,
			   "- recording slowed the workload down by %.1f %%, as measured by the "
			   "recorder\n",
			   100 * t->overhead_share);
	if (t->samples)
		buf_printf(out,
			   "- %" PRIu64 " samples of the Python stacks were taken, %.0f per second "
			   "per thread; in %.1f %% of them the innermost function is uncertain\n",
			   t->samples, t->sample_hz, 100 * t->unstable_share);
	if (a->memory.cost_known) {
		buf_printf(out,
			   "- sampling memory and system figures took the recorder %.2f %% of a "
			   "core",
			   100 * a->memory.cost_share);
		if (a->memory.gpu_start_ms >= 1)
			buf_printf(out, ", including %s of CPU time to start NVML",
				   text_duration(figure, 1e6 * a->memory.gpu_start_ms));
		buf_add_byte(out, '\n');
	}
	for (size_t i = 0; i < t->note_count; i++) {
		buf_add_str(out, "- ");
		markdown_escaped(out, t->notes[i]);
		buf_add_byte(out, '\n');
	}
}

static void render(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	add_head(out, a);
	markdown_breakdown(out, a, detail);
	markdown_findings(out, a, detail);
	markdown_causes(out, a, detail);
	markdown_critical_path(out, a, detail);
	add_steps(out, a, detail);
	add_startup(out, a);
	markdown_layers(out, a, detail);
	markdown_gpu(out, a, detail);
	markdown_functions(out, a, detail);
	markdown_waits(out, a, detail);
	markdown_torch(out, a, detail);
	markdown_nvtx(out, a, detail);
	markdown_memory(out, a, detail);
	add_gc(out, a);
	add_marks(out, a, detail);
	add_counters(out, a, detail);
	add_processes(out, a, detail);
	add_threads(out, a, detail);
	add_trust(out, a);
}

const struct report_backend report_markdown = {
	.name = "Markdown",
	.extension = ".md",
	.render = render,
};
