/*
 * Which call started which activity: they carry the same correlation, a number
 * that is unique in its process.  A graph launch starts many.
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/gpu_tables.h"

static int compare_activities(const struct gpu_activity *x, const struct gpu_activity *y)
{
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->timed != y->timed)
		return x->timed ? 1 : -1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int compare_positions(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct gpu_activity *items = ctx;
	int order = compare_activities(&items[x], &items[y]);

	return order ? order : (x > y) - (x < y);
}

/* items[i] becomes items[order[i]], without a second copy of them all; `order` is used up. */
static void permute(struct gpu_activity *items, uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct gpu_activity first = items[i];
		size_t to = i;

		while (order[to] != i) {
			size_t from = order[to];

			items[to] = items[from];
			order[to] = (uint32_t)to;
			to = from;
		}
		items[to] = first;
		order[to] = (uint32_t)to;
	}
}

/* `order` has room for one number of each activity. */
static void sort_activities(struct gpu_timeline *g, uint32_t *order)
{
	size_t n = g->activity_count;
	size_t sorted = 1;

	while (sorted < n &&
	       compare_activities(&g->activities[sorted - 1], &g->activities[sorted]) <= 0)
		sorted++;
	if (sorted >= n)
		return;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_positions, g->activities);
	permute(g->activities, order, n);
}

/*
 * A libcupti that is older than the program's CUDA may give many calls the same
 * number (11.8 under CUDA 13 does): then nothing can be said of who started what.
 */
#define AMBIGUOUS (IDMAP_NONE - 1)

/* Calls of each process by correlation. */
struct call_index {
	struct idmap process_at;
	struct idmap *by_process;
	size_t count;
};

static int call_index_add(struct idmap *calls, uint32_t correlation, uint32_t call)
{
	bool taken = idmap_find(calls, correlation) != IDMAP_NONE;

	return idmap_put(calls, correlation, taken ? AMBIGUOUS : call);
}

static int call_index_init(struct call_index *x, const struct gpu_timeline *g)
{
	size_t processes = trace_process_count(g->trace);

	idmap_init(&x->process_at);
	x->count = 0;
	x->by_process = calloc(processes ? processes : 1, sizeof(*x->by_process));
	if (!x->by_process)
		return -1;
	for (; x->count < processes; x->count++) {
		idmap_init(&x->by_process[x->count]);
		if (idmap_put(&x->process_at, trace_process(g->trace, x->count)->id,
			      (uint32_t)x->count))
			return -1;
	}
	for (size_t i = 0; i < g->call_count; i++) {
		const struct gpu_call *c = &g->calls[i];
		uint32_t process = idmap_find(&x->process_at, c->process);

		if (c->correlation &&
		    call_index_add(&x->by_process[process], c->correlation, (uint32_t)i))
			return -1;
	}
	return 0;
}

static void call_index_release(struct call_index *x)
{
	for (size_t i = 0; i < x->count; i++)
		idmap_release(&x->by_process[i]);
	free(x->by_process);
	idmap_release(&x->process_at);
}

static void join(struct gpu_timeline *g, const struct call_index *x)
{
	for (size_t i = 0; i < g->call_count; i++) {
		g->calls[i].first_activity = GPU_NONE;
		g->calls[i].activities = 0;
	}
	for (size_t i = 0; i < g->activity_count; i++) {
		struct gpu_activity *a = &g->activities[i];
		uint32_t process = idmap_find(&x->process_at, a->process);
		uint32_t call = idmap_find(&x->by_process[process], a->correlation);

		if (call == IDMAP_NONE || call == AMBIGUOUS) {
			g->unmatched_activities++;
			g->ambiguous += call == AMBIGUOUS;
			continue;
		}
		a->call = call;
		if (!g->calls[call].activities++)
			g->calls[call].first_activity = i;
	}
}

/* Activities in order of start, grouped by call; calls in order. */
static void list_links(struct gpu_timeline *g)
{
	uint32_t at = 0;

	for (size_t i = 0; i < g->call_count; i++) {
		g->link_at[i] = at;
		at += (uint32_t)g->calls[i].activities;
	}
	for (size_t i = 0; i < g->activity_count; i++) {
		size_t call = g->activities[i].call;

		if (call != GPU_NONE)
			g->links[g->link_at[call]++] = (uint32_t)i;
	}
	for (size_t i = 0; i < g->call_count; i++)
		g->link_at[i] -= (uint32_t)g->calls[i].activities;
}

/* Launches that started nothing; those between begin and end of a capture need not. */
static void count_launches(struct gpu_timeline *g)
{
	size_t thread = SIZE_MAX;
	bool capturing = false;

	for (size_t i = 0; i < g->call_count; i++) {
		const struct gpu_call *c = &g->calls[i];

		if (c->thread != thread)
			capturing = false;
		thread = c->thread;
		if (c->what == CUDA_CALL_GRAPH_BUILD && strstr(c->name, "BeginCapture"))
			capturing = true;
		else if (c->what == CUDA_CALL_GRAPH_BUILD && strstr(c->name, "EndCapture"))
			capturing = false;
		else if ((c->what == CUDA_CALL_LAUNCH || c->what == CUDA_CALL_GRAPH_LAUNCH) &&
			 !c->activities && !capturing)
			g->unmatched_launches++;
	}
}

int gpu_link(struct gpu_timeline *g)
{
	struct call_index index;
	int rc = -1;

	g->links = malloc((g->activity_count + 1) * sizeof(*g->links));
	g->link_at = malloc((g->call_count + 1) * sizeof(*g->link_at));
	if (!g->links || !g->link_at)
		return -1;
	sort_activities(g, g->links);
	if (!call_index_init(&index, g)) {
		join(g, &index);
		list_links(g);
		count_launches(g);
		rc = 0;
	}
	call_index_release(&index);
	return rc;
}
