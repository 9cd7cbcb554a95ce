/*
 * The device's part of a window: when each activity could begin, and what it waited for.
 *
 * An activity begins when it has been launched and the one before it in its stream has ended,
 * whichever is later.  The delay behind that is measured; what the earlier of the two would take
 * is the median.  A delay that neither explains comes from the end of other work, if there is some
 * just before (an event, a copy engine); else it is kept as a latency, up to four times the median.
 * What is longer is an error of the replay, which shows in its quality.
 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/replay_graph.h"

#define UNEXPLAINED_NS 10000 /* longer than a launch or a change of streams takes */
#define UNUSUAL 4            /* times the median: a latency is no longer than that */
#define RUNNING 256u         /* activities before a window that may still run in it */

enum { ENGINES = 2 }; /* for copies to the device, and from it */

struct device_walk {
	struct window_build *b;
	uint32_t engines[ENGINES]; /* their last nodes */
};

static struct stream_nodes *find_stream(struct window_build *b, const struct gpu_work *w)
{
	struct stream_nodes *grown;

	for (size_t i = 0; i < b->stream_count; i++) {
		struct stream_nodes *s = &b->streams[i];

		if (s->stream == w->stream && s->context == w->context && s->device == w->device)
			return s;
	}
	grown = array_grow(b->streams, &b->stream_cap, b->stream_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	b->streams = grown;
	grown[b->stream_count] =
		(struct stream_nodes){ w->device, w->context, w->stream, NULL, 0, 0 };
	return &grown[b->stream_count++];
}

static bool was_launched_before(const struct window_build *b, const struct gpu_activity *a)
{
	uint32_t call = gpu_activity_call(a);

	return call != GPU_NONE && gpu_call(b->graph->gpu, call)->start_ns < b->window->start_ns;
}

/* The node that the call begins with that launched an activity, and one of its time. */
static uint32_t launched_behind(struct window_build *b, const struct gpu_activity *a,
				uint32_t *inside)
{
	uint32_t call = gpu_activity_call(a), before, last;
	struct thread_nodes *t;

	if (call == GPU_NONE)
		return NODE_NONE;
	t = graph_thread(b, gpu_call_api(b->graph->gpu, gpu_call(b->graph->gpu, call))->thread);
	if (!t || call < t->first_call || call - t->first_call >= t->call_count)
		return NODE_NONE;
	before = t->before[call - t->first_call];
	last = t->last[call - t->first_call];
	*inside = last != NODE_NONE && last > before ? before + 1 : last;
	return before;
}

/* What ended shortly before an activity began, of other streams, and after `ready`. */
static uint32_t find_cause(const struct window_build *b, const struct stream_nodes *own,
			   const struct node *n, int64_t ready_ns)
{
	const struct node *nodes = b->graph->nodes;
	uint32_t best = NODE_NONE;

	for (size_t i = 0; i < b->stream_count; i++) {
		const struct stream_nodes *s = &b->streams[i];

		for (size_t k = s->count; s != own && k; k--) {
			const struct node *other = &nodes[s->items[k - 1]];

			if (other->end_ns > n->start_ns)
				continue;
			if (other->end_ns > ready_ns &&
			    n->start_ns - other->end_ns <= UNEXPLAINED_NS &&
			    (best == NODE_NONE || other->end_ns > nodes[best].end_ns))
				best = s->items[k - 1];
			break;
		}
	}
	return best;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t usual(int64_t ns, int64_t median_ns)
{
	return least(ns,
		     UNUSUAL * median_ns > UNEXPLAINED_NS ? UNUSUAL * median_ns : UNEXPLAINED_NS);
}

/* A copy from pageable memory begins when some of it has been put into a buffer: that is work. */
static bool is_staged(const struct gpu_work *w)
{
	return w->kind == GPU_COPY && w->source == GPU_MEMORY_PAGEABLE;
}

static int64_t launch_latency(const struct graph *g, const struct node *n)
{
	return n->call != GPU_NONE && gpu_call_api(g->gpu, gpu_call(g->gpu, n->call))->what ==
					      CUDA_CALL_GRAPH_LAUNCH
		       ? g->costs.graph_start_ns
		       : g->costs.launch_ns;
}

/* The latencies of a node whose dependencies in its stream and thread are known. */
static void set_latencies(const struct window_build *b, const struct stream_nodes *own,
			  const struct gpu_work *w, struct node *n)
{
	const struct node *nodes = b->graph->nodes;
	const int64_t usual_gap_ns = b->graph->costs.gap_ns;
	const int64_t usual_launch_ns = launch_latency(b->graph, n);
	bool launched = n->deps[DEP_LAUNCH] != NODE_NONE, follows = n->prev != NODE_NONE;
	int64_t launch_ns = launched ? nodes[n->deps[DEP_LAUNCH]].end_ns : -TIME_MOST;
	int64_t before_ns = follows ? nodes[n->prev].end_ns : -TIME_MOST;
	int64_t by_launch = launch_ns + usual_launch_ns, by_stream = before_ns + usual_gap_ns;
	int64_t ready_ns = by_launch > by_stream ? by_launch : by_stream;
	uint32_t cause = NODE_NONE;

	if (!launched && !follows)
		return;
	if (n->start_ns - ready_ns > UNEXPLAINED_NS && !is_staged(w))
		cause = find_cause(b, own, n, ready_ns);
	if (cause != NODE_NONE) {
		n->deps[DEP_ORDER] = cause;
		n->lag_ns[DEP_ORDER] = n->start_ns - nodes[cause].end_ns;
	}
	n->lag_ns[DEP_LAUNCH] = n->start_ns - launch_ns;
	n->gap_ns = n->start_ns - before_ns;
	if (launched && !is_staged(w)) {
		n->lag_ns[DEP_LAUNCH] = usual(n->lag_ns[DEP_LAUNCH], usual_launch_ns);
		n->gap_ns = usual(n->gap_ns, usual_gap_ns);
	}
	if (cause != NODE_NONE || by_launch < by_stream)
		n->lag_ns[DEP_LAUNCH] = least(n->lag_ns[DEP_LAUNCH], usual_launch_ns);
	if (cause != NODE_NONE || by_launch >= by_stream)
		n->gap_ns = least(n->gap_ns, usual_gap_ns);
}

static void set_engine(struct device_walk *d, const struct gpu_work *w, uint32_t at)
{
	struct node *n = &d->b->graph->nodes[at];
	uint32_t *engine;

	if (w->kind != GPU_COPY ||
	    (w->copy != GPU_COPY_HOST_TO_DEVICE && w->copy != GPU_COPY_DEVICE_TO_HOST))
		return;
	engine = &d->engines[w->copy == GPU_COPY_DEVICE_TO_HOST];
	if (*engine != NODE_NONE && n->deps[DEP_ORDER] == NODE_NONE &&
	    d->b->graph->nodes[*engine].end_ns <= n->start_ns)
		n->deps[DEP_ORDER] = *engine;
	*engine = at;
}

static int add_activity(struct device_walk *d, size_t activity)
{
	struct window_build *b = d->b;
	struct graph *g = b->graph;
	const struct gpu_activity *a = gpu_activity(g->gpu, activity);
	const struct gpu_work *w = gpu_activity_work(g->gpu, a);
	struct stream_nodes *s = find_stream(b, w);
	uint32_t at = (uint32_t)g->node_count, inside = NODE_NONE;
	uint32_t launch = launched_behind(b, a, &inside);
	uint32_t *grown;
	struct node *n;

	if (!s)
		return -1;
	/* What was launched before the window only waits for its turn. */
	n = graph_node_push(
		g, launch == NODE_NONE && !was_launched_before(b, a) ? NODE_GIVEN : NODE_DEVICE,
		a->start_ns, a->end_ns);
	grown = array_grow(s->items, &s->cap, s->count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	s->items = grown;
	if (!n)
		return -1;
	n->activity = (uint32_t)activity;
	n->call = gpu_activity_call(a);
	n->deps[DEP_LAUNCH] = launch;
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): it has so many */
	n->prev = s->count ? s->items[s->count - 1] : NODE_NONE;
	if (inside != NODE_NONE)
		n->place = g->nodes[inside].place;
	set_latencies(b, s, w, n);
	set_engine(d, w, at);
	s->items[s->count++] = at;
	return 0;
}

static bool is_usable(const struct gpu_activity *a)
{
	return a->timed && is_span(a->start_ns, a->end_ns);
}

/* When the last work begins that was launched in the window: perhaps behind its end. */
static int64_t last_begins_ns(const struct window_build *b)
{
	const struct gpu_timeline *gpu = b->graph->gpu;
	int64_t last_ns = b->window->end_ns - 1;

	for (size_t i = 0; i < b->graph->log->thread_count; i++) {
		const struct thread_nodes *t = &b->threads[i];

		for (size_t k = t->first_call; k < t->first_call + t->call_count; k++) {
			const struct gpu_call *c = gpu_call(gpu, k);
			uint32_t n = gpu_call_activities(gpu, c);
			const struct gpu_activity *a =
				n ? gpu_activity(gpu, gpu_call_activity(gpu, c, n - 1)) : NULL;

			if (a && is_usable(a) && a->start_ns > last_ns)
				last_ns = a->start_ns;
		}
	}
	return last_ns;
}

int graph_device_add(struct window_build *b)
{
	struct device_walk d = { .b = b, .engines = { NODE_NONE, NODE_NONE } };
	const struct gpu_timeline *gpu = b->graph->gpu;
	size_t all, first, last;

	graph_activities(b->graph, INT64_MIN, b->window->start_ns, &all, &first);
	for (size_t i = first - all > RUNNING ? first - RUNNING : all; i < first; i++) {
		const struct gpu_activity *a = gpu_activity(gpu, i);

		if (is_usable(a) && a->end_ns > b->window->start_ns && add_activity(&d, i))
			return -1;
	}
	graph_activities(b->graph, b->window->start_ns, last_begins_ns(b) + 1, &first, &last);
	for (size_t i = first; i < last; i++) {
		const struct gpu_activity *a = gpu_activity(gpu, i);
		uint32_t inside;

		if (is_usable(a) &&
		    (a->start_ns < b->window->end_ns ||
		     launched_behind(b, a, &inside) != NODE_NONE) &&
		    add_activity(&d, i))
			return -1;
	}
	return 0;
}
