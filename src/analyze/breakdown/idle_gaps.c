#include "analyze/breakdown/step_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/stack_class.h"
#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"

int idle_gaps_init(struct idle_gaps *g, size_t sections, size_t threads)
{
	memset(g, 0, sizeof(*g));
	g->sections = calloc(sections + 1, sizeof(*g->sections));
	g->threads = calloc(threads + 1, sizeof(*g->threads));
	if (!g->sections || !g->threads)
		return -1;
	g->section_count = sections;
	g->thread_count = threads;
	for (size_t i = 0; i < sections; i++)
		pair_map_init(&g->sections[i].at);
	return 0;
}

void idle_gaps_release(struct idle_gaps *g)
{
	for (size_t i = 0; i < g->section_count; i++) {
		free(g->sections[i].items);
		pair_map_release(&g->sections[i].at);
		track_release(&g->sections[i].steps);
	}
	for (size_t i = 0; i < g->thread_count; i++)
		track_release(&g->threads[i]);
	free(g->sections);
	free(g->threads);
	memset(g, 0, sizeof(*g));
}

static struct idle_totals *totals_of(struct idle_section *s, size_t place, bool latency)
{
	size_t at = pair_map_find(&s->at, place, latency);
	struct idle_totals *grown;

	if (at != PAIR_NONE)
		return &s->items[at];
	grown = array_grow(s->items, &s->cap, s->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	s->items = grown;
	if (pair_map_put(&s->at, place, latency, s->count))
		return NULL;
	grown[s->count] = (struct idle_totals){ .place = place, .sum.latency = latency };
	return &grown[s->count++];
}

int idle_section_add(struct idle_section *s, size_t place, bool latency, int64_t gap_start_ns,
		     int64_t ns, int64_t in_steps_ns)
{
	struct idle_totals *t = totals_of(s, place, latency);

	if (!t)
		return -1;
	t->sum.ns = stats_add(t->sum.ns, ns);
	t->sum.in_steps_ns = stats_add(t->sum.in_steps_ns, in_steps_ns);
	if (!t->sum.gaps || t->last_gap_ns != gap_start_ns) {
		t->sum.gaps++;
		t->last_gap_ns = gap_start_ns;
		t->last_ns = 0;
	}
	t->last_ns = stats_add(t->last_ns, ns);
	if (t->last_ns > t->sum.longest_ns)
		t->sum.longest_ns = t->last_ns;
	return 0;
}

int idle_section_put(struct idle_section *s, size_t place, const struct idle_cause *sum)
{
	struct idle_totals *t = totals_of(s, place, sum->latency);

	if (!t)
		return -1;
	t->sum.ns = stats_add(t->sum.ns, sum->ns);
	t->sum.in_steps_ns = stats_add(t->sum.in_steps_ns, sum->in_steps_ns);
	t->sum.gaps += sum->gaps;
	if (sum->longest_ns > t->sum.longest_ns)
		t->sum.longest_ns = sum->longest_ns;
	return 0;
}

/* A part of a gap in which everything was recorded; `launch` ended it. */
static int add_gap(struct idle_gaps *g, uint32_t section, const struct gpu_call *launch,
		   uint32_t thread, int64_t start_ns, int64_t end_ns, struct time_places *places)
{
	struct idle_section *s = &g->sections[section];
	int64_t launched_ns = launch->end_ns < start_ns ? start_ns
			      : launch->end_ns < end_ns ? launch->end_ns
							: end_ns;
	struct track *gaps = &g->threads[thread];
	const struct piece gap = { start_ns, launched_ns, section, (uint32_t)gaps->count };

	if (start_ns < 0) /* before the recording began: a hostile file */
		return 0;
	if (end_ns > launched_ns) {
		size_t place = time_places_find(
			places, &(struct time_place){ TIME_LAUNCH, launch->stack, NO_FUNCTION,
						      NO_FUNCTION, 0 });

		if (place == SIZE_MAX ||
		    idle_section_add(s, place, true, start_ns, end_ns - launched_ns,
				     track_overlap_ns(&s->steps, launched_ns, end_ns)))
			return -1;
	}
	return track_add(gaps, &gap);
}

/* Without the pauses of the recording, in which that is unknown. */
static int add_recorded(struct idle_gaps *g, const struct analysis_gpu *gpu, uint32_t section,
			const struct gpu_activity *ends, int64_t start_ns,
			struct time_places *places)
{
	const struct gpu_section *s = &gpu->sections[section];
	const struct gpu_call *launch;
	uint32_t thread;

