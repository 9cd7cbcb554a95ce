/* links: is_capture is_agent_core */
/* Which layers are folded when the budget is overdrawn, and when nobody listens any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/overhead/budget.h"
#include "agent/python/watched_functions.h"
#include "agent/torch/layer_throttle.h"
#include "fake_clock.h"
#include "joined.h"

#define FIVE_PERCENT 50000u
#define EVENT_PS (50000u * 100u / BUDGET_SPARSE_PERCENT) /* 50 ns, as far apart as layers */
#define MS 1000000ll
#define DEBT_NS (200 * MS) /* more than a slow machine earns meanwhile */
#define SAMPLES 48u        /* more than it takes to decide */

struct code_index layer_index;
static struct layer_note tiny, large, shared;
static uint32_t recorded_ns, folded_ns; /* what telling of a layer is said to take */

uint32_t watched_function_cost_ns(bool recorded)
{
	return recorded ? recorded_ns : folded_ns;
}

static void join(uint32_t recorded, uint32_t throttled)
{
	static char keys[3][16]; /* addresses that modules might have */
	struct layer_note *const notes[] = { &tiny, &large, &shared };
	struct recording_options options = {
		.buffer_bytes = 1u << 20,
		.cpu_mode = SHM_CPU_AUTO,
		.budget_ppm = FIVE_PERCENT,
	};

	join_with(&options);
	budget_set_event_cost(EVENT_PS, 0);
	budget_set_worked(1); /* whatever this process does: the clock is not its own */
	recorded_ns = recorded;
	folded_ns = throttled;
	for (uint32_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		*notes[i] = (struct layer_note){ .id = i + 1, .epoch = session_epoch };
		if (!code_table_find(&layer_index, keys[i]))
			assert_true(code_table_insert(&layer_index, keys[i], notes[i]));
	}
	shared.shares_id = true;
	forward_hooks_count = 0; /* no functions that they run */
	layer_throttle_can_pause = true;
	layer_throttle_reset();
}

/* A call of the layer; ticks: how long it takes. */
static void call(struct layer_note *note, uint64_t ticks)
{
	layer_throttle_count(!note->throttled);
	if (layer_throttle.measures && !note->throttled)
		layer_throttle_measured(note, ticks);
	layer_throttle_count(!note->throttled);
}

/*
 * A hundred of one kind to each large one, the last of them in a look longer than the others; a
 * look lasts 2 ms at least, which earn 40 us.
 */
static void run_like(unsigned samples, struct layer_note *many, uint64_t ticks, uint64_t last_ticks)
{
	const unsigned calls = LAYER_THROTTLE_EVENTS / 2;

	for (unsigned i = 0; i < samples && !layer_throttle.rests; i++) {
		for (unsigned k = 0; k < calls && !layer_throttle.rests; k++) {
			if (k % 100)
				call(many, k + 2 < calls ? ticks : last_ticks);
			else
				call(&large, 1000000);
		}
		fake_clock_pass(2 * MS);
	}
}

static void run(unsigned samples)
{
	run_like(samples, &tiny, 1000, 1000);
}

static void the_shortest_go_by_what_telling_of_them_takes(void **state)
{
	(void)state;
	/* Folded, 512 of them take 26 us + 10, half of what there is and less. */
	join(4000, 20);
	run(SAMPLES);
	assert_false(tiny.throttled); /* there is credit */
	budget_spend_ns(DEBT_NS);
	run(SAMPLES);
	assert_true(tiny.throttled);
	assert_false(large.throttled || layer_throttle.rests);
	assert_int_equal(layer_throttle_decision(0), tiny.id);
}

/* What costs is not theirs; and where it is, those of few calls have no part in it. */
static void what_saves_nothing_stays(void **state)
{
	(void)state;
	join(4000, 20);
	budget_spend_ns(DEBT_NS);
	run_like(SAMPLES, &shared, 1000, 1000); /* these cannot be folded */
	assert_false(large.throttled || layer_throttle.decision_count);
	run_like(SAMPLES, &tiny, 1000000, 1000000);
	assert_true(tiny.throttled);
	assert_false(large.throttled);
}

