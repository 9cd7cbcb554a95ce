#include "analyze/trust.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/gpu_trust.h"
#include "analyze/notes.h"
#include "analyze/stats.h"
#include "analyze/verified.h"

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
		const struct thread_tally *tally = timeline_thread(tl, i);

		trust->events += tally->events;
		trust->dropped += tally->lost;
		trust->gaps += tally->gaps;
		trust->gap_ns = stats_add(trust->gap_ns, tally->gap_ns);
		trust->repaired += tally->repaired;
		trust->open_start += tally->open_start;
		trust->open_end += tally->open_end;
		trust->backwards += tally->backwards;
		trust->unwound += tally->unwound;
		trust->pauses += tally->pauses;
		a->layers.unended += tally->unended_layers;
		paused_ns = stats_add(paused_ns, tally->paused_ns);
		lived_ns = stats_add(lived_ns, tally->end_ns - tally->start_ns);
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
			       const struct timeline *tl, const struct sample_census *samples,
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
}

/* Where one function lets another tool have a thread's calls, many threads may do the same. */
static void note_displaced(struct notes *n, struct analysis_trust *trust, const struct timeline *tl,
			   size_t threads)
{
	const struct thread_tally *first = NULL;
	uint64_t times = 0, of_threads = 0;
	const struct function *f;
	int64_t total_ns = 0;

	for (size_t i = 0; i < threads; i++) {
		const struct thread_tally *tally = timeline_thread(tl, i);

		times += tally->displaced;
		of_threads += tally->displaced > 0;
		total_ns = stats_add(total_ns, tally->displaced_ns);
		if (tally->displaced &&
		    (!first || tally->displaced_first_ns < first->displaced_first_ns))
			first = tally;
	}
	trust->displaced = times;
	if (!first)
		return;
	f = timeline_function(tl, first->displaced_by);
	notes_add(
		n,
		"calls of %" PRIu64 " thread%s were not recorded for %.3f s in all, in %" PRIu64
		" stretch%s, because another tool had taken the profile function; the first: from "
		"%.3f s to %.3f s, taken in %s (%s)",
		of_threads, notes_plural(of_threads), (double)total_ns / 1e9, times,
		times == 1 ? "" : "es", (double)first->displaced_first_ns / 1e9,
		(double)first->displaced_first_end_ns / 1e9, f->name, f->file);
}

/* The process that paid most; the time of one without an end ends with the run. */
static void measure_overhead(struct analysis *a, const struct trace *t)
{
	const struct trace_process *most = NULL;
	int64_t lived_ns;

	for (size_t i = 0; i < trace_process_count(t); i++) {
		const struct trace_process *p = trace_process(t, i);

		if (p->accounted && (!most || p->overhead_ns > most->overhead_ns))
			most = p;
		if (p->accounted && p->left_out_functions > a->trust.left_out_functions)
			a->trust.left_out_functions = p->left_out_functions;
	}
	if (!most)
		return;
	lived_ns = (most->end_ns < 0 ? a->run.wall_ns : most->end_ns) - most->start_ns;
	if (lived_ns <= most->overhead_ns)
		return;
	a->trust.overhead_known = true;
	a->trust.overhead_share =
		(double)most->overhead_ns / (double)(lived_ns - most->overhead_ns);
}

/* A fact that the recorder has written; 0 where it has not. */
static double fact(const struct trace *t, const char *key)
{
	const char *text = trace_info(t, key, 0);
	double value = text ? strtod(text, NULL) : 0;

	return isfinite(value) && value > 0 ? value : 0;
}

/* --cpu trace knows no bound, and 100 is none.  Of a short run the start alone is more. */
static void note_overhead(struct notes *n, const struct analysis *a, const struct trace *t)
{
	const char *cpu = trace_info(t, "cpu", 0);
	double most = fact(t, "max_overhead");

	if (a->trust.overhead_known && most > 0 && most < 100 && !(cpu && !strcmp(cpu, "trace")) &&
	    a->run.wall_ns >= OVERHEAD_FROM_NS && 100 * a->trust.overhead_share > most + 0.05)
		notes_add(n,
			  "recording cost more than the %g %% of --max-overhead: what was left out "
			  "to stay below was too little, or came too late",
			  most);
}

/* Of the functions in the table; code made anew again and again may have the name of one. */
static void count_left_out(struct analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++)
		a->trust.left_out_functions += a->functions[i].left_out;
}

static void note_left_out(struct notes *n, const struct analysis_trust *trust)
{
	char rest[64] = "in the time of callers";

	if (trust->left_out_share > 0)
		snprintf(rest, sizeof(rest), "by samples (%.1f %% of the time)",
			 100 * trust->left_out_share);
	if (trust->left_out_functions)
		notes_add(n,
			  "%" PRIu64 " function%s called too often for --max-overhead: traced at "
			  "first, then %s; --cpu trace records all calls",
			  trust->left_out_functions, notes_plural(trust->left_out_functions), rest);
	if (trust->left_out_nvtx)
		notes_add(n,
			  "NVTX ranges or marks of %" PRIu64
			  " kind%s were too short and frequent for "
			  "--max-overhead: not all of them were recorded; --max-overhead 100 "
			  "records them",
			  trust->left_out_nvtx, notes_plural(trust->left_out_nvtx));
	if (trust->open_end)
		notes_add(n, "%" PRIu64 " call%s still running when the recording ended",
			  trust->open_end, notes_plural(trust->open_end));
	if (trust->unwound)
		notes_add(n,
			  "%" PRIu64 " call%s ended by exceptions that were too many to record: "
			  "taken to end with the next event",
			  trust->unwound, notes_plural(trust->unwound));
}

