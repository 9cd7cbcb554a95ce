/* Edits of what the device does, and of waiting for it. */
#include <stdlib.h>

#include "replay/replay_graph.h"

void edit_kernel(struct plan *p, const struct replay_edit *e)
{
	const struct gpu_timeline *gpu = p->graph->gpu;

	for (size_t i = 0; i < p->graph->node_count; i++) {
		struct node *n = &p->nodes[i];

		if (n->activity == GPU_NONE ||
		    !edit_matches_kernel(p->graph, e,
					 gpu_activity_work(gpu, gpu_activity(gpu, n->activity))))
			continue;
		p->touched_ns += (double)p->graph->nodes[i].own_ns;
		n->own_ns = time_scale(n->own_ns, e->factor);
	}
}

static enum cuda_call call_of(const struct graph *g, const struct node *n)
{
	return gpu_call_api(g->gpu, gpu_call(g->gpu, n->call))->what;
}

void edit_remove_sync(struct plan *p, const struct replay_edit *e)
{
	(void)e;
	for (size_t i = 0; i < p->graph->node_count; i++) {
		struct node *n = &p->nodes[i];

		if (!edit_matches(p, n) || n->call == GPU_NONE)
			continue;
		if (n->waits) {
			p->touched_ns += (double)(n->end_ns - n->start_ns);
			n->deps[DEP_WAIT] = n->deps[DEP_QUEUE] = NODE_NONE;
		}
		if (graph_call_waits(call_of(p->graph, n)))
			n->own_ns = 0;
	}
}

/* Bytes a second over PCI Express with 16 lanes, pinned memory, as benchmarks measure it. */
static double link_ns_b(const struct graph *g)
{
	uint32_t capability = gpu_device_count(g->gpu) ? gpu_device(g->gpu, 0)->capability : 0;

	return 1e9 / (capability >= 90 ? 50e9 : capability >= 80 ? 24e9 : 12e9);
}

/* The copy over the link that a call or activity is, if memory of its host's side is pageable. */
static const struct gpu_work *copy_of(const struct graph *g, const struct node *n, bool pageable)
{
	const struct gpu_call *c;
	const struct gpu_work *w;

	if (n->call == GPU_NONE)
		return NULL;
	c = gpu_call(g->gpu, n->call);
	if (gpu_call_api(g->gpu, c)->what != CUDA_CALL_COPY || !gpu_call_activities(g->gpu, c))
		return NULL;
	w = gpu_activity_work(g->gpu, gpu_activity(g->gpu, gpu_call_activity(g->gpu, c, 0)));
	if (w->copy == GPU_COPY_HOST_TO_DEVICE)
		return !pageable || w->source == GPU_MEMORY_PAGEABLE ? w : NULL;
	if (w->copy == GPU_COPY_DEVICE_TO_HOST)
		return !pageable || w->destination == GPU_MEMORY_PAGEABLE ? w : NULL;
	return NULL;
}

static void pin_copy(const struct plan *p, struct node *n, const struct gpu_work *w)
{
	const struct graph_costs *c = &p->graph->costs;
	double ns_b = w->copy == GPU_COPY_HOST_TO_DEVICE ? c->h2d_ns_b : c->d2h_ns_b;
	double ns = (double)c->gap_ns + (double)w->bytes * (ns_b > 0 ? ns_b : link_ns_b(p->graph));

	if (ns < (double)n->own_ns)
		n->own_ns = (int64_t)ns;
	if (n->lag_ns[DEP_LAUNCH] > c->launch_ns)
		n->lag_ns[DEP_LAUNCH] = c->launch_ns;
}

