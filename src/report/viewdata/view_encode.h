/* The bytes of a node (view_tree.h), made item by item. */
#ifndef REPORT_VIEWDATA_VIEW_ENCODE_H
#define REPORT_VIEWDATA_VIEW_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* An item, or several of a row that are drawn as one. */
struct view_part {
	int64_t start_ns, end_ns;
	int64_t covered_ns, longest_ns;
	int64_t inside_ns; /* of its time: in calls that it made */
	uint32_t label;    /* of the longest */
	uint32_t count;
	uint32_t link_row;
	int64_t link_start_ns;
};

/* `into` is empty (count 0) or lies before it. */
void view_part_merge(struct view_part *into, const struct view_part *part);

/* What a row has in a node. */
struct view_piece {
	struct buf starts, lengths, labels, merged, inside, links;
	uint64_t count;
	int64_t first_ns, last_ns;
	struct view_part merging; /* count 0: nothing */
};

void view_piece_init(struct view_piece *p);
void view_piece_release(struct view_piece *p);
void view_piece_add(struct view_piece *p, const struct view_part *part);
/* Which columns a row has in a node. */
struct view_columns {
	bool merged, inside, links;
};

/* Appends the piece, if there is anything in it, and begins anew. */
void view_piece_end(struct view_piece *p, struct buf *out, uint32_t row, int64_t node_ns,
		    struct view_columns columns);

struct view_total {
	uint64_t count;
	int64_t ns, self_ns;
};

/* By label; `used` has those of which there are any. */
struct view_totals {
	struct view_total *of;
	uint32_t *used;
	size_t used_count;
};

int view_totals_init(struct view_totals *t, size_t labels); /* -1: no memory */
void view_totals_release(struct view_totals *t);
void view_totals_add(struct view_totals *t, uint32_t label, int64_t ns, int64_t self_ns);
void view_totals_move(struct view_totals *into, struct view_totals *from);
void view_totals_clear(struct view_totals *t);
void view_totals_put(const struct view_totals *t, struct buf *out, uint32_t row);

#endif
