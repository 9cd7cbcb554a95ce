#include "analyze/breakdown/step_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/stack_class.h"
#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"

int idle_gaps_init(struct idle_gaps *g, const struct analysis_gpu *gpu, size_t threads,
		   bool keep_parts)
{
	size_t sections = gpu->section_count;

	memset(g, 0, sizeof(*g));
	g->gpu = gpu;
	g->sections = calloc(sections + 1, sizeof(*g->sections));
	g->threads = calloc(threads + 1, sizeof(*g->threads));
	if (!g->sections || !g->threads)
		return -1;
	g->section_count = sections;
	g->thread_count = threads;
	for (size_t i = 0; i < sections; i++) {
		pair_map_init(&g->sections[i].at);
		g->sections[i].keep_parts = keep_parts;
	}
	return 0;
}

void idle_gaps_release(struct idle_gaps *g)
{
	for (size_t i = 0; i < g->section_count; i++) {
		free(g->sections[i].items);
		free(g->sections[i].parts);
		pair_map_release(&g->sections[i].at);
		track_release(&g->sections[i].steps);
	}
	for (size_t i = 0; i < g->thread_count; i++)
		free(g->threads[i].items);
	free(g->sections);
	free(g->threads);
	memset(g, 0, sizeof(*g));
}

static struct idle_totals *totals_of(struct idle_section *s, size_t place, bool latency)
{
	uint32_t *recent = &s->recent[(place * 2 + latency) % TOTALS_RECENT];
	struct idle_totals *grown;
	size_t at;

