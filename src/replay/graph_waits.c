/*
 * Which calls wait for the device, and for what: for the work that ended last before they did, of
 * what had been launched when they began.
 */
#include "replay/replay_graph.h"

#define UNUSUAL 4         /* times the median: a latency is no longer than that */
#define SYNC_CALL_NS 3000 /* a wait for what has ended: H200, driver 580 */
#define QUEUE 1024u       /* launches that a stream takes before the next one has to wait */
#define QUEUE_FULL 900u   /* from so many on a long call waits for room */
#define LONG_CALLS 5      /* times the median of launches */
#define LONG_CALL_NS 20000

static bool is_launched_before(const struct graph *g, const struct node *n,
			       const struct gpu_call *c)
{
	return n->call == GPU_NONE || gpu_call(g->gpu, n->call)->start_ns <= c->start_ns;
}

/* The position in a stream behind all that ended at a time. */
static size_t ended_before(const struct graph *g, const struct stream_nodes *s, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, s->count, g->nodes[s->items[at]].end_ns <= time_ns);
	return at;
}

/*
 * What a call waited for; NODE_NONE: nothing is known that ended meanwhile or before.  *second: of
 * another stream, what ended last before that.
 */
static uint32_t waited_for(const struct window_build *b, const struct gpu_call *c, uint32_t *second)
{
	const struct graph *g = b->graph;
	uint32_t best = NODE_NONE;

	*second = NODE_NONE;

	for (size_t i = 0; i < b->stream_count; i++) {
		const struct stream_nodes *s = &b->streams[i];
		size_t at = ended_before(g, s, c->end_ns + b->tolerance_ns);

		while (at && !is_launched_before(g, &g->nodes[s->items[at - 1]], c))
			at--;
		if (!at)
			continue;
		if (best == NODE_NONE ||
		    g->nodes[s->items[at - 1]].end_ns > g->nodes[best].end_ns) {
			*second = best;
			best = s->items[at - 1];
		} else if (*second == NODE_NONE ||
			   g->nodes[s->items[at - 1]].end_ns > g->nodes[*second].end_ns) {
			*second = s->items[at - 1];
		}
	}
	return best;
}

static void set_own(struct graph *g, const struct thread_nodes *t, size_t call, int64_t own_ns)
{
	uint32_t before = t->before[call], last = t->last[call];

	for (uint32_t i = before + 1; i <= last; i++) {
		struct node *n = &g->nodes[i];

		n->own_ns = n->own_ns < own_ns ? n->own_ns : own_ns;
		own_ns -= n->own_ns;
	}
}

/* The call ends with what the device did. */
static void set_wait(struct window_build *b, const struct thread_nodes *t, size_t call,
		     const struct gpu_call *c, uint32_t on)
{
	struct graph *g = b->graph;
	struct node *last = &g->nodes[t->last[call]];
	int64_t end_ns = g->nodes[on].end_ns;

	last->waits = true;
	last->deps[DEP_WAIT] = on;
	last->lag_ns[DEP_WAIT] = c->end_ns - end_ns;
	if (end_ns > c->start_ns) {
		set_own(g, t, call, SYNC_CALL_NS);
		/* A copy to pageable memory goes on from a buffer when the device has done. */
		if (last->lag_ns[DEP_WAIT] > UNUSUAL * g->costs.return_ns &&
		    gpu_call_api(g->gpu, c)->what != CUDA_CALL_COPY)
			last->lag_ns[DEP_WAIT] = UNUSUAL * g->costs.return_ns;
	} else if (last->lag_ns[DEP_WAIT] > g->costs.return_ns) {
		last->lag_ns[DEP_WAIT] = g->costs.return_ns;
	}
}

/* The node of the activity that a call started, in its stream. */
static uint32_t own_work(const struct window_build *b, uint32_t call, const struct gpu_call *c)
{
	const struct graph *g = b->graph;
	const struct gpu_activity *a;
	const struct gpu_work *w;

	if (!gpu_call_activities(g->gpu, c))
		return NODE_NONE;
	a = gpu_activity(g->gpu, gpu_call_activity(g->gpu, c, 0));
	w = gpu_activity_work(g->gpu, a);
	for (size_t i = 0; i < b->stream_count; i++) {
		const struct stream_nodes *s = &b->streams[i];
		size_t at = 0;

		if (s->stream != w->stream || s->context != w->context || s->device != w->device)
			continue;
		BISECT(at, s->count, g->nodes[s->items[at]].start_ns < a->start_ns);
		for (; at < s->count && g->nodes[s->items[at]].start_ns == a->start_ns; at++)
			if (g->nodes[s->items[at]].call == call)
				return s->items[at];
	}
	return NODE_NONE;
}

