#include "analyze/trust.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/figures/finding_figures.h"
#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_trust.h"
#include "format/trace.h"

/* What --verify-overhead found: times of whole runs with and without recording. */

#define PAIRS_MAX 64 /* of a file that says more, the first */
#define SCALE 1e6    /* ratios as integers: order statistics are of those */

/* The n-th time that was written; 0: there is none, or it is no time. */
static double nth_ms(const struct trace *t, const char *key, size_t nth)
{
	const char *text = trace_info(t, key, nth);
	double ms = text ? strtod(text, NULL) : 0;

	return isfinite(ms) && ms > 0 ? ms : 0;
}

static void verified_collect(struct analysis_verified *v, const struct trace *t, struct notes *n)
{
	int64_t ratios[PAIRS_MAX];
	size_t pairs = 0;

	for (; pairs < PAIRS_MAX; pairs++) {
		double recorded = nth_ms(t, "verify.recorded_ms", pairs);
		double plain = nth_ms(t, "verify.plain_ms", pairs);
		double ratio = plain > 0 ? recorded / plain : 0;

		if (ratio <= 0 || ratio > SCALE)
			break;
		ratios[pairs] = llround(ratio * SCALE);
	}
	v->pairs = pairs;
	if (!pairs)
		return;
	stats_sort(ratios, pairs);
	v->ratio = (double)stats_percentile(ratios, pairs, 0.5) / SCALE;
	v->low = (double)ratios[0] / SCALE;
	v->high = (double)ratios[pairs - 1] / SCALE;
	if (pairs == 1)
		notes_add(
			n,
			"with recording, the workload took %.3f times as long as without, start-up "
			"included; this is a single pair of runs, so other load on the machine "
			"affects it",
			v->ratio);
	else
		notes_add(
			n,
			"with recording, the workload took %.3f times as long as without, start-up "
			"included: the median of %zu pairs of runs, which ranged from %.3f to "
			"%.3f; other load on the machine affects it",
			v->ratio, pairs, v->low, v->high);
}

#define QUEUED_LEAST_NS 50000000
#define QUEUED_SHARE 0.2
#define OVERHEAD_FROM_NS 1000000000
#define SHOWN_COST_SHARE 0.00005 /* what is less is not seen in the figure */
#define SAMPLES_ENOUGH 0.9       /* of those asked for: a reader would not see the difference */

static void count_threads(struct analysis *a, const struct timeline *tl)
{
	struct analysis_trust *trust = &a->trust;
	int64_t lived_ns = 0, paused_ns = 0;

	for (size_t i = 0; i < a->thread_count; i++) {
		const struct thread_counts *totals = timeline_thread(tl, i);

		trust->events += totals->events;
		trust->dropped += totals->lost;
		trust->gaps += totals->gaps;
		trust->gap_ns = stats_add(trust->gap_ns, totals->gap_ns);
		trust->repaired += totals->repaired;
		trust->open_start += totals->open_start;
		trust->open_end += totals->open_end;
		trust->backwards += totals->backwards;
		trust->unwound += totals->unwound;
		trust->pauses += totals->pauses;
		a->layers.unended += totals->unended_layers;
		paused_ns = stats_add(paused_ns, totals->paused_ns);
		lived_ns = stats_add(lived_ns, totals->end_ns - totals->start_ns);
	}
	trust->calls_recorded_share =
		paused_ns < lived_ns ? 1 - (double)paused_ns / (double)lived_ns : !paused_ns;
	for (size_t i = 0; i < timeline_scope_count(tl); i++)
		trust->unended_scopes += !timeline_scope(tl, i)->ended;
	trust->unknown_names = timeline_unknown_names(tl);
	trust->lost_scope_begins = timeline_lost_scope_begins(tl);
}

/* A trace without its end is damaged too, by trace_damage()'s definition. */
static void note_missing_parts(struct notes *n, struct analysis_trust *trust,
			       const struct timeline *tl, const struct sample_totals *samples,
			       const struct series_table *series, const struct trace *t)
{
	const char *damage = trace_damage(t);

	if (damage)
		notes_add(n, "partial report: %s", damage);
	if (timeline_damage(tl))
		notes_add(n, "partial report: %s", timeline_damage(tl));
	if (samples->walk.unreadable)
		notes_add(n, "partial report: %s", samples->walk.damage.text);
	if (series->unreadable)
		notes_add(n, "partial report: %s", series->damage.text);
	trust->partial = n->count > 0;
	trust->read_share = trace_read_share(t);
}

