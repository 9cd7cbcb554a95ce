#include "timeline/graph_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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

	/* CUPTI tells of a copy that it was made, too: by the one who copied. */
	for (int i = 0; i < COPIES_MAX; i++) {
		size_t original = pair_map_find(&n->copied, process, node);

		if (original == PAIR_NONE)
			break;
		node = original;
	}
	at = pair_map_find(&n->made, process, node);
	return at == PAIR_NONE ? GPU_NONE : (uint32_t)at;
}

int graph_nodes_link(struct graph_nodes *n, struct gpu_activity *activities, size_t count)
{
	uint32_t at = 0;

	n->links = calloc(count + 1, sizeof(*n->links));
	n->link_at = calloc(n->count + 1, sizeof(*n->link_at));
	if (!n->links || !n->link_at)
		return -1;
	for (size_t i = 0; n->count && i < count; i++) {
		struct gpu_activity *a = &activities[i];

		if (!a->graph_node)
			continue;
		a->capture = graph_nodes_find(n, a->process, a->graph_node);
		if (a->capture != GPU_NONE)
			n->captures[a->capture].activities++;
	}
	for (size_t i = 0; i < n->count; i++) {
		n->link_at[i] = at;
		at += (uint32_t)n->captures[i].activities;
	}
	for (size_t i = 0; i < count; i++)
		if (activities[i].capture != GPU_NONE)
			n->links[n->link_at[activities[i].capture]++] = (uint32_t)i;
	for (size_t i = 0; i < n->count; i++)
		n->link_at[i] -= (uint32_t)n->captures[i].activities;
	return 0;
}
