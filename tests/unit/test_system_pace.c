/* links: is_capture is_format is_base */
/* How much longer periods become, and that what a thread takes stays below a hundredth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/system/system_reader.h"

static void what_costs_too_much_is_done_less_often(void **state)
{
	struct system_pace p;

	(void)state;
	system_pace_begin(&p, 0, 0, false);
	assert_true(p.slowdown == 1);
	system_pace_adjust(&p, 0.003, false);
	assert_true(p.slowdown == 1);
	assert_false(p.held_back);
	system_pace_adjust(&p, 0.04, false);
	assert_true(p.slowdown > 9.9 && p.slowdown < 10.1);
	assert_true(p.held_back);
	for (int i = 0; i < 20; i++)
		system_pace_adjust(&p, 0.0003, false);
	assert_true(p.slowdown == 1);
	system_pace_adjust(&p, 1000, false);
	assert_true(p.slowdown == 100);
}

/* Where no CPU is idle: less than half of what it takes elsewhere, and from the first look on. */
static void it_gives_way_where_no_cpu_is_idle(void **state)
{
	struct system_pace crowded, free;

	(void)state;
	system_pace_begin(&free, 0, 0, false);
	system_pace_begin(&crowded, 0, 0, true);
	assert_true(crowded.slowdown > 2 * free.slowdown);
	system_pace_adjust(&free, 0.04, false);
	system_pace_adjust(&crowded, 0.04 / crowded.slowdown, true); /* the same work */
	assert_true(crowded.slowdown > 2 * free.slowdown && crowded.slowdown < 5 * free.slowdown);
	/* As soon as one is, half the way back at a time. */
	for (int i = 0; i < 10; i++)
		system_pace_adjust(&crowded, 0.04 / crowded.slowdown, false);
	assert_true(crowded.slowdown > 0.99 * free.slowdown &&
		    crowded.slowdown < 1.01 * free.slowdown);
}

#define SECOND_NS 1000000000ll
#define SAMPLE_COST_NS 35000 /* a waking and two files */
#define FIRST_NS 123456789

/*
 * What a thread takes of a core that looks every 10 ms, or as much less often as the pace says, and
 * spends `start_ms` at once after a second.
 */
static double share_of(struct system_pace *p, double seconds, int64_t start_ms)
{
	int64_t now_ns = FIRST_NS, cpu_ns = SAMPLE_COST_NS,
		end_ns = now_ns + (int64_t)(seconds * 1e9);

	system_pace_begin(p, now_ns, cpu_ns, false);
	while (now_ns < end_ns) {
		double slowdown = system_pace_slowdown(p, now_ns, cpu_ns, false);

		cpu_ns += SAMPLE_COST_NS;
		if (!p->once_ns && start_ms && now_ns >= FIRST_NS + SECOND_NS) {
			cpu_ns += start_ms * 1000000;
			system_pace_once(p, now_ns, cpu_ns, start_ms * 1000000);
		}
		now_ns += (int64_t)(slowdown * 1e7);
	}
	system_pace_end(p, now_ns, cpu_ns);
	return (double)p->cpu_ns / (double)p->active_ns;
}

/* NVML takes about 55 ms of CPU time to start on an H200; with looks as usual 1.04 % of 8 s. */
static void what_came_once_is_made_up_for(void **state)
{
	struct system_pace p;

	(void)state;
	assert_true(share_of(&p, 8, 0) < 0.0036);
	assert_false(p.held_back);
	assert_true(share_of(&p, 8, 55) < 0.0085);
	assert_true(p.held_back && p.once_ns == 55000000);
	assert_true(share_of(&p, 7, 55) < 0.0096);
	assert_true(share_of(&p, 6, 45) < 0.0096);
	/* Longer: made up for, and all is as before. */
	assert_true(share_of(&p, 14, 55) < 0.0082);
	assert_false(p.paying);
	assert_true(p.slowdown == 1);
	assert_true(share_of(&p, 60, 55) < 0.0046);
	/* Too short: next to nothing is added to what cannot be helped. */
	assert_true(share_of(&p, 2, 55) < 0.055 / 2 + 0.0026);
	assert_true(p.paying);
}

/* Where it costs next to nothing nobody has to look less often for it. */
static void a_cheap_start_changes_nothing(void **state)
{
	struct system_pace p;

	(void)state;
	share_of(&p, 1.1, 2);
	assert_true(p.once_ns == 2000000);
	assert_false(p.paying || p.held_back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_too_much_is_done_less_often),
		cmocka_unit_test(it_gives_way_where_no_cpu_is_idle),
		cmocka_unit_test(what_came_once_is_made_up_for),
		cmocka_unit_test(a_cheap_start_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
