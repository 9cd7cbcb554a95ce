#include "analyze/steps/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "format/torch_scopes.h"
#include "timeline/timeline.h"

const char *step_source_name(enum step_source s)
{
	static const char *const names[] = {
		[STEP_SCOPE] = "scope",   [STEP_NVTX] = "nvtx",           [STEP_LOOP] = "loop",
		[STEP_MODULE] = "module", [STEP_WHOLE_RUN] = "whole-run",
	};

	return names[s];
}

#define WARMUP_SERIES 5
#define WARMUP_FACTOR 3
/* Of steps that take long anyway the first may be far out without being so many times as long. */
#define WARMUP_LEAST 1.5
#define WARMUP_FENCE 3 /* interquartile ranges above the third quartile: Tukey's far out */
#define OUTER_COUNT 5  /* of a loop around steps: fewer are too few to be the steps */
#define MATTERS 0.1    /* of the time: less is no step's */

static const char *domain_of(const struct scope *s)
{
	return s->nvtx ? s->nvtx->domain : NULL;
}

static int compare_names(const struct scope *x, const struct scope *y)
{
	int order;

	if (x->nvtx && x->nvtx == y->nvtx)
		return 0;
	order = compare_texts(domain_of(x), domain_of(y));
	return order ? order : compare_texts(x->name, y->name);
}

static int by_series(const void *a, const void *b)
{
	const struct scope *x = ((const struct step_scope *)a)->scope;
	const struct scope *y = ((const struct step_scope *)b)->scope;
	int order;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	order = compare_names(x, y);
	if (order)
		return order;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y; /* they lie in one array */
}

static bool same_series(const struct scope *x, const struct scope *y)
{
	return x->process == y->process && !compare_names(x, y);
}

/*
 * The time of the steps without their warm-up.  A series that is too short to tell which of its
 * steps that is counts with its median: a program often warms up with a loop of its own.
 */
static double steady_ns(const struct analysis_step *s)
{
	if (s->count < WARMUP_SERIES)
		return (double)s->p50_ns * (double)s->count;
	return s->mean_ns * (double)(s->count - s->warmup);
}

