#include "agent/torch/layer_throttle.h"

#include <stdlib.h>
#include <string.h>

#include "agent/overhead/budget.h"
#include "agent/python/watched_functions.h"

#define SHARE 2u      /* layers may use 1/SHARE of the budget */
#define KEPT_PART 16u /* less than 1/KEPT_PART of all begins and ends is not worth throttling */
/* Checks in a row that must find too much: a model's first calls are unlike the rest. */
#define THROTTLE_PATIENCE 4u
#define REST_PATIENCE 32u
#define AGAIN_FIRST_NS 2000000000ull
#define AGAIN_LAST_NS 64000000000ull
#define AGAIN_CREDIT_NS 2000000 /* credit needed to enable all layers again */

/* Ranks, in the order of throttling: the shortest first, of equal length those with most calls. */
#define LENGTHS 64u /* powers of two of ticks */
#define COUNTS 32u  /* powers of two of calls */
#define RANKS (LENGTHS * COUNTS)

struct layer_throttle layer_throttle;
struct forward_hook forward_hooks[FORWARD_HOOKS_MAX + 1];
uint16_t forward_hooks_count;
bool layer_throttle_can_pause;

static uint32_t function_totals; /* number of the latest timing of calls */
static uint32_t overdue;         /* checks in a row that found too much */
static uint64_t since_ns, again_at_ns, again_after_ns;
static uint32_t *decisions;
static size_t decisions_cap;

static bool add_decision(uint32_t id)
{
	if (layer_throttle.decision_count == decisions_cap) {
		size_t cap = decisions_cap ? 2 * decisions_cap : 256;
		uint32_t *grown = realloc(decisions, cap * sizeof(*grown));

		if (!grown)
			return false;
		decisions = grown;
		decisions_cap = cap;
	}
	decisions[layer_throttle.decision_count++] = id;
	return true;
}

uint32_t layer_throttle_decision(uint32_t n)
{
	return decisions[n];
}

static unsigned power_of(uint64_t n)
{
	return n ? 63u - (unsigned)__builtin_clzll(n) : 0;
}

/* Powers add up, not times: one call that was interrupted says nothing about the others. */
static void add(struct layer_lengths *l, uint64_t ticks)
{
	if (l->function_totals != function_totals)
		*l = (struct layer_lengths){ .function_totals = function_totals };
	l->calls++;
	l->powers += power_of(ticks);
}

void layer_throttle_measured(struct layer_note *note, uint64_t ticks)
{
	add(&note->lengths, ticks);
	if (note->forward)
		add(&forward_hooks[note->forward].lengths, ticks);
}

/* Layers that share a forward function are throttled together: the function is hooked or it is not.
 */
static const struct layer_lengths *lengths_of(const struct layer_note *note)
{
	return note->forward ? &forward_hooks[note->forward].lengths : &note->lengths;
}

/*
 * Is its length known?  Ids that many modules share are not throttled: these modules live for one
 * call.  With forward hooks a throttled function throttles all its layers.
 */
static bool may_throttle(const struct layer_note *note)
{
	const struct layer_lengths *l = lengths_of(note);

	return note->epoch == session_epoch && l->function_totals == function_totals && l->calls &&
	       !note->throttled && (note->forward || !note->shares_id);
}

static unsigned rank_of(const struct layer_note *note)
{
	const struct layer_lengths *l = lengths_of(note);

	return l->powers / l->calls * COUNTS + COUNTS - 1u - power_of(l->calls);
}

static void count_rank(void *entry, void *events)
{
	const struct layer_note *note = entry;

	if (may_throttle(note) && note->lengths.function_totals == function_totals)
		((uint32_t *)events)[rank_of(note)] += 2 * note->lengths.calls;
}

static void throttle_below_rank(void *entry, void *rank)
{
	struct layer_note *note = entry;

	if (!may_throttle(note) || rank_of(note) >= *(unsigned *)rank || !add_decision(note->id))
		return;
	note->throttled = true;
	if (note->forward)
		forward_hooks[note->forward].throttled = true;
}

static void unfold(void *entry, void *unused)
{
	(void)unused;
	((struct layer_note *)entry)->throttled = false;
}

static void enable_forward_hooks(void)
{
	for (unsigned i = 1; i <= forward_hooks_count; i++)
		forward_hooks[i].throttled = false;
}

static void enable_later(uint64_t now_ns)
{
	if (again_at_ns)
		return;
	again_at_ns = now_ns + again_after_ns;
	if (again_after_ns < AGAIN_LAST_NS)
		again_after_ns *= 2;
}

/*
 * Throttles layers until `excess` begins and ends are saved, or no more than `few` are left: the
 * model itself is among those, and throttling them would save next to nothing.
 */
static void throttle_shortest(double excess, double few, uint64_t now_ns)
{
	static uint32_t events[RANKS];
	uint32_t gone = 0, left = 0;
	unsigned rank = 0;

	memset(events, 0, sizeof(events));
	code_table_each(&layer_index, count_rank, events);
	for (unsigned i = 0; i < RANKS; i++)
		left += events[i];
	for (; rank < RANKS && gone < excess && left > few; rank++) {
		gone += events[rank];
		left -= events[rank];
	}
	if (!gone)
		return;
	code_table_each(&layer_index, throttle_below_rank, &rank);
	enable_later(now_ns);
}

static void throttle_any(void *entry, void *unused)
{
	struct layer_note *note = entry;

	(void)unused;
	if (note->epoch == session_epoch && !note->throttled && add_decision(note->id))
		note->throttled = true;
}

