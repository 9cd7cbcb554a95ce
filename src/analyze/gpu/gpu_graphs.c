/*
 * A replay is a launch call with what it started: the activities' graph says of which.
 * All replays are listed, sorted by graph and added up; those whose launch call is not
 * in the trace are in no figure.
 */
#include "analyze/gpu/gpu_sections.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"

struct replay {
	size_t section; /* index */
	uint32_t graph;
	const struct gpu_call *call;
	bool whole;        /* recorded without its nodes */
	int64_t length_ns; /* from its first node's start to its last one's end */
};

struct graphs {
	struct analysis_gpu *gpu;
	struct replay *replays;
	size_t replay_count;
	size_t *builds; /* calls that capture and instantiate, in order of (thread, start) */
	size_t build_count;
};

/* False: the call replayed no graph. */
static bool replay_read(struct replay *r, const struct gpu_timeline *g, const struct gpu_call *c)
{
	int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;

	*r = (struct replay){ .call = c };
	for (size_t i = 0; i < gpu_call_activities(g, c); i++) {
		const struct gpu_activity *a = gpu_activity(g, gpu_call_activity(g, c, i));
		const struct gpu_work *w = gpu_activity_work(g, a);

		if (!w->graph)
			continue;
		r->graph = w->graph;
		r->whole |= w->kind == GPU_GRAPH;
		if (a->timed && a->start_ns < start_ns)
			start_ns = a->start_ns;
		if (a->timed && a->end_ns > end_ns)
			end_ns = a->end_ns;
	}
	r->length_ns = start_ns < end_ns ? gpu_length(start_ns, end_ns) : 0;
	return r->graph != 0;
}

static int by_graph(const struct replay *x, const struct replay *y)
{
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return (x->graph > y->graph) - (x->graph < y->graph);
}

static int order_by_stack(const void *a, const void *b)
{
	const struct replay *x = a, *y = b;
	int order = by_graph(x, y);

	return order ? order
		     : (x->call->stack > y->call->stack) - (x->call->stack < y->call->stack);
}

static int order_by_length(const void *a, const void *b)
{
	const struct replay *x = a, *y = b;
	int order = by_graph(x, y);

	return order ? order : (x->length_ns > y->length_ns) - (x->length_ns < y->length_ns);
}

static int most_time_first(const void *a, const void *b)
{
	const struct gpu_graph_figures *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (x->graph > y->graph) - (x->graph < y->graph);
}

/* The stack of most replays, of n that are in order of it. */
static uint32_t usual_stack(const struct replay *replays, size_t n)
{
	uint32_t usual = 0;
	size_t most = 0;

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i; next < n && replays[next].call->stack == replays[i].call->stack;)
			next++;
		if (next - i > most) {
			most = next - i;
			usual = replays[i].call->stack;
		}
	}
	return usual;
}