static int most_important_first(const void *a, const void *b)
{
	const struct analysis_step *x = a, *y = b;
	int order;

	if (x->has_steps != y->has_steps)
		return x->has_steps ? 1 : -1;
	if (x->depth != y->depth && x->source != STEP_LOOP)
		return x->depth < y->depth ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if ((x->count > 1) != (y->count > 1)) /* what is done once is no step beside what repeats */
		return x->count > 1 ? -1 : 1;
	if (steady_ns(x) != steady_ns(y))
		return steady_ns(x) > steady_ns(y) ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = compare_texts(x->domain, y->domain);
	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static uint32_t pid_of(const struct trace *t, uint32_t process)
{
	size_t at = process_position(t, process);

	return at < trace_process_count(t) ? trace_process(t, at)->pid : 0;
}

/* From where on a step is far out, as far as the median tells what is much. */
static double warmup_fence(const int64_t *sorted, size_t n, double median)
{
	double third = (double)stats_percentile(sorted, n, 0.75);
	double range = third - (double)stats_percentile(sorted, n, 0.25);

	return fmax(third + WARMUP_FENCE * range, WARMUP_LEAST * median);
}

/* How many of the durations, in order of time, are warm-up; `room` is for as many. */
static size_t count_warmup(const int64_t *durations, int64_t *room, size_t n)
{
	size_t warmup = 0;
	double median, fence;

	memcpy(room, durations, n * sizeof(*room));
	stats_sort(room, n);
	median = (double)stats_percentile(room, n, 0.5);
	fence = warmup_fence(room, n, median);
	while (warmup < n && (double)durations[warmup] > WARMUP_FACTOR * median)
		warmup++;
	/* The longest from each on: what comes again later is no warm-up. */
	for (size_t i = n; i--;)
		room[i] = i + 1 < n && room[i + 1] > durations[i] ? room[i + 1] : durations[i];
	while (warmup + 1 < n && (double)durations[warmup] > fence &&
	       durations[warmup] > room[warmup + 1])
		warmup++;
	return warmup;
}

static void fill_figures(struct analysis_step *s, int64_t *durations, int64_t *scratch,
			 bool sequential)
{
	size_t n = s->count;

	if (sequential && n >= WARMUP_SERIES)
		s->warmup = count_warmup(durations, scratch, n);
	durations += s->warmup;
	n -= s->warmup;
	stats_sort(durations, n);
	s->mean_ns = stats_mean(durations, n);
	s->p50_ns = stats_percentile(durations, n, 0.50);
	s->p95_ns = stats_percentile(durations, n, 0.95);
	s->p99_ns = stats_percentile(durations, n, 0.99);
	s->max_ns = durations[n - 1];
}

/* The series in scopes[0..n); false when none of them ended. */
static bool step_of_series(struct analysis_step *s, const struct step_scope *scopes, size_t n,
			   int64_t *durations, int64_t *scratch)
{
	bool sequential = true;
	int64_t busy_until_ns = INT64_MIN;
	uint64_t depths = 0;

	*s = (struct analysis_step){
		.name = scopes[0].scope->name,
		.domain = domain_of(scopes[0].scope),
		.source = scopes[0].scope->nvtx ? STEP_NVTX : STEP_SCOPE,
	};
	for (size_t i = 0; i < n; i++) {
		const struct scope *scope = scopes[i].scope;

		if (!scope->ended) {
			s->unended++;
			continue;
		}
		if (scope->start_ns < busy_until_ns)
			sequential = false;
		if (scope->end_ns > busy_until_ns)
			busy_until_ns = scope->end_ns;
		depths += scope->depth;
		durations[s->count] = scope->end_ns - scope->start_ns;
		s->total_ns = stats_add(s->total_ns, durations[s->count++]);
	}
	if (!s->count)
		return false;
	s->until_ns = busy_until_ns;
	s->depth = (uint32_t)(depths / s->count);
	fill_figures(s, durations, scratch, sequential);
	return true;
}

/* Those of which all is known, without warm-up. */
static int add_items(struct analysis_step *s, const struct step_scope *scopes, size_t n,
		     const struct gpu_steps *gpu, struct step_items *items)
{
	const struct gpu_section *section = gpu_section_find(gpu->gpu, scopes[0].scope->process);
	size_t skip = s->warmup;

	s->first_item = items->count;
	for (size_t i = 0; i < n; i++) {
		const struct scope *scope = scopes[i].scope;

		if (!scope->ended)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (!s->begin_ns)
			s->begin_ns = scope->start_ns;
		if (section && gpu_paused_between(section, scope->start_ns, scope->end_ns))
			continue;
		s->breakdown.shared |= gpu_steps_interleaved(gpu, scope);
		if (step_items_add(items, scope->start_ns, scope->end_ns, scope->thread))
			return -1;
	}
	s->item_count = items->count - s->first_item;
	return 0;
}

static int collect_series(struct analysis *a, const struct step_scope *scopes, size_t n,
			  int64_t *durations, int64_t *scratch, const struct step_sources *from,
			  const struct trace *t, struct step_items *items)
{
	size_t cap = 0;

	for (size_t i = 0, next; i < n; i = next) {
		struct analysis_step *grown =
			array_grow(a->steps, &cap, a->step_count + 1, sizeof(*grown));

		if (!grown)
			return -1;
		a->steps = grown;
		for (next = i + 1; next < n && same_series(scopes[i].scope, scopes[next].scope);)
			next++;
		grown += a->step_count;
		if (!step_of_series(grown, scopes + i, next - i, durations, scratch))
			continue;
		if (gpu_steps_measure(from->gpu, scopes + i, next - i, grown->warmup,
				      &grown->gpu) ||
		    memory_steps_measure(from->memory, scopes + i, next - i, grown->warmup,
					 &grown->memory) ||
		    add_items(grown, scopes + i, next - i, from->gpu, items))
			return -1;
		grown->pid = pid_of(t, scopes[i].scope->process);
		a->step_count++;
	}
	return 0;
}

/* What the agent tells about a framework is a part of steps, and none. */
static bool is_of_the_agent(const struct scope *scope)
{
	return !scope->nvtx && !strncmp(scope->name, TORCH_SCOPES, strlen(TORCH_SCOPES));
}

/* Room for the work on a number of scopes. */
struct workbench {
	struct step_scope *scopes;
	int64_t *durations, *scratch;
};

static int workbench_init(struct workbench *w, size_t n)
{
	w->scopes = calloc(n + 1, sizeof(*w->scopes));
	w->durations = calloc(n + 1, sizeof(*w->durations));
	w->scratch = calloc(n + 1, sizeof(*w->scratch));
	return w->scopes && w->durations && w->scratch ? 0 : -1;
}

static void workbench_release(struct workbench *w)
{
	free(w->scopes);
	free(w->durations);
	free(w->scratch);
}

/*
 * Ranges that a library opens inside of a call to it (CUB's in torch.nonzero(), NCCL's) are
 * parts of steps: native code begins and ends them, and no function runs meanwhile.  Those of a
 * program are around functions, or begin and end in those of NVTX's binding; one that is seen to
 * be so is enough, since short functions may be left out of the trace later.
 */
static bool is_librarys(const struct step_scope *scopes, size_t n)
{
	bool inside = false;

	for (size_t i = 0; i < n; i++) {
		if (!scopes[i].scope->nvtx || scopes[i].scope->reach == SCOPE_AROUND_CALLS)
			return false;
		inside |= scopes[i].scope->reach == SCOPE_INSIDE_CALL;
	}
	return inside;
}

/* Of scopes in the order of by_series(); how many are left. */
static size_t drop_librarys(struct step_scope *scopes, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && same_series(scopes[i].scope, scopes[next].scope);)
			next++;
		if (is_librarys(scopes + i, next - i))
			continue;
		memmove(scopes + kept, scopes + i, (next - i) * sizeof(*scopes));
		kept += next - i;
	}
	return kept;
}

