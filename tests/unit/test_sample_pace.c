/* links: is_capture */
/* How often the sampler looks when it is told what that costs.  In real time: some 100 ms each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "capture/sample_pace.h"
#include "format/shm.h"
#include "format/stamp.h"

#define HZ 1000u
#define ASKED_NS (1000000000 / HZ)
#define FIVE_PERCENT 50000u
#define LOOK_NS 45000
#define LONG_NS 250000000 /* two windows of the pace, and a bit */

static void begin(struct sample_pace *p, uint32_t budget_ppm)
{
	sample_pace_init(p, HZ, budget_ppm);
	p->period_ns = p->asked_ns; /* on a single CPU it begins slowly */
	p->lost_ns = 0;
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void look(void)
{
	int64_t until_ns = cpu_ns() + LOOK_NS;

	while (cpu_ns() < until_ns)
		;
}

static void go_on(struct sample_pace *p, uint64_t outside_share)
{
	uint64_t until = stamp_monotonic() + LONG_NS;

	while (stamp_monotonic() < until) {
		look();
		sample_pace_wait(p, true, outside_share);
	}
}

static void what_costs_little_is_done_as_often_as_asked(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p, FIVE_PERCENT);
	go_on(&p, shm_outside_share(1, 0.001));
	assert_int_equal(p.period_ns, ASKED_NS);
	assert_false(p.held_back);
}

static void what_costs_five_times_too_much_is_done_a_fifth_as_often(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p, FIVE_PERCENT);
	go_on(&p, shm_outside_share(1, 0.0625)); /* a quarter of the budget is allowed */
	assert_in_range(p.period_ns, ASKED_NS * 49 / 10, ASKED_NS * 51 / 10);
	assert_true(p.held_back);
	/* It is told once: that has been done. */
	go_on(&p, shm_outside_share(1, 0.0625));
	assert_in_range(p.period_ns, ASKED_NS * 49 / 10, ASKED_NS * 51 / 10);
	/* Half the way back. */
	go_on(&p, shm_outside_share(2, 0));
	assert_in_range(p.period_ns, ASKED_NS * 24 / 10, ASKED_NS * 26 / 10);
}

/* Others may cost more than is allowed, and looking less would not help. */
static void half_a_percent_of_a_cpu_is_always_allowed(void **state)
{
	struct sample_pace p;

	(void)state;
	begin(&p, FIVE_PERCENT);
	go_on(&p, shm_outside_share(1, 1));
	assert_in_range(p.period_ns, ASKED_NS * 2, LOOK_NS * 2 * 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_little_is_done_as_often_as_asked),
		cmocka_unit_test(what_costs_five_times_too_much_is_done_a_fifth_as_often),
		cmocka_unit_test(half_a_percent_of_a_cpu_is_always_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