static void note_layers(struct notes *n, const struct analysis_layers *l)
{
	if (l->folded)
		notes_add(
			n,
			"%zu layer%s called too often for --max-overhead %s folded into the layer "
			"around after the calls that are shown; --max-overhead 100 records all "
			"of them",
			l->folded, notes_plural(l->folded), l->folded == 1 ? "was" : "were");
	if (l->unended)
		notes_add(n,
			  "%" PRIu64 " call%s of layers without a recorded end: ended by what "
			  "followed",
			  l->unended, notes_plural(l->unended));
}

static void note_pauses(struct notes *n, const struct analysis_trust *trust)
{
	if (trust->pauses)
		notes_add(
			n,
			"calls were recorded %.1f %% of the threads' time, with %" PRIu64
			" pause%s, to stay within --max-overhead: numbers of calls are minima, and "
			"their times are of what was recorded; --cpu trace records all of them",
			100 * trust->calls_recorded_share, trust->pauses,
			notes_plural(trust->pauses));
}

static void note_losses(struct notes *n, const struct analysis_trust *trust)
{
	double all = (double)trust->events + (double)trust->dropped;

	if (trust->dropped)
		notes_add(n,
			  "%" PRIu64 " events (%.1f %%) were lost because the buffer was full; the "
			  "newest are kept; --trace-size-mb sets its size",
			  trust->dropped, 100 * (double)trust->dropped / all);
	if (trust->gap_ns)
		notes_add(n,
			  "what ran is unknown for %.3f s of the threads' time: it is in the total "
			  "of functions that outlasted it and in nobody's self time",
			  (double)trust->gap_ns / 1e9);
	if (trust->repaired)
		notes_add(n, "%" PRIu64 " call%s without a recorded exit: ended by what followed",
			  trust->repaired, notes_plural(trust->repaired));
	/* Without a gap they are what was running when the recording began: no surprise. */
	if (trust->open_start && (trust->gaps || trust->displaced))
		notes_add(n,
			  "%" PRIu64 " call%s without a recorded entry: counted from where the "
			  "recording began or went on",
			  trust->open_start, notes_plural(trust->open_start));
	if (trust->unended_scopes)
		notes_add(n, "%" PRIu64 " scope%s without a recorded end: in no figure",
			  trust->unended_scopes, notes_plural(trust->unended_scopes));
	if (trust->lost_scope_begins)
		notes_add(n, "%" PRIu64 " scope%s without a recorded begin: in no figure",
			  trust->lost_scope_begins, notes_plural(trust->lost_scope_begins));
	if (trust->unknown_names)
		notes_add(n, "%" PRIu64 " name%s missing: shown as (unknown)", trust->unknown_names,
			  notes_plural(trust->unknown_names));
	if (trust->backwards)
		notes_add(n, "%" PRIu64 " time stamp%s ran backwards: set to the one before",
			  trust->backwards, notes_plural(trust->backwards));
}

static void note_samples(struct notes *n, struct analysis_trust *trust,
			 const struct sample_census *s, const struct trace *t)
{
	double asked_hz = fact(t, "sampler.asked_hz"), hz = fact(t, "sampler.hz");

	trust->samples = s->looks;
	trust->unstable_share = s->looks ? (double)s->unstable / (double)s->looks : 0;
	trust->sample_hz = hz;
	if (!s->looks)
		return;
	if (fact(t, "sampler.held_back") && hz < SAMPLES_ENOUGH * asked_hz)
		notes_add(n,
			  "fewer samples than the %.0f a second asked for, so that taking them "
			  "costs little",
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
			 ": the start of NVML, which tells about GPUs, took %.0f ms of CPU time, "
			 "and the recording was too short to make up for it",
			 m->gpu_start_ms);
	notes_add(n,
		  "looking at memory and system took %.2f %% of a core, more than the %.0f %% that "
		  "it is held to%s",
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
			"memory was looked at less often than usual, so that looking costs little");
}

/*
 * A look cannot tell a thread that waits for a CPU from one that has it: what its code takes is
 * longer by that.  A fifth of it, and figures of a quiet machine are not to be compared with these.
 */
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
			  "%s (thread %" PRIu32 ") had no CPU for %.0f %% of the time in which it "
			  "could have run: others had them all, and times of code are longer by it",
			  *worst->name ? worst->name : "a thread", worst->tid,
			  100 * (double)worst->queued_ns /
				  (double)(worst->on_cpu_ns + worst->queued_ns));
}

int trust_collect(struct analysis *a, const struct timeline *tl,
		  const struct sample_census *samples, const struct series_table *series,
		  const struct trace *t)
{
	struct notes n = { 0 };

	count_threads(a, tl);
	note_missing_parts(&n, &a->trust, tl, samples, series, t);
	for (size_t i = 0; i < trace_note_count(t); i++)
		notes_add(&n, "%s", trace_note(t, i));
	verified_collect(&a->trust.verified, t, &n);
	note_displaced(&n, &a->trust, tl, a->thread_count);
	count_left_out(a);
	if (samples->all_ns)
		a->trust.left_out_share = (double)samples->left_out_ns / (double)samples->all_ns;
	measure_overhead(a, t);
	note_overhead(&n, a, t);
	note_losses(&n, &a->trust);
	note_queued(&n, a);
	gpu_trust_collect(a, t, &n);
	a->trust.serious_notes = n.count;
	note_pauses(&n, &a->trust);
	note_layers(&n, &a->layers);
	note_left_out(&n, &a->trust);
	note_samples(&n, &a->trust, samples, t);
	note_memory(&n, a);
	a->trust.notes = n.items;
	a->trust.note_count = n.count;
	return n.failed ? -1 : 0;
}