static int collect_marked(struct analysis *a, const struct timeline *tl, bool librarys,
			  const struct step_sources *from, const struct trace *t,
			  struct step_items *items)
{
	size_t all = timeline_scope_count(tl), n = 0;
	struct workbench w;
	int rc = -1;

	if (workbench_init(&w, all))
		goto out;
	for (size_t i = 0; i < all; i++) {
		if (!is_of_the_agent(timeline_scope(tl, i)))
			w.scopes[n++].scope = timeline_scope(tl, i);
	}
	qsort(w.scopes, n, sizeof(*w.scopes), by_series);
	if (!librarys)
		n = drop_librarys(w.scopes, n);
	rc = collect_series(a, w.scopes, n, w.durations, w.scratch, from, t, items);
out:
	workbench_release(&w);
	return rc;
}

/* By its models, whose calls were followed or are found now, or by what it does with the device. */
static int find_steps(struct step_finder *models, struct timeline *tl,
		      const struct analysis_gpu *gpu, struct found_steps *found)
{
	int rc = step_finder_find(models, found);

	for (enum step_lead lead = LEAD_RUNS; lead < STEP_LEADS; lead++) {
		const struct analysis_gpu *by = lead == LEAD_RUNS ? NULL : gpu;
		struct step_finder f;

		if (rc || found->count || (by && !by->section_count))
			break;
		found_steps_release(found);
		step_finder_init(&f, models->trace);
		rc = step_finder_walk(&f, tl, lead, by);
		if (!rc)
			rc = step_finder_find(&f, found);
		step_finder_release(&f);
	}
	return rc;
}

static int collect_found(struct analysis *a, struct timeline *tl, struct step_finder *finder,
			 const struct step_sources *from, const struct trace *t,
			 struct step_items *items)
{
	struct workbench w = { 0 };
	struct found_steps found;
	int rc = -1;

	if (find_steps(finder, tl, from->gpu->gpu, &found) || workbench_init(&w, found.count))
		goto out;
	batching_sleeps_extend_steps(from->sleeps, &found);
	for (size_t i = 0; i < found.count; i++)
		w.scopes[i].scope = &found.items[i];
	qsort(w.scopes, found.count, sizeof(*w.scopes), by_series);
	if (collect_series(a, w.scopes, found.count, w.durations, w.scratch, from, t, items))
		goto out;
	for (size_t i = 0; i < a->step_count; i++) {
		a->steps[i].source = found.by_layer ? STEP_MODULE : STEP_LOOP;
		for (size_t k = 0; k < found.kind_count; k++) {
			if (found.kinds[k].name != a->steps[i].name)
				continue;
			a->steps[i].has_steps = found.kinds[k].has_steps;
			a->steps[i].piped = found.kinds[k].piped;
			a->steps[i].call_of = found.kinds[k].call_of;
			a->steps[i].loop_of = found.kinds[k].loop_of;
		}
	}
	a->step_names = found.names;
	arena_init(&found.names); /* the analysis owns them now */
	rc = 0;
out:
	workbench_release(&w);
	found_steps_release(&found);
	return rc;
}

static void bring_to_front(struct analysis *a, size_t i)
{
	struct analysis_step first = a->steps[i];

	memmove(&a->steps[1], &a->steps[0], i * sizeof(*a->steps));
	a->steps[0] = first;
}

