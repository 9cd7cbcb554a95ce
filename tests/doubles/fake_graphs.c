/*
 * CUDA graphs of the fake driver: captured, made by hand, nested, instantiated, replayed.
 *
 * As with the real one a node has a number that no other node ever has, copies included,
 * and each graph its own; CUPTI hears of nodes when they are made.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fake_work.h"

#define GRAPHS 64u
#define NODES 64u

struct node {
	struct fake_node self;
	bool nested; /* of a graph's child */
	struct fake_activity work;
	uint64_t duration;
};

static struct graph {
	size_t count;
	struct node nodes[NODES];
} graphs[GRAPHS]; /* by handle; 0 is none */

static _Atomic uint32_t graph_count = 1;
static _Atomic uint64_t next_node = 1;
static __thread uint32_t capturing; /* 0: not */

static void tell(enum fake_resource what, struct fake_node *node, struct fake_node *original)
{
	const struct fake_ears *e = fake_find_ears();

	if (e)
		e->graph(what, node, original);
}

static struct graph *graph_of(uint32_t handle)
{
	return handle && handle < atomic_load(&graph_count) ? &graphs[handle] : NULL;
}

static struct node *node_add(uint32_t graph, const struct fake_activity *work, uint64_t duration)
{
	struct graph *g = graph_of(graph);
	struct node *n;

	if (!g || g->count == NODES)
		abort();
	n = &g->nodes[g->count++];
	n->work = *work;
	if (work->name)
		n->work.name = strdup(work->name);
	n->work.graph = graph;
	n->work.node = n->self.number = atomic_fetch_add(&next_node, 1);
	n->duration = duration;
	return n;
}

/*
 * A copy is told as made, and then whose it is.  Seen on an H200: of children's nodes an
 * instance runs others than those that it was told of (tests/gpu/graph_probe.py).
 */
static void copy_nodes(uint32_t to, uint32_t from, bool into_parent)
{
	for (size_t i = 0; i < graphs[from].count; i++) {
		struct node *original = &graphs[from].nodes[i];
		struct node *n = node_add(to, &original->work, original->duration);

		n->nested = into_parent || original->nested;
		tell(FAKE_NODE_CREATED, &n->self, NULL);
		tell(FAKE_NODE_CLONED, &n->self, &original->self);
		if (original->nested)
			n->work.node = atomic_fetch_add(&next_node, 1);
	}
}

bool fake_graph_takes(const struct fake_activity *a, uint64_t duration)
{
	if (!capturing)
		return false;
	tell(FAKE_NODE_CREATED, &node_add(capturing, a, duration)->self, NULL);
	return true;
}

uint32_t fake_graph_create(void)
{
	uint32_t handle = atomic_fetch_add(&graph_count, 1);

	if (handle >= GRAPHS)
		abort();
	return handle;
}

uint32_t fake_capture_begin(void)
{
	struct call_pair p = { { .id = 315, .function = "cudaStreamBeginCapture" }, { 0 } };

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	capturing = fake_graph_create();
	return fake_leave(&p);
}

uint32_t fake_capture_end(void)
{
	struct call_pair p = { { .id = 319, .function = "cudaStreamEndCapture" }, { 0 } };
	uint32_t graph = capturing;

	if (!graph)
		return 0;
	fake_enter(&p);
	capturing = 0;
	fake_leave(&p);
	return graph;
}

/* Inside a call that nobody listens to. */
uint32_t fake_graph_add_kernel(uint32_t graph, const char *name, uint64_t duration_ns)
{
	struct fake_activity work = fake_kernel(NULL, name, 0, 0);

	if (!fake_is_ready() || !graph_of(graph))
		return 0;
	tell(FAKE_NODE_CREATED, &node_add(graph, &work, duration_ns)->self, NULL);
	return graph;
}

uint32_t fake_graph_add_child(uint32_t graph, uint32_t child)
{
	if (!fake_is_ready() || !graph_of(graph) || !graph_of(child) || graph == child)
		return 0;
	copy_nodes(graph, child, true);
	return graph;
}

uint32_t fake_graph_instantiate(uint32_t graph)
{
	struct call_pair p = { { .id = 418, .function = "cudaGraphInstantiateWithFlags" }, { 0 } };
	uint32_t instance;

	if (!fake_is_ready() || !graph_of(graph))
		return 0;
	fake_enter(&p);
	instance = fake_graph_create();
	copy_nodes(instance, graph, false);
	tell(FAKE_EXEC_CREATED, NULL, NULL);
	fake_leave(&p);
	return instance;
}

/* What ran as a whole, for who asks for graphs, not for nodes. */
static void did_graph(const struct fake_activity *first, const struct fake_activity *last)
{
	const struct fake_ears *e = fake_find_ears();
	struct fake_activity whole = *first;

	whole.kind = FAKE_GRAPH;
	whole.end = last->end;
	whole.name = NULL;
	whole.node = 0;
	if (e)
		e->did(&whole);
}

static uint32_t run(const struct node *nodes, size_t count, uint32_t stream)
{
	struct call_pair p = { { .id = 311, .function = "cudaGraphLaunch" },
			       { .id = 514, .function = "cuGraphLaunch" } };
	struct fake_activity first = { 0 }, a = { 0 };

	fake_enter(&p);
	for (size_t i = 0; i < count; i++) {
		a = nodes[i].work;
		a.stream = stream;
		a.correlation = p.runtime.correlation;
		fake_start_work(&a, nodes[i].duration);
		if (!i)
			first = a;
	}
	if (count)
		did_graph(&first, &a);
	return fake_leave(&p);
}

uint32_t fake_graph_replay(uint32_t instance, uint32_t stream)
{
	struct graph *g = graph_of(instance);

	return fake_is_ready() && g ? run(g->nodes, g->count, stream) : 0;
}

/* Of nodes that nobody heard of. */
uint32_t fake_graph_launch(const char *name, uint32_t graph, uint32_t nodes, uint32_t stream,
			   uint64_t duration_ns)
{
	struct node unheard[NODES];

	if (!fake_is_ready() || nodes > NODES)
		return 0;
	for (uint32_t i = 0; i < nodes; i++) {
		unheard[i] = (struct node){ .work = fake_kernel(NULL, name, stream, 0),
					    .duration = duration_ns };
		unheard[i].work.graph = graph;
		unheard[i].work.node = atomic_fetch_add(&next_node, 1);
	}
	return run(unheard, nodes, stream);
}
