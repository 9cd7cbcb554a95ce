/* links: is_capture */
/* What the recorder takes from the workload: whose waiting is its fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/drain/drain_state.h"
#include "fake_clock.h"
#include "format/stamp.h"

#define MS 1000000ull
#define SECOND ((int64_t)(1000 * MS))

/* A drain with one process, a window that began a second ago, and nobody to sample natively. */
struct world {
	struct shm_header header;
	struct shm_owner owner;
	struct ticks ticks;
	struct drain_process process;
	struct drain drain;
};

static struct drain *world_init(struct world *w, int64_t passed_ns)
{
	memset(w, 0, sizeof(*w));
	w->header.sample_hz = 1000;
	w->owner.header = &w->header;
	w->process = (struct drain_process){ .known = true, .entry = { .id = 7 } };
	ticks_init(&w->ticks, SHM_CLOCK_MONOTONIC, 0);
	w->drain = (struct drain){
		.owner = &w->owner, .ticks = &w->ticks, .processes = &w->process, .process_limit = 1
	};
	w->drain.costs.since_ns = ticks_now_ns(&w->ticks) - passed_ns;
	return &w->drain;
}

/* Of a second in which we had `own` CPUs and so many were busy, to a process with so many threads.
 */
static uint64_t charged_ms(double own, double busy, unsigned threads, uint64_t ran_ms,
			   uint64_t queued_ms)
{
	struct world w;
	struct drain *d = world_init(&w, SECOND);

	d->costs.own = own;
	d->costs.busy = busy;
	for (unsigned i = 0; i < threads; i++)
		drain_costs_waited(d, &w.process, SECOND, ran_ms * MS, queued_ms * MS);
	return (drain_costs_end(d, &w.process) + MS / 2) / MS;
}

static void on_one_cpu_all_that_it_uses_is_missed(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.02, 1, 1, 980, 20), 20);
	assert_int_equal(charged_ms(0.02, 1, 1, 500, 10), 0); /* others had the rest */
	assert_int_equal(charged_ms(0.02, 0.52, 1, 500, 10), 10);
}

static void nobody_misses_a_cpu_that_is_free(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.09, 1.09, 1, 1000, 0), 0);
}

/* Though it is free: it may be the other half of a core.  Others are charged nothing: see above. */
static void a_virtual_machine_has_cores_that_are_shared(void **state)
{
	struct world w;
	struct drain *d = world_init(&w, SECOND);
	uint64_t one;

	(void)state;
	CPU_SET(0, &d->costs.cpus);
	CPU_SET(1, &d->costs.cpus);
	d->costs.own = 0.1;
	d->costs.busy = 1.1;
	d->costs.virtual = true;
	drain_costs_waited(d, &w.process, SECOND, SECOND, 0);
	one = drain_costs_end(d, &w.process);
	assert_in_range(one, 10 * MS, 25 * MS); /* some sixth of 100 */
	/* Of four threads that run side by side one is beside us. */
	for (unsigned i = 0; i < 4; i++)
		drain_costs_waited(d, &w.process, SECOND, SECOND, 0);
	assert_in_range(drain_costs_end(d, &w.process) - one, one / 5, one / 3);
}

static void of_what_others_had_it_is_a_part(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.1, 2, 1, 500, 500), 33); /* 0.1 of 1.5 */
	assert_int_equal(charged_ms(0.1, 16, 1, 850, 150), 1);
}

static void nobody_misses_more_than_it_had(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.01, 1, 16, 60, 900), 10);
	assert_int_equal(charged_ms(0, 1, 1, 995, 500), 0);
}

static uint64_t cost_of_looks(enum sample_state s, uint32_t process, uint32_t count, unsigned lines,
			      int64_t ran_ms, int64_t queued_ms)
{
	const struct sampler_sample sample = { .process = process,
					       .sample = { .count = count, .flags = s },
					       .lines = (uint64_t)count * lines };
	struct world w;
	struct drain *d = world_init(&w, SECOND);

	w.process.ran_ns = (uint64_t)ran_ms * MS;
	w.process.queued_ns = (uint64_t)queued_ms * MS;
	drain_costs_samples(d, &sample);
	return drain_costs_end(d, &w.process);
}

static void only_threads_that_run_are_disturbed_by_a_look(void **state)
{
	uint64_t hundred = cost_of_looks(SAMPLE_RUNNING, 7, 100, 80, 0, 0);

	(void)state;
	assert_true(hundred > 0);
	assert_int_equal(cost_of_looks(SAMPLE_LOCK_WAIT, 7, 100, 80, 0, 0), 0);
	assert_int_equal(cost_of_looks(SAMPLE_RUNNING, 8, 100, 80, 0, 0), 0); /* another process */
	assert_int_equal(cost_of_looks(SAMPLE_RUNNING, 7, 200, 80, 0, 0), 2 * hundred);
	/* A deep stack is more to fetch again. */
	assert_in_range(cost_of_looks(SAMPLE_RUNNING, 7, 100, 240, 0, 0), 2 * hundred, 3 * hundred);
	/* CPU time that it had to wait for costs it the waiting as well. */
	assert_int_equal(cost_of_looks(SAMPLE_RUNNING, 7, 100, 80, 100, 200), 3 * hundred);
}

