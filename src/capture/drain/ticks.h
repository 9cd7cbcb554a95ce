/*
 * From ticks of the agents' clock to nanoseconds since the recording began.
 *
 * The CPU's counter is compared with CLOCK_MONOTONIC again and again; between
 * two such points time is interpolated, so drift and slewing cannot pile up.
 */
#ifndef CAPTURE_DRAIN_TICKS_H
#define CAPTURE_DRAIN_TICKS_H

#include <stddef.h>
#include <stdint.h>

#define TICKS_POINTS_MAX 8192u /* older points are thinned out beyond this */

struct ticks_point {
	uint64_t ticks;
	int64_t ns;
};

struct ticks {
	uint32_t clock; /* enum shm_clock */
	int64_t origin_ns;
	size_t count;
	struct ticks_point points[TICKS_POINTS_MAX];
	/* The interval last used: [from, to) and its slope. */
	uint64_t from, to;
	int64_t from_ns;
	double ns_per_tick;
};

/*
 * Which clock agents should stamp with: the counter where the CPU calls it invariant and the
 * kernel has not found it to differ between CPUs.  root: "" or a folder that plays the part of "/".
 */
uint32_t ticks_choose_clock(const char *root);

/* Takes the first two points, a millisecond apart; time 0 is origin_ns of CLOCK_MONOTONIC. */
void ticks_init(struct ticks *t, uint32_t clock, int64_t origin_ns);

/*
 * Takes a point.  Stamps taken before this call can be converted after it; those
 * outside all points count as the nearest one.
 */
void ticks_sync(struct ticks *t);

int64_t ticks_now_ns(const struct ticks *t); /* since the start, from CLOCK_MONOTONIC */

/* Finds the interval for a stamp outside the one last used. */
void ticks_seek(struct ticks *t, uint64_t stamp);

static inline int64_t ticks_ns(struct ticks *t, uint64_t stamp)
{
	if (stamp < t->from || stamp >= t->to)
		ticks_seek(t, stamp);
	return t->from_ns + (int64_t)((double)(int64_t)(stamp - t->from) * t->ns_per_tick);
}

#endif
