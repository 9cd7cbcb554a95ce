#include "agent/layer_folds.h"

#include <stdlib.h>
#include <string.h>

#include "agent/budget.h"

#define SHARE 2u /* layers may have one part of so many of the budget */
#define AGAIN_FIRST_NS 2000000000ull
#define AGAIN_LAST_NS 64000000000ull
#define AGAIN_SPARE_NS 2000000 /* credit that there must be for what is seen then */
#define LENGTHS 64u            /* powers of two of ticks */

struct layer_folds layer_folds;

static uint32_t census; /* the newest time that calls were timed */
static uint64_t since_ns, again_at_ns, again_after_ns;
static uint32_t *decisions;
static size_t decisions_cap;

static bool say(uint32_t id)
{
	if (layer_folds.said == decisions_cap) {
		size_t cap = decisions_cap ? 2 * decisions_cap : 256;
		uint32_t *grown = realloc(decisions, cap * sizeof(*grown));

		if (!grown)
			return false;
		decisions = grown;
		decisions_cap = cap;
	}
	decisions[layer_folds.said++] = id;
	return true;
}

uint32_t layer_folds_decision(uint32_t n)
{
	return decisions[n];
}

void layer_folds_measured(struct layer_note *note, uint64_t ticks)
{
	if (note->census != census) {
		note->census = census;
		note->calls = 0;
		note->ticks = 0;
	}
	note->calls++;
	note->ticks += ticks;
}

/* Has it a length that is known?  Ids that many share stay: their modules live for one call. */
static bool may_fold(const struct layer_note *note)
{
	return note->epoch == session_epoch && note->census == census && note->calls &&
	       !note->folded && !note->shares_id;
}

static unsigned length_of(const struct layer_note *note)
{
	uint64_t mean = note->ticks / note->calls;

	return mean ? LENGTHS - 1u - (unsigned)__builtin_clzll(mean) : 0;
}

static void count_length(void *entry, void *events)
{
	const struct layer_note *note = entry;

	if (may_fold(note))
		((uint32_t *)events)[length_of(note)] += 2 * note->calls;
}

static void fold_short(void *entry, void *length)
{
	struct layer_note *note = entry;

	if (may_fold(note) && length_of(note) <= *(unsigned *)length && say(note->id))
		note->folded = true;
}

static void unfold(void *entry, void *unused)
{
	(void)unused;
	((struct layer_note *)entry)->folded = false;
}

/* The shortest go until so many begins and ends are gone. */
static void fold(uint32_t excess, uint64_t now_ns)
{
	uint32_t events[LENGTHS] = { 0 }, gone = 0;
	unsigned length = 0;

	code_table_each(&layer_index, count_length, events);
	while (length < LENGTHS && (gone += events[length]) < excess)
		length++;
	code_table_each(&layer_index, fold_short, &length);
	if (again_at_ns)
		return;
	again_at_ns = now_ns + again_after_ns;
	if (again_after_ns < AGAIN_LAST_NS)
		again_after_ns *= 2;
}

void layer_folds_reset(void)
{
	memset(&layer_folds, 0, sizeof(layer_folds));
	layer_folds.epoch = session_epoch;
	since_ns = stamp_monotonic();
	again_at_ns = 0;
	again_after_ns = AGAIN_FIRST_NS;
	code_table_each(&layer_index, unfold, NULL);
}

void layer_folds_look(void)
{
	uint64_t now_ns = stamp_monotonic(), ps = budget_event_cost_ps();
	uint64_t cost_ns = layer_folds.recorded * (ps ? ps : BUDGET_UNKNOWN_PS) / 1000u;
	uint64_t may_cost_ns = budget_earned_ns(now_ns - since_ns) / SHARE;
	int64_t credit_ns = budget_credit_at(now_ns);
	bool too_much = credit_ns < 0 && cost_ns > may_cost_ns;

	if (too_much && layer_folds.measures)
		fold((uint32_t)(layer_folds.recorded * (cost_ns - may_cost_ns) / cost_ns), now_ns);
	census += too_much && !layer_folds.measures;
	layer_folds.measures = too_much && !layer_folds.measures;
	if (again_at_ns && now_ns >= again_at_ns && credit_ns > AGAIN_SPARE_NS && say(0)) {
		code_table_each(&layer_index, unfold, NULL);
		again_at_ns = 0;
	}
	layer_folds.events = layer_folds.recorded = 0;
	since_ns = now_ns;
}
