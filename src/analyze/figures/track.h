/*
 * Consecutive pieces of time, and a cursor that moves through them beside other tracks.
 *
 * A track holds all of its pieces, or a window of them that its source fills as the cursor moves:
 * there may be hundreds of millions.
 */
#ifndef ANALYZE_FIGURES_TRACK_H
#define ANALYZE_FIGURES_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct piece {
	int64_t start_ns, end_ns;
	uint32_t id, more; /* what it is: the track's owner knows */
};

struct track {
	struct piece *items; /* in order, disjoint, none empty */
	size_t count, cap;
	size_t at; /* the first that does not lie behind the cursor */
	/*
	 * For a window: adds the next pieces with track_add().  False: there are no more, or no
	 * memory (failed).  NULL: the track holds all pieces.
	 */
	bool (*source)(void *ctx, struct track *t);
	void *ctx;
	bool failed;
	/* Private to track_turn(): its result is valid until then. */
	bool turned;
	int64_t change_ns;
	const struct piece *here;
};

#define TRACK_WINDOW 256u /* pieces, about: 6 KB stay in the first cache */

void track_release(struct track *t);

/*
 * Adds a piece that begins no earlier than the last one; a part that the track covers already
 * stays unchanged.  -1: no memory.
 */
int track_add(struct track *t, const struct piece *p);

/*
 * For pieces in any order that may overlap: put them in the list, then sort them with this.
 */
int track_put(struct track *t, const struct piece *p);
void track_sort(struct track *t);

/* A window at the beginning of its source; the memory of the track is reused. */
void track_open(struct track *t, bool (*source)(void *ctx, struct track *t), void *ctx);

/*
 * Fills a window again: then the cursor's piece is the first one, and the next one is known.
 */
void track_fill(struct track *t);

/*
 * Is there a piece at the cursor?  The last piece of a window may still grow, so it is not
 * returned yet.
 */
static inline bool track_has(struct track *t)
{
	if (t->source && t->at + 1 >= t->count)
		track_fill(t);
	return t->at < t->count;
}

/* Sets the cursor to a time, behind or, unless it is a window, before the one it has. */
void track_seek(struct track *t, int64_t time_ns);

/* How much of [start, end) there are pieces in; the cursor stays. */
int64_t track_overlap_ns(const struct track *t, int64_t start_ns, int64_t end_ns);

/* What track_turn() does where something may have changed. */
void track_move(struct track *t, int64_t now_ns);

/*
 * Moves the cursor forward to `now`: the piece there, or NULL.  *next becomes the time at which
 * this changes, if that is earlier.  Of many tracks few change at a time.
 */
static inline const struct piece *track_turn(struct track *t, int64_t now_ns, int64_t *next_ns)
{
	if (!t->turned || now_ns >= t->change_ns)
		track_move(t, now_ns);
	if (t->change_ns < *next_ns)
		*next_ns = t->change_ns;
	return t->here;
}

#endif
