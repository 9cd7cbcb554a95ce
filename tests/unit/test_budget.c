/* links: is_capture is_agent_core */
/*
 * The token bucket in the agent.  Times are given to it, as far as they count:
 * the future begins at now().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "agent/overhead/budget.h"
#include "fake_clock.h"
#include "joined.h"

#define MS 1000000ll
#define SECOND (1000 * MS)
#define FIVE_PERCENT 50000u
#define EARNED (50 * MS * BUDGET_SHARE_PCT / 100) /* in a second */
#define EVENT_PS 100000u                          /* 100 ns */
#define HOOK_TICKS 50                             /* of it */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static struct ring *join_as_it_works(enum shm_cpu mode, uint32_t ppm)
{
	struct recording_options options = {
		.buffer_bytes = 1u << 20,
		.cpu_mode = mode,
		.budget_ppm = ppm,
	};

	join_with(&options);
	budget_set_event_cost(EVENT_PS, HOOK_TICKS);
	return session_ring();
}

/* The clock of most tests is not this machine's: by it the process works all the time. */
static struct ring *join(enum shm_cpu mode, uint32_t ppm)
{
	struct ring *r = join_as_it_works(mode, ppm);

	budget_set_worked(1);
	return r;
}

static uint64_t account_ns(void)
{
	return atomic_load_explicit(&session_process()->overhead_ns, memory_order_relaxed);
}

/* Produces events as a hook does; how many until the bucket is overdrawn, at most `most`. */
static unsigned emit(struct ring *r, unsigned most)
{
	for (unsigned i = 1; i <= most; i++) {
		if (budget_due(r) && budget_settle(r))
			return i;
	}
	return most;
}

static void credit_lasts_for_as_many_events_as_it_pays(void **state)
{
	uint64_t start = now(), earned;
	struct ring *r = join(SHM_CPU_AUTO, FIVE_PERCENT);
	unsigned n = emit(r, 100000000);

	(void)state;
	earned = (now() - start) * FIVE_PERCENT / 1000000;
	assert_true(budget_over());
	/* 5 ms at 100 ns each, and what time earned meanwhile. */
	assert_in_range(n, 50000 * 100 / BUDGET_UNTIMED_PERCENT, 50000 + earned / 100 + BUDGET_LOT);
	assert_in_range(account_ns(), (n - BUDGET_LOT) * 100ull, n * BUDGET_UNTIMED_PERCENT);
}

