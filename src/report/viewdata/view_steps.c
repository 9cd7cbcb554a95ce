/* The ruler: a row for each kind of steps, more where its steps overlap. */
#include <stdlib.h>

#include "report/viewdata/view_parts.h"

#define STEP_LANES 8u

static int by_kind_and_time(const void *a, const void *b)
{
	const struct step_item *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/*
 * The first lane that is free when a step begins, else the one that is free first.  An overlap that
 * nobody could see (a step may end with the device's work) takes no further lane.
 */
static uint32_t free_lane(const int64_t until_ns[STEP_LANES], const struct step_item *step)
{
	int64_t unseen_ns = (step->end_ns - step->start_ns) / 2000;
	uint32_t lane = 0;

	for (uint32_t i = 0; i < STEP_LANES; i++) {
		if (until_ns[i] <= step->start_ns + unseen_ns)
			return i;
		if (until_ns[i] < until_ns[lane])
			lane = i;
	}
	return lane;
}

static void add_kind(struct view *v, uint32_t track, const struct step_item *items, size_t count)
{
	const struct analysis_step *step = &v->a->steps[items->kind];
	int64_t until_ns[STEP_LANES] = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint32_t lane = free_lane(until_ns, &items[i]);
		struct view_item item = {
			.start_ns = items[i].start_ns,
			.end_ns = items[i].end_ns,
			.label = view_label(&v->names,
					    &(struct view_label){
						    .kind = VIEW_STEP,
						    .what = items[i].group,
						    .name = view_string(&v->names, step->name),
					    }),
		};

		until_ns[lane] = items[i].end_ns;
		view_row_add(&v->rows,
			     view_row_of(&v->rows, track, VIEW_LANE_STEPS,
					 items[i].kind * STEP_LANES + lane),
			     &item);
	}
}

int view_steps_collect(struct view *v)
{
	const struct step_items *all = &v->a->step_items;
	struct step_item *sorted = calloc(all->count + 1, sizeof(*sorted));
	uint32_t track = view_track_add(&v->rows, &(struct view_track){ .type = VIEW_TRACK_STEPS });

	if (!sorted)
		return -1;
	v->steps_row = view_row_of(&v->rows, track, VIEW_LANE_STEPS, 0);
	for (size_t i = 0; i < all->count; i++)
		sorted[i] = all->items[i];
	qsort(sorted, all->count, sizeof(*sorted), by_kind_and_time);
	for (size_t i = 0, next; i < all->count; i = next) {
		for (next = i; next < all->count && sorted[next].kind == sorted[i].kind; next++)
			;
		if (sorted[i].kind < v->a->step_count)
			add_kind(v, track, sorted + i, next - i);
	}
	free(sorted);
	return v->rows.failed ? -1 : 0;
}
