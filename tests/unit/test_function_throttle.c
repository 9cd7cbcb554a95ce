/* links: is_capture is_agent_core */
/* Which functions are left out when the budget is overdrawn: events as the hook sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/overhead/budget.h"
#include "agent/overhead/function_throttle.h"
#include "fake_clock.h"
#include "joined.h"

#define FIVE_PERCENT 50000u
#define EVENT_PS 100000u
#define EVENT_NS 10u  /* an event takes this long, and costs ten times as much to record */
#define MANY 3000000u /* events: far more than the first credit pays */

struct code_index codes_index;
static struct code_note hot, warm, rare, watched;

static struct ring *join(void **state, enum shm_cpu mode)
{
	static char keys[4][16]; /* addresses that code objects might have */
	struct code_note *const notes[] = { &hot, &warm, &rare, &watched };
	struct recording_options options = {
		.buffer_bytes = 16u << 20,
		.cpu_mode = mode,
		.budget_ppm = FIVE_PERCENT,
	};

	(void)state;
	join_with(&options);
	budget_set_event_cost(EVENT_PS, 0);
	for (uint32_t i = 0; i < 4; i++) {
		*notes[i] = (struct code_note){ .id = i + 1 };
		if (!code_table_find(&codes_index, keys[i]))
			assert_true(code_table_insert(&codes_index, keys[i], notes[i]));
	}
	watched.watch = 1;
	function_throttle_start();
	return session_ring();
}

/* What the hook does with an event; counts the orders. */
static void event(struct ring *r, struct code_note *note, uint8_t kind, unsigned orders[3])
{
	if (note->throttled && kind != RECORD_UNWIND)
		return; /* its place is switched off */
	fake_clock_pass(EVENT_NS);
	if (budget_due(r))
		orders[function_throttle_evaluate(r, note, kind)]++;
}

static void the_frequent_go_and_the_rare_stay(void **state)
{
	struct ring *r = join(state, SHM_CPU_AUTO);
	unsigned orders[3] = { 0 }, seen = 0;

	for (unsigned i = 0; i < MANY && !hot.throttled; i++, seen++) {
		event(r, &hot, i % 2 ? RECORD_RETURN : RECORD_CALL, orders);
		if (i % 8 == 0)
			event(r, &warm, RECORD_CALL, orders);
		if (i % 8 == 4)
			event(r, &watched, RECORD_CALL, orders);
		if (i % 5000 == 0)
			event(r, &rare, RECORD_CALL, orders);
	}
	assert_true(hot.throttled);
	assert_false(rare.throttled || watched.throttled);
	assert_int_equal(budget_throttled(), 1 + warm.throttled);
	/* 5 ms at 5/4 events each, then a census and a purge; time earns some more. */
	assert_true(seen >
		    BUDGET_FIRST_NS / (EVENT_PS / 1000 * BUDGET_UNTIMED_PERCENT / 100 * 5 / 4));
	/* One event in 5000 is none in a census. */
	for (unsigned i = 0; i < MANY; i++) {
		event(r, &hot, RECORD_CALL, orders);
		if (i % 5000 == 0)
			event(r, &rare, RECORD_CALL, orders);
	}
	assert_false(rare.throttled);
	assert_int_equal(orders[FUNCTION_THROTTLE_UNWINDING], 0);
}

static void without_a_bound_nobody_goes(void **state)
{
	struct ring *r = join(state, SHM_CPU_TRACE);
	unsigned orders[3] = { 0 };

	for (unsigned i = 0; i < MANY; i++)
		event(r, &hot, RECORD_CALL, orders);
	assert_false(hot.throttled);
	assert_int_equal(function_throttle_decisions, 0);
}

static void every_ring_hears_of_it_once(void **state)
{
	struct ring *r = join(state, SHM_CPU_AUTO);
	unsigned orders[3] = { 0 };
	uint64_t produced;

	ring_push(r, RECORD_CALL, hot.id);
	for (unsigned i = 0; i < MANY && !hot.throttled; i++)
		event(r, &hot, RECORD_CALL, orders);
	assert_int_equal(function_throttle_decisions, 1);
	produced = r->produced;
	function_throttle_push_decisions(r);
	function_throttle_push_decisions(r);
	assert_int_equal(r->decisions_seen, 1);
	assert_int_equal(r->produced, produced + 1);
	function_throttle_all_traced();
	assert_false(hot.throttled);
	function_throttle_push_decisions(r);
	assert_int_equal(r->produced, produced + 2);
	/* It is looked at at once, not when there is no credit any more. */
	for (unsigned i = 0; i < 100000 && !hot.throttled; i++) {
		r->allowance = r->allowance > 0 ? 0 : r->allowance;
		event(r, &hot, RECORD_CALL, orders);
	}
	assert_true(hot.throttled);
	assert_int_equal(budget_throttled(), 1);
}

static void a_thread_that_begins_need_not_hear_of_it(void **state)
{
	struct ring *r = join(state, SHM_CPU_AUTO);
	unsigned orders[3] = { 0 };

	for (unsigned i = 0; i < MANY && !hot.throttled; i++)
		event(r, &hot, RECORD_CALL, orders);
	assert_int_equal(r->produced, 0);
	function_throttle_push_decisions(r);
	assert_int_equal(r->produced, 0);
	assert_int_equal(r->decisions_seen, function_throttle_decisions);
}

static void exceptions_go_when_they_are_what_costs(void **state)
{
	struct ring *r = join(state, SHM_CPU_AUTO);
	unsigned orders[3] = { 0 };

	/* The function can be left out, but its exits by exception go on. */
	for (unsigned i = 0; i < MANY && !orders[FUNCTION_THROTTLE_UNWINDING]; i++) {
		event(r, &hot, RECORD_CALL, orders);
		event(r, &hot, RECORD_UNWIND, orders);
	}
	assert_int_equal(orders[FUNCTION_THROTTLE_UNWINDING], 1);
	function_throttle_unwinding_off();
	r->produced = 0; /* as of a thread that begins: it is told of this */
	r->decisions_seen = 0;
	function_throttle_push_decisions(r);
	assert_int_equal(r->produced, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, leave)
		TEST(the_frequent_go_and_the_rare_stay),
		TEST(without_a_bound_nobody_goes),
		TEST(every_ring_hears_of_it_once),
		TEST(a_thread_that_begins_need_not_hear_of_it),
		TEST(exceptions_go_when_they_are_what_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
