/*
 * From the log of the host to nodes, window by window: threads first, then the device
 * (graph_device.c), then what waits for what (graph_waits.c); graph_sort.c orders them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "replay/replay_graph.h"

struct node *graph_node_push(struct graph *g, enum node_kind kind, int64_t start_ns, int64_t end_ns)
{
	struct node *grown = array_grow(g->nodes, &g->node_cap, g->node_count + 1, sizeof(*grown));
	struct node *n;

	if (!grown)
		return NULL;
	g->nodes = grown;
	if (g->node_count >= NODE_NONE)
		return NULL;
	n = &grown[g->node_count++];
	*n = (struct node){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.own_ns = end_ns - start_ns,
		.prev = NODE_NONE,
		.place = HOST_NONE,
		.call = GPU_NONE,
		.activity = GPU_NONE,
		.kind = kind,
	};
	for (size_t i = 0; i < NODE_DEPS; i++)
		n->deps[i] = NODE_NONE;
	return n;
}

/* A moment at which a node of a thread has to end. */
struct cut {
	size_t thread; /* position */
	int64_t time_ns;
};

struct cuts {
	struct cut *items;
	size_t count, cap;
};

static int by_thread_and_time(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int cut_add(struct cuts *c, size_t thread, int64_t time_ns)
{
	struct cut *grown = array_grow(c->items, &c->cap, c->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	c->items = grown;
	grown[c->count++] = (struct cut){ thread, time_ns };
	return 0;
}

/* The pieces of a thread that lie in a window, perhaps partly: [*first, *last). */
static void pieces_of(const struct host_log *l, const struct host_thread *t,
		      const struct host_window *w, size_t *first, size_t *last)
{
	size_t end = t->first + t->count;

	*first = t->first;
	BISECT(*first, end, l->pieces[*first].end_ns <= w->start_ns);
	*last = *first;
	BISECT(*last, end, l->pieces[*last].start_ns < w->end_ns);
}

/* Steps begin and end there, and threads go on because of what others have done until then. */
static int find_cuts(struct cuts *c, const struct graph *g, const struct host_window *w)
{
	const struct host_log *l = g->log;

	c->count = 0;
	for (size_t i = 0; i < w->step_count; i++) {
		const struct step_item *s = &l->steps[w->first_step + i];

		if (cut_add(c, s->thread, s->start_ns) || cut_add(c, s->thread, s->end_ns))
			return -1;
	}
	for (size_t i = 0; i < l->thread_count; i++) {
		size_t first, last;

		pieces_of(l, &l->threads[i], w, &first, &last);
		for (; first < last; first++)
			if (l->pieces[first].other != HOST_NONE &&
			    cut_add(c, l->pieces[first].other, l->pieces[first].end_ns))
				return -1;
	}
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_thread_and_time);
	return 0;
}

/* Where the making of a thread's nodes stands. */
struct thread_walk {
	struct graph *graph;
	struct thread_nodes *to;
	const struct cut *cut, *last_cut;
	size_t call; /* the next one, counted from the window's first */
	size_t in;   /* the one that the thread is in; SIZE_MAX */
	int64_t now_ns;
};

static const struct gpu_call *call_at(const struct thread_walk *w, size_t i)
{
	return gpu_call(w->graph->gpu, w->to->first_call + i);
}

static uint32_t last_node(const struct thread_walk *w)
{
	return (uint32_t)w->graph->node_count - 1;
}

static int add_node(struct thread_walk *w, uint32_t place, int64_t until_ns)
{
	struct node *n = graph_node_push(w->graph, NODE_HOST, w->now_ns, until_ns);

	if (!n)
		return -1;
	n->prev = (uint32_t)w->graph->node_count - 2;
	n->place = place;
	n->call = w->in == SIZE_MAX ? GPU_NONE : (uint32_t)(w->to->first_call + w->in);
	w->now_ns = until_ns;
	return 0;
}

/* A call begins with a node of no length: what it launches depends on that. */
static int enter_call(struct thread_walk *w, uint32_t place)
{
	bool inside = w->in != SIZE_MAX; /* it is a part of the one around it */
	int rc = 0;

	if (!inside) {
		w->in = w->call;
		rc = add_node(w, place, w->now_ns);
	}
	w->to->before[w->call] = w->to->last[w->call] = last_node(w);
	w->call++;
	return rc;
}

/* Enters and leaves calls and passes cuts; *until_ns: the next of these, if it is earlier. */
static int turn(struct thread_walk *w, uint32_t place, int64_t *until_ns)
{
	for (;;) {
		if (w->in != SIZE_MAX && call_at(w, w->in)->end_ns <= w->now_ns) {
			w->to->last[w->in] = last_node(w);
			w->in = SIZE_MAX;
		} else if (w->call < w->to->call_count &&
			   call_at(w, w->call)->start_ns <= w->now_ns) {
			if (enter_call(w, place))
				return -1;
		} else {
			break;
		}
	}
	while (w->cut < w->last_cut && w->cut->time_ns <= w->now_ns)
		w->cut++;
	if (w->in != SIZE_MAX && call_at(w, w->in)->end_ns < *until_ns)
		*until_ns = call_at(w, w->in)->end_ns;
	if (w->call < w->to->call_count && call_at(w, w->call)->start_ns < *until_ns)
		*until_ns = call_at(w, w->call)->start_ns;
	if (w->cut < w->last_cut && w->cut->time_ns < *until_ns)
		*until_ns = w->cut->time_ns;
	return 0;
}

static int add_piece(struct thread_walk *w, const struct host_piece *p, int64_t end_ns)
{
	while (w->now_ns < end_ns) {
		int64_t until_ns = end_ns;

		if (turn(w, p->place, &until_ns) || add_node(w, p->place, until_ns))
			return -1;
	}
	return 0;
}

static int add_thread(struct window_build *b, size_t index, const struct cuts *cuts)
{
	struct graph *g = b->graph;
	const struct host_thread *t = &g->log->threads[index];
	struct thread_nodes *to = &b->threads[index];
	const struct cut key = { t->thread, INT64_MIN }, behind = { t->thread + 1, INT64_MIN };
	struct thread_walk w = { .graph = g, .to = to, .in = SIZE_MAX };
	size_t first, last, at = 0;

	to->thread = t->thread;
	to->first = (uint32_t)g->node_count;
	to->first_call = gpu_call_find(g->gpu, t->thread, b->window->start_ns);
	to->call_count = gpu_call_find(g->gpu, t->thread, b->window->end_ns) - to->first_call;
	to->before = calloc(to->call_count + 1, sizeof(*to->before));
	to->last = calloc(to->call_count + 1, sizeof(*to->last));
	if (!to->before || !to->last ||
	    !graph_node_push(g, NODE_ANCHOR, b->window->start_ns, b->window->start_ns))
		return -1;
	BISECT(at, cuts->count, by_thread_and_time(&cuts->items[at], &key) < 0);
	w.cut = cuts->items + at;
	BISECT(at, cuts->count, by_thread_and_time(&cuts->items[at], &behind) < 0);
	w.last_cut = cuts->items + at;
	w.now_ns = b->window->start_ns;
	pieces_of(g->log, t, b->window, &first, &last);
	for (; first < last; first++) {
		const struct host_piece *p = &g->log->pieces[first];

		if (add_piece(&w, p, p->end_ns < b->window->end_ns ? p->end_ns : b->window->end_ns))
			return -1;
	}
	if (w.in != SIZE_MAX)
		to->last[w.in] = last_node(&w);
	for (; w.call < to->call_count; w.call++)
		to->before[w.call] = to->last[w.call] = NODE_NONE;
	to->count = (uint32_t)g->node_count - to->first;
	return 0;
}

struct thread_nodes *graph_thread(struct window_build *b, size_t thread)
{
	for (size_t i = 0; i < b->graph->log->thread_count; i++)
		if (b->threads[i].thread == thread)
			return &b->threads[i];
	return NULL;
}

uint32_t graph_node_at(const struct window_build *b, const struct thread_nodes *t, int64_t time_ns)
{
	const struct node *nodes = b->graph->nodes;
	size_t at = t->first, end = at + t->count;

	BISECT(at, end, nodes[at].end_ns < time_ns);
	return at < end && nodes[at].end_ns == time_ns ? (uint32_t)at : NODE_NONE;
}

/* What a thread waited for that another one did. */
static void add_thread_waits(struct window_build *b)
{
	struct graph *g = b->graph;
	const struct host_log *l = g->log;

	for (size_t i = 0; i < l->thread_count; i++) {
		size_t first, last;

		pieces_of(l, &l->threads[i], b->window, &first, &last);
		for (; first < last; first++) {
			const struct host_piece *p = &l->pieces[first];
			enum time_class what = l->places[p->place].what;
			uint32_t at, waker = NODE_NONE;
			struct thread_nodes *other;

			if (what != TIME_GIL_WAIT && what != TIME_LOCK_WAIT)
				continue;
			at = graph_node_at(b, &b->threads[i], p->end_ns);
			if (at == NODE_NONE || g->nodes[at].kind != NODE_HOST)
				continue;
			other = p->other != HOST_NONE ? graph_thread(b, p->other) : NULL;
			if (other)
				waker = graph_node_at(b, other, p->end_ns);
			if (waker == NODE_NONE || g->nodes[waker].kind != NODE_HOST ||
			    time_class_is_wait(l->places[g->nodes[waker].place].what)) {
				g->nodes[at].unknown = true;
				continue;
			}
			g->nodes[at].deps[DEP_WAIT] = waker;
			/* The wait is whatever is left of it. */
			for (uint32_t k = at;
			     k > b->threads[i].first && g->nodes[k].start_ns >= p->start_ns &&
			     g->nodes[k].call == GPU_NONE;
			     k--)
				g->nodes[k].own_ns = 0;
		}
	}
}

static void add_steps(struct window_build *b, uint32_t window)
{
	struct graph *g = b->graph;
	const struct host_window *w = b->window;
	struct graph_window *to = &g->windows[window];

	to->first_step = (uint32_t)g->step_count;
	for (size_t i = 0; i < w->step_count; i++) {
		const struct step_item *item = &g->log->steps[w->first_step + i];
		struct thread_nodes *t = graph_thread(b, item->thread);
		uint32_t begin = t ? graph_node_at(b, t, item->start_ns) : NODE_NONE;
		uint32_t end = t ? graph_node_at(b, t, item->end_ns) : NODE_NONE;

		if (begin == NODE_NONE || end == NODE_NONE || begin >= end)
			continue;
		g->steps[g->step_count++] =
			(struct graph_step){ begin, end, window, i || w->step_count < 3 };
	}
	to->step_count = (uint32_t)g->step_count - to->first_step;
}

static void release_window(struct window_build *b)
{
	for (size_t i = 0; b->threads && i < b->graph->log->thread_count; i++) {
		free(b->threads[i].before);
		free(b->threads[i].last);
	}
	for (size_t i = 0; i < b->stream_count; i++)
		free(b->streams[i].items);
	free(b->threads);
	free(b->streams);
}

static int finish_window(struct graph *g, uint32_t index, uint32_t first)
{
	struct graph_window *w = &g->windows[index];
	uint32_t *renamed = malloc((g->node_count - first + 1) * sizeof(*renamed));

	if (!renamed || graph_sort(g, first, renamed)) {
		free(renamed);
		return -1;
	}
	w->first = first;
	w->count = (uint32_t)g->node_count - first;
	for (uint32_t i = 0; i < w->step_count; i++) {
		struct graph_step *s = &g->steps[w->first_step + i];

		s->begin = renamed[s->begin - first];
		s->end = renamed[s->end - first];
	}
	free(renamed);
	return 0;
}

static int build_window(struct graph *g, uint32_t index, struct cuts *cuts)
{
	const struct gpu_section *section = gpu_section_find(&g->analysis->gpu, g->log->process);
	struct window_build b = {
		.graph = g,
		.window = &g->log->windows[index],
		.threads = calloc(g->log->thread_count + 1, sizeof(*b.threads)),
		.tolerance_ns = 1000,
	};
	uint32_t first = (uint32_t)g->node_count;
	int rc = -1;

	if (section && section->clock && section->clock->error_ns > b.tolerance_ns)
		b.tolerance_ns =
			section->clock->error_ns < 50000 ? section->clock->error_ns : 50000;
	if (!b.threads || find_cuts(cuts, g, b.window))
		goto out;
	for (size_t i = 0; i < g->log->thread_count; i++)
		if (add_thread(&b, i, cuts))
			goto out;
	if (graph_device_add(&b))
		goto out;
	graph_waits_add(&b);
	add_thread_waits(&b);
	add_steps(&b, index);
	rc = finish_window(g, index, first);
out:
	release_window(&b);
	return rc;
}

int graph_build(struct graph *g, const struct analysis *a)
{
	struct cuts cuts = { 0 };
	int rc = 0;

	memset(g, 0, sizeof(*g));
	g->analysis = a;
	g->log = &a->host_log;
	g->gpu = a->gpu.timeline;
	g->steps = calloc(g->log->step_count + 1, sizeof(*g->steps));
	g->windows = calloc(g->log->window_count + 1, sizeof(*g->windows));
	if (!g->steps || !g->windows || graph_costs_measure(&g->costs, g))
		return -1;
	g->window_count = g->log->window_count;
	for (uint32_t i = 0; !rc && i < g->window_count; i++)
		rc = build_window(g, i, &cuts);
	free(cuts.items);
	return rc;
}

void graph_release(struct graph *g)
{
	free(g->nodes);
	free(g->steps);
	free(g->windows);
	memset(g, 0, sizeof(*g));
}
