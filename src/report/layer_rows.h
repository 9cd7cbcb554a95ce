/*
 * Layers as people read them: the tree of a model with its repeated blocks taken
 * together, `h.0` to `h.11` as one row `h.*` of 12 layers.
 *
 * Rows are of one parent, one class and one name but for numbers.  They come in the
 * order of the tree; a cut shows those that took most time.
 */
#ifndef REPORT_LAYER_ROWS_H
#define REPORT_LAYER_ROWS_H

#include "analyze/figures/layer_figures.h"
#include "base/arena.h"
#include "base/buf.h"

struct layer_row {
	const char *label;      /* below its parent; a root's own */
	const char *class_name; /* borrowed from the analysis, as the label of a single layer */
	uint32_t pid;
	size_t parent; /* index, smaller than its own; LAYER_NONE: none */
	size_t layers; /* taken together */
	struct layer_figures sum;
	bool folded; /* one of them */
	bool shown;
	size_t first_child, last_child, next; /* private */
	const char *pattern;
};

struct layer_rows {
	size_t count;
	struct layer_row *items;
	size_t shown;
	bool by_gpu; /* ranked by GPU time; else there is none, and by CPU time */
	struct arena texts;
};

/*
 * The rows of an analysis, of which at most `limit` are to be shown.  -1: out of memory;
 * release it nevertheless.
 */
int layer_rows_collect(struct layer_rows *r, const struct analysis_layers *l, size_t limit);
void layer_rows_release(struct layer_rows *r);

/* How many of the rows around a row are shown; its name below the innermost of those. */
unsigned layer_row_indent(const struct layer_rows *r, size_t row);
void layer_row_name(struct buf *out, const struct layer_rows *r, size_t row);

#endif
