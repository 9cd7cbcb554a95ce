#include "report/viewdata/view_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/varint.h"

int view_rows_init(struct view_rows *r, int64_t end_ns)
{
	memset(r, 0, sizeof(*r));
	pair_map_init(&r->find);
	r->end_ns = end_ns > 0 ? end_ns : 1;
	r->bin_ns = r->end_ns / VIEW_BINS + 1;
	r->bins = calloc(VIEW_BINS, sizeof(*r->bins));
	return r->bins ? 0 : -1;
}

void view_rows_release(struct view_rows *r)
{
	for (size_t i = 0; i < r->row_count; i++)
		buf_release(&r->rows[i].items);
	free(r->rows);
	free(r->tracks);
	free(r->bins);
	pair_map_release(&r->find);
	memset(r, 0, sizeof(*r));
}

uint32_t view_track_add(struct view_rows *r, const struct view_track *track)
{
	struct view_track *grown =
		array_grow(r->tracks, &r->track_cap, r->track_count + 1, sizeof(*grown));

	if (!grown) {
		r->failed = true;
		return 0;
	}
	r->tracks = grown;
	grown[r->track_count] = *track;
	return (uint32_t)r->track_count++;
}

uint32_t view_row_of(struct view_rows *r, uint32_t track, enum view_lane lane, uint32_t depth)
{
	uint64_t key = (uint64_t)track << 8 | lane;
	size_t at = pair_map_find(&r->find, key, depth);
	struct view_row *grown;

	if (at != PAIR_NONE)
		return (uint32_t)at;
	if (depth >= VIEW_DEPTH_MAX || r->failed)
		return VIEW_ROW_NONE;
	grown = array_grow(r->rows, &r->row_cap, r->row_count + 1, sizeof(*grown));
	if (grown)
		r->rows = grown;
	if (!grown || pair_map_put(&r->find, key, depth, r->row_count)) {
		r->failed = true;
		return VIEW_ROW_NONE;
	}
	grown[r->row_count] = (struct view_row){
		.track = track,
		.depth = depth,
		.lane = lane,
		.links = lane == VIEW_LANE_STREAM || lane == VIEW_LANE_CALLS,
	};
	buf_init(&grown[r->row_count].items);
	return (uint32_t)r->row_count++;
}

void view_row_add(struct view_rows *r, uint32_t at, struct view_item *i)
{
	struct view_row *row;
	uint8_t bytes[6 * VARINT_MAX];
	size_t n = 0, bin;

	if (at == VIEW_ROW_NONE) {
		r->deeper++;
		return;
	}
	row = &r->rows[at];
	if (i->start_ns < row->last_ns || i->end_ns > r->end_ns || i->end_ns < i->start_ns) {
		r->moved += i->end_ns < i->start_ns || i->start_ns < row->last_ns;
		if (i->start_ns < row->last_ns)
			i->start_ns = row->last_ns;
		if (i->end_ns > r->end_ns)
			i->end_ns = r->end_ns;
		if (i->start_ns > r->end_ns)
			i->start_ns = r->end_ns;
		if (i->end_ns < i->start_ns)
			i->end_ns = i->start_ns;
	}
	n += varint_put(bytes + n, (uint64_t)(i->start_ns - row->last_ns));
	n += varint_put(bytes + n, (uint64_t)(i->end_ns - i->start_ns));
	n += varint_put(bytes + n, i->label);
	if (view_lane_has_self(row->lane))
		n += varint_put(bytes + n, i->self_ns > 0 ? (uint64_t)i->self_ns : 0);
	if (row->links) {
		bool linked = i->link_row != VIEW_ROW_NONE;

		n += varint_put(bytes + n, linked ? (uint64_t)i->link_row + 1 : 0);
		if (linked)
			n += varint_put(bytes + n, zigzag(i->link_start_ns - i->start_ns));
	}
	buf_add(&row->items, bytes, n);
	r->failed |= row->items.failed;
	row->last_ns = i->end_ns;
	row->count++;
	bin = (size_t)(i->start_ns / r->bin_ns);
	r->bins[bin < VIEW_BINS ? bin : VIEW_BINS - 1]++;
	if (r->listener.added)
		r->listener.added(r->listener.ctx, at, i);
}

void view_cursor_init(struct view_cursor *c, const struct view_row *row)
{
	const uint8_t *data = (const uint8_t *)row->items.data;

	*c = (struct view_cursor){ row, data, data + row->items.len, 0 };
}

/* What view_row_add() wrote: no check can fail. */
static uint64_t take(struct view_cursor *c)
{
	uint64_t value = 0;
	const uint8_t *at = c->at ? varint_get(c->at, c->end, &value) : NULL;

	c->at = at ? at : c->end;
	return value;
}

bool view_cursor_next(struct view_cursor *c, struct view_item *i)
{
	if (c->at == c->end)
		return false;
	i->start_ns = c->last_ns + (int64_t)take(c);
	i->end_ns = i->start_ns + (int64_t)take(c);
	i->label = (uint32_t)take(c);
	i->self_ns = view_lane_has_self(c->row->lane) ? (int64_t)take(c) : 0;
	i->link_row = VIEW_ROW_NONE;
	if (c->row->links) {
		uint64_t link = take(c);

		if (link) {
			i->link_row = (uint32_t)(link - 1);
			i->link_start_ns = i->start_ns + unzigzag(take(c));
		}
	}
	c->last_ns = i->end_ns;
	return true;
}
