#include "analyze/breakdown/breakdown_collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/breakdown/step_sweep.h"
#include "analyze/breakdown/timed_waits.h"
#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_top_lines.h"
#include "analyze/gpu/model_stack.h"
#include "timeline/timeline.h"

/*
 * Where the model is called in a process without a GPU: by the stacks of the samples of its steps,
 * as step_gpu_usage.c has it by the stacks of CUDA calls.
 */

/*
 * Fills in a->use.model_top from what the first kind of steps spent at which places, if nothing is
 * known of a GPU.  -1: no memory.
 */
static int model_callers_find(struct analysis *a, const struct kind_sum *kind,
			      const struct time_places *places)
{
	const struct gpu_timeline *g = a->gpu.timeline;
	struct gpu_top_line tops[GPU_LINE_ROLES], *top = &tops[GPU_LINE_MODEL];
	struct model_stack model;
	struct gpu_top_lines t;
	bool failed;

	if (a->use.gpu)
		return 0;
	gpu_top_lines_init(&t);
	for (size_t i = 0; i < places->count && i < kind->place_cap; i++) {
		const struct time_place *p = &places->items[i];

		if (p->what == TIME_CPU_COMPUTE && p->stack && kind->places[i].ns[STEPS_ALL] > 0)
			gpu_top_lines_add(&t, GPU_LINE_MODEL, p->stack,
					  kind->places[i].ns[STEPS_ALL], 0);
	}
	failed = t.failed;
	top->where.name = NULL;
	if (!failed && t.rows.count)
		gpu_top_lines_find(&t, g, tops);
	gpu_top_lines_release(&t);
	if (failed || !top->where.name)
		return failed ? -1 : 0;
	model_stack_find(&model, g, top->stack);
	if (!model.caller.name || model.generates)
		return 0;
	a->use.model_top = *top;
	a->use.model_top.where =
		model_stack_loop(a, g, top->stack, &top->where, step_gpu_usage_model_calls(a));
	return 0;
}

#define KINDS 32u         /* of steps that are broken down: each that lasts takes memory */
#define PLACED_KINDS 4u   /* of which places are counted too */
#define CAUSES 100u       /* of a kind that are kept */
#define SLOW_SERIES 5u    /* of fewer steps none is called slow */
#define QUEUED_LEAST 0.05 /* less is what any machine has */
#define STANDARD_ERRORS 1.96

struct job {
	struct analysis *analysis;
	struct timeline *timeline;
	const struct trace *trace;
	struct step_items *items;
	const struct batching_sleeps *sleeps;
	double sample_ns; /* that a sample stands for; 0: there are none */
	struct kind_sum kinds[KINDS];
	size_t kind_count;
	struct stack_classes classes;
	struct time_places places;
	struct sample_tracks samples;
	struct timed_waits timed_waits;
	struct device_work device;
	struct idle_gaps gaps;
	bool *wanted; /* by thread: it has steps, or ended a gap */
	bool *alone;  /* by process: one thread of it has steps */
};

/* A step of a kind by its duration. */
struct ranked {
	int64_t ns;
	struct step_item *item;
};

static int shortest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item; /* they lie in one array */
}

/* Marks slow and typical ones; the figures that follow from their durations alone. */
static int group_steps(struct analysis_step *s, struct step_item *items)
{
	size_t n = s->item_count, slow = n / 20 ? n / 20 : 1;
	size_t from = 2 * n / 5, to = n - from > from ? n - from : from + 1;
	struct slow_steps *out = &s->breakdown.slow;
	struct ranked *ranked;

	if (n < SLOW_SERIES)
		return 0;
	ranked = calloc(n, sizeof(*ranked));
	if (!ranked)
		return -1;
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){ items[i].end_ns - items[i].start_ns, &items[i] };
	qsort(ranked, n, sizeof(*ranked), shortest_first);
	for (size_t i = from; i < to; i++) {
		ranked[i].item->group = STEPS_TYPICAL;
		out->typical_mean_ns += (double)ranked[i].ns / (double)(to - from);
	}
	for (size_t i = n - slow; i < n; i++) {
		ranked[i].item->group = STEPS_SLOW;
		out->mean_ns += (double)ranked[i].ns / (double)slow;
	}
	out->steps = slow;
	out->typical_steps = to - from;
	out->from_ns = ranked[n - slow].ns;
	free(ranked);
	return 0;
}