	if (*recent && s->items[*recent - 1].place == place &&
	    s->items[*recent - 1].sum.latency == latency)
		return &s->items[*recent - 1];
	at = pair_map_find(&s->at, place, latency);
	if (at != PAIR_NONE) {
		*recent = at < UINT32_MAX ? (uint32_t)at + 1 : 0;
		return &s->items[at];
	}
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

int idle_section_part(struct idle_section *s, size_t place, bool latency, int64_t start_ns,
		      int64_t end_ns)
{
	struct idle_part *last = s->part_count ? &s->parts[s->part_count - 1] : NULL;
	uint32_t cause;
	size_t at;

	if (!s->keep_parts)
		return 0;
	at = place == SIZE_MAX ? PAIR_NONE : pair_map_find(&s->at, place, latency);
	cause = at == PAIR_NONE ? IDLE_NO_LOAD : (uint32_t)at;

	if (start_ns >= end_ns)
		return 0;
	if (last && last->cause == cause && last->end_ns == start_ns) {
		last->end_ns = end_ns;
		return 0;
	}
	last = array_grow(s->parts, &s->part_cap, s->part_count + 1, sizeof(*last));
	if (!last)
		return -1;
	s->parts = last;
	s->parts[s->part_count++] = (struct idle_part){ start_ns, end_ns, cause };
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

/* A part of a gap in which everything was recorded. */
struct gap_part {
	int64_t start_ns;
	int64_t launched_ns; /* when the call returned that launched what ended the gap; */
	int64_t end_ns;      /* the rest is the device's own */
};

/* The parts of a gap before an activity: what was paused in between is unknown. */
struct gap_parts {
	const struct gpu_section *section;
	int64_t now_ns, end_ns, returned_ns;
	size_t next_pause;
};

static void parts_begin(struct gap_parts *p, const struct gpu_section *s,
			const struct gpu_call *launch, int64_t start_ns, int64_t end_ns)
{
	*p = (struct gap_parts){ s, start_ns, end_ns, launch->end_ns, 0 };
	BISECT(p->next_pause, s->pause_count, s->pauses[p->next_pause].end_ns <= start_ns);
}

static bool parts_next(struct gap_parts *p, struct gap_part *out)
{
	const struct gpu_section *s = p->section;

	while (p->now_ns < p->end_ns) {
		const struct gpu_pause *pause =
			p->next_pause < s->pause_count ? &s->pauses[p->next_pause++] : NULL;
		int64_t end_ns = pause && pause->start_ns < p->end_ns ? pause->start_ns : p->end_ns;

		*out = (struct gap_part){ p->now_ns, p->returned_ns, end_ns };
		p->now_ns = end_ns < p->end_ns ? pause->end_ns : p->end_ns;
		if (out->launched_ns < out->start_ns)
			out->launched_ns = out->start_ns;
		if (out->launched_ns > end_ns)
			out->launched_ns = end_ns;
		/* One before the recording began: a hostile file. */
		if (out->start_ns >= 0 && out->start_ns < end_ns)
			return true;
	}
	return false;
}

/* What the thread itself did in a part is found when its time is swept. */
static int list_add(struct gap_list *l, uint32_t section, size_t activity,
		    const struct gap_part *part)
{
	uint32_t *grown;

	if (part->launched_ns <= part->start_ns || (l->count && part->launched_ns <= l->last_ns))
		return 0;
	if (!l->count) {
		l->section = section;
		l->first_ns = part->start_ns;
	}
	l->last_ns = part->launched_ns;
	if (l->count && l->items[l->count - 1] == activity)
		return 0;
	grown = array_grow(l->items, &l->cap, l->count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	l->items = grown;
	grown[l->count++] = (uint32_t)activity;
	return 0;
}

static int add_latency(struct idle_section *s, const struct gap_part *part, uint32_t stack,
		       struct time_places *places)
{
	const struct time_place launch = { TIME_LAUNCH, stack, NO_FUNCTION, NO_FUNCTION, 0 };
	size_t place;

	if (part->end_ns <= part->launched_ns)
		return 0;
	place = time_places_find(places, &launch);
	if (place == SIZE_MAX)
		return -1;
	if (idle_section_add(s, place, true, part->start_ns, part->end_ns - part->launched_ns,
			     track_overlap_ns(&s->steps, part->launched_ns, part->end_ns)))
		return -1;
	return idle_section_part(s, place, true, part->launched_ns, part->end_ns);
}

/* The device had nothing to do from start_ns until an activity began. */
static int add_gap(struct idle_gaps *g, uint32_t section, size_t activity, int64_t start_ns,
		   struct time_places *places)
{
	const struct gpu_timeline *gpu = g->gpu->timeline;
	const struct gpu_activity *ends = gpu_activity(gpu, activity);
	const struct gpu_call *launch;
	struct gap_parts parts;
	struct gap_part part;
	uint32_t thread;

	if (!ends->linked)
		return 0;
	launch = gpu_call(gpu, ends->link);
	thread = gpu_call_api(gpu, launch)->thread;
	parts_begin(&parts, &g->gpu->sections[section], launch, start_ns, ends->start_ns);
	while (parts_next(&parts, &part))
		if (add_latency(&g->sections[section], &part, launch->stack, places) ||
		    list_add(&g->threads[thread], section, activity, &part))
			return -1;
	return 0;
}

static bool next_gap(void *ctx, struct track *t)
{
	struct gap_source *s = ctx;
	const struct gpu_timeline *g = s->gpu->timeline;
	const struct gpu_section *section;
	const struct gpu_activity *ends;
	struct gap_parts parts;
	struct gap_part part;
	size_t activity;

	if (s->next == s->list->count)
		return false;
	section = &s->gpu->sections[s->list->section];
	activity = s->list->items[s->next++];
	ends = gpu_activity(g, activity);
	parts_begin(&parts, section, gpu_call(g, ends->link),
		    gpu_busy_until(section, activity, &s->busy), ends->start_ns);
	while (!t->failed && parts_next(&parts, &part)) {
		const struct piece gap = { part.start_ns, part.launched_ns, s->list->section,
					   s->number++ };

		t->failed = track_add(t, &gap) != 0;
	}
	return !t->failed;
}

void gaps_open(struct track *t, struct gap_source *s, const struct idle_gaps *g, size_t thread)
{
	*s = (struct gap_source){ .gpu = g->gpu, .list = &g->threads[thread] };
	track_open(t, next_gap, s);
}

static uint32_t section_at(const struct analysis_gpu *gpu, uint32_t process)
{
	const struct gpu_section *s = gpu_section_find(gpu, process);

	return s ? (uint32_t)(s - gpu->sections) : UINT32_MAX;
}

int idle_gaps_find(struct idle_gaps *g, struct time_places *places)
{
	const struct gpu_timeline *gpu = g->gpu->timeline;
	size_t n = gpu_activity_count(gpu);

	for (size_t i = 0, next; i < n; i = next) {
		uint32_t process = gpu_activity_work(gpu, gpu_activity(gpu, i))->process;
		uint32_t section = section_at(g->gpu, process);
		const struct gpu_activity *a;
		bool record_run = false;
		int64_t until_ns = 0;

		for (next = i; next < n; next++) {
			a = gpu_activity(gpu, next);
			if (gpu_activity_work(gpu, a)->process != process)
				break;
			if (!a->timed || section == UINT32_MAX)
				continue;
			if (record_run && a->start_ns > until_ns &&
			    add_gap(g, section, next, until_ns, places))
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

static int by_start(const void *a, const void *b)
{
	const struct idle_part *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->cause < y->cause ? -1 : x->cause > y->cause;
}

static int finish_section(struct idle_section *s, struct gpu_section *out, const struct analysis *a,
			  const struct time_places *places, const struct timeline *tl)
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
	blame->part_causes = calloc(s->count + 1, sizeof(*blame->part_causes));
	if (!blame->part_causes)
		return -1;
	memcpy(blame->part_causes, blame->items, s->count * sizeof(*blame->items));
	blame->part_cause_count = s->count;
	if (s->part_count)
		qsort(s->parts, s->part_count, sizeof(*s->parts), by_start);
	blame->parts = s->parts;
	blame->part_count = s->part_count;
	s->parts = NULL;
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
