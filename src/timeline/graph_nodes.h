/*
 * Where the nodes of CUDA graphs come from.
 *
 * A node is made once, by a call that was captured or one that added it, and copied
 * when its graph is instantiated, nested or cloned; activities have the number of the
 * copy that ran.  Numbers are those of a process.
 */
#ifndef TIMELINE_GRAPH_NODES_H
#define TIMELINE_GRAPH_NODES_H

#include "timeline/gpu.h"
#include "timeline/pair_map.h"

struct graph_nodes {
	struct gpu_capture *captures; /* in order of (thread, time) */
	size_t count, cap;
	struct pair_map made;   /* (process, node) -> position in captures */
	struct pair_map copied; /* (process, node) -> the node that it is a copy of */
	uint32_t *links;        /* activities by the capture of their node */
	uint32_t *link_at;      /* of each capture: where its activities begin in links */
};

void graph_nodes_init(struct graph_nodes *n);
void graph_nodes_release(struct graph_nodes *n);

/* All return -1 when there is no memory.  Captures come in their order; positions fit 32 bits. */
int graph_nodes_add(struct graph_nodes *n, const struct gpu_capture *made, uint64_t node);
int graph_nodes_clone(struct graph_nodes *n, uint32_t process, uint64_t node, uint64_t original);

/* The capture of a node; GPU_NONE: unknown. */
uint32_t graph_nodes_find(const struct graph_nodes *n, uint32_t process, uint64_t node);

/* After all of the above: tells each activity its capture, and each capture its activities. */
int graph_nodes_link(struct graph_nodes *n, struct gpu_activity *activities, size_t count);

#endif