static void page_faults_that_are_counted_take_longer(void **state)
{
	struct world w;
	struct drain *d = world_init(&w, SECOND);

	(void)state;
	drain_costs_faults(d, 8, 64); /* another process */
	assert_int_equal(drain_costs_end(d, &w.process), 0);
	drain_costs_faults(d, 7, 64000);
	assert_in_range(drain_costs_end(d, &w.process), 5 * MS, 10 * MS);
	assert_in_range(drain_costs_end(d, &w.process), 5 * MS, 10 * MS); /* once */
}

static void changing_threads_that_are_watched_takes_longer(void **state)
{
	struct world w;
	struct drain *d = world_init(&w, SECOND);
	uint64_t turn_ns;

	(void)state;
	d->native = native_new(50000, false);
	turn_ns = native_turn_ns(d->native);
	drain_costs_turns(d, 8, 1000); /* another process */
	drain_costs_turns(d, 7, 1000);
	assert_int_equal(drain_costs_end(d, &w.process), 1000 * turn_ns);
	assert_int_equal(drain_costs_end(d, &w.process), 1000 * turn_ns); /* once */
	native_free(d->native);
}

static void threads_that_wait_side_by_side_are_one_loss(void **state)
{
	(void)state;
	/* Four for each of 16 CPUs: 0.08 of 16 are 5 ms. */
	assert_in_range(charged_ms(0.08, 16, 64, 250, 750), 3, 6);
	/* One after the other, as with a lock: all of it counts. */
	assert_int_equal(charged_ms(0.04, 1.04, 4, 230, 10), 2);
}

static void threads_that_run_side_by_side_lose_side_by_side(void **state)
{
	uint64_t one = cost_of_looks(SAMPLE_RUNNING, 7, 1000, 80, 0, 0);

	(void)state;
	assert_int_equal(cost_of_looks(SAMPLE_RUNNING, 7, 16000, 80, 0, 0), one);
}

/* With so many CPUs between workload and recorder, all of them busy. */
static struct drain *crowded_world(struct world *w, unsigned cpus)
{
	struct drain *d = world_init(w, SECOND);

	for (unsigned i = 0; i < cpus; i++)
		CPU_SET(i, &d->costs.cpus);
	d->costs.windows = 1;
	d->costs.busy = cpus;
	w->owner.block_count = 1024;
	w->owner.thread_count = 1024;
	d->totals.processes = 1;
	return d;
}

static void no_cpu_is_idle_when_there_is_but_one(void **state)
{
	struct world w;
	struct drain *d = crowded_world(&w, 2);

	(void)state;
	assert_true(drain_is_crowded(d));
	d->costs.busy = 1.5;
	assert_false(drain_is_crowded(d));
	d->costs.windows = 0; /* nothing is known yet */
	assert_false(drain_is_crowded(d));
	d = crowded_world(&w, 1);
	d->costs.windows = 0;
	d->costs.busy = 0;
	assert_true(drain_is_crowded(d));
}

static void cycles_are_few_where_no_cpu_is_idle(void **state)
{
	struct world w;
	struct drain *d = crowded_world(&w, 1);
	int few_ms = drain_wait_ms(d);

	(void)state;
	assert_true(few_ms > DRAIN_WAIT_MS);
	/* What may run out is not to wait, */
	d->newly_stored = 1024 * (SHM_BLOCK_BYTES / sizeof(struct record)) / 4;
	assert_int_equal(drain_wait_ms(d), DRAIN_WAIT_MS);
	d->newly_stored = 1000;
	assert_int_equal(drain_wait_ms(d), few_ms);
	d->newly_joined = 1024 / 4;
	assert_int_equal(drain_wait_ms(d), DRAIN_WAIT_MS);
	d->newly_joined = 2;
	assert_int_equal(drain_wait_ms(d), few_ms);
	/* nor who joins, or is about to. */
	w.process.entry.start_ns = ticks_now_ns(&w.ticks);
	assert_int_equal(drain_wait_ms(d), DRAIN_WAIT_MS);
	w.process.sampled = true;
	assert_int_equal(drain_wait_ms(d), few_ms);
	d->totals.processes = 0;
	assert_int_equal(drain_wait_ms(d), few_ms);
	ticks_init(&w.ticks, SHM_CLOCK_MONOTONIC, (int64_t)stamp_monotonic());
	assert_int_equal(drain_wait_ms(d), DRAIN_WAIT_MS);
	/* Of several CPUs others have a part as well. */
	d = crowded_world(&w, 2);
	assert_in_range(drain_wait_ms(d), DRAIN_WAIT_MS + 1, few_ms - 1);
	d->costs.busy = 1;
	assert_int_equal(drain_wait_ms(d), DRAIN_WAIT_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_one_cpu_all_that_it_uses_is_missed),
		cmocka_unit_test(nobody_misses_a_cpu_that_is_free),
		cmocka_unit_test(a_virtual_machine_has_cores_that_are_shared),
		cmocka_unit_test(of_what_others_had_it_is_a_part),
		cmocka_unit_test(nobody_misses_more_than_it_had),
		cmocka_unit_test(only_threads_that_run_are_disturbed_by_a_look),
		cmocka_unit_test(page_faults_that_are_counted_take_longer),
		cmocka_unit_test(changing_threads_that_are_watched_takes_longer),
		cmocka_unit_test(threads_that_wait_side_by_side_are_one_loss),
		cmocka_unit_test(threads_that_run_side_by_side_lose_side_by_side),
		cmocka_unit_test(no_cpu_is_idle_when_there_is_but_one),
		cmocka_unit_test(cycles_are_few_where_no_cpu_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