/* Where one function lets another tool have a thread's calls, many threads may do the same. */
static void note_displaced(struct notes *n, struct analysis_trust *trust, const struct timeline *tl,
			   size_t threads)
{
	const struct thread_counts *first = NULL;
	uint64_t times = 0, of_threads = 0;
	const struct place *f;
	int64_t total_ns = 0;

	for (size_t i = 0; i < threads; i++) {
		const struct thread_counts *totals = timeline_thread(tl, i);

		times += totals->displaced;
		of_threads += totals->displaced > 0;
		total_ns = stats_add(total_ns, totals->displaced_ns);
		if (totals->displaced &&
		    (!first || totals->displaced_first_ns < first->displaced_first_ns))
			first = totals;
	}
	trust->displaced = times;
	if (!first)
		return;
	f = timeline_function(tl, first->displaced_by);
	notes_add(n,
		  "calls of %" PRIu64 " thread%s were not recorded for %.3f s in total, in %" PRIu64
		  " period%s, because another tool replaced the profile function; the first "
		  "period: from %.3f s to %.3f s, replaced in %s (%s)",
		  of_threads, notes_plural(of_threads), (double)total_ns / 1e9, times,
		  notes_plural(times), (double)first->displaced_first_ns / 1e9,
		  (double)first->displaced_first_end_ns / 1e9, f->name, f->file);
}

/* The process that paid most; the time of one without an end ends with the run. */
static void measure_overhead(struct analysis *a, const struct trace *t)
{
	const struct trace_process *most = NULL;
	double without_ns;
	int64_t lived_ns;

	for (size_t i = 0; i < trace_process_count(t); i++) {
		const struct trace_process *p = trace_process(t, i);

		if (p->accounted && (!most || p->overhead_ns > most->overhead_ns))
			most = p;
		if (p->accounted && p->throttled_functions > a->trust.throttled_functions)
			a->trust.throttled_functions = p->throttled_functions;
	}
	if (!most)
		return;
	lived_ns = (most->end_ns < 0 ? a->run.wall_ns : most->end_ns) - most->start_ns;
	if (lived_ns <= most->overhead_ns)
		return;
	without_ns = (double)(lived_ns - most->overhead_ns);
	a->trust.overhead_known = true;
	a->trust.overhead_share = (double)most->overhead_ns / without_ns;
	a->trust.gpu_overhead_share = (double)most->gpu_overhead_ns / without_ns;
	a->trust.graph_overhead_share = (double)most->graph_overhead_ns / without_ns;
}

/* A fact that the recorder has written; 0 where it has not. */
static double fact(const struct trace *t, const char *key)
{
	const char *text = trace_info(t, key, 0);
	double value = text ? strtod(text, NULL) : 0;

	return isfinite(value) && value > 0 ? value : 0;
}

/* Where most of it went, and what lowers it. */
static const char *remedy(const struct analysis_trust *trust)
{
	double graphs = trust->graph_overhead_share, gpu = trust->gpu_overhead_share;

	if (2 * graphs > trust->overhead_share)
		return "most of it for nodes of CUDA graphs. Lower it with --graph-nodes off, "
		       "which records each replay as a whole";
	if (2 * (graphs + gpu) > trust->overhead_share)
		return "most of it for CUPTI, which records the GPU for the whole run. Record less "
		       "with --delay S --duration S, or --no-gpu";
	return "most of it at program start, or in calls that cannot be throttled. Lower it with "
	       "--cpu sample or --no-cpu";
}

/* --cpu trace knows no bound, and 100 is none.  Of a short run the start alone is more. */
static void note_overhead(struct notes *n, const struct analysis *a, const struct trace *t)
{
	const char *cpu = trace_info(t, "cpu", 0);
	double most = fact(t, "max_overhead");

	if (a->trust.overhead_known && most > 0 && most < 100 && !(cpu && !strcmp(cpu, "trace")) &&
	    a->run.wall_ns >= OVERHEAD_FROM_NS && 100 * a->trust.overhead_share > most + 0.05)
		notes_add(n, "Recording cost %.1f %%, above the %g %% of --max-overhead: %s",
			  100 * a->trust.overhead_share, most, remedy(&a->trust));
}

/* Of the functions in the table; code made anew again and again may have the name of one. */
static void count_throttled(struct analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++)
		a->trust.throttled_functions += a->functions[i].throttled;
}

