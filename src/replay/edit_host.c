/* Edits of what threads do: less time, or the same time in another thread. */
#include <stdlib.h>

#include "replay/replay_graph.h"

void edit_faster(struct plan *p, const struct replay_edit *e)
{
	for (size_t i = 0; i < p->graph->node_count; i++) {
		struct node *n = &p->nodes[i];

		if (!edit_matches(p, n))
			continue;
		/* Time that is gone by its class is gone with what it waits for: cudaFree() too. */
		if (e->classes && e->factor == 0 && n->deps[DEP_WAIT] != NODE_NONE) {
			p->touched_ns += (double)(n->end_ns - n->start_ns);
			n->deps[DEP_WAIT] = n->deps[DEP_QUEUE] = NODE_NONE;
		}
		p->touched_ns += (double)p->graph->nodes[i].own_ns;
		n->own_ns = time_scale(n->own_ns, e->factor);
	}
}

struct overlap {
	struct plan *p;
	uint32_t *step;  /* by node: the step that it is in; NODE_NONE */
	uint32_t *main;  /* by node: it, or the last one before it that stays in its thread */
	uint32_t *other; /* by node: the last one of its thread that has moved; NODE_NONE */
};

static void move_node(struct overlap *o, uint32_t at, uint32_t before)
{
	struct node *n = &o->p->nodes[at];
	/* A step's time ahead, and no more. */
	uint32_t since = plan_step_before(o->p, o->step[at]);

	o->main[at] = o->main[before];
	n->prev = o->other[before];
	if (n->prev == NODE_NONE || since == NODE_NONE) {
		n->prev = since == NODE_NONE ? before : since;
	} else {
		n->deps[DEP_EDIT] = NODE_NONE;
		if (o->step[n->prev] != o->step[at] && since < at) {
			/* The thread begins with what comes later: the last input, or room. */
			n->deps[DEP_EDIT] = since;
			n->lag_ns[DEP_EDIT] = n->own_ns;
		}
	}
	o->other[at] = at;
	o->p->touched_ns += (double)o->p->graph->nodes[at].own_ns;
}

static void keep_node(struct overlap *o, uint32_t at, uint32_t before)
{
	struct node *n = &o->p->nodes[at];

	o->main[at] = at;
	o->other[at] = o->other[before];
	if (o->main[before] == before)
		return;
	n->prev = o->main[before];
	/* It takes what the other thread has made. */
	n->deps[DEP_EDIT] = o->other[before];
	n->lag_ns[DEP_EDIT] = n->own_ns;
}

/* A step ends where it did: its last node stays, and waits for what has moved. */
static bool ends_step(const struct overlap *o, uint32_t at)
{
	return o->step[at] != NODE_NONE && o->p->graph->steps[o->step[at]].end == at;
}

static void end_moved(struct overlap *o, uint32_t at, uint32_t before)
{
	if (o->main[before] != before && o->other[before] != NODE_NONE) {
		struct node *moved = &o->p->nodes[o->other[before]];

		moved->own_ns = time_add(moved->own_ns, o->p->nodes[at].own_ns);
		o->p->nodes[at].own_ns = 0;
	}
	keep_node(o, at, before);
}

static void overlap_nodes(struct overlap *o)
{
	const struct graph *g = o->p->graph;

	for (uint32_t i = 0; i < g->node_count; i++) {
		uint32_t before = g->nodes[i].prev;

		o->main[i] = i;
		o->other[i] = NODE_NONE;
		if (before == NODE_NONE || g->nodes[i].kind != NODE_HOST)
			continue;
		if (o->step[i] == NODE_NONE || !edit_matches(o->p, &g->nodes[i]))
			keep_node(o, i, before);
		else if (ends_step(o, i))
			end_moved(o, i, before);
		else
			move_node(o, i, before);
	}
}

void edit_overlap(struct plan *p, const struct replay_edit *e)
{
	size_t count = p->graph->node_count + 1;
	struct overlap o = {
		.p = p,
		.step = plan_steps(p, false),
		.main = malloc(count * sizeof(*o.main)),
		.other = malloc(count * sizeof(*o.other)),
	};

	(void)e;
	if (o.step && o.main && o.other)
		overlap_nodes(&o);
	else
		p->failed = true;
	free(o.step);
	free(o.main);
	free(o.other);
}
