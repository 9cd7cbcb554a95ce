#include "analyze/breakdown/step_sweep.h"

#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"

/* Fewer are no picture of all. */
#define FAULTS_LEAST 20u
#define FILL_ROUNDS 20

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

size_t place_as(struct time_places *places, size_t place, enum time_class what)
{
	struct time_place wanted = places->items[place];

	wanted.what = what;
	wanted.waited_for = 0;
	return time_places_find(places, &wanted);
}

/* A share of at most 1; sums of hostile files may be as large as a number can be. */
static int64_t part_of(int64_t ns, double share)
{
	double part = share * (double)ns;

	return part < (double)ns ? (int64_t)part : ns;
}

int place_move(struct kind_sum *kind, size_t from, size_t to, double share)
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
		int64_t ns = part_of(kind->places[from].ns[g], share);

		kind->places[from].ns[g] -= ns;
		kind->places[to].ns[g] = stats_add(kind->places[to].ns[g], ns);
	}
	return 0;
}

void part_move(struct kind_sum *kind, enum time_class from, enum time_class to, double ns)
{
	int64_t moved_ns = ns < (double)kind->parts[from].ns ? (int64_t)ns : kind->parts[from].ns;

	kind->parts[from].ns -= moved_ns;
	if (kind->parts[from].sampled_ns > kind->parts[from].ns)
		kind->parts[from].sampled_ns = kind->parts[from].ns;
	kind->parts[to].ns = stats_add(kind->parts[to].ns, moved_ns);
}

static int move_idle(struct idle_section *idle, size_t from, size_t to, double share)
{
	for (size_t i = 0; idle && i < idle->count; i++) {
		struct idle_totals moved = idle->items[i];
		struct idle_cause *sum = &idle->items[i].sum;

		if (moved.place != from || sum->latency)
			continue;
		/* Of what is outside of steps nothing is known. */
		moved.sum.ns = moved.sum.in_steps_ns = part_of(sum->in_steps_ns, share);
		moved.sum.longest_ns = part_of(sum->longest_ns, share);
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

/* How much of the faults' time each place gets, according to what is known about them. */
struct spread {
	struct kind_sum *kind;
	const struct time_places *places;
	enum fault_kind what;
	bool reported; /* where they were; else they are everywhere alike */
	double all_ns, can_ns, level;
};

static double wanted_ns(const struct spread *s, size_t place)
{
	const struct place_sum *p = &s->kind->places[place];
	double ns = (double)p->ns[STEPS_ALL], wanted;

	if (!can_fault(s->places->items[place].what, s->what) || ns <= 0)
		return 0;
	wanted = s->reported ? s->level * s->all_ns * (double)p->faults[s->what] /
				       (double)s->kind->faults[s->what]
			     : s->all_ns * ns / s->can_ns;
	return wanted < ns ? wanted : ns;
}

/*
 * Faults are not alike: a huge page takes hundreds of times as long.  What does not fit the time
 * of one place was at the others, so all of them have more, until it fits.
 */
static void fill_up(struct spread *s, size_t count)
{
	double own = 0, fits_ns = 0, wanted = 0;

	for (size_t i = 0; i < count; i++)
		if (can_fault(s->places->items[i].what, s->what) &&
		    s->kind->places[i].ns[STEPS_ALL] > 0)
			own += (double)s->kind->places[i].faults[s->what];
	wanted = s->all_ns * own / (double)s->kind->faults[s->what];
	for (int round = 0; round < FILL_ROUNDS; round++) {
		fits_ns = 0;
		for (size_t i = 0; i < count; i++)
			fits_ns += wanted_ns(s, i);
		if (fits_ns <= 0 || fits_ns > 0.99 * wanted)
			return;
		s->level *= wanted / fits_ns;
	}
}

static int move(struct kind_sum *kind, const struct analysis_step *step, enum fault_kind what,
		double alone, struct idle_section *idle, struct time_places *places)
{
	size_t count = kind->place_cap < places->count ? kind->place_cap : places->count;
	struct spread s = {
		.kind = kind,
		.places = places,
		.what = what,
		.reported = kind->faults[what] >= FAULTS_LEAST,
		.all_ns = faults_ns(step, what),
		.can_ns = eligible_ns(kind, places, what),
		.level = 1,
	};

	if (s.all_ns <= 0 || s.can_ns <= 0)
		return 0;
	if (s.reported)
		fill_up(&s, count);
	else
		s.all_ns *= alone;
	for (size_t i = 0; i < count; i++) {
		enum time_class was = places->items[i].what;
		double ns = (double)kind->places[i].ns[STEPS_ALL], wanted = wanted_ns(&s, i);
		int64_t moved_ns = ns > 0 ? part_of(kind->places[i].ns[STEPS_ALL], wanted / ns) : 0;
		size_t to;

		if (wanted < 1)
			continue;
		to = place_as(places, i, TIME_PAGE_FAULTS);
		if (to == SIZE_MAX || place_move(kind, i, to, wanted / ns) ||
		    move_idle(idle, i, to, wanted / ns))
			return -1;
		part_move(kind, was, TIME_PAGE_FAULTS, (double)moved_ns);
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
