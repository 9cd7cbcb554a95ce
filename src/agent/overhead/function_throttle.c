#include "agent/overhead/function_throttle.h"

#include <stdlib.h>
#include <string.h>

#include "agent/overhead/budget.h"

#define COUNTING_FIRST 1024u /* events; their cost is nothing beside BUDGET_SLACK_NS */
#define COUNTING_MOST 16384u /* for programs whose events spread over thousands of functions */
#define FIRST_SHARE 8u       /* first go the functions that have an eighth of the events */
#define LEAST_EVENTS 4u      /* two calls */
#define LONG_CALL_NS 5000000 /* functions that take so long are never throttled */
/*
 * Likewise functions of the user's code, and what it calls: they are few, steps are found by them
 * (analyze/steps), and two events in this time cost less than a thousandth.
 */
#define LONG_CALL_NEAR_USER_NS 400000

#define TRACE_ALL_CREDIT_NS 2000000 /* credit that must remain for the events that come then */
#define EXAMINE_LOT 32
#define EXAMINE_FIRST_NS 2000000000ull
#define EXAMINE_LAST_NS 64000000000ull

/* Examining an event adds 1/CHECK_PARTS of its cost. */
#define CHECK_PARTS 2u

#define DEBT_MORE_NS 500000 /* growth of the debt that starts another round */

enum phase { CALM, COUNTING, PURGE };

static struct {
	enum phase phase;
	uint32_t number;             /* of the count */
	uint32_t size;               /* events of a phase */
	uint32_t share;              /* functions with 1/share of the events are throttled */
	uint32_t least;              /* ... in events of the count that is over */
	uint32_t least_near_user;    /* likewise, of functions that the user's code calls */
	uint32_t excess;             /* events of the count that are still to go */
	uint32_t seen;               /* events in this phase */
	uint32_t unwinds;            /* events in the count that no function can be rid of */
	uint64_t since_ns, spent_ns; /* when the phase began */
	int64_t debt_ns;             /* that is being paid off; a larger one is examined */
	bool unwinding_off;
	bool examines;
	uint64_t examine_at_ns, examine_after_ns; /* at 0: nothing to examine */
} now = { .size = COUNTING_FIRST };

static struct decision {
	uint8_t kind; /* RECORD_LEFT_OUT, RECORD_UNWINDING */
	uint32_t id;
} * decisions;
static size_t log_cap;
uint32_t function_throttle_decisions;

static bool add_decision(uint8_t kind, uint32_t id)
{
	if (function_throttle_decisions == log_cap) {
		size_t cap = log_cap ? 2 * log_cap : 64;
		struct decision *grown = realloc(decisions, cap * sizeof(*grown));

		if (!grown)
			return false;
		decisions = grown;
		log_cap = cap;
	}
	decisions[function_throttle_decisions++] = (struct decision){ kind, id };
	return true;
}

void function_throttle_push_decisions(struct ring *r)
{
	/* A thread that begins has nothing open. */
	if (!r->produced && r->decisions_seen != function_throttle_decisions) {
		r->decisions_seen = function_throttle_decisions;
		if (now.unwinding_off)
			ring_push(r, RECORD_UNWINDING, 0);
	}
	while (r->decisions_seen != function_throttle_decisions) {
		struct decision d = decisions[r->decisions_seen++];

		ring_push(r, d.kind, d.id);
	}
}

static void trace_again(void *note, void *unused)
{
	(void)unused;
	((struct code_note *)note)->throttled = false;
}

void function_throttle_start(void)
{
	code_table_each(&codes_index, trace_again, NULL);
	memset(&now, 0, sizeof(now));
	now.size = COUNTING_FIRST;
	now.examines = true;
	now.examine_after_ns = EXAMINE_FIRST_NS;
	function_throttle_decisions = 0;
}

static void begin_phase(enum phase phase, uint64_t now_ns)
{
	now.phase = phase;
	now.seen = 0;
	now.since_ns = now_ns;
	now.spent_ns = budget_spent_ns();
}

static void begin_counting(uint64_t now_ns)
{
	now.number++;
	now.unwinds = 0;
	begin_phase(COUNTING, now_ns);
}

static void calm_down(uint64_t now_ns)
{
	now.phase = CALM;
	now.size = COUNTING_FIRST;
	now.debt_ns = DEBT_MORE_NS - budget_credit_at(now_ns);
}

/* Overdrawn, but what is recorded now costs no more than it may: it is only a matter of time. */
static bool pays_off_debt(uint64_t now_ns)
{
	int64_t debt_ns = -budget_credit_at(now_ns);

	if (debt_ns >= now.debt_ns)
		return false;
	if (debt_ns + DEBT_MORE_NS < now.debt_ns)
		now.debt_ns = debt_ns + DEBT_MORE_NS;
	return true;
}

static void examine_later(uint64_t now_ns)
{
	if (now.examine_at_ns || !now.examines)
		return;
	now.examine_at_ns = now_ns + now.examine_after_ns;
	if (now.examine_after_ns < EXAMINE_LAST_NS)
		now.examine_after_ns *= 2;
}

static bool time_to_examine(uint64_t now_ns)
{
	uint64_t cost = code_table_count(&codes_index) * (uint64_t)CODES_INSTRUMENT_NS;

	if (!now.examine_at_ns || now_ns < now.examine_at_ns ||
	    budget_credit_at(now_ns) < (int64_t)cost + TRACE_ALL_CREDIT_NS)
		return false;
	now.examine_at_ns = 0;
	budget_spend_ns(cost);
	return true;
}

