#include "analyze/fault_parts.h"

#include <string.h>

#include "analyze/stats.h"
#include "base/array.h"

/* Fewer are no picture of all. */
#define FAULTS_TOLD 20u

/* What time of the host faults are taken from. */
static bool can_fault(enum time_class what, enum fault_kind kind)
{
	switch (what) {
	case TIME_CPU_PREPROCESSING:
	case TIME_CPU_COMPUTE:
	case TIME_FRAMEWORK:
		return true;
	case TIME_IO_WAIT:
		return kind == FAULT_MAJOR;
	default:
		return false;
	}
}

/* Of all steps of the kind. */
static double faults_ns(const struct analysis_step *s, enum fault_kind kind)
{
	double steps = (double)s->breakdown.steps;

	if (kind == FAULT_MINOR)
		return steps * memory_minor_faults_ns(&s->memory);
	return s->memory.major_faults.known
		       ? steps * s->memory.major_faults.mean * MEMORY_MAJOR_FAULT_NS
		       : 0;
}

/* The place with another class; SIZE_MAX: no memory. */
static size_t place_as(struct time_places *places, size_t place, enum time_class what)
{
	struct time_place wanted = places->items[place];

	wanted.what = what;
	wanted.waited_for = 0;
	return time_places_find(places, &wanted);
}

static int move_place(struct kind_sum *kind, size_t from, size_t to, double share)
{
	size_t old = kind->place_cap;

	if (to >= old) {
		struct place_sum *grown =
			array_grow(kind->places, &kind->place_cap, to + 1, sizeof(*grown));

		if (!grown)
			return -1;
		memset(grown + old, 0, (kind->place_cap - old) * sizeof(*grown));
		kind->places = grown;
	}
	for (size_t g = 0; g < STEP_GROUPS; g++) {
		int64_t ns = (int64_t)(share * (double)kind->places[from].ns[g]);

		kind->places[from].ns[g] -= ns;
		kind->places[to].ns[g] = stats_add(kind->places[to].ns[g], ns);
	}
	return 0;
}

static int move_idle(struct idle_section *idle, size_t from, size_t to, double share)
{
	for (size_t i = 0; idle && i < idle->count; i++) {
		struct idle_tally moved = idle->items[i];
		struct idle_cause *sum = &idle->items[i].sum;

		if (moved.place != from || sum->latency)
			continue;
		/* Of what is outside of steps nothing is known. */
		moved.sum.ns = moved.sum.in_steps_ns = (int64_t)(share * (double)sum->in_steps_ns);
		moved.sum.longest_ns = (int64_t)(share * (double)sum->longest_ns);
		sum->ns -= moved.sum.ns;
		sum->in_steps_ns -= moved.sum.ns;
		return moved.sum.ns > 0 ? idle_section_put(idle, to, &moved.sum) : 0;
	}
	return 0;
}

/* Copies to the host write pages too: what is in them stays theirs. */
static bool may_have_faulted(enum time_class what, enum fault_kind kind)
{
	return what == TIME_D2H || can_fault(what, kind);
}

/* Time of the kind's steps at places where faults of this kind may have been. */
static double eligible_ns(const struct kind_sum *kind, const struct time_places *places,
			  enum fault_kind what)
{
	double ns = 0;

	for (size_t i = 0; i < kind->place_cap && i < places->count; i++)
		if (may_have_faulted(places->items[i].what, what))
			ns += (double)kind->places[i].ns[STEPS_ALL];
	return ns;
}

static int move(struct kind_sum *kind, const struct analysis_step *step, enum fault_kind what,
		double alone, struct idle_section *idle, struct time_places *places)
{
	double all_ns = faults_ns(step, what), can_ns = eligible_ns(kind, places, what);
	bool told = kind->faults[what] >= FAULTS_TOLD;
	size_t count = kind->place_cap < places->count ? kind->place_cap : places->count;

	if (all_ns <= 0 || can_ns <= 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		enum time_class was = places->items[i].what;
		double ns = (double)kind->places[i].ns[STEPS_ALL], wanted_ns, share;
		int64_t moved_ns;
		size_t to;

		wanted_ns = told ? all_ns * (double)kind->places[i].faults[what] /
					    (double)kind->faults[what]
				 : all_ns * alone * ns / can_ns;
		if (!can_fault(was, what) || ns <= 0 || wanted_ns < 1)
			continue;
		share = wanted_ns < ns ? wanted_ns / ns : 1;
		to = place_as(places, i, TIME_PAGE_FAULTS);
		moved_ns = (int64_t)(share * ns);
		if (to == SIZE_MAX || move_place(kind, i, to, share) ||
		    move_idle(idle, i, to, share))
			return -1;
		kind->parts[was].ns -= moved_ns;
		if (kind->parts[was].sampled_ns > kind->parts[was].ns)
			kind->parts[was].sampled_ns = kind->parts[was].ns;
		kind->parts[TIME_PAGE_FAULTS].ns += moved_ns;
	}
	return 0;
}

int fault_parts_move(struct kind_sum *kind, const struct analysis_step *step, double alone,
		     struct idle_section *idle, struct time_places *places)
{
	return move(kind, step, FAULT_MAJOR, alone, idle, places) ||
			       move(kind, step, FAULT_MINOR, alone, idle, places)
		       ? -1
		       : 0;
}
