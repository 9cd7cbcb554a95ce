/*
 * Adds up what each layer did during the walk over the timeline.
 *
 * CUDA calls and layers are both in order of thread and time: a cursor moves through the calls
 * beside the walk, and each call goes to the innermost layer that is open when it begins.  Another
 * cursor moves through the captured nodes of CUDA graphs: their activities, in any replay, count
 * for the layer that was captured.  Memory grows with the number of layers, not of their calls.
 */
#ifndef ANALYZE_CPU_LAYER_TOTALS_H
#define ANALYZE_CPU_LAYER_TOTALS_H

#include "analyze/figures/layer_figures.h"
#include "analyze/gpu/gpu_sections.h"
#include "timeline/layer_stack.h"
#include "timeline/pair_map.h"

/* One module object of one process. */
struct layer_sums {
	uint32_t process; /* id */
	uint32_t id;
	size_t around; /* the layer that was open around it when first seen; LAYER_NONE */
	int64_t first_ns;
	struct layer_figures sum;
	uint32_t open; /* its calls that have not ended, in the thread that is walked */
	bool folded;
};

/* A call of a layer that has not ended. */
struct layer_call {
	size_t totals;
	int64_t gpu_ns, self_gpu_ns;
	uint64_t kernels, self_kernels;
	size_t first, last; /* of the activities it started, in order of start; GPU_NONE: none */
};

struct layer_totals {
	const struct trace *trace;
	const struct analysis_gpu *gpu;
	struct layer_sums *items;
	size_t count, cap;
	struct pair_map index;                    /* (process, layer id) */
	struct layer_call calls[LAYER_DEPTH_MAX]; /* open, by depth */
	uint32_t depth;
	size_t thread;    /* whose they are */
	size_t next_call; /* the first CUDA call that was not examined yet */
	size_t next_capture;
	int64_t *idle_ns; /* by activity: idle time before it, in its process; NULL: not needed */
	struct layer_call outside;
	bool failed; /* out of memory */
};

/* Both are borrowed; the GPU's sections may be filled in up to the walk. */
void layer_totals_init(struct layer_totals *c, const struct trace *t,
		       const struct analysis_gpu *gpu);
void layer_totals_release(struct layer_totals *c);

/* For the visitor: see timeline.h. */
void layer_totals_begin(struct layer_totals *c, size_t thread, uint32_t depth, uint32_t id,
			int64_t time_ns);
void layer_totals_end(struct layer_totals *c, const struct layer_span *s);
void layer_totals_drop(struct layer_totals *c, uint32_t depth);
void layer_totals_merge(struct layer_totals *c, size_t thread, uint32_t id);

/* After the walk: names, orders and moves all into the result.  -1: out of memory. */
int layer_totals_finish(struct layer_totals *c, struct analysis_layers *out);

/*
 * Layers in the order in which they are shown: a tree by their qualified names.
 *
 * The parent of `transformer.h.3.attn` is `transformer.h.3` where that is a layer, else
 * `transformer.h`, and so on up to its root.  A root that was first called inside another
 * layer stands under that one.  Layers of one name below one root are one row, and so are
 * roots of one class and place without layers of their own: nothing tells modules apart
 * that are made anew for each call.
 */

/* Fills in the items, and what is counted of them; -1: out of memory. */
int layer_tree_build(struct analysis_layers *out, struct layer_totals *c);

#endif