/* All items get the number of their kind; those of the first kinds are taken, with their groups. */
static int choose_items(struct job *j)
{
	struct analysis *a = j->analysis;
	struct step_items *kept = j->items;

	kept->items = calloc(a->step_items.count + 1, sizeof(*kept->items));
	if (!kept->items)
		return -1;
	for (size_t k = 0; k < a->step_count; k++) {
		struct analysis_step *s = &a->steps[k];
		struct step_item *first =
			s->item_count ? a->step_items.items + s->first_item : NULL;

		for (size_t i = 0; i < s->item_count; i++)
			first[i].kind = (uint16_t)(k < UINT16_MAX ? k : UINT16_MAX);
		if (k >= j->kind_count || !s->item_count)
			continue;
		if (k < PLACED_KINDS && group_steps(s, first))
			return -1;
		memcpy(kept->items + kept->count, first, s->item_count * sizeof(*first));
		kept->count += s->item_count;
	}
	return 0;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct step_item *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static size_t process_of(const struct job *j, size_t thread)
{
	return process_position(j->trace, trace_thread(j->trace, thread)->process);
}

/* The most important kind of step of a process decides when there is load. */
static int cover_section(struct job *j, size_t section)
{
	struct gpu_section *s = &j->analysis->gpu.sections[section];
	struct idle_section *into = &j->gaps.sections[section];
	size_t process = process_position(j->trace, s->process), kind = SIZE_MAX;

	for (size_t i = 0; i < j->items->count; i++) {
		const struct step_item *item = &j->items->items[i];

		if (item->kind < kind && process_of(j, item->thread) == process)
			kind = item->kind;
	}
	if (kind == SIZE_MAX)
		return 0;
	into->marked = j->analysis->steps[kind].source == STEP_SCOPE ||
		       j->analysis->steps[kind].source == STEP_NVTX;
	for (size_t i = 0; i < j->items->count; i++) {
		const struct step_item *item = &j->items->items[i];
		const struct piece p = { item->start_ns, item->end_ns, 0, 0 };

		if (item->kind != kind)
			continue;
		s->blame.steps += item->end_ns > s->first_ns && item->start_ns < s->last_ns;
		if (track_put(&into->steps, &p))
			return -1;
	}
	track_sort(&into->steps);
	return 0;
}

static int choose_threads(struct job *j)
{
	uint32_t *with_steps = calloc(trace_process_count(j->trace) + 1, sizeof(*with_steps));

	if (!with_steps)
		return -1;
	for (size_t i = 0; i < j->items->count; i++) {
		uint32_t thread = j->items->items[i].thread;

		with_steps[process_of(j, thread)] += !j->wanted[thread];
		j->wanted[thread] = true;
	}
	for (size_t i = 0; i < trace_process_count(j->trace); i++)
		j->alone[i] = with_steps[i] < 2;
	for (size_t i = 0; i < j->gaps.thread_count; i++)
		j->wanted[i] |= j->gaps.threads[i].count > 0;
	free(with_steps);
	return 0;
}

/* The timeline, which names functions, ends with the collection. */
static int name_functions(struct job *j)
{
	struct host_log *l = &j->analysis->host_log;

	l->function_count = timeline_function_count(j->timeline);
	l->functions = calloc(l->function_count + 1, sizeof(*l->functions));
	if (!l->functions)
		return -1;
	for (size_t i = 0; i < l->function_count; i++)
		l->functions[i] = *timeline_function(j->timeline, (uint32_t)i);
	return 0;
}

static int sweep_threads(struct job *j, struct err *err)
{
	struct step_sweep sweep = {
		.trace = j->trace,
		.timeline = j->timeline,
		.analysis = j->analysis,
		.items = j->items,
		.samples = &j->samples,
		.timed_waits = &j->timed_waits,
		.device = &j->device,
		.gaps = &j->gaps,
		.places = &j->places,
		.classes = &j->classes,
		.log = &j->analysis->host_log,
		.crowded = j->analysis->crowd.own,
		.kinds = j->kinds,
		.kind_count = j->kind_count,
		.placed_count = j->kind_count < PLACED_KINDS ? j->kind_count : PLACED_KINDS,
	};
	size_t at = 0;

	for (size_t thread = 0; thread < trace_thread_count(j->trace); thread++) {
		size_t first = at;

		while (at < j->items->count && j->items->items[at].thread == thread)
			at++;
		if (j->wanted[thread] && step_sweep_thread(&sweep, thread, first, at,
							   !j->alone[process_of(j, thread)], err))
			return -1;
	}
	return 0;
}

/* The section whose idle time is given by the steps of a kind: the first of a process. */
static struct idle_section *section_of_kind(const struct job *j, size_t kind)
{
	uint32_t pid = j->analysis->steps[kind].pid;

	for (size_t k = 0; k < kind; k++)
		if (j->analysis->steps[k].pid == pid && j->analysis->steps[k].item_count)
			return NULL;
	for (size_t i = 0; i < j->gaps.section_count; i++)
		if (j->analysis->gpu.sections[i].pid == pid)
			return &j->gaps.sections[i];
	return NULL;
}

/*
 * Where no fault was seen with its thread: the thread's share of the CPU time of all threads of
 * its process that are known.
 */
static double share_of_cpu(const struct job *j, size_t kind)
{
	const struct analysis *a = j->analysis;
	double own_ns = 0, all_ns = 0;
	uint32_t thread = UINT32_MAX;

	for (size_t i = 0; i < j->items->count && thread == UINT32_MAX; i++)
		if (j->items->items[i].kind == kind)
			thread = j->items->items[i].thread;
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].pid != a->steps[kind].pid || !a->threads[i].timed)
			continue;
		all_ns += (double)a->threads[i].on_cpu_ns;
		if (i == thread)
			own_ns = (double)a->threads[i].on_cpu_ns;
	}
	return own_ns > 0 ? own_ns / all_ns : 1;
}