/* Of where the capture began, if its beginning is in the trace; else of the node's own call. */
static uint32_t capture_stack(const struct graphs *x, const struct gpu_capture *made)
{
	const struct gpu_timeline *g = x->gpu->timeline;
	size_t from = 0, to = x->build_count;
	const struct gpu_api *api;
	const struct gpu_call *c;

	while (from < to) { /* the first that began later */
		size_t middle = from + (to - from) / 2;

		c = gpu_call(g, x->builds[middle]);
		api = gpu_call_api(g, c);
		if (api->thread < made->thread ||
		    (api->thread == made->thread && c->start_ns <= made->time_ns))
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return made->stack;
	c = gpu_call(g, x->builds[from - 1]);
	api = gpu_call_api(g, c);
	return api->thread == made->thread && strstr(api->name, "BeginCapture") && c->stack
		       ? c->stack
		       : made->stack;
}

static struct place place_of(const struct gpu_timeline *g, uint32_t stack)
{
	struct place innermost, user = { 0 };

	if (stack)
		gpu_stack_places(g, stack, &innermost, &user);
	return user;
}

/* What is the same in all replays, taken from one with nodes. */
static void read_nodes(struct gpu_graph_figures *f, const struct graphs *x,
		       const struct gpu_call *c)
{
	const struct gpu_timeline *g = x->gpu->timeline;
	const struct gpu_capture *first = NULL;

	f->nodes = f->kernels = f->copies = f->memsets = f->known_nodes = 0;
	for (size_t i = 0; i < gpu_call_activities(g, c); i++) {
		const struct gpu_activity *a = gpu_activity(g, gpu_call_activity(g, c, i));
		const struct gpu_work *w = gpu_activity_work(g, a);
		const struct gpu_capture *made =
			w->capture != GPU_NONE ? gpu_capture(g, w->capture) : NULL;

		f->nodes++;
		f->kernels += w->kind == GPU_KERNEL;
		f->copies += w->kind == GPU_COPY;
		f->memsets += w->kind == GPU_MEMSET;
		f->known_nodes += made != NULL;
		if (made && (!first || made->time_ns < first->time_ns))
			first = made;
	}
	if (first)
		f->captured = place_of(g, capture_stack(x, first));
}

/* Of n replays in order of their length. */
static void add_up(struct gpu_graph_figures *f, const struct graphs *x,
		   const struct replay *replays, size_t n)
{
	const struct gpu_timeline *g = x->gpu->timeline;
	const struct replay *fullest = NULL; /* one may be cut short */

	f->graph = replays->graph;
	f->replays = n;
	f->median_ns = replays[(n - 1) / 2].length_ns;
	f->longest_ns = replays[n - 1].length_ns;
	for (const struct replay *r = replays; r < replays + n; r++) {
		f->total_ns = stats_add(f->total_ns, r->length_ns);
		f->replays_by_node += !r->whole;
		if (!r->whole && (!fullest || gpu_call_activities(g, r->call) >
						      gpu_call_activities(g, fullest->call)))
			fullest = r;
	}
	if (fullest)
		read_nodes(f, x, fullest->call);
}

static int graph_add(const struct graphs *x, struct replay *replays, size_t n)
{
	struct gpu_section *s = &x->gpu->sections[replays->section];
	struct gpu_graph_figures *grown;

	grown = array_grow_by_one(s->graphs, s->graph_count, sizeof(*grown));
	if (!grown)
		return -1;
	s->graphs = grown;
	grown += s->graph_count++;
	*grown = (struct gpu_graph_figures){
		.launched = place_of(x->gpu->timeline, usual_stack(replays, n)),
	};
	qsort(replays, n, sizeof(*replays), order_by_length);
	add_up(grown, x, replays, n);
	return 0;
}

static int list_calls(struct graphs *x)
{
	const struct gpu_timeline *g = x->gpu->timeline;
	const struct gpu_section *s = NULL;
	size_t launches = 0, builds = 0;

	for (size_t i = 0; i < gpu_call_count(g); i++) {
		enum cuda_call what = gpu_call_api(g, gpu_call(g, i))->what;

		launches += what == CUDA_CALL_GRAPH_LAUNCH;
		builds += what == CUDA_CALL_GRAPH_BUILD;
	}
	x->replays = calloc(launches + 1, sizeof(*x->replays));
	x->builds = calloc(builds + 1, sizeof(*x->builds));
	if (!x->replays || !x->builds)
		return -1;
	for (size_t i = 0; i < gpu_call_count(g); i++) {
		const struct gpu_call *c = gpu_call(g, i);
		const struct gpu_api *api = gpu_call_api(g, c);

		if (api->what == CUDA_CALL_GRAPH_BUILD)
			x->builds[x->build_count++] = i;
		if (api->what != CUDA_CALL_GRAPH_LAUNCH ||
		    !replay_read(&x->replays[x->replay_count], g, c))
			continue;
		if (!s || s->process != api->process)
			s = gpu_section_find(x->gpu, api->process);
		x->replays[x->replay_count++].section = (size_t)(s - x->gpu->sections);
	}
	return 0;
}

int gpu_graphs_collect(struct analysis_gpu *gpu)
{
	struct graphs x = { .gpu = gpu };
	int rc = list_calls(&x);

	if (!rc)
		qsort(x.replays, x.replay_count, sizeof(*x.replays), order_by_stack);
	for (size_t i = 0, next; i < x.replay_count && !rc; i = next) {
		for (next = i; next < x.replay_count && !by_graph(&x.replays[i], &x.replays[next]);)
			next++;
		rc = graph_add(&x, &x.replays[i], next - i);
	}
	for (size_t i = 0; i < gpu->section_count; i++)
		if (gpu->sections[i].graph_count)
			qsort(gpu->sections[i].graphs, gpu->sections[i].graph_count,
			      sizeof(*gpu->sections[i].graphs), most_time_first);
	free(x.replays);
	free(x.builds);
	return rc;
}
