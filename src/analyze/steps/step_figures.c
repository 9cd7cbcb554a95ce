#include "analyze/steps/step_figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"

#define WARMUP_FACTOR 3
/* Of steps that take long anyway the first may be far out without being so many times as long. */
#define WARMUP_LEAST 1.5
#define WARMUP_FENCE 3 /* interquartile ranges above the third quartile: Tukey's far out */

const char *step_scope_domain(const struct scope *s)
{
	return s->nvtx ? s->nvtx->domain : NULL;
}

static int compare_names(const struct scope *x, const struct scope *y)
{
	int order;

	if (x->nvtx && x->nvtx == y->nvtx)
		return 0;
	order = compare_texts(step_scope_domain(x), step_scope_domain(y));
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

void step_scopes_sort(struct step_scope *scopes, size_t n)
{
	qsort(scopes, n, sizeof(*scopes), by_series);
}

bool step_scopes_same_series(const struct scope *x, const struct scope *y)
{
	return x->process == y->process && !compare_names(x, y);
}

double step_figures_steady_ns(const struct analysis_step *s)
{
	if (s->count < WARMUP_SERIES)
		return (double)s->p50_ns * (double)s->count;
	return s->mean_ns * (double)(s->count - s->warmup);
}

/* From where on a step is an outlier, by the median. */
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

/* Of the first that ended and is no warm-up; there is one. */
static int64_t begin_of(const struct step_scope *scopes, size_t warmup)
{
	while (!scopes->scope->ended || warmup--)
		scopes++;
	return scopes->scope->start_ns;
}

bool step_figures_measure(struct analysis_step *s, const struct step_scope *scopes, size_t n,
			  int64_t *durations, int64_t *scratch)
{
	bool sequential = true;
	int64_t busy_until_ns = INT64_MIN;
	uint64_t depths = 0;

	*s = (struct analysis_step){
		.name = scopes[0].scope->name,
		.domain = step_scope_domain(scopes[0].scope),
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
	s->first_ns = begin_of(scopes, 0);
	s->begin_ns = begin_of(scopes, s->warmup);
	return true;
}

struct moment {
	int64_t ns;
	int change; /* +1: one begins, -1: one ends */
};

/* Where one ends as another begins they are not in flight together. */
static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->change - y->change;
}

int step_figures_service(struct analysis_step *s, const struct step_scope *scopes, size_t n)
{
	struct moment *moments = calloc(2 * n + 1, sizeof(*moments));
	size_t count = 0, skip = s->warmup, open = 0;
	double in_flight_ns = 0, busy_ns = 0, all_ns;

	if (!moments)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct scope *scope = scopes[i].scope;

		if (!scope->ended || (skip && skip--))
			continue;
		moments[count++] = (struct moment){ scope->start_ns, 1 };
		moments[count++] = (struct moment){ scope->end_ns, -1 };
	}
	qsort(moments, count, sizeof(*moments), by_time);
	for (size_t i = 0; i < count; i++) {
		double ns = i ? (double)moments[i].ns - (double)moments[i - 1].ns : 0;

		in_flight_ns += (double)open * ns;
		busy_ns += open ? ns : 0;
		open += moments[i].change > 0 ? 1 : open ? (size_t)-1 : 0;
		if (open > s->service.concurrency_most)
			s->service.concurrency_most = open;
	}
	all_ns = count ? (double)moments[count - 1].ns - (double)moments[0].ns : 0;
	if (all_ns > 0) {
		s->service.per_second = (double)count / 2 / all_ns * 1e9; /* two moments each */
		s->service.concurrency_mean = in_flight_ns / all_ns;
		s->service.busy_share = busy_ns / all_ns;
	}
	free(moments);
	return 0;
}