void edit_pin(struct plan *p, const struct replay_edit *e)
{
	(void)e;
	for (size_t i = 0; i < p->graph->node_count; i++) {
		struct node *n = &p->nodes[i];
		const struct gpu_work *w = copy_of(p->graph, n, true);

		if (!w || n->place == HOST_NONE || !p->matched[n->place])
			continue;
		if (n->activity != GPU_NONE) {
			p->touched_ns += (double)p->graph->nodes[i].own_ns;
			pin_copy(p, n, w);
		} else if (w->copy == GPU_COPY_HOST_TO_DEVICE) {
			n->deps[DEP_WAIT] = NODE_NONE;
			if (n->own_ns > p->graph->costs.call_ns)
				n->own_ns = p->graph->costs.call_ns;
		} else if (n->waits && n->lag_ns[DEP_WAIT] > p->graph->costs.return_ns) {
			n->lag_ns[DEP_WAIT] = p->graph->costs.return_ns;
		}
	}
}

struct copies {
	uint32_t *main;   /* by node: it, or the last one before it that stays in its stream */
	uint32_t *moved;  /* by node: the last copy to the device that has left its stream */
	uint32_t *step;   /* by node of the host */
	uint32_t last[2]; /* of each direction */
};

static void move_copy(struct plan *p, struct copies *c, uint32_t at, bool to_host)
{
	struct node *n = &p->nodes[at];
	uint32_t before = p->graph->nodes[at].prev;
	uint32_t *last = &c->last[to_host];

	c->main[at] = before == NODE_NONE ? NODE_NONE : c->main[before];
	c->moved[at] = to_host ? (before == NODE_NONE ? NODE_NONE : c->moved[before]) : at;
	n->prev = *last;
	if (to_host) {
		n->deps[DEP_EDIT] = c->main[at];
		n->lag_ns[DEP_EDIT] = n->gap_ns;
	} else if (n->deps[DEP_LAUNCH] != NODE_NONE) {
		uint32_t since = plan_step_before(p, c->step[n->deps[DEP_LAUNCH]]);

		n->deps[DEP_LAUNCH] = since == NODE_NONE ? n->deps[DEP_LAUNCH] : since;
	}
	n->gap_ns = p->graph->costs.gap_ns;
	*last = at;
	p->touched_ns += (double)p->graph->nodes[at].own_ns;
}

/* The one behind copies: it uses what was copied to the device. */
static void keep_work(struct plan *p, struct copies *c, uint32_t at)
{
	struct node *n = &p->nodes[at];
	uint32_t before = p->graph->nodes[at].prev;

	c->main[at] = at;
	c->moved[at] = NODE_NONE;
	if (before == NODE_NONE || c->main[before] == before)
		return;
	n->prev = c->main[before];
	if (c->moved[before] != NODE_NONE) {
		n->deps[DEP_EDIT] = c->moved[before];
		n->lag_ns[DEP_EDIT] = n->gap_ns;
	}
}

void edit_async_copy(struct plan *p, const struct replay_edit *e)
{
	size_t count = p->graph->node_count + 1;
	struct copies c = {
		.main = malloc(count * sizeof(*c.main)),
		.moved = malloc(count * sizeof(*c.moved)),
		.step = plan_steps(p, true),
		.last = { NODE_NONE, NODE_NONE },
	};
	uint32_t window = 0;

	(void)e;
	p->failed |= !c.main || !c.moved;
	for (uint32_t i = 0; !p->failed && i < p->graph->node_count; i++) {
		const struct node *n = &p->graph->nodes[i];
		const struct gpu_work *w = copy_of(p->graph, n, false);

		if (window < p->graph->window_count && i >= p->graph->windows[window].first) {
			c.last[0] = c.last[1] = NODE_NONE;
			window++;
		}
		if (n->activity == GPU_NONE)
			continue;
		if (w && n->kind == NODE_DEVICE && n->place != HOST_NONE && p->matched[n->place])
			move_copy(p, &c, i, w->copy == GPU_COPY_DEVICE_TO_HOST);
		else
			keep_work(p, &c, i);
	}
	free(c.main);
	free(c.moved);
	free(c.step);
}
