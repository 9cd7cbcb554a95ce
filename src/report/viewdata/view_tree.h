/*
 * Levels of detail: what a browser needs to draw any interval quickly, and no more than a
 * page has room for.
 *
 * The time of the run is the root; where many items begin in an interval it is divided into four,
 * and so on.  A leaf has its items one by one.  Any other node has a summary: of 1/2048 of its time
 * (its grain) the shorter items of a row are merged, the longer ones stand by themselves.  An item
 * is in the nodes that it begins in, but not in those that are no longer than it is.  So each item
 * is drawn from exactly one node: the deepest one that is there and longer than it.
 *
 * Nodes that are no leaves have totals as well: by row and label how many items begin in them, and
 * their time.  Statistics of long intervals are exact without the leaves.
 *
 * A node's bytes (all numbers are varints), ended by 0:
 *   1, row, items, start less the node's,
 *      then by columns: start less the last end; length; label;
 *      in summaries: 0, or how many were merged and a byte, their time in 1/255 of the length (of
 *      a device's busy and idle times: the busy time; the label is an idle one if there is any);
 *      in leaves, of calls: the time in calls that they made;
 *      in rows with links: 0, or row + 1, and zigzag start of the item there less this one's
 *   2, row, entries, then label, count, time, self time for each
 */
#ifndef REPORT_VIEWDATA_VIEW_TREE_H
#define REPORT_VIEWDATA_VIEW_TREE_H

#include "report/viewdata/view_names.h"
#include "report/viewdata/view_rows.h"

struct view_interval {
	int64_t start_ns, end_ns;
};

struct view_node {
	uint32_t level; /* 0: the root */
	uint32_t index; /* in its level */
	bool leaf;
	uint64_t items; /* that begin in it */
	bool packed;    /* private, as kept */
	bool kept;
	struct buf data; /* deflated; empty: no room in the page */
};

struct view_tree {
	int64_t unit_ns; /* the length of a node of the deepest level */
	size_t node_count, node_cap;
	struct view_node *nodes; /* by level, then by index */
	uint64_t item_count;     /* of all rows */
	uint64_t whole_count;    /* of them in leaves that are there */
};

/*
 * Of all rows, whose labels are those of `names`, at most `limit_bytes` long as they stand in the
 * page.  First the summaries, the coarse ones first; then what overlaps `wanted`, the first
 * of them first and with the summaries above it, then the newest.
 * The rows' items are given back. -1: no memory; release it nevertheless.
 */
int view_tree_make(struct view_tree *tree, struct view_rows *rows, const struct view_names *names,
		   const struct view_interval *wanted, size_t wanted_count, size_t limit_bytes);
void view_tree_release(struct view_tree *tree);

/* Appends zlib's raw DEFLATE.  -1: no memory. */
int view_deflate(struct buf *out, const void *data, size_t bytes);
void view_base64(struct buf *out, const void *data, size_t bytes);

#endif