/* Of the time in which the threads of a kind's steps could run, by the kernel's totals. */
static double queued_share(const struct job *j, size_t kind)
{
	const struct analysis *a = j->analysis;
	double queued_ns = 0, all_ns = 0;
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < j->items->count; i++) {
		const struct step_item *item = &j->items->items[i];

		if (item->kind != kind || item->thread == last || item->thread >= a->thread_count ||
		    !a->threads[item->thread].timed)
			continue;
		last = item->thread;
		queued_ns += (double)a->threads[last].queued_ns;
		all_ns += (double)a->threads[last].on_cpu_ns + (double)a->threads[last].queued_ns;
	}
	return all_ns > 0 ? queued_ns / all_ns : 0;
}

/* Where the kernel reported each such time, the sweep has them already. */
static int move_queued(struct job *j)
{
	if (!j->analysis->crowd.own || j->samples.absences)
		return 0;
	for (size_t k = 0; k < j->kind_count && k < PLACED_KINDS; k++) {
		double share = j->analysis->steps[k].item_count ? queued_share(j, k) : 0;

		if (share >= QUEUED_LEAST && queue_parts_move(&j->kinds[k], share, &j->places))
			return -1;
	}
	return 0;
}

static int move_faults(struct job *j)
{
	for (size_t k = 0; k < j->kind_count && k < PLACED_KINDS; k++) {
		struct analysis_step *s = &j->analysis->steps[k];

		s->breakdown.steps = s->item_count;
		if (s->item_count && fault_parts_move(&j->kinds[k], s, share_of_cpu(j, k),
						      section_of_kind(j, k), &j->places))
			return -1;
	}
	return 0;
}

/* How far chance may have moved what samples say of one class among others. */
static int64_t error_of(const struct job *j, int64_t sampled_ns, int64_t all_ns)
{
	double n, all, error;

	if (!sampled_ns || j->sample_ns <= 0)
		return 0;
	n = (double)sampled_ns / j->sample_ns;
	all = (double)all_ns / j->sample_ns;
	error = n < all ? STANDARD_ERRORS * sqrt(n * (1 - n / all)) : 0;
	return (int64_t)((error > 1 ? error : 1) * j->sample_ns);
}