static void note_throttled(struct notes *n, const struct analysis_trust *trust)
{
	char rest[64] = "counted in their callers' time";

	if (trust->untraced_share > 0)
		snprintf(rest, sizeof(rest), "sampled (%.1f %% of the time)",
			 100 * trust->untraced_share);
	if (trust->throttled_functions)
		notes_add(n,
			  "%" PRIu64 " function%s throttled to stay within --max-overhead: traced "
			  "at first, then %s; --cpu trace records all calls",
			  trust->throttled_functions, notes_plural(trust->throttled_functions),
			  rest);
	if (trust->throttled_nvtx)
		notes_add(n,
			  "NVTX ranges or marks of %" PRIu64 " kind%s were throttled to stay "
			  "within --max-overhead: only part of them was recorded; --max-overhead "
			  "100 records all of them",
			  trust->throttled_nvtx, notes_plural(trust->throttled_nvtx));
	if (trust->open_end)
		notes_add(n, "%" PRIu64 " call%s still running when the recording ended",
			  trust->open_end, notes_plural(trust->open_end));
	if (trust->unwound)
		notes_add(n,
			  "%" PRIu64 " call%s ended by exceptions that were too frequent to "
			  "record: taken to end at the next event",
			  trust->unwound, notes_plural(trust->unwound));
}

static void note_layers(struct notes *n, const struct analysis_layers *l)
{
	if (l->folded)
		notes_add(n,
			  "%zu layer%s exceeded the budget of --max-overhead and %s throttled: "
			  "further calls count in the enclosing layer; --max-overhead 100 records "
			  "all of them",
			  l->folded, notes_plural(l->folded), l->folded == 1 ? "was" : "were");
	if (l->unended)
		notes_add(n,
			  "%" PRIu64 " layer call%s without a recorded end: taken to end at the "
			  "next event",
			  l->unended, notes_plural(l->unended));
}

static void note_pauses(struct notes *n, const struct analysis_trust *trust)
{
	if (trust->pauses)
		notes_add(n,
			  "calls were recorded for %.1f %% of the threads' time, with %" PRIu64
			  " pause%s, to stay within --max-overhead: call counts are lower bounds, "
			  "and call times cover only the recorded part; --cpu trace records all "
			  "calls",
			  100 * trust->calls_recorded_share, trust->pauses,
			  notes_plural(trust->pauses));
}

static void note_losses(struct notes *n, const struct analysis_trust *trust, const struct trace *t)
{
	double all = (double)trust->events + (double)trust->dropped;
	const char *unwritten = trace_info(t, "trace.unwritten", 0);

	if (trust->dropped && unwritten)
		notes_add(n,
			  "%" PRIu64
			  " events (%.1f %%) are missing: they could not be stored (%s), "
			  "or the buffer was full",
			  trust->dropped, 100 * (double)trust->dropped / all, unwritten);
	else if (trust->dropped)
		notes_add(n,
			  "%" PRIu64 " events (%.1f %%) were lost because the buffer was full; the "
			  "newest are kept; raise its size with --trace-size-mb",
			  trust->dropped, 100 * (double)trust->dropped / all);
	if (trust->gap_ns)
		notes_add(n,
			  "no events are available for %.3f s of the threads' time: it counts in "
			  "the total time of functions that were running throughout, and in no "
			  "self time",
			  (double)trust->gap_ns / 1e9);
	if (trust->repaired)
		notes_add(n,
			  "%" PRIu64 " call%s without a recorded exit: taken to end at the next "
			  "event",
			  trust->repaired, notes_plural(trust->repaired));
	/* Without a gap they are what was running when the recording began: no surprise. */
	if (trust->open_start && (trust->gaps || trust->displaced))
		notes_add(n,
			  "%" PRIu64 " call%s without a recorded entry: counted from where the "
			  "recording began or resumed",
			  trust->open_start, notes_plural(trust->open_start));
	if (trust->unended_scopes)
		notes_add(n,
			  "%" PRIu64 " scope%s without a recorded end: omitted from all "
			  "figures",
			  trust->unended_scopes, notes_plural(trust->unended_scopes));
	if (trust->lost_scope_begins)
		notes_add(n,
			  "%" PRIu64 " scope%s without a recorded begin: omitted from all "
			  "figures",
			  trust->lost_scope_begins, notes_plural(trust->lost_scope_begins));
	if (trust->unknown_names)
		notes_add(n, "%" PRIu64 " name%s missing: shown as (unknown)", trust->unknown_names,
			  notes_plural(trust->unknown_names));
	if (trust->backwards)
		notes_add(n, "%" PRIu64 " time stamp%s ran backwards: set to the preceding one",
			  trust->backwards, notes_plural(trust->backwards));
}