static void one_call_that_was_interrupted_does_not_make_a_layer_long(void **state)
{
	(void)state;
	join(4000, 20);
	budget_spend_ns(DEBT_NS);
	run_like(SAMPLES, &tiny, 1000, 10000000000); /* on average longer than the large one */
	assert_true(tiny.throttled);
	assert_false(large.throttled);
}

static void events_alone_would_have_been_within_the_budget(void **state)
{
	(void)state;
	/* 512 events at 50 ns take 26 us: only with what the adapter takes it is too much. */
	join(0, 0);
	budget_spend_ns(DEBT_NS);
	for (unsigned i = 0; i < SAMPLES; i++) {
		for (unsigned k = 0; k < LAYER_THROTTLE_EVENTS / 2; k++)
			call(&tiny, 1000);
		fake_clock_pass(8 * MS); /* earn 160 us, of which layers may have half */
	}
	assert_false(tiny.throttled);
	recorded_ns = 4000;
	run(SAMPLES);
	assert_true(tiny.throttled);
}

static void where_even_folded_ones_take_too_much_nobody_listens_for_a_while(void **state)
{
	(void)state;
	/* 512 of them take 1.5 ms, folded, and time earns 40 us or some more. */
	join(4000, 3000);
	budget_spend_ns(DEBT_NS);
	run(SAMPLES);
	assert_true(layer_throttle.rests && tiny.throttled && large.throttled);
	assert_int_equal(layer_throttle.decision_count, 3);
	/* Not at once, and not without credit. */
	for (unsigned i = 1; i < LAYER_THROTTLE_EVENTS; i++)
		assert_int_equal(layer_throttle_paused(0), LAYER_REST_GOES_ON);
	fake_clock_pass(20 * MS); /* earn 400 us: to hear of 512 ends takes 26 */
	assert_int_equal(layer_throttle_paused(0), LAYER_REST_GOES_ON);
	/* They come so fast that even this is too much. */
	for (unsigned i = 1; i < LAYER_THROTTLE_EVENTS; i++)
		assert_int_equal(layer_throttle_paused(0), LAYER_REST_GOES_ON);
	assert_int_equal(layer_throttle_paused(0), LAYER_REST_IS_DEAR);
	/* Something else may listen to everything again. */
	layer_throttle_resume();
	assert_false(layer_throttle.rests || tiny.throttled || large.throttled);
	assert_int_equal(layer_throttle_decision(3), 0);
}

static void it_listens_again_when_there_is_credit(void **state)
{
	unsigned came = 0;

	(void)state;
	join(4000, 3000);
	budget_spend_ns(DEBT_NS);
	run(SAMPLES);
	assert_true(layer_throttle.rests);
	budget_credit_at(stamp_monotonic() + 20000 * MS); /* 20 seconds earn 400 ms */
	while (layer_throttle_paused(0) != LAYER_REST_IS_OVER &&
	       came < 3000 * LAYER_THROTTLE_EVENTS) {
		if (++came % LAYER_THROTTLE_EVENTS == 0)
			fake_clock_pass(MS);
	}
	assert_in_range(came, LAYER_THROTTLE_EVENTS, 3000 * LAYER_THROTTLE_EVENTS - 1);
	/* That costs something, too. */
	for (unsigned i = 0; i < LAYER_THROTTLE_EVENTS; i++)
		assert_int_equal(layer_throttle_paused(100 * MS), LAYER_REST_GOES_ON);
}

