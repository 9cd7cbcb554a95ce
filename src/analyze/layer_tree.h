/*
 * Layers in the order in which they are shown: a tree by their qualified names.
 *
 * The parent of `transformer.h.3.attn` is `transformer.h.3` where that is a layer, else
 * `transformer.h`, and so on up to its root.  A root that was first called inside another
 * layer stands under that one.  Layers of one name below one root are one row, and so are
 * roots of one class and place without layers of their own: nothing tells modules apart
 * that are made anew for each call.
 */
#ifndef ANALYZE_LAYER_TREE_H
#define ANALYZE_LAYER_TREE_H

#include "analyze/layer_census.h"

/* Fills in the items, and what is counted of them; -1: out of memory. */
int layer_tree_build(struct analysis_layers *out, struct layer_census *c);

#endif