static void time_earns_the_share_and_debts_are_paid_first(void **state)
{
	uint64_t start;
	int64_t debt;

	(void)state;
	join(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now() + SECOND;
	budget_credit_at(start);
	budget_spend_ns(200 * MS);
	debt = budget_credit_at(start);
	assert_in_range(-debt, 140 * MS, 195 * MS); /* of 5 to 60 ms that there were */
	assert_int_equal(budget_credit_at(start + 2 * SECOND), debt + 2 * EARNED);
	assert_int_equal(budget_credit_at(start + 3 * SECOND), debt + 3 * EARNED);
}

static void what_cannot_be_avoided_leaves_no_debt(void **state)
{
	uint64_t start, before;

	(void)state;
	join(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now() + SECOND;
	assert_true(budget_credit_at(start) > 0);
	before = account_ns();
	budget_spend_once_ns(200 * MS);
	assert_int_equal(budget_credit_at(start), 0);
	assert_int_equal(account_ns(), before + 200 * MS);
	budget_spend_ns(MS);
	budget_spend_once_ns(MS);
	assert_int_equal(budget_credit_at(start), -MS);
}

static void a_quiet_hour_buys_no_slow_minute(void **state)
{
	uint64_t start;

	(void)state;
	join(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now();
	assert_int_equal(budget_credit_at(start + 3600ull * SECOND), BUDGET_SLACK_NS + EARNED);
	budget_spend_ns(BUDGET_SLACK_NS + EARNED + MS);
	assert_true(budget_credit_at(start + 3600ull * SECOND) < 0);
}

static void the_gpu_is_in_the_account_but_takes_no_credit(void **state)
{
	struct shm_process *self;
	int64_t credit;
	uint64_t start;

	(void)state;
	join(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now();
	self = session_process();
	assert_int_equal(budget_earned_ns(SECOND), EARNED); /* as long as no GPU is used */
	budget_set_gpu_share(0.005);
	assert_int_equal(budget_earned_ns(SECOND), EARNED - 5 * MS);
	budget_set_gpu_share(0.2);
	assert_int_equal(budget_earned_ns(SECOND), 50 * MS * BUDGET_BESIDE_GPU_PCT / 100);
	assert_int_equal(budget_earned_ns(budget_time_for_ns(3 * MS)), 3 * MS);
	credit = budget_credit_at(start + SECOND);
	atomic_store(&self->contention_percent, 200);
	assert_int_equal(budget_charge_gpu(3 * MS, 4 * MS), 10 * MS);
	/* A launch waits for a CPU like everything else; the device does not. */
	assert_int_equal(atomic_load(&self->gpu_overhead_ns), 6 * MS);
	assert_int_equal(atomic_load(&self->graph_overhead_ns), 4 * MS);
	assert_int_equal(account_ns(), 10 * MS);
	assert_int_equal(budget_credit_at(start + SECOND), credit);
}

static void only_time_in_which_the_process_works_earns(void **state)
{
	uint64_t start;
	int64_t credit;

	(void)state;
	join(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now();
	budget_spend_ns(200 * MS);
	credit = budget_credit_at(start + SECOND);
	budget_set_worked(0.25);
	assert_int_equal(budget_credit_at(start + 2 * SECOND), credit + EARNED / 4);
	/* What is busy now may have waited until a moment ago: by this nothing is left out. */
	assert_int_equal(budget_left_ns(SECOND), EARNED);
	budget_set_worked(1.7); /* of several threads, or with the device's */
	assert_int_equal(budget_credit_at(start + 3 * SECOND), credit + EARNED / 4 + EARNED);
	budget_set_worked(0);
	assert_int_equal(budget_credit_at(start + 9 * SECOND), credit + EARNED / 4 + EARNED);
}

static uint64_t cpu_ns; /* of a process that never was */

static uint64_t cpu_clock(void)
{
	return cpu_ns;
}

static void a_process_that_waits_for_requests_earns_by_its_cpu_time(void **state)
{
	uint64_t start;
	int64_t credit;

	(void)state;
	join_as_it_works(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now() + SECOND;
	cpu_ns = 3 * SECOND;
	budget_measure_work(start, cpu_clock);
	budget_spend_ns(200 * MS);
	credit = budget_credit_at(start);
	cpu_ns += SECOND / 10;
	budget_measure_work(start + SECOND, cpu_clock);
	assert_int_equal(budget_credit_at(start + SECOND), credit + EARNED / 10);
	/* Not looked at again at once. */
	cpu_ns += SECOND;
	budget_measure_work(start + SECOND + MS, cpu_clock);
	assert_int_equal(budget_worked_ns(SECOND), SECOND / 10);
	/* Several threads; a forked child, whose CPU time begins anew. */
	budget_measure_work(start + SECOND + 500 * MS, cpu_clock);
	assert_int_equal(budget_worked_ns(SECOND), SECOND);
	cpu_ns = 250 * MS;
	budget_measure_work(start + 2 * SECOND, cpu_clock);
	assert_int_equal(budget_worked_ns(SECOND), SECOND / 2);
	/* It would have worked, but waited for a CPU: as costs are reckoned. */
	atomic_store(&session_process()->contention_percent, 150);
	cpu_ns += 250 * MS;
	budget_measure_work(start + 2 * SECOND + 500 * MS, cpu_clock);
	assert_int_equal(budget_worked_ns(SECOND), 3 * SECOND / 4);
	/* Who knows the device has the last word. */
	budget_set_worked(0.125);
	budget_measure_work(start + 3 * SECOND, cpu_clock);
	assert_int_equal(budget_worked_ns(SECOND), SECOND / 8);
}

static void time_that_lies_behind_earns_nothing(void **state)
{
	uint64_t start;
	int64_t credit;

	(void)state;
	join(SHM_CPU_AUTO, FIVE_PERCENT);
	start = now();
	credit = budget_credit_at(start + SECOND / 10);
	assert_int_equal(budget_credit_at(start), credit);
	assert_int_equal(budget_credit_at(start + SECOND / 10), credit);
}

static void without_a_bound_it_is_never_overdrawn_but_accounted(void **state)
{
	static const struct {
		enum shm_cpu mode;
		uint32_t ppm;
	} unbounded[] = { { SHM_CPU_TRACE, FIVE_PERCENT }, { SHM_CPU_AUTO, SHM_NO_BUDGET } };

	for (size_t i = 0; i < sizeof(unbounded) / sizeof(unbounded[0]); i++) {
		struct ring *r = join(unbounded[i].mode, unbounded[i].ppm);

		assert_int_equal(emit(r, 1000000), 1000000);
		assert_int_equal(budget_credit_ns(), INT64_MAX);
		assert_in_range(account_ns(), (1000000 - BUDGET_LOT) * 100ull,
				1000000 * BUDGET_UNTIMED_PERCENT);
		if (i == 0)
			leave(state);
	}
}

static void what_the_recorder_costs_is_paid_from_the_same_credit_once(void **state)
{
	struct ring *r = join(SHM_CPU_AUTO, FIVE_PERCENT);
	uint64_t start = now() + SECOND, before;
	int64_t credit;

	(void)state;
	budget_settle(r);
	before = account_ns();
	credit = budget_credit_at(start);
	atomic_store(&session_process()->outside_ns, 5 * MS);
	fake_clock_pass(MS);
	budget_settle(r);
	assert_int_equal(budget_credit_at(start), credit - 5 * MS);
	budget_settle(r);
	assert_int_equal(budget_credit_at(start), credit - 5 * MS);
	atomic_store(&session_process()->outside_ns, 6 * MS);
	fake_clock_pass(MS);
	budget_settle(r);
	assert_int_equal(budget_credit_at(start), credit - 6 * MS);
	assert_int_equal(account_ns(), before); /* it stands in the recorder's account */
	/* And if it goes on like this, less is left for calls. */
	assert_true(budget_left_ns(SECOND) < (uint64_t)EARNED);
}

/* A program that rests for a night: neither earns more than an hour's, nor costs more. */
static void what_is_left_of_many_hours_is_what_is_left_of_one(void **state)
{
	struct ring *r = join(SHM_CPU_AUTO, FIVE_PERCENT);
	const uint64_t hour = 3600 * (uint64_t)SECOND;

	(void)state;
	budget_settle(r);
	fake_clock_pass(10 * MS);
	atomic_store(&session_process()->outside_ns, 20000); /* two thousandths at most */
	budget_settle(r);
	assert_true(budget_left_ns(hour) < budget_earned_ns(hour));
	for (uint64_t hours = 2; hours < 100000; hours *= 3)
		assert_int_equal(budget_left_ns(hours * hour), budget_left_ns(hour));
}

static uint64_t charged_for_a_thousand_ns(struct ring *r)
{
	uint64_t before;

	r->allowance = r->lot - 1000;
	before = account_ns();
	budget_settle(r);
	return account_ns() - before;
}

static void an_unknown_cost_is_taken_to_be_high(void **state)
{
	struct ring *r = join(SHM_CPU_TRACE, FIVE_PERCENT);

	(void)state;
	budget_set_event_cost(0, 0);
	budget_settle(r);
	assert_true(charged_for_a_thousand_ns(r) >= 1000ull * BUDGET_UNKNOWN_PS / 1000);
}

/* What its hook took, by its own clock. */
static void time_events(struct ring *r, unsigned count, uint64_t ticks)
{
	for (unsigned i = 0; i < count; i++) {
		budget_timed(r, stamp_now(r->clock)); /* the clock goes on meanwhile */
		r->timed_ticks = (i + 1) * ticks;
	}
}

static void events_cost_what_their_hook_is_seen_to_take(void **state)
{
	struct ring *r = join(SHM_CPU_TRACE, FIVE_PERCENT);

	(void)state;
	budget_settle(r);
	assert_int_equal(charged_for_a_thousand_ns(r), 1000 * BUDGET_UNTIMED_PERCENT);
	time_events(r, 4, 2ull * HOOK_TICKS);
	assert_int_equal(charged_for_a_thousand_ns(r), 2 * 1000 * 100);
	/* Other code runs now: the latest counts most, but not alone. */
	time_events(r, 4, HOOK_TICKS);
	assert_in_range(charged_for_a_thousand_ns(r), 150 * 1000, 199 * 1000);
	for (int i = 0; i < 100; i++) {
		time_events(r, 4, HOOK_TICKS);
		charged_for_a_thousand_ns(r);
	}
	assert_in_range(charged_for_a_thousand_ns(r), 100 * 1000, 101 * 1000);
}

static void an_interruption_is_no_cost_of_the_hook(void **state)
{
	struct ring *r = join(SHM_CPU_TRACE, FIVE_PERCENT);

	(void)state;
	budget_settle(r);
	budget_timed(r, stamp_now(r->clock) - (1ull << 40));
	assert_int_equal(r->timed_ticks, BUDGET_TIMED_MOST * HOOK_TICKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, leave)
		TEST(credit_lasts_for_as_many_events_as_it_pays),
		TEST(time_earns_the_share_and_debts_are_paid_first),
		TEST(what_cannot_be_avoided_leaves_no_debt),
		TEST(a_quiet_hour_buys_no_slow_minute),
		TEST(the_gpu_is_in_the_account_but_takes_no_credit),
		TEST(only_time_in_which_the_process_works_earns),
		TEST(a_process_that_waits_for_requests_earns_by_its_cpu_time),
		TEST(time_that_lies_behind_earns_nothing),
		TEST(without_a_bound_it_is_never_overdrawn_but_accounted),
		TEST(what_the_recorder_costs_is_paid_from_the_same_credit_once),
		TEST(what_is_left_of_many_hours_is_what_is_left_of_one),
		TEST(an_unknown_cost_is_taken_to_be_high),
		TEST(events_cost_what_their_hook_is_seen_to_take),
		TEST(an_interruption_is_no_cost_of_the_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