	if (!ends->linked)
		return 0;
	launch = gpu_call(gpu->timeline, ends->link);
	thread = gpu_call_api(gpu->timeline, launch)->thread;
	if (!gpu_paused_between(s, start_ns, ends->start_ns))
		return add_gap(g, section, launch, thread, start_ns, ends->start_ns, places);
	for (size_t i = 0; i < s->pause_count && start_ns < ends->start_ns; i++) {
		const struct gpu_pause *p = &s->pauses[i];

		if (p->end_ns <= start_ns)
			continue;
		if (p->start_ns >= ends->start_ns)
			break;
		if (p->start_ns > start_ns &&
		    add_gap(g, section, launch, thread, start_ns, p->start_ns, places))
			return -1;
		start_ns = p->end_ns;
	}
	return start_ns < ends->start_ns
		       ? add_gap(g, section, launch, thread, start_ns, ends->start_ns, places)
		       : 0;
}

static uint32_t section_at(const struct analysis_gpu *gpu, uint32_t process)
{
	const struct gpu_section *s = gpu_section_find(gpu, process);

	return s ? (uint32_t)(s - gpu->sections) : UINT32_MAX;
}

int idle_gaps_find(struct idle_gaps *g, const struct analysis_gpu *gpu, struct time_places *places)
{
	size_t n = gpu_activity_count(gpu->timeline);

	for (size_t i = 0, next; i < n; i = next) {
		uint32_t process =
			gpu_activity_work(gpu->timeline, gpu_activity(gpu->timeline, i))->process;
		uint32_t section = section_at(gpu, process);
		const struct gpu_activity *a;
		bool record_run = false;
		int64_t until_ns = 0;

		for (next = i; next < n; next++) {
			a = gpu_activity(gpu->timeline, next);
			if (gpu_activity_work(gpu->timeline, a)->process != process)
				break;
			if (!a->timed || section == UINT32_MAX)
				continue;
			if (record_run && a->start_ns > until_ns &&
			    add_recorded(g, gpu, section, a, until_ns, places))
				return -1;
			if (!record_run || a->end_ns > until_ns)
				until_ns = a->end_ns;
			record_run = true;
		}
	}
	return 0;
}

/* By a total order of causes, those of latency last. */
static int order(const void *a, const void *b, int (*by)(const void *, const void *))
{
	const struct idle_cause *x = a, *y = b;
	const struct time_cause p = idle_time_cause(x), q = idle_time_cause(y);

	if (x->latency != y->latency)
		return x->latency ? 1 : -1;
	return by(&p, &q);
}

static int by_called(const void *a, const void *b)
{
	return order(a, b, time_cause_called);
}

static int identity(const void *a, const void *b)
{
	return order(a, b, time_cause_identity);
}

/* What steps wait for is seen again and again; the rest is the start of a program, mostly. */
static int most_first(const void *a, const void *b)
{
	const struct idle_cause *x = a, *y = b;

	if (x->in_steps_ns != y->in_steps_ns)
		return x->in_steps_ns > y->in_steps_ns ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return identity(a, b);
}

typedef int (*cause_compare)(const struct time_cause *, const struct time_cause *);

static bool same(const struct idle_cause *x, const struct idle_cause *y, cause_compare compare)
{
	const struct time_cause p = idle_time_cause(x), q = idle_time_cause(y);

	return x->latency == y->latency && !compare(&p, &q);
}

/* Puts neighbours together that are the same; returns how many are left. */
static size_t merge(struct idle_cause *items, size_t count, cause_compare compare)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct idle_cause *into = n ? &items[n - 1] : NULL;

		if (!into || !same(into, &items[i], compare)) {
			items[n++] = items[i];
			continue;
		}
		if (!into->waited_for.name)
			into->waited_for = items[i].waited_for;
		into->ns = stats_add(into->ns, items[i].ns);
		into->in_steps_ns = stats_add(into->in_steps_ns, items[i].in_steps_ns);
		into->gaps += items[i].gaps;
		if (items[i].longest_ns > into->longest_ns)
			into->longest_ns = items[i].longest_ns;
	}
	return n;
}

/* As the causes of steps are (breakdown_collect.c): first by what was called. */
static size_t merge_causes(struct idle_cause *items, size_t n)
{
	if (!n)
		return 0;
	qsort(items, n, sizeof(*items), by_called);
	n = merge(items, n, time_cause_compare_called);
	for (size_t i = 0; i < n; i++)
		items[i].inner_ns = items[i].ns;
	qsort(items, n, sizeof(*items), identity);
	n = merge(items, n, time_cause_compare);
	qsort(items, n, sizeof(*items), most_first);
	return n;
}

static int finish_section(const struct idle_section *s, struct gpu_section *out,
			  const struct analysis *a, const struct time_places *places,
			  const struct timeline *tl)
{
	struct idle_blame *blame = &out->blame;
	int64_t explained_ns = s->no_load_ns;

	blame->items = calloc(s->count + 1, sizeof(*blame->items));
	if (!blame->items)
		return -1;
	for (size_t i = 0; i < s->count; i++) {
		struct idle_cause *c = &blame->items[i];
		struct time_cause named = time_place_name(&places->items[s->items[i].place], a, tl);

		*c = s->items[i].sum;
		c->what = named.what;
		c->where = named.where;
		c->inner = named.inner;
		c->waited_for = named.waited_for;
		explained_ns = stats_add(explained_ns, c->ns);
	}
	blame->count = merge_causes(blame->items, s->count);
	blame->no_load_ns = s->no_load_ns;
	blame->unexplained_ns = out->idle_ns > explained_ns ? out->idle_ns - explained_ns : 0;
	return 0;
}

int idle_gaps_finish(struct idle_gaps *g, struct analysis *a, const struct time_places *places,
		     const struct timeline *tl)
{
	for (size_t i = 0; i < g->section_count; i++) {
		if (finish_section(&g->sections[i], &a->gpu.sections[i], a, places, tl))
			return -1;
	}
	return 0;
}
