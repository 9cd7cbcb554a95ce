/*
 * The layers that are open in one thread, from their begin and end events to closed
 * spans.  Nesting is repaired where events are missing:
 *   an end of a layer further down      closes those above it at the same time
 *   an end of a layer that is not open  was begun in a gap, or before the recording: goes
 *   a layer open at a gap or a pause    ends where that began
 *   a layer that is folded              goes; its time is that of the layer around it
 *   any other layer open at the end     ends with its thread
 */
#ifndef TIMELINE_LAYER_STACK_H
#define TIMELINE_LAYER_STACK_H

#include "timeline/timeline.h"

/* Python's own limit of recursion leaves no room for deeper models; what is beyond goes. */
#define LAYER_DEPTH_MAX 512u

struct open_layer {
	uint32_t id;
	int64_t start_ns;
	int64_t inside_ns; /* of layers that ended inside it */
};

struct layer_stack {
	const struct timeline_visitor *visitor;
	struct open_layer open[LAYER_DEPTH_MAX]; /* outermost first */
	uint32_t depth;
	uint64_t beyond; /* begun beyond the limit and not ended */
	size_t thread;
	struct thread_counts *totals;
};

/* The visitor is borrowed; its members for layers may be NULL. */
void layer_stack_init(struct layer_stack *s, const struct timeline_visitor *v);
void layer_stack_start(struct layer_stack *s, size_t thread, struct thread_counts *totals);

void layer_stack_begin(struct layer_stack *s, uint32_t id, int64_t now_ns);
void layer_stack_end(struct layer_stack *s, uint32_t id, int64_t now_ns);
void layer_stack_drop(struct layer_stack *s, uint32_t id); /* 0: all are recorded again */
void layer_stack_gap(struct layer_stack *s, int64_t start_ns);
void layer_stack_finish(struct layer_stack *s, int64_t end_ns);

#endif