/* A wait for the device is for all of its streams. */
static void set_second(struct graph *g, struct node *last, uint32_t second)
{
	int64_t lag_ns;

	if (second == NODE_NONE)
		return;
	lag_ns = last->end_ns - g->nodes[second].end_ns;
	last->deps[DEP_QUEUE] = second;
	last->lag_ns[DEP_QUEUE] = lag_ns < last->lag_ns[DEP_WAIT] ? lag_ns : last->lag_ns[DEP_WAIT];
}

static void add_call(struct window_build *b, const struct thread_nodes *t, size_t index)
{
	struct graph *g = b->graph;
	uint32_t call = (uint32_t)(t->first_call + index), on = NODE_NONE, second = NODE_NONE;
	const struct gpu_call *c = gpu_call(g->gpu, call);
	enum cuda_call what = gpu_call_api(g->gpu, c)->what;

	if (t->last[index] == NODE_NONE || t->last[index] == t->before[index] ||
	    !is_span(c->start_ns, c->end_ns))
		return;
	if (graph_call_waits(what)) {
		on = waited_for(b, c, &second);
	} else if (what == CUDA_CALL_COPY) {
		on = own_work(b, call, c);
		if (on != NODE_NONE && g->nodes[on].end_ns > c->end_ns + b->tolerance_ns)
			on = NODE_NONE;
	} else if (what == CUDA_CALL_FREE || what == CUDA_CALL_HOST_FREE) {
		/* They wait for all work, where there is some. */
		on = waited_for(b, c, &second);
		if (on != NODE_NONE && (g->nodes[on].end_ns <= c->start_ns ||
					c->end_ns - g->nodes[on].end_ns > LONG_CALL_NS))
			on = NODE_NONE;
	}
	if (on == NODE_NONE)
		return;
	set_wait(b, t, index, c, on);
	if (what != CUDA_CALL_SYNC_STREAM && what != CUDA_CALL_SYNC_EVENT)
		set_second(g, &g->nodes[t->last[index]], second);
}

/* A launch needs room in its queue: what was launched so many before it must have ended. */
static void add_queue(struct window_build *b, const struct stream_nodes *s, size_t at)
{
	struct graph *g = b->graph;
	const struct node *n = &g->nodes[s->items[at]];
	const struct gpu_call *c;
	struct thread_nodes *t;
	struct node *last;
	size_t index, ended;

	if (n->kind != NODE_DEVICE || n->deps[DEP_LAUNCH] == NODE_NONE)
		return;
	c = gpu_call(g->gpu, n->call);
	t = graph_thread(b, gpu_call_api(g->gpu, c)->thread);
	index = n->call - t->first_call;
	if (t->last[index] == NODE_NONE || t->last[index] == t->before[index] ||
	    !is_span(c->start_ns, c->end_ns))
		return;
	last = &g->nodes[t->last[index]];
	if (last->deps[DEP_QUEUE] != NODE_NONE)
		return;
	ended = ended_before(g, s, c->end_ns);
	if (ended && ended < at && at - ended >= QUEUE_FULL &&
	    c->end_ns - c->start_ns > LONG_CALL_NS &&
	    c->end_ns - c->start_ns > LONG_CALLS * g->costs.call_ns) {
		last->deps[DEP_QUEUE] = s->items[ended - 1];
		last->lag_ns[DEP_QUEUE] = c->end_ns - g->nodes[s->items[ended - 1]].end_ns;
		set_own(g, t, index, g->costs.call_ns);
	} else if (at >= QUEUE && g->nodes[s->items[at - QUEUE]].end_ns <= c->end_ns) {
		last->deps[DEP_QUEUE] = s->items[at - QUEUE];
	}
}

void graph_waits_add(struct window_build *b)
{
	for (size_t i = 0; i < b->graph->log->thread_count; i++)
		for (size_t k = 0; k < b->threads[i].call_count; k++)
			add_call(b, &b->threads[i], k);
	for (size_t i = 0; i < b->stream_count; i++)
		for (size_t k = 0; k < b->streams[i].count; k++)
			add_queue(b, &b->streams[i], k);
}
