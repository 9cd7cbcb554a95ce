#include "analyze/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare_texts.h"
#include "analyze/gpu_busy.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "format/torch_scopes.h"
#include "timeline/process_position.h"

#define WARMUP_SERIES 5
#define WARMUP_FACTOR 3
/* Of steps that take long anyway the first may be far out without being so many times as long. */
#define WARMUP_LEAST 1.5
#define WARMUP_FENCE 3 /* interquartile ranges above the third quartile: Tukey's far out */
#define MANY_TIMES 2
#define OUTER_COUNT 5 /* of a loop around steps: fewer are too few to be the steps */

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
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
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
	s->depth = (uint32_t)(depths / s->count);
	fill_figures(s, durations, scratch, sequential);
	return true;
}

static int add_item(struct step_items *items, int64_t start_ns, int64_t end_ns, uint32_t thread)
{
	struct step_item *grown =
		array_grow(items->items, &items->cap, items->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	items->items = grown;
	grown[items->count++] = (struct step_item){ start_ns, end_ns, thread, 0, STEPS_ALL };
	return 0;
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
		if (add_item(items, scope->start_ns, scope->end_ns, scope->thread))
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

/* The whole run is one step, of the first thread. */
static int add_whole_run(struct analysis_step *s, const struct trace *t, struct step_items *items)
{
	uint32_t process = trace_process(t, 0)->id;

	s->first_item = items->count;
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		if (trace_thread(t, i)->process != process)
			continue;
		s->item_count = 1;
		return add_item(items, 0, s->total_ns, (uint32_t)i);
	}
	return 0;
}

static int whole_run(struct analysis *a, const struct step_sources *from, const struct trace *t,
		     struct step_items *items)
{
	struct analysis_step *s = array_grow(a->steps, &(size_t){ 0 }, 1, sizeof(*s));

	if (!s)
		return -1;
	*s = (struct analysis_step){
		.name = "whole run",
		.source = STEP_WHOLE_RUN,
		.pid = a->process_count ? a->processes[0].pid : 0,
		.count = 1,
		.total_ns = a->run.wall_ns,
		.mean_ns = (double)a->run.wall_ns,
		.p50_ns = a->run.wall_ns,
		.p95_ns = a->run.wall_ns,
		.p99_ns = a->run.wall_ns,
		.max_ns = a->run.wall_ns,
	};
	if (a->process_count) {
		gpu_steps_measure_run(from->gpu, trace_process(t, 0)->id, a->run.wall_ns, &s->gpu);
		memory_steps_measure_run(from->memory, trace_process(t, 0)->id, &s->memory);
	}
	a->steps = s;
	a->step_count = 1;
	return a->process_count ? add_whole_run(s, t, items) : 0;
}

/* What the agent tells about a framework is a part of steps, and none. */
static bool is_of_the_agent(const struct scope *scope)
{
	return !scope->nvtx && !strncmp(scope->name, TORCH_SCOPES, strlen(TORCH_SCOPES));
}

bool steps_are_marked(const struct timeline *tl)
{
	for (size_t i = 0; i < timeline_scope_count(tl); i++) {
		const struct scope *s = timeline_scope(tl, i);

		if (!is_of_the_agent(s) && !(s->nvtx && *s->nvtx->domain))
			return true;
	}
	return false;
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

static int collect_marked(struct analysis *a, const struct timeline *tl,
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
	rc = collect_series(a, w.scopes, n, w.durations, w.scratch, from, t, items);
out:
	workbench_release(&w);
	return rc;
}

static int collect_found(struct analysis *a, struct step_finder *finder,
			 const struct step_sources *from, const struct trace *t,
			 struct step_items *items)
{
	struct workbench w = { 0 };
	struct found_steps found;
	int rc = -1;

	if (step_finder_find(finder, &found) || workbench_init(&w, found.count))
		goto out;
	for (size_t i = 0; i < found.count; i++)
		w.scopes[i].scope = &found.items[i];
	qsort(w.scopes, found.count, sizeof(*w.scopes), by_series);
	if (collect_series(a, w.scopes, found.count, w.durations, w.scratch, from, t, items))
		goto out;
	for (size_t i = 0; i < a->step_count; i++) {
		a->steps[i].source = found.by_layer ? STEP_MODULE : STEP_LOOP;
		for (size_t k = 0; k < found.outer_count; k++)
			a->steps[i].has_steps |= found.outer[k] == a->steps[i].name;
		for (size_t k = 0; k < found.call_count; k++) {
			if (found.calls[k].name != a->steps[i].name)
				continue;
			a->steps[i].call_of = found.calls[k].function + 1;
			a->steps[i].loop_of = found.calls[k].loop;
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

/*
 * Of loops inside loops the innermost is the step, unless a tenth or more of the time of the
 * one around it is outside of it: what happens there belongs to a step as well.
 */
static void prefer_outer(struct analysis *a)
{
	for (size_t i = 1; i < a->step_count; i++) {
		struct analysis_step outer = a->steps[i], inner = a->steps[0];

		if (!outer.has_steps || outer.pid != inner.pid || outer.depth >= inner.depth ||
		    outer.count < OUTER_COUNT ||
		    0.9 * (double)outer.total_ns <= (double)inner.total_ns)
			continue;
		memmove(&a->steps[1], &a->steps[0], i * sizeof(*a->steps));
		a->steps[0] = outer;
		return;
	}
}

/*
 * Libraries mark what they do in domains of their own (CUB, cuBLAS): a step is what most of the
 * time between the first and the last of them is spent in.
 */
static bool is_of_a_library(const struct analysis_step *s, const struct step_items *items)
{
	const struct step_item *first = &items->items[s->first_item];

	if (s->source != STEP_NVTX || !s->domain || !*s->domain || !s->item_count)
		return false;
	return 2 * (double)s->total_ns <
	       (double)(first[s->item_count - 1].end_ns - first->start_ns);
}

static bool all_are_of_libraries(const struct analysis *a, const struct step_items *items)
{
	for (size_t i = 0; i < a->step_count; i++)
		if (!is_of_a_library(&a->steps[i], items))
			return false;
	return a->step_count > 0;
}

/* What is found around models takes the place of what libraries marked. */
static int replace_by_found(struct analysis *a, struct step_finder *finder,
			    const struct step_sources *from, const struct trace *t,
			    struct step_items *items)
{
	struct analysis_step *marked = a->steps;
	size_t marked_count = a->step_count;

	a->steps = NULL;
	a->step_count = 0;
	if (collect_found(a, finder, from, t, items)) {
		free(marked);
		return -1;
	}
	if (a->step_count) {
		free(marked);
		return 0;
	}
	free(a->steps);
	a->steps = marked;
	a->step_count = marked_count;
	return 0;
}

/* Begins after the last of the other ended. */
static bool comes_after(const struct analysis_step *s, const struct analysis_step *other,
			const struct step_items *items)
{
	return s->item_count && other->item_count &&
	       items->items[s->first_item].start_ns >=
		       items->items[other->first_item + other->item_count - 1].end_ns;
}

/*
 * What is over before something begins that is done at least twice as often prepares it, as long as
 * it takes no more than about as long.
 */
static void prefer_later(struct analysis *a, const struct step_items *items)
{
	for (size_t i = 1; i < a->step_count; i++) {
		struct analysis_step later = a->steps[i], first = a->steps[0];

		if (later.source != STEP_LOOP || later.pid != first.pid ||
		    later.count < MANY_TIMES * first.count || 2 * later.total_ns < first.total_ns ||
		    !comes_after(&later, &first, items))
			continue;
		memmove(&a->steps[1], &a->steps[0], i * sizeof(*a->steps));
		a->steps[0] = later;
		return;
	}
}

int steps_collect(struct analysis *a, const struct timeline *tl, struct step_finder *finder,
		  const struct step_sources *from, const struct trace *t, struct step_items *items)
{
	if (collect_marked(a, tl, from, t, items))
		return -1;
	if (!a->step_count && collect_found(a, finder, from, t, items))
		return -1;
	if (all_are_of_libraries(a, items) && replace_by_found(a, finder, from, t, items))
		return -1;
	if (!a->step_count)
		return whole_run(a, from, t, items);
	qsort(a->steps, a->step_count, sizeof(*a->steps), most_important_first);
	prefer_outer(a);
	prefer_later(a, items);
	return 0;
}