static void finish_parts(const struct job *j, struct analysis_step *s, struct kind_sum *kind)
{
	struct step_breakdown *b = &s->breakdown;
	int64_t sampled_ns = 0;

	b->steps = s->item_count;
	memcpy(b->parts, kind->parts, sizeof(b->parts));
	b->alone_ns = kind->alone_ns;
	b->samples = kind->samples;
	kind->samples = (struct step_samples){ 0 };
	for (size_t i = 0; i < TIME_CLASSES; i++) {
		b->total_ns = stats_add(b->total_ns, b->parts[i].ns);
		sampled_ns = stats_add(sampled_ns, b->parts[i].sampled_ns);
	}
	for (size_t i = 0; i < TIME_CLASSES; i++)
		b->parts[i].error_ns = error_of(j, b->parts[i].sampled_ns, sampled_ns);
}

/* Puts neighbours together that are the same; returns how many are left. */
static size_t merge(struct time_cause *causes, size_t n,
		    int (*compare)(const struct time_cause *, const struct time_cause *))
{
	size_t merged = 0;

	for (size_t i = 0; i < n; i++) {
		struct time_cause *into = merged ? &causes[merged - 1] : NULL;

		if (!into || compare(into, &causes[i])) {
			causes[merged++] = causes[i];
			continue;
		}
		into->ns = stats_add(into->ns, causes[i].ns);
		if (!into->waited_for.name)
			into->waited_for = causes[i].waited_for;
	}
	return merged;
}

/* The places of a group by their names, those of one name together; NULL: no memory. */
static struct time_cause *name_places(const struct job *j, const struct kind_sum *kind,
				      enum step_group group, size_t *count)
{
	size_t all = kind->place_cap < j->places.count ? kind->place_cap : j->places.count;
	struct time_cause *causes = calloc(all + 1, sizeof(*causes));
	size_t n = 0;

	*count = 0;
	for (size_t i = 0; causes && i < all; i++) {
		if (kind->places[i].ns[group] <= 0)
			continue;
		causes[n] = time_place_name(&j->places.items[i], j->analysis, j->timeline);
		causes[n++].ns = kind->places[i].ns[group];
	}
	if (!n)
		return causes;
	qsort(causes, n, sizeof(*causes), time_cause_called);
	n = merge(causes, n, time_cause_compare_called);
	for (size_t i = 0; i < n; i++)
		causes[i].inner_ns = causes[i].ns;
	/* Of a cause that function is the first now that had most of it. */
	qsort(causes, n, sizeof(*causes), time_cause_identity);
	*count = merge(causes, n, time_cause_compare);
	return causes;
}

static int most_more_first(const void *a, const void *b)
{
	const struct slow_cause *x = a, *y = b;

	if (x->more_ns != y->more_ns)
		return x->more_ns > y->more_ns ? -1 : 1;
	return time_cause_order(&x->cause, &y->cause);
}

/* Both lists are in order of identity. */
static void compare_groups(struct slow_steps *s, const struct time_cause *slow, size_t slow_count,
			   const struct time_cause *typical, size_t typical_count)
{
	size_t at = 0;

	for (size_t i = 0; i < slow_count; i++) {
		struct slow_cause c = { slow[i], (double)slow[i].ns / (double)s->steps };

		while (at < typical_count && time_cause_compare(&typical[at], &slow[i]) < 0)
			at++;
		if (at < typical_count && !time_cause_compare(&typical[at], &slow[i]))
			c.more_ns -= (double)typical[at].ns / (double)s->typical_steps;
		if (c.more_ns >= 1)
			s->causes[s->cause_count++] = c;
	}
}

static int finish_slow(const struct job *j, struct slow_steps *s, const struct kind_sum *kind)
{
	struct time_cause *slow, *typical;
	size_t slow_count = 0, typical_count = 0;
	int rc = -1;

	if (!s->steps)
		return 0;
	slow = name_places(j, kind, STEPS_SLOW, &slow_count);
	typical = name_places(j, kind, STEPS_TYPICAL, &typical_count);
	s->causes = calloc(slow_count + 1, sizeof(*s->causes));
	if (slow && typical && s->causes) {
		compare_groups(s, slow, slow_count, typical, typical_count);
		qsort(s->causes, s->cause_count, sizeof(*s->causes), most_more_first);
		if (s->cause_count > CAUSES)
			s->cause_count = CAUSES;
		rc = 0;
	}
	free(slow);
	free(typical);
	return rc;
}