void function_throttle_never_trace_all(void)
{
	now.examines = false;
	now.examine_at_ns = 0;
}

void function_throttle_unwinding_off(void)
{
	budget_spend_once_ns(code_table_count(&codes_index) * (uint64_t)CODES_INSTRUMENT_NS);
	now.unwinding_off = true;
	add_decision(RECORD_UNWINDING, 0);
}

void function_throttle_all_traced(void)
{
	code_table_each(&codes_index, trace_again, NULL);
	add_decision(RECORD_LEFT_OUT, 0);
	if (now.unwinding_off)
		add_decision(RECORD_UNWINDING, 1);
	now.unwinding_off = false;
	now.examine_at_ns = 0;
	/* Counting begins at once: what was too much before will be too much again. */
	now.share = FIRST_SHARE;
	now.size = COUNTING_FIRST;
	begin_counting(stamp_monotonic());
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Decides how many of the counted events must go, and how many a function must have to be
 * throttled. */
static void begin_purge(uint64_t spent_ns, uint64_t may_cost_ns, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - now.since_ns;

	now.excess = now.size - (uint32_t)(now.size * may_cost_ns / spent_ns);
	now.least =
		larger(now.size / now.share, (uint32_t)(LEAST_EVENTS + 2 * took_ns / LONG_CALL_NS));
	now.least_near_user =
		larger(now.least, (uint32_t)(LEAST_EVENTS + 2 * took_ns / LONG_CALL_NEAR_USER_NS));
	begin_phase(PURGE, now_ns);
}

/* All functions with enough events are throttled, and it is still too much. */
static void lower_the_bar(void)
{
	if (now.size / now.share > LEAST_EVENTS)
		now.share *= 2;
	else if (now.size < COUNTING_MOST)
		now.size *= 2;
}

static void end_phase(struct ring *r)
{
	uint64_t now_ns = stamp_monotonic();
	/* Three quarters: spending all that is earned would never pay the debt. */
	uint64_t may_cost_ns = budget_left_ns(now_ns - now.since_ns) / 4 * 3, spent_ns;

	budget_settle(r);
	spent_ns = budget_spent_ns() - now.spent_ns;
	/* Not in what the phase has spent: it ends with it. */
	budget_spend_ns((uint64_t)now.seen * budget_event_cost_ps() / 1000u / CHECK_PARTS);
	if (now.phase == PURGE && !now.excess) {
		begin_counting(now_ns);
	} else if (spent_ns <= may_cost_ns) {
		calm_down(now_ns);
	} else if (now.phase == COUNTING) {
		begin_purge(spent_ns, may_cost_ns, now_ns);
	} else {
		lower_the_bar();
		begin_counting(now_ns);
	}
}

/* These events of the count will not come again. */
static void remove_excess(uint32_t events)
{
	now.excess -= now.excess < events ? now.excess : events;
}

static bool may_throttle(const struct code_note *note)
{
	return note && !note->throttled && !note->watch && note->function_totals == now.number &&
	       note->events >= (note->called_there ? now.least_near_user : now.least);
}

static bool throttle(struct code_note *note)
{
	if (!add_decision(RECORD_LEFT_OUT, note->id))
		return false;
	note->throttled = true;
	if (!note->was_throttled)
		budget_count_throttled();
	note->was_throttled = true;
	return true;
}

void function_throttle_pause(struct code_note *note)
{
	if (throttle(note))
		examine_later(stamp_monotonic());
}

static void count(struct code_note *note, bool unwinds)
{
	now.unwinds += unwinds;
	if (!note)
		return;
	if (note->function_totals != now.number) {
		note->function_totals = now.number;
		note->events = 0;
	}
	note->events++;
}

static enum function_throttle_order evaluate(struct ring *r, struct code_note *note, bool unwinds)
{
	enum function_throttle_order order = FUNCTION_THROTTLE_NONE;

	if (now.phase == COUNTING) {
		count(note, unwinds);
	} else if (unwinds && now.unwinds >= now.least) {
		remove_excess(now.unwinds);
		now.unwinds = 0;
		examine_later(stamp_monotonic());
		order = FUNCTION_THROTTLE_UNWINDING;
	} else if (may_throttle(note) && throttle(note)) {
		remove_excess(note->events);
		examine_later(stamp_monotonic());
	}
	if (++now.seen >= now.size || (now.phase == PURGE && !now.excess))
		end_phase(r);
	return order;
}

enum function_throttle_order function_throttle_evaluate(struct ring *r, struct code_note *note,
							uint8_t kind)
{
	bool full = r->lot - r->allowance >= BUDGET_LOT || now.phase == CALM;
	bool over = full && budget_settle(r);
	enum function_throttle_order order;

	if (now.phase == CALM) {
		uint64_t now_ns;

		if (!over)
			now.debt_ns = 0;
		if (!over && !now.examine_at_ns)
			return FUNCTION_THROTTLE_NONE;
		/* The functions that are left may have few events: check often. */
		r->lot = r->allowance = EXAMINE_LOT;
		now_ns = stamp_monotonic();
		if (!over)
			return time_to_examine(now_ns) ? FUNCTION_THROTTLE_TRACE_ALL
						       : FUNCTION_THROTTLE_NONE;
		if (pays_off_debt(now_ns))
			return FUNCTION_THROTTLE_NONE;
		now.share = FIRST_SHARE;
		begin_counting(now_ns);
	}
	order = evaluate(r, note, kind == RECORD_UNWIND || kind == RECORD_THROW);
	/* No lot: the next event is examined as well. */
	if (now.phase != CALM && r->lot == r->allowance)
		r->lot = r->allowance = 0;
	return order;
}
