/*
 * Which call started which activity: they carry the same correlation, a number
 * that is unique in its process.  A graph launch starts many.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/gpu_tables.h"

/* A graph in a graph in a graph ...: no program comes near, a damaged trace goes in circles. */
#define COPIES_MAX 64

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a node's number is a value of a pair_map");

void graph_nodes_init(struct graph_nodes *n)
{
	memset(n, 0, sizeof(*n));
	pair_map_init(&n->made);
	pair_map_init(&n->copied);
}

void graph_nodes_release(struct graph_nodes *n)
{
	pair_map_release(&n->made);
	pair_map_release(&n->copied);
	free(n->captures);
	free(n->links);
	free(n->link_at);
	memset(n, 0, sizeof(*n));
}

int graph_nodes_add(struct graph_nodes *n, const struct gpu_capture *made, uint64_t node)
{
	struct gpu_capture *grown;

	if (n->count >= GPU_NONE)
		return -1;
	grown = array_grow(n->captures, &n->cap, n->count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	n->captures = grown;
	if (pair_map_put(&n->made, made->process, node, n->count))
		return -1;
	grown[n->count++] = *made;
	return 0;
}

int graph_nodes_clone(struct graph_nodes *n, uint32_t process, uint64_t node, uint64_t original)
{
	return original == PAIR_NONE ? 0 : pair_map_put(&n->copied, process, node, original);
}

uint32_t graph_nodes_find(const struct graph_nodes *n, uint32_t process, uint64_t node)
{
	size_t at;

	/*
	 * CUPTI reports the copy of a node also as created, by the thread that copied it: follow
	 * the copies to the original.
	 */
	for (int i = 0; i < COPIES_MAX; i++) {
		size_t original = pair_map_find(&n->copied, process, node);

		if (original == PAIR_NONE)
			break;
		node = original;
	}
	at = pair_map_find(&n->made, process, node);
	return at == PAIR_NONE ? GPU_NONE : (uint32_t)at;
}

int graph_nodes_link(struct graph_nodes *n, const struct gpu_lists *lists, size_t work_count)
{
	size_t count = lists->activity_count;
	uint32_t at = 0;

	if (!n->count)
		return 0;
	n->links = calloc(count + 1, sizeof(*n->links));
	n->link_at = calloc(n->count + 1, sizeof(*n->link_at));
	if (!n->links || !n->link_at)
		return -1;
	for (size_t i = 0; i < work_count; i++) {
		struct gpu_work *w = &lists->works[i];

		if (w->graph_node)
			w->capture = graph_nodes_find(n, w->process, w->graph_node);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t capture = lists->works[lists->activities[i].work].capture;

		if (capture != GPU_NONE)
			n->captures[capture].activities++;
	}
	for (size_t i = 0; i < n->count; i++) {
		n->link_at[i] = at;
		at += (uint32_t)n->captures[i].activities;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t capture = lists->works[lists->activities[i].work].capture;

		if (capture != GPU_NONE)
			n->links[n->link_at[capture]++] = (uint32_t)i;
	}
	for (size_t i = 0; i < n->count; i++)
		n->link_at[i] -= (uint32_t)n->captures[i].activities;
	return 0;
}

static int compare_activities(const struct gpu_lists *lists, const struct gpu_activity *x,
			      const struct gpu_activity *y)
{
	uint32_t p = lists->works[x->work].process, q = lists->works[y->work].process;

	if (p != q)
		return p < q ? -1 : 1;
	if (x->timed != y->timed)
		return x->timed ? 1 : -1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int compare_positions(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct gpu_lists *lists = ctx;
	int order = compare_activities(lists, &lists->activities[x], &lists->activities[y]);

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

/* Most come in order.  -1: no memory. */
static int sort_activities(struct gpu_lists *lists)
{
	size_t n = lists->activity_count, sorted = 1;
	uint32_t *order;

	while (sorted < n && compare_activities(lists, &lists->activities[sorted - 1],
						&lists->activities[sorted]) <= 0)
		sorted++;
	if (sorted >= n)
		return 0;
	order = malloc(n * sizeof(*order));
	if (!order)
		return -1;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_positions, lists);
	permute(lists->activities, order, n);
	free(order);
	return 0;
}

/*
 * A libcupti that is older than the program's CUDA may give many calls the same
 * number (11.8 under CUDA 13 does): then nothing can be said of who started what.
 */
#define UNKNOWN UINT32_MAX
#define AMBIGUOUS (UNKNOWN - 1)

#define NEAR 8u /* calls that are checked one by one before the search */

/*
 * When the recording of a process paused.  CUPTI may number calls anew after that (13.0 was seen
 * to, after several), and what was started before has ended or is not recorded.
 */
struct pause {
	uint32_t process;
	int64_t time_ns;
};

struct pauses {
	struct pause *items; /* in order of processes and times */
	size_t count;
};

/* A call by its process and correlation, and how often its process had paused; unique in the index.
 */
struct numbered {
	uint64_t number;
	uint32_t pauses;
	uint32_t call; /* or AMBIGUOUS */
};

struct call_index {
	struct numbered *items; /* in order of their numbers */
	size_t count;
	size_t at; /* that was found last */
	struct pauses pauses;
};

static int by_process_and_time(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int pauses_init(struct pauses *p, const struct gpu_timeline *g)
{
	p->count = 0;
	p->items = malloc((g->change_count + 1) * sizeof(*p->items));
	if (!p->items)
		return -1;
	for (size_t i = 0; i < g->change_count; i++) {
		if (g->changes[i].state == GPU_STATE_PAUSED)
			p->items[p->count++] =
				(struct pause){ g->changes[i].process, g->changes[i].time_ns };
	}
	qsort(p->items, p->count, sizeof(*p->items), by_process_and_time);
	return 0;
}

/*
 * Number of pauses, of this and earlier processes, before a time: equal numbers mean the same
 * interval between pauses.
 */
static uint32_t pauses_before(const struct pauses *p, uint32_t process, int64_t time_ns)
{
	const struct pause key = { process, time_ns };
	size_t at = 0;

	BISECT(at, p->count, by_process_and_time(&p->items[at], &key) <= 0);
	return (uint32_t)at;
}

static uint64_t number_of(uint32_t process, uint32_t correlation)
{
	return (uint64_t)process << 32 | correlation;
}

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->pauses > y->pauses) - (x->pauses < y->pauses);
}

static int call_index_init(struct call_index *x, const struct gpu_timeline *g)
{
	bool sorted = true;
	size_t n = 0;

	x->count = x->at = 0;
	x->items = malloc((gpu_call_count(g) + 1) * sizeof(*x->items));
	if (pauses_init(&x->pauses, g) || !x->items)
		return -1;
	for (size_t i = 0; i < gpu_call_count(g); i++) {
		const struct gpu_call *c = gpu_call(g, i);
		uint32_t process = gpu_call_api(g, c)->process;
		struct numbered *item = &x->items[n];

		if (!c->correlation)
			continue;
		*item = (struct numbered){ number_of(process, c->correlation),
					   pauses_before(&x->pauses, process, c->start_ns),
					   (uint32_t)i };
		sorted = sorted && (!n || by_number(item - 1, item) <= 0);
		n++;
	}
	if (!sorted)
		qsort(x->items, n, sizeof(*x->items), by_number);
	for (size_t i = 0; i < n; i++) {
		if (x->count && !by_number(&x->items[x->count - 1], &x->items[i]))
			x->items[x->count - 1].call = AMBIGUOUS;
		else
			x->items[x->count++] = x->items[i];
	}
	return 0;
}

static size_t first_not_below(const struct call_index *x, const struct numbered *key)
{
	size_t at = 0;

	BISECT(at, x->count, by_number(&x->items[at], key) < 0);
	return at;
}

/* Work mostly begins in the order of its calls: what is wanted comes soon after the last one. */
static uint32_t call_index_find(struct call_index *x, const struct numbered *key)
{
	size_t at = x->at;

	while (at < x->count && at < x->at + NEAR && by_number(&x->items[at], key) < 0)
		at++;
	if (at == x->count || by_number(&x->items[at], key))
		at = first_not_below(x, key);
	if (at == x->count || by_number(&x->items[at], key))
		return UNKNOWN;
	x->at = at;
	return x->items[at].call;
}

/* Activities learn their calls; calls how many activities they started, in their link. */
static void join(struct gpu_timeline *g, struct call_index *x)
{
	for (size_t i = 0; i < gpu_call_count(g); i++)
		g->lists.calls[i].link = 0;
	for (size_t i = 0; i < gpu_activity_count(g); i++) {
		struct gpu_activity *a = &g->lists.activities[i];
		uint32_t process = gpu_activity_work(g, a)->process;
		const struct numbered key = {
			.number = number_of(process, a->link),
			.pauses = pauses_before(&x->pauses, process, a->start_ns),
		};
		uint32_t call = call_index_find(x, &key);

		if (call == UNKNOWN || call == AMBIGUOUS) {
			g->unmatched_activities++;
			g->ambiguous += call == AMBIGUOUS;
			continue;
		}
		a->linked = true;
		a->link = call;
		g->lists.calls[call].link++;
	}
}

/* Room in links for the calls with several activities: those are counted anew there. */
static int links_place(struct gpu_lists *lists)
{
	size_t n = 0;

	for (size_t i = 0; i < lists->call_count; i++)
		n += lists->calls[i].link > 1 ? lists->calls[i].link + 1u : 0;
	lists->links = malloc((n + 1) * sizeof(*lists->links));
	if (!lists->links)
		return -1;
	n = 0;
	for (size_t i = 0; i < lists->call_count; i++) {
		struct gpu_call *c = &lists->calls[i];
		uint32_t count = c->link;

		c->link = count ? 0 : GPU_NONE;
		if (count < 2)
			continue;
		c->link = GPU_LINKS | (uint32_t)n;
		lists->links[n] = 0;
		n += count + 1u;
	}
	return 0;
}

/* In order of their start. */
static void links_fill(struct gpu_lists *lists)
{
	for (size_t i = 0; i < lists->activity_count; i++) {
		const struct gpu_activity *a = &lists->activities[i];
		struct gpu_call *c = a->linked ? &lists->calls[a->link] : NULL;
		uint32_t *several;

		if (!c)
			continue;
		if (!(c->link & GPU_LINKS)) {
			c->link = (uint32_t)i;
			continue;
		}
		several = &lists->links[c->link - GPU_LINKS];
		several[++*several] = (uint32_t)i;
	}
}

/* Launches that started nothing; those between begin and end of a capture need not. */
static void count_launches(struct gpu_timeline *g)
{
	size_t thread = SIZE_MAX;
	bool capturing = false;

	for (size_t i = 0; i < gpu_call_count(g); i++) {
		const struct gpu_call *c = gpu_call(g, i);
		const struct gpu_api *api = gpu_call_api(g, c);

		if (api->thread != thread)
			capturing = false;
		thread = api->thread;
		if (api->what == CUDA_CALL_GRAPH_BUILD && strstr(api->name, "BeginCapture"))
			capturing = true;
		else if (api->what == CUDA_CALL_GRAPH_BUILD && strstr(api->name, "EndCapture"))
			capturing = false;
		else if ((api->what == CUDA_CALL_LAUNCH || api->what == CUDA_CALL_GRAPH_LAUNCH) &&
			 c->link == GPU_NONE && !capturing)
			g->unmatched_launches++;
	}
}

int gpu_link(struct gpu_timeline *g)
{
	struct call_index index = { 0 };
	int rc = -1;

	if (!sort_activities(&g->lists) && !call_index_init(&index, g)) {
		join(g, &index);
		rc = 0;
	}
	free(index.items);
	free(index.pauses.items);
	if (rc || links_place(&g->lists))
		return -1;
	links_fill(&g->lists);
	count_launches(g);
	return 0;
}
