/*
 * The rows of the timeline, and the items on them.
 *
 * A row belongs to a track (a thread, a stream) and there to a lane (its layers, its calls) and a
 * depth.  Its items are added in order of time and do not overlap: what would is moved, and
 * counted.  They are kept as few bytes each until view_tree.h makes levels of detail of them.
 */
#ifndef REPORT_VIEWDATA_VIEW_ROWS_H
#define REPORT_VIEWDATA_VIEW_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "timeline/pair_map.h"

/* The smallest intervals that levels of detail are made of: 4^8 of them. */
#define VIEW_LEVELS 8u
#define VIEW_BINS (1u << 2 * VIEW_LEVELS)
#define VIEW_ROW_NONE UINT32_MAX
#define VIEW_DEPTH_MAX 250u /* rows of a lane; what is deeper is not drawn, and counted */

/* The numbers are the page's: viewer/model.js. */
enum view_track_type {
	VIEW_TRACK_STEPS = 0,
	VIEW_TRACK_GPU = 1,
	VIEW_TRACK_STREAM = 2,
	VIEW_TRACK_THREAD = 3,
};

enum view_lane {
	VIEW_LANE_STEPS = 0,
	VIEW_LANE_BUSY = 1,
	VIEW_LANE_STREAM = 2,
	VIEW_LANE_SCOPES = 3,
	VIEW_LANE_WAITS = 4,
	VIEW_LANE_SYNC = 5,
	VIEW_LANE_GC = 6,
	VIEW_LANE_LAYERS = 7,
	VIEW_LANE_CALLS = 8,
	VIEW_LANE_FRAMES = 9,
	VIEW_LANE_SAMPLES = 10,
	VIEW_LANE_PAUSES = 11,
	VIEW_LANE_COMPILE = 12,
};

/* Do items of a lane have a time of their own, without the items inside them? */
static inline bool view_lane_has_self(enum view_lane lane)
{
	return lane == VIEW_LANE_FRAMES || lane == VIEW_LANE_SAMPLES;
}

struct view_track {
	enum view_track_type type;
	uint32_t name;    /* string */
	uint32_t process; /* position, + 1; 0: none */
	uint32_t number;  /* tid, stream */
	uint32_t device;
};

struct view_row {
	uint32_t track, depth;
	enum view_lane lane;
	bool links;       /* items point to others */
	struct buf items; /* varints: start less the last end, length, label; self; link */
	uint64_t count;
	int64_t last_ns; /* end of the last item */
};

struct view_item {
	int64_t start_ns, end_ns;
	uint32_t label;
	int64_t self_ns;       /* see view_lane_has_self() */
	uint32_t link_row;     /* VIEW_ROW_NONE: it points nowhere */
	int64_t link_start_ns; /* of the item there */
};

/* Called for every item that is added. */
struct view_listener {
	void *ctx;
	void (*added)(void *ctx, uint32_t row, const struct view_item *item);
};

struct view_rows {
	struct view_track *tracks;
	size_t track_count, track_cap;
	struct view_row *rows;
	size_t row_count, row_cap;
	struct pair_map find; /* (track and lane, depth) */
	int64_t end_ns;       /* of the timeline, which begins at 0 */
	int64_t bin_ns;
	uint32_t *bins; /* how many items begin in each; VIEW_BINS of them */
	uint64_t moved; /* items that overlapped another one of their row */
	uint64_t deeper;
	struct view_listener listener; /* added may be NULL */
	bool failed;
};

/* -1: no memory; release it nevertheless. */
int view_rows_init(struct view_rows *r, int64_t end_ns);
void view_rows_release(struct view_rows *r);

uint32_t view_track_add(struct view_rows *r, const struct view_track *track);

/* Makes it if it is not there; VIEW_ROW_NONE: too deep. */
uint32_t view_row_of(struct view_rows *r, uint32_t track, enum view_lane lane, uint32_t depth);

/* The item as it was put: its times are changed where the row has something there. */
void view_row_add(struct view_rows *r, uint32_t at, struct view_item *i);

/* The items of a row again, in order. */
struct view_cursor {
	const struct view_row *row;
	const uint8_t *at, *end;
	int64_t last_ns;
};

void view_cursor_init(struct view_cursor *c, const struct view_row *row);
bool view_cursor_next(struct view_cursor *c, struct view_item *item);

#endif
