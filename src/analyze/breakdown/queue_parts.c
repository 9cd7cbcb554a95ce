#include "analyze/breakdown/step_sweep.h"

/* In which a thread runs or, which samples do not distinguish, is ready to. */
static bool runs(enum time_class what)
{
	switch (what) {
	case TIME_CPU_PREPROCESSING:
	case TIME_CPU_COMPUTE:
	case TIME_FRAMEWORK:
	case TIME_LAUNCH:
	case TIME_GC:
	case TIME_COMPILE:
		return true;
	default:
		return false;
	}
}

int queue_parts_move(struct kind_sum *kind, double share, struct time_places *places)
{
	size_t count = kind->place_cap < places->count ? kind->place_cap : places->count;

	for (size_t i = 0; i < count; i++) {
		size_t to;

		if (!runs(places->items[i].what) || kind->places[i].ns[STEPS_ALL] <= 0)
			continue;
		to = place_as(places, i, TIME_CPU_WAIT);
		if (to == SIZE_MAX || place_move(kind, i, to, share))
			return -1;
	}
	for (enum time_class c = 0; c < TIME_CLASSES; c++)
		if (runs(c))
			part_move(kind, c, TIME_CPU_WAIT, share * (double)kind->parts[c].ns);
	return 0;
}