/* Open layers need no end record: they began before the hook was disabled. */
static void throttle_all(void)
{
	code_table_each(&layer_index, throttle_any, NULL);
}

static bool enable_all(void)
{
	if (!add_decision(0))
		return false;
	code_table_each(&layer_index, unfold, NULL);
	enable_forward_hooks();
	again_at_ns = 0;
	return true;
}

/* The call of a hook. */
static double hook_ns(void)
{
	uint32_t ps = budget_event_cost_ps();

	return ps ? ps / 1e3 * BUDGET_SPARSE_PERCENT / 100 : BUDGET_UNKNOWN_PS / 1e3;
}

/* False: no forward functions are known. */
static bool turn_to_forward_hooks(uint64_t now_ns)
{
	if (!layer_throttle_can_pause || !forward_hooks_count)
		return false;
	throttle_all();
	if (!enable_all())
		return false;
	enable_later(now_ns);
	layer_throttle.at_forward_hooks = layer_throttle.unheard = true;
	layer_throttle.turn = LAYER_TURN_TO_FORWARD_HOOKS;
	overdue = 0;
	return true;
}

/* False: a disabled hook could not be enabled again. */
static bool rest(uint64_t now_ns)
{
	if (!layer_throttle_can_pause)
		return false;
	throttle_all();
	enable_later(now_ns);
	layer_throttle.rests = layer_throttle.unheard = true;
	return true;
}

enum layer_rest layer_throttle_paused(uint64_t cost_ns)
{
	uint64_t now_ns, earned_ns;
	int64_t credit_ns;

	if (++layer_throttle.events < LAYER_THROTTLE_EVENTS)
		return LAYER_REST_GOES_ON;
	now_ns = stamp_monotonic();
	credit_ns = budget_credit_at(now_ns);
	earned_ns = budget_earned_ns(now_ns - since_ns);
	layer_throttle.events = 0;
	since_ns = now_ns;
	if (credit_ns < 0 && LAYER_THROTTLE_EVENTS * hook_ns() > (double)earned_ns / SHARE)
		return LAYER_REST_IS_DEAR;
	return now_ns >= again_at_ns && credit_ns > AGAIN_CREDIT_NS + (int64_t)cost_ns
		       ? LAYER_REST_IS_OVER
		       : LAYER_REST_GOES_ON;
}

void layer_throttle_resume(void)
{
	if (!layer_throttle.unheard)
		return;
	if (layer_throttle.at_forward_hooks)
		throttle_all();
	if (!enable_all())
		return;
	layer_throttle.rests = layer_throttle.at_forward_hooks = layer_throttle.unheard = false;
	layer_throttle.measures = false;
	layer_throttle.turn = LAYER_TURN_NONE;
	overdue = 0;
	layer_throttle.events = layer_throttle.recorded = 0;
	since_ns = stamp_monotonic();
}

void layer_throttle_reset(void)
{
	memset(&layer_throttle, 0, sizeof(layer_throttle));
	layer_throttle.epoch = session_epoch;
	since_ns = stamp_monotonic();
	overdue = 0;
	again_at_ns = 0;
	again_after_ns = AGAIN_FIRST_NS;
	code_table_each(&layer_index, unfold, NULL);
	enable_forward_hooks();
}

/* Cost of a begin or an end: the hook, and what the adapter does in it. */
static double cost_ns_of(bool recorded)
{
	return hook_ns() + watched_function_cost_ns(recorded);
}

/* Calls were timed and cost `excess_ns` more than allowed; the whole budget is `may_ns`. */
static void give_way(double excess_ns, double may_ns, uint64_t now_ns)
{
	bool by_calls = !layer_throttle.at_forward_hooks;
	double least_ns = layer_throttle.events * cost_ns_of(false);
	double saved_ns = cost_ns_of(true) - (by_calls ? cost_ns_of(false) : 0);

	if (by_calls && least_ns > may_ns / SHARE && turn_to_forward_hooks(now_ns))
		return;
	if (by_calls && overdue >= REST_PATIENCE && least_ns > may_ns && rest(now_ns))
		return;
	if (saved_ns > 0)
		throttle_shortest(excess_ns / saved_ns, (double)layer_throttle.events / KEPT_PART,
				  now_ns);
}

void layer_throttle_evaluate(void)
{
	uint64_t now_ns = stamp_monotonic();
	uint32_t recorded = layer_throttle.recorded, throttled = layer_throttle.events - recorded;
	double may_ns = (double)budget_earned_ns(now_ns - since_ns);
	double cost_ns = recorded * cost_ns_of(true) + throttled * cost_ns_of(false);
	int64_t credit_ns = budget_credit_at(now_ns);
	bool too_much = credit_ns < 0 && cost_ns > may_ns / SHARE;

	overdue = too_much ? overdue + 1 : 0;
	if (too_much && layer_throttle.measures)
		give_way(cost_ns - may_ns / SHARE, may_ns, now_ns);
	layer_throttle.measures = overdue >= THROTTLE_PATIENCE && !layer_throttle.measures;
	function_totals += layer_throttle.measures;
	if (!layer_throttle.rests && again_at_ns && now_ns >= again_at_ns &&
	    credit_ns > AGAIN_CREDIT_NS) {
		if (layer_throttle.at_forward_hooks)
			layer_throttle.turn = LAYER_TURN_TO_CALLS;
		else
			enable_all();
	}
	layer_throttle.events = layer_throttle.recorded = 0;
	since_ns = now_ns;
}
