/* What launches, waits and copies take on the machine of a trace: medians of what it shows. */
#include <stdlib.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "replay/replay_graph.h"

/* Where a trace shows none: H200, driver 580 (docs/WHATIF.md). */
#define LAUNCH_NS 6000
#define GAP_NS 1000
#define RETURN_NS 8000
#define CALL_NS 4000
#define GRAPH_NS 12000

#define SAMPLES_MOST 100000u /* of a kind: a median needs no more */
#define FEW 5u
#define COPY_BYTES 1000000u /* smaller ones do not show the bandwidth */

struct samples {
	int64_t *items;
	size_t count, cap;
	bool failed;
};

static void add(struct samples *s, int64_t ns)
{
	int64_t *grown;

	if (ns < 0 || s->count >= SAMPLES_MOST || s->failed)
		return;
	grown = array_grow(s->items, &s->cap, s->count + 1, sizeof(*grown));
	if (!grown) {
		s->failed = true;
		return;
	}
	s->items = grown;
	grown[s->count++] = ns;
}

static int64_t median(struct samples *s, int64_t otherwise)
{
	if (s->count < FEW)
		return otherwise;
	stats_sort(s->items, s->count);
	return stats_percentile(s->items, s->count, 0.5);
}

bool graph_call_waits(enum cuda_call what)
{
	return what == CUDA_CALL_SYNC_DEVICE || what == CUDA_CALL_SYNC_STREAM ||
	       what == CUDA_CALL_SYNC_EVENT;
}

void graph_activities(const struct graph *g, int64_t start_ns, int64_t end_ns, size_t *first,
		      size_t *last)
{
	const struct gpu_section *s = gpu_section_find(&g->analysis->gpu, g->log->process);
	size_t end;

	*first = *last = 0;
	if (!s || !s->busy)
		return;
	end = s->busy->first + s->busy->count;
	*first = s->busy->first;
	BISECT(*first, end, gpu_activity(g->gpu, *first)->start_ns < start_ns);
	*last = *first;
	BISECT(*last, end, gpu_activity(g->gpu, *last)->start_ns < end_ns);
}

enum { LAUNCH, GRAPH_START, GAP, RETURN, CALL, GRAPH, H2D, D2H, KINDS };

/* An activity after the one before it in time: of the same stream its launch, or its place. */
static void add_activity(struct samples *s, const struct graph *g, const struct gpu_activity *a,
			 const struct gpu_activity *before)
{
	const struct gpu_work *w = gpu_activity_work(g->gpu, a);
	const struct gpu_call *c = a->linked ? gpu_call(g->gpu, a->link) : NULL;

	if (!is_span(a->start_ns, a->end_ns) ||
	    (before && !is_span(before->start_ns, before->end_ns)) ||
	    (c && !is_span(c->start_ns, c->end_ns)))
		return;
	if (c && before && before->end_ns < c->start_ns)
		add(&s[gpu_call_api(g->gpu, c)->what == CUDA_CALL_GRAPH_LAUNCH ? GRAPH_START
									       : LAUNCH],
		    a->start_ns - c->start_ns);
	if (c && before && before->end_ns > c->end_ns + LAUNCH_NS &&
	    gpu_activity_work(g->gpu, before)->stream == w->stream)
		add(&s[GAP], a->start_ns - before->end_ns);
	if (w->kind != GPU_COPY || w->bytes < COPY_BYTES)
		return;
	/* In picoseconds for a byte, to keep them integers. */
	if (w->copy == GPU_COPY_HOST_TO_DEVICE && w->source == GPU_MEMORY_PINNED)
		add(&s[H2D], (int64_t)((double)(a->end_ns - a->start_ns) * 1e3 / (double)w->bytes));
	if (w->copy == GPU_COPY_DEVICE_TO_HOST && w->destination == GPU_MEMORY_PINNED)
		add(&s[D2H], (int64_t)((double)(a->end_ns - a->start_ns) * 1e3 / (double)w->bytes));
}

#define LOOKED_BACK 16u /* activities: one of the last ended a wait */

/* How long after the end of work the call returned that waited for it. */
static void add_return(struct samples *s, const struct graph *g, const struct gpu_call *c)
{
	int64_t ended_ns = INT64_MIN;
	size_t first, last;

	graph_activities(g, INT64_MIN, c->end_ns, &first, &last);
	for (size_t i = last; i > first && last - i < LOOKED_BACK; i--) {
		const struct gpu_activity *a = gpu_activity(g->gpu, i - 1);

		if (a->timed && a->end_ns <= c->end_ns && a->end_ns > ended_ns)
			ended_ns = a->end_ns;
	}
	if (ended_ns > c->start_ns && ended_ns > -TIME_MOST)
		add(&s[RETURN], c->end_ns - ended_ns);
}

static void add_calls(struct samples *s, const struct graph *g, size_t thread,
		      const struct host_window *w)
{
	for (size_t i = gpu_call_find(g->gpu, thread, w->start_ns); i < gpu_call_count(g->gpu);
	     i++) {
		const struct gpu_call *c = gpu_call(g->gpu, i);
		const struct gpu_api *api = gpu_call_api(g->gpu, c);

		if (api->thread != thread || c->start_ns >= w->end_ns)
			break;
		if (!is_span(c->start_ns, c->end_ns))
			continue;
		if (api->what == CUDA_CALL_LAUNCH)
			add(&s[CALL], c->end_ns - c->start_ns);
		else if (api->what == CUDA_CALL_GRAPH_LAUNCH)
			add(&s[GRAPH], c->end_ns - c->start_ns);
		else if (graph_call_waits(api->what))
			add_return(s, g, c);
	}
}

int graph_costs_measure(struct graph_costs *c, const struct graph *g)
{
	struct samples s[KINDS] = { 0 };
	bool failed = false;

	for (size_t i = 0; i < g->log->window_count; i++) {
		const struct host_window *w = &g->log->windows[i];
		const struct gpu_activity *before = NULL;
		size_t first, last;

		graph_activities(g, w->start_ns, w->end_ns, &first, &last);
		for (size_t k = first; k < last; k++) {
			const struct gpu_activity *a = gpu_activity(g->gpu, k);

			add_activity(s, g, a, before);
			if (!before || a->end_ns > before->end_ns)
				before = a;
		}
		for (size_t k = 0; k < g->log->thread_count; k++)
			add_calls(s, g, g->log->threads[k].thread, w);
	}
	*c = (struct graph_costs){
		.launch_ns = median(&s[LAUNCH], LAUNCH_NS),
		.gap_ns = median(&s[GAP], GAP_NS),
		.return_ns = median(&s[RETURN], RETURN_NS),
		.call_ns = median(&s[CALL], CALL_NS),
		.graph_ns = median(&s[GRAPH], GRAPH_NS),
		.graph_start_ns = median(&s[GRAPH_START], GRAPH_NS),
		.h2d_ns_b = s[H2D].count ? (double)median(&s[H2D], s[H2D].items[0]) / 1e3 : 0,
		.d2h_ns_b = s[D2H].count ? (double)median(&s[D2H], s[D2H].items[0]) / 1e3 : 0,
	};
	for (size_t i = 0; i < KINDS; i++) {
		failed |= s[i].failed;
		free(s[i].items);
	}
	return failed ? -1 : 0;
}
