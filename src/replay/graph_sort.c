/* An order of the nodes in which each comes after what it depends on. */
#include <stdlib.h>
#include <string.h>

#include "replay/replay_graph.h"

enum { UNSEEN, OPEN, DONE };

struct sorting {
	struct graph *g;
	uint32_t first, count, done;
	uint8_t *state;    /* by node, less first */
	uint32_t *stack;   /* nodes that wait for another one to be done */
	uint32_t *renamed; /* less first */
	size_t depth;
};

static uint32_t *nth_need(struct node *n, size_t i)
{
	return i ? &n->deps[i - 1] : &n->prev;
}

/* The first of its needs that is not done. */
static uint32_t missing(const struct sorting *s, uint32_t at)
{
	struct node *n = &s->g->nodes[s->first + at];

	for (size_t i = 0; i <= NODE_DEPS; i++) {
		uint32_t need = *nth_need(n, i);

		if (need != NODE_NONE && s->state[need - s->first] != DONE)
			return need - s->first;
	}
	return NODE_NONE;
}

/* x no longer depends on y; false: it is the one before it, which stays. */
static bool cut(struct sorting *s, uint32_t x, uint32_t y)
{
	struct node *n = &s->g->nodes[s->first + x];
	bool found = false;

	if (n->prev == s->first + y)
		return false;
	for (size_t i = 0; i < NODE_DEPS; i++) {
		if (n->deps[i] != s->first + y)
			continue;
		n->deps[i] = NODE_NONE;
		found = true;
	}
	s->g->broken += found;
	return found;
}

/*
 * The last node of the stack depends on `on`, which is further down: a circle, by times that are
 * not exact.  Threads and streams keep their order; another dependency is left out.
 */
static void break_circle(struct sorting *s, uint32_t on)
{
	if (cut(s, s->stack[s->depth - 1], on))
		return;
	while (s->depth > 1 && s->stack[s->depth - 1] != on) {
		uint32_t last = s->stack[--s->depth];

		s->state[last] = UNSEEN;
		if (cut(s, s->stack[s->depth - 1], last))
			return;
	}
}

static void settle(struct sorting *s, uint32_t root)
{
	if (s->state[root] != UNSEEN)
		return;
	s->state[root] = OPEN;
	s->stack[s->depth++] = root;
	while (s->depth) {
		uint32_t at = s->stack[s->depth - 1], next = missing(s, at);

		if (next == NODE_NONE) {
			s->state[at] = DONE;
			s->renamed[at] = s->first + s->done++;
			s->depth--;
		} else if (s->state[next] == OPEN) {
			break_circle(s, next);
		} else {
			s->state[next] = OPEN;
			s->stack[s->depth++] = next;
		}
	}
}

static void rename_needs(const struct sorting *s, struct node *n)
{
	for (size_t i = 0; i <= NODE_DEPS; i++) {
		uint32_t *need = nth_need(n, i);

		if (*need != NODE_NONE)
			*need = s->renamed[*need - s->first];
	}
}

/* NOLINTNEXTLINE(readability-non-const-parameter): settle() fills it in */
int graph_sort(struct graph *g, uint32_t first, uint32_t *renamed)
{
	struct sorting s = {
		.g = g,
		.first = first,
		.count = (uint32_t)g->node_count - first,
		.renamed = renamed,
	};
	struct node *ordered = malloc(((size_t)s.count + 1) * sizeof(*ordered));
	int rc = -1;

	s.state = calloc((size_t)s.count + 1, sizeof(*s.state));
	s.stack = malloc(((size_t)s.count + 1) * sizeof(*s.stack));
	if (ordered && s.state && s.stack) {
		for (uint32_t i = 0; i < s.count; i++)
			settle(&s, i);
		for (uint32_t i = 0; i < s.count; i++) {
			rename_needs(&s, &g->nodes[first + i]);
			ordered[renamed[i] - first] = g->nodes[first + i];
		}
		memcpy(g->nodes + first, ordered, s.count * sizeof(*ordered));
		rc = 0;
	}
	free(ordered);
	free(s.state);
	free(s.stack);
	return rc;
}