/* Each layer runs a function of its own. */
static void begin_at_forward_hooks(void)
{
	join(4000, 3000);
	forward_hooks_count = 2;
	budget_spend_ns(DEBT_NS);
	for (unsigned i = 0; i < SAMPLES && !layer_throttle.at_forward_hooks; i++)
		run(1);
	assert_true(layer_throttle.at_forward_hooks && layer_throttle.unheard &&
		    !layer_throttle.rests);
	assert_int_equal(layer_throttle.turn, LAYER_TURN_TO_FORWARD_HOOKS);
	layer_throttle.turn = LAYER_TURN_NONE; /* as the hook does */
	tiny.forward = 1;
	large.forward = 2;
}

/* What is open at that moment needs no end, and all are heard of again. */
static void where_even_folded_ones_take_too_much_what_they_run_tells(void **state)
{
	(void)state;
	begin_at_forward_hooks();
	assert_int_equal(layer_throttle.decision_count, 4);
	assert_int_equal(layer_throttle_decision(3), 0);
	assert_false(tiny.throttled || large.throttled);
	assert_true(layer_throttle_records(1) && layer_throttle_records(2) &&
		    !layer_throttle_records(0));
}

static void there_what_is_folded_is_not_heard(void **state)
{
	(void)state;
	begin_at_forward_hooks();
	for (unsigned i = 0; i < 400 && !tiny.throttled; i++) {
		for (unsigned k = 0; k < LAYER_THROTTLE_EVENTS / 2 && layer_throttle_records(1);
		     k++)
			call(k % 100 ? &tiny : &large, k % 100 ? 1000 : 1000000);
		fake_clock_pass(MS);
	}
	assert_true(tiny.throttled && !layer_throttle_records(1));
	assert_true(!large.throttled && layer_throttle_records(2));
}

static void by_their_calls_again_when_there_is_credit(void **state)
{
	(void)state;
	begin_at_forward_hooks();
	budget_credit_at(stamp_monotonic() + 20000 * MS);
	for (unsigned i = 0; i < 3000 && layer_throttle.turn == LAYER_TURN_NONE; i++) {
		for (unsigned k = 0; k < LAYER_THROTTLE_EVENTS / 2; k++)
			call(&large, 1000000);
		fake_clock_pass(MS);
	}
	assert_int_equal(layer_throttle.turn, LAYER_TURN_TO_CALLS);
	layer_throttle_resume(); /* as the hook does */
	assert_false(layer_throttle.at_forward_hooks || layer_throttle.unheard ||
		     layer_throttle_records(2));
	assert_int_equal(layer_throttle.turn, LAYER_TURN_NONE);
	/* What was open needs no end. */
	assert_true(layer_throttle.decision_count >= 8);
	assert_int_equal(layer_throttle_decision(layer_throttle.decision_count - 1), 0);
}

static void who_could_not_be_woken_does_not_rest(void **state)
{
	(void)state;
	join(4000, 3000);
	layer_throttle_can_pause = false;
	budget_spend_ns(DEBT_NS);
	run(SAMPLES);
	assert_false(layer_throttle.rests);
	assert_true(tiny.throttled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_shortest_go_by_what_telling_of_them_takes, leave),
		cmocka_unit_test_teardown(what_saves_nothing_stays, leave),
		cmocka_unit_test_teardown(one_call_that_was_interrupted_does_not_make_a_layer_long,
					  leave),
		cmocka_unit_test_teardown(events_alone_would_have_been_within_the_budget, leave),
		cmocka_unit_test_teardown(
			where_even_folded_ones_take_too_much_nobody_listens_for_a_while, leave),
		cmocka_unit_test_teardown(it_listens_again_when_there_is_credit, leave),
		cmocka_unit_test_teardown(where_even_folded_ones_take_too_much_what_they_run_tells,
					  leave),
		cmocka_unit_test_teardown(there_what_is_folded_is_not_heard, leave),
		cmocka_unit_test_teardown(by_their_calls_again_when_there_is_credit, leave),
		cmocka_unit_test_teardown(who_could_not_be_woken_does_not_rest, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