static void note_samples(struct notes *n, struct analysis_trust *trust,
			 const struct sample_totals *s, const struct trace *t)
{
	double asked_hz = fact(t, "sampler.asked_hz"), hz = fact(t, "sampler.hz");

	trust->samples = s->samples;
	trust->unstable_share = s->samples ? (double)s->unstable / (double)s->samples : 0;
	trust->sample_hz = hz;
	if (!s->samples)
		return;
	if (fact(t, "sampler.held_back") && hz < SAMPLES_ENOUGH * asked_hz)
		notes_add(n,
			  "fewer samples than the requested %.0f per second, to limit the cost of "
			  "sampling",
			  asked_hz);
	if (fact(t, "sampler.dropped"))
		notes_add(n, "%.0f samples were lost: the trace could not be written fast enough",
			  fact(t, "sampler.dropped"));
}

/* Of a short run the start alone is more. */
static void note_memory_cost(struct notes *n, const struct analysis *a)
{
	const struct analysis_memory *m = &a->memory;
	double start_share = 1e6 * m->gpu_start_ms / (double)a->run.wall_ns;
	char start[160] = "";

	if (a->run.wall_ns < OVERHEAD_FROM_NS ||
	    m->cost_share < MEMORY_COST_MOST + SHOWN_COST_SHARE)
		return;
	if (m->cost_share - start_share < MEMORY_COST_MOST)
		snprintf(start, sizeof(start),
			 ": starting NVML, which provides the GPU figures, took %.0f ms of CPU "
			 "time, and the recording was too short to amortize it",
			 m->gpu_start_ms);
	notes_add(n,
		  "sampling memory and system figures took %.2f %% of a core, above the limit of "
		  "%.0f %%%s",
		  100 * m->cost_share, 100 * MEMORY_COST_MOST, start);
}

static void note_memory(struct notes *n, const struct analysis *a)
{
	const struct analysis_memory *m = &a->memory;

	if (!m->recorded)
		notes_add(n, "memory was not recorded");
	note_memory_cost(n, a);
	if (m->held_back)
		notes_add(
			n,
			"memory was sampled less often than usual, to limit the cost of sampling");
}

/*
 * A sample cannot distinguish a thread that waits for a CPU from one that has it, so measured
 * times of code include the wait.  Above a fifth, figures cannot be compared with those of a quiet
 * machine.
 */
static const char *who_had_the_cpus(const struct analysis *a)
{
	const struct crowd *c = &a->crowd;

	if (c->own)
		return "the program has more threads that could run than CPUs (CPU wait in the "
		       "breakdown)";
	if (c->cpus > 0 && c->runnable > 0 && c->runnable < c->cpus)
		return "other programs occupied the CPUs, so measured times of code include this "
		       "wait";
	return "other threads occupied all CPUs, so measured times of code include this wait";
}

static void note_queued(struct notes *n, const struct analysis *a)
{
	const struct analysis_thread *worst = NULL;

	for (size_t i = 0; i < a->thread_count; i++) {
		const struct analysis_thread *t = &a->threads[i];

		if (t->timed && t->queued_ns >= QUEUED_LEAST_NS &&
		    t->queued_ns >= QUEUED_SHARE * (double)(t->on_cpu_ns + t->queued_ns) &&
		    (!worst || t->queued_ns > worst->queued_ns))
			worst = t;
	}
	if (worst)
		notes_add(n,
			  "%s (thread %" PRIu32 ") was ready to run but had no CPU for %.0f %% of "
			  "its runnable time: %s",
			  *worst->name ? worst->name : "a thread", worst->tid,
			  100 * (double)worst->queued_ns /
				  (double)(worst->on_cpu_ns + worst->queued_ns),
			  who_had_the_cpus(a));
}

int trust_collect(struct analysis *a, const struct timeline *tl,
		  const struct sample_totals *samples, const struct series_table *series,
		  const struct trace *t)
{
	struct notes n = { 0 };

	count_threads(a, tl);
	note_missing_parts(&n, &a->trust, tl, samples, series, t);
	for (size_t i = 0; i < trace_note_count(t); i++)
		notes_add(&n, "%s", trace_note(t, i));
	verified_collect(&a->trust.verified, t, &n);
	note_displaced(&n, &a->trust, tl, a->thread_count);
	count_throttled(a);
	if (samples->all_ns)
		a->trust.untraced_share = (double)samples->throttled_ns / (double)samples->all_ns;
	measure_overhead(a, t);
	note_overhead(&n, a, t);
	note_losses(&n, &a->trust, t);
	note_queued(&n, a);
	gpu_trust_collect(a, t, &n);
	a->trust.serious_notes = n.count;
	note_pauses(&n, &a->trust);
	note_layers(&n, &a->layers);
	note_throttled(&n, &a->trust);
	note_samples(&n, &a->trust, samples, t);
	note_memory(&n, a);
	a->trust.notes = n.items;
	a->trust.note_count = n.count;
	return n.failed ? -1 : 0;
}
