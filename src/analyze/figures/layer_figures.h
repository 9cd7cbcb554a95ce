/*
 * What the layers of the models did, in figures that reports can print.
 *
 * A layer's CPU time is that of its thread between begin and end of its calls, waiting
 * included; its GPU time that of all that its thread launched meanwhile, whenever it
 * ran.  Both are inclusive; self is without the layers inside it.  A call of a layer
 * inside another call of the same one is counted and adds to no inclusive time.
 */
#ifndef ANALYZE_FIGURES_LAYER_FIGURES_H
#define ANALYZE_FIGURES_LAYER_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define LAYER_NONE SIZE_MAX

struct layer_figures {
	uint64_t calls;
	int64_t cpu_ns, self_cpu_ns;
	int64_t gpu_ns, self_gpu_ns; /* kernels, copies, memsets, graphs; overlaps count twice */
	uint64_t kernels, self_kernels;
	int64_t launch_gap_ns; /* the GPU was idle between the first and last work of a call */
};

struct analysis_layer {
	const char *name;       /* below its root; of a root what `root` says */
	const char *class_name; /* "(unknown)" where its definition is missing */
	const char *root; /* class of the model that it is part of; a second one has "#2" behind */
	uint32_t pid;
	uint32_t depth; /* layers around it in the tree */
	size_t parent;  /* index, smaller than its own; LAYER_NONE: none */
	struct layer_figures sum;
	bool folded; /* after so many calls it was not recorded for some time */
};

struct analysis_layers {
	size_t count;
	struct analysis_layer *items; /* the tree: first seen first, the layers of one behind it */
	struct arena texts;
	/* What was launched in no layer: with the self times of all it is all GPU time. */
	int64_t outside_gpu_ns;
	uint64_t outside_kernels;
	uint64_t unended; /* calls whose end is missing */
	size_t folded;    /* layers */
};

void analysis_layers_release(struct analysis_layers *l);

void layer_figures_add(struct layer_figures *to, const struct layer_figures *more);

#endif
