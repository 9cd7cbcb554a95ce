/*
 * Launches become a CUDA graph: within a step, each run of launches that nothing interrupts is
 * launched at once.  A wait, a copy from or to the host, an allocation or another graph ends a run.
 */
#include <stdlib.h>

#include "replay/replay_graph.h"

struct run {
	struct plan *p;
	uint32_t *heads; /* by node that a launch begins with: that of its run's first; NODE_NONE */
	const uint32_t *chain;
	size_t first, last; /* launches: positions in the chain */
	size_t launches;
};

static bool is_launch(const struct graph *g, const struct node *n)
{
	const struct gpu_call *c;
	const struct gpu_work *w;

	if (n->call == GPU_NONE)
		return false;
	c = gpu_call(g->gpu, n->call);
	switch (gpu_call_api(g->gpu, c)->what) {
	case CUDA_CALL_LAUNCH:
	case CUDA_CALL_MEMSET:
		return true;
	case CUDA_CALL_COPY:
		if (!gpu_call_activities(g->gpu, c))
			return false;
		w = gpu_activity_work(g->gpu,
				      gpu_activity(g->gpu, gpu_call_activity(g->gpu, c, 0)));
		return w->copy == GPU_COPY_DEVICE_TO_DEVICE;
	default:
		return false;
	}
}

/* What a graph does without: launches, and the code of the model and the framework. */
static bool goes(const struct plan *p, const struct node *n)
{
	const struct host_place *at = &p->graph->log->places[n->place];

	return edit_matches(p, n) &&
	       (at->what == TIME_LAUNCH || at->what == TIME_FRAMEWORK || at->layer);
}

static void end_run(struct run *r)
{
	struct plan *p = r->p;
	uint32_t head, before = NODE_NONE;

	if (r->launches < 2) {
		r->launches = 0;
		return;
	}
	head = r->chain[r->first];
	for (size_t i = r->first; i <= r->last; i++) {
		struct node *n = &p->nodes[r->chain[i]];

		if (is_launch(p->graph, n) && n->call != before) {
			before = n->call;
			r->heads[r->chain[i]] = head;
		}
		if (!goes(p, n))
			continue;
		p->touched_ns += (double)p->graph->nodes[r->chain[i]].own_ns;
		n->own_ns = 0;
	}
	p->nodes[r->chain[r->last]].own_ns = p->graph->costs.graph_ns;
	r->launches = 0;
}

static void find_runs(struct run *r, size_t count)
{
	const struct graph *g = r->p->graph;
	uint32_t in = GPU_NONE;

	for (size_t i = 0; i < count; i++) {
		const struct node *n = &g->nodes[r->chain[i]];
		bool launch = is_launch(g, n);

		if (launch && edit_matches(r->p, n)) {
			r->first = r->launches ? r->first : i;
			r->launches += n->call != in;
			r->last = i;
		} else if (n->call != GPU_NONE) {
			end_run(r);
		}
		in = n->call;
	}
	end_run(r);
}

static void launch_together(struct run *r)
{
	const struct graph_costs *c = &r->p->graph->costs;

	for (size_t i = 0; i < r->p->graph->node_count; i++) {
		struct node *n = &r->p->nodes[i];
		uint32_t launch = n->activity == GPU_NONE ? NODE_NONE : n->deps[DEP_LAUNCH];

		if (launch == NODE_NONE || r->heads[launch] == NODE_NONE)
			continue;
		n->deps[DEP_LAUNCH] = r->heads[launch];
		if (n->lag_ns[DEP_LAUNCH] > c->launch_ns)
			n->lag_ns[DEP_LAUNCH] = c->launch_ns;
		if (n->gap_ns > c->gap_ns)
			n->gap_ns = c->gap_ns;
	}
}

void edit_graph(struct plan *p, const struct replay_edit *e)
{
	struct run r = { .p = p, .heads = malloc((p->graph->node_count + 1) * sizeof(*r.heads)) };

	(void)e;
	if (!r.heads) {
		p->failed = true;
		return;
	}
	for (size_t i = 0; i < p->graph->node_count; i++)
		r.heads[i] = NODE_NONE;
	for (size_t k = 0; k < p->graph->step_count && !p->failed; k++) {
		size_t count;
		uint32_t *chain = plan_chain(p, &p->graph->steps[k], &count);

		r.chain = chain;
		find_runs(&r, count);
		free(chain);
	}
	launch_together(&r);
	free(r.heads);
}