static int finish_causes(const struct job *j, struct step_breakdown *b, const struct kind_sum *kind)
{
	b->causes = name_places(j, kind, STEPS_ALL, &b->cause_count);
	if (!b->causes)
		return -1;
	if (b->cause_count)
		qsort(b->causes, b->cause_count, sizeof(*b->causes), time_cause_order);
	if (b->cause_count > CAUSES)
		b->cause_count = CAUSES;
	return finish_slow(j, &b->slow, kind);
}

static int finish(struct job *j)
{
	if (move_queued(j) || move_faults(j))
		return -1;
	for (size_t k = 0; k < j->kind_count; k++) {
		struct analysis_step *s = &j->analysis->steps[k];

		if (!s->item_count)
			continue;
		finish_parts(j, s, &j->kinds[k]);
		if (k < PLACED_KINDS && finish_causes(j, &s->breakdown, &j->kinds[k]))
			return -1;
	}
	if (j->kind_count && model_callers_find(j->analysis, &j->kinds[0], &j->places))
		return -1;
	return name_functions(j) ||
	       idle_gaps_finish(&j->gaps, j->analysis, &j->places, j->timeline);
}

static int prepare(struct job *j)
{
	if (choose_items(j))
		return -1;
	for (size_t i = 0; i < j->gaps.section_count; i++) {
		if (cover_section(j, i))
			return -1;
	}
	qsort(j->items->items, j->items->count, sizeof(*j->items->items), by_thread_and_time);
	return idle_gaps_find(&j->gaps, &j->places) || choose_threads(j) ||
	       log_windows_choose(j->analysis, j->trace, j->wanted);
}

static int find_timed_waits(struct job *j, struct err *err)
{
	const struct timed_waits_sources from = {
		.trace = j->trace,
		.timeline = j->timeline,
		.gpu = j->analysis->gpu.timeline,
		.samples = &j->samples,
		.classes = &j->classes,
		.items = j->items,
		.sleeps = j->sleeps,
	};

	return timed_waits_find(&j->timed_waits, &from, err);
}

int breakdown_collect(struct analysis *a, struct timeline *tl, struct step_items *items,
		      const struct sample_totals *samples, const struct batching_sleeps *sleeps,
		      const struct trace *t, struct err *err)
{
	struct job j = {
		.analysis = a,
		.timeline = tl,
		.trace = t,
		.items = items,
		.sleeps = sleeps,
		.sample_ns =
			samples->samples ? (double)samples->all_ns / (double)samples->samples : 0,
		.kind_count = a->step_count < KINDS ? a->step_count : KINDS,
		.wanted = calloc(trace_thread_count(t) + 1, sizeof(*j.wanted)),
		.alone = calloc(trace_process_count(t) + 1, sizeof(*j.alone)),
	};
	int rc = -1;

	time_places_init(&j.places);
	stack_classes_init(&j.classes, t, tl);
	err_set(err, "out of memory");
	if (j.wanted && j.alone && !device_work_init(&j.device, &a->gpu) &&
	    !idle_gaps_init(&j.gaps, &a->gpu, trace_thread_count(t), !a->undrawn) && !prepare(&j) &&
	    !sample_tracks_fill(&j.samples, t, j.wanted, err) && !find_timed_waits(&j, err) &&
	    !sweep_threads(&j, err)) {
		err_set(err, "out of memory");
		rc = finish(&j);
	}
	for (size_t k = 0; k < KINDS; k++) {
		free(j.kinds[k].places);
		free(j.kinds[k].samples.items);
	}
	free(j.wanted);
	free(j.alone);
	sample_tracks_release(&j.samples);
	timed_waits_release(&j.timed_waits);
	device_work_release(&j.device);
	idle_gaps_release(&j.gaps);
	time_places_release(&j.places);
	stack_classes_release(&j.classes);
	return rc;
}