static bool is_around(const struct analysis_step *outer, const struct analysis_step *inner)
{
	return outer->has_steps && outer->pid == inner->pid && outer->depth < inner->depth;
}

/* What repeats inside a library's pipeline is no step of the user's: the next one around it is. */
static void prefer_users(struct analysis *a)
{
	size_t best = 0;

	if (!a->step_count || !a->steps[0].piped)
		return;
	for (size_t i = 1; i < a->step_count; i++) {
		if (is_around(&a->steps[i], &a->steps[0]) && !a->steps[i].piped &&
		    a->steps[i].total_ns >= a->steps[0].total_ns &&
		    (!best || a->steps[i].depth > a->steps[best].depth))
			best = i;
	}
	if (best)
		bring_to_front(a, best);
}

/*
 * Of loops inside loops the innermost is the step, unless a tenth or more of the time of the
 * one around it is outside of it: what happens there belongs to a step as well.
 */
static void prefer_outer(struct analysis *a)
{
	for (size_t i = 1; i < a->step_count; i++) {
		struct analysis_step outer = a->steps[i], inner = a->steps[0];

		if (!is_around(&outer, &inner) || outer.count < OUTER_COUNT ||
		    (1 - MATTERS) * (double)outer.total_ns <= (double)inner.total_ns)
			continue;
		bring_to_front(a, i);
		return;
	}
}

/*
 * What is over before something else repeats more often is set-up (weights that are loaded,
 * warm-up), even where it takes longer, unless the other takes next to no time.
 */
static void prefer_later(struct analysis *a)
{
	for (size_t i = 1; i < a->step_count; i++) {
		const struct analysis_step *later = &a->steps[i], *first = &a->steps[0];

		if (later->pid == first->pid && later->source == first->source &&
		    later->has_steps == first->has_steps &&
		    (later->depth == first->depth || later->source == STEP_LOOP) &&
		    later->begin_ns >= first->until_ns && later->count > first->count &&
		    steady_ns(later) >= MATTERS * steady_ns(first))
			bring_to_front(a, i);
	}
}

/*
 * Found in bursts of calls, and like no other perhaps, while samples saw models at work for far
 * longer?  They are few, or all of them lie in one part of that time.
 */
static bool are_too_few(const struct analysis *a, const struct model_interval *interval)
{
	const struct analysis_step *s = &a->steps[0];
	double length_ns = (double)interval->end_ns - (double)interval->begin_ns;
	double reach_ns = (double)s->until_ns - (double)s->begin_ns;

	return interval->parts && (double)s->total_ns < MATTERS * length_ns &&
	       (s->count < WARMUP_SERIES || reach_ns < length_ns / 2);
}

/* Were calls recorded in bursts, in which steps may have been missed? */
static bool has_pauses(const struct timeline *tl, const struct trace *t)
{
	for (size_t i = 0; i < trace_thread_count(t); i++)
		if (timeline_thread(tl, i)->pauses)
			return true;
	return false;
}

/* What is judged where nothing repeats, or too little of it was seen to do so. */
static int judge_run(struct analysis *a, struct timeline *tl, const struct step_sources *from,
		     const struct trace *t, struct step_items *items, struct err *err)
{
	struct model_interval interval = { 0 };

	if (!a->gpu.section_count && model_interval_find(&interval, t, tl, err))
		return -1;
	if (a->step_count && !are_too_few(a, &interval))
		return 0;
	items->count = 0;
	return whole_run_collect(a, &interval, from, t, items);
}

static bool is_found(enum step_source source)
{
	return source == STEP_LOOP || source == STEP_MODULE;
}

int steps_collect(struct analysis *a, struct timeline *tl, struct step_finder *finder,
		  const struct step_sources *from, const struct trace *t, struct step_items *items,
		  struct err *err)
{
	if (collect_marked(a, tl, false, from, t, items))
		return -1;
	if (!a->step_count && collect_found(a, tl, finder, from, t, items))
		return -1;
	/* Better than nothing: a program may call NVTX around native code, without a binding. */
	if (!a->step_count && collect_marked(a, tl, true, from, t, items))
		return -1;
	if (a->step_count)
		qsort(a->steps, a->step_count, sizeof(*a->steps), most_important_first);
	prefer_later(a);
	prefer_users(a);
	prefer_outer(a);
	if (!a->step_count || (is_found(a->steps[0].source) && has_pauses(tl, t)))
		return judge_run(a, tl, from, t, items, err);
	return 0;
}
