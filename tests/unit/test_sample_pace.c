/* links: is_capture */
/* How often the sampler looks when it is told what that costs. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/sampler/sampler_parts.h"
#include "fake_clock.h"
#include "format/shm.h"
#include "format/stamp.h"

#define HZ 1000u
#define ASKED_NS (1000000000 / HZ)
#define FIVE_PERCENT 50000u
#define ROUND_NS 60000.0 /* of CPU time */

static void begin_with(struct sample_pace *p, uint32_t budget_ppm)
{
	sample_pace_init(p, HZ, budget_ppm);
	p->period_ns = p->asked_ns; /* on a single CPU it begins slowly */
	p->lost_ns = 0;
}

static void begin(struct sample_pace *p)
{
	begin_with(p, FIVE_PERCENT);
}

/* Some windows of a tenth of a second. */
static void go_on(struct sample_pace *p, double round_ns, unsigned windows, uint64_t outside_share)
{
	while (windows--)
		sample_pace_adjust(p, round_ns / (double)p->period_ns, outside_share);
}

static void what_costs_little_is_done_as_often_as_asked(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p);
	go_on(&p, ROUND_NS, 10, shm_outside_share(1, 0.001));
	assert_int_equal(p.period_ns, ASKED_NS);
	assert_false(p.held_back);
}

static void a_round_that_takes_long_takes_no_more_of_a_cpu(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p);
	go_on(&p, 4 * ROUND_NS, 10, 0);
	assert_in_range(p.period_ns, 2950000, 3050000); /* 0.24 ms of 3 are 8 % */
	assert_true(p.held_back);
}

static void what_costs_five_times_too_much_is_done_a_fifth_as_often(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p);
	go_on(&p, ROUND_NS, 1,
	      shm_outside_share(1, 0.075)); /* three tenths of the budget are allowed */
	assert_in_range(p.period_ns, ASKED_NS * 49 / 10, ASKED_NS * 51 / 10);
	assert_true(p.held_back);
	/* It is told once: that has been done. */
	go_on(&p, ROUND_NS, 5, shm_outside_share(1, 0.075));
	assert_in_range(p.period_ns, ASKED_NS * 49 / 10, ASKED_NS * 51 / 10);
	/* Half the way back, and the rest of it. */
	go_on(&p, ROUND_NS, 1, shm_outside_share(2, 0));
	assert_in_range(p.period_ns, ASKED_NS * 24 / 10, ASKED_NS * 29 / 10);
	for (uint32_t window = 3; window < 10; window++)
		go_on(&p, ROUND_NS, 1, shm_outside_share(window, 0));
	assert_int_equal(p.period_ns, ASKED_NS);
}

/* But a part of a CPU is all it takes nevertheless. */
static void where_nothing_is_bounded_it_is_not_held_back(void **state)
{
	struct sample_pace p;

	(void)state;
	begin_with(&p, SHM_NO_BUDGET);
	go_on(&p, ROUND_NS, 10, shm_outside_share(1, 0.075));
	assert_int_equal(p.period_ns, ASKED_NS);
	go_on(&p, 4 * ROUND_NS, 10, shm_outside_share(2, 0.075));
	assert_in_range(p.period_ns, 2950000, 3050000);
}

/* Others may cost more than is allowed, and looking less would not help. */
static void a_little_of_a_cpu_is_always_allowed(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p);
	p.least_of_core = 0.005;
	for (uint32_t window = 1; window < 10; window++)
		go_on(&p, ROUND_NS, 2, shm_outside_share(window, 1));
	assert_in_range(p.period_ns, 11900000, 12100000); /* 60 us: 0.5 % */
}

static void of_the_only_cpu_it_is_less(void **state)
{
	cpu_set_t before, one;
	struct sample_pace free, pinned;
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	sample_pace_init(&pinned, HZ, FIVE_PERCENT);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	sample_pace_init(&free, HZ, FIVE_PERCENT);
	assert_true(pinned.period_ns > ASKED_NS);
	if (CPU_COUNT(&before) == 1)
		skip();
	assert_true(pinned.least_of_core < free.least_of_core);
	assert_int_equal(free.period_ns, ASKED_NS);
}

static void rounds_come_at_the_rate_that_is_left(void **state)
{
	struct sample_pace p;
	uint64_t start_ns, took_ns;

	(void)state;
	begin(&p);
	p.period_ns = p.lost_ns = 5000000;
	start_ns = stamp_monotonic();
	for (int i = 0; i < 11; i++) /* less than a window */
		sample_pace_wait(&p, true, 0);
	took_ns = stamp_monotonic() - start_ns;
	assert_int_equal(p.rounds, 11);
	assert_in_range(took_ns, 50000000 + 1, 60000000 - 1); /* jitter: a quarter of a period */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_little_is_done_as_often_as_asked),
		cmocka_unit_test(a_round_that_takes_long_takes_no_more_of_a_cpu),
		cmocka_unit_test(what_costs_five_times_too_much_is_done_a_fifth_as_often),
		cmocka_unit_test(where_nothing_is_bounded_it_is_not_held_back),
		cmocka_unit_test(a_little_of_a_cpu_is_always_allowed),
		cmocka_unit_test(of_the_only_cpu_it_is_less),
		cmocka_unit_test(rounds_come_at_the_rate_that_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
