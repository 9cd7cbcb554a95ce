/* links: is_timeline */
/*
 * The merge of clocks against simulated devices whose clock is known: steps of
 * some launches and one synchronisation, kernels that queue, and a device clock
 * that is right, off, drifting, stepping or lying now and then.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_trace.h"

#define LAUNCHES 20
#define LATENCY_NS 6000 /* from a launch to the start of its kernel, at least */
#define RETURN_NS 8000  /* from the end of the last kernel to the return of the wait */
#define ALL_WINDOWS_NS (LATENCY_NS + RETURN_NS)

struct simulation {
	unsigned steps;
	int64_t pause_ns; /* between steps */
	double offset_ns, drift_ppm;
	unsigned step_at;   /* from this step on ... */
	int64_t step_ns;    /* ... the clock is that much ahead; 0: never */
	unsigned lie_every; /* kernels whose time is off by lie_ns; 0: none */
	int64_t lie_ns;
	unsigned late_every; /* kernels whose end alone is off by late_ns; 0: none */
	int64_t late_ns;
	enum cuda_call wait;  /* CUDA_CALL_OTHER: none */
	uint64_t wait_stream; /* + 1; 0: not told */
	unsigned streams;     /* that the kernels alternate between */
	bool blocking_copy;   /* each step ends with a copy to pageable memory */
	unsigned queue_from;  /* from this step on the device is behind by queued_ns ... */
	int64_t queued_ns;    /* ... when work is launched; 0: never */
};

struct simulated {
	struct gpu_trace t;
	int64_t *true_start_ns; /* of each kernel, in order */
	size_t kernels;
};

static int64_t device_time(const struct simulation *s, unsigned step, int64_t t_ns)
{
	double off = s->offset_ns + s->drift_ppm * 1e-6 * (double)t_ns;

	if (s->step_ns && step >= s->step_at)
		off += (double)s->step_ns;
	return t_ns + llround(off);
}

static void simulate(struct simulated *r, const struct simulation *s)
{
	uint32_t launch, wait, copy, kernel, correlation = 1;
	int64_t now_ns = 1000000, device_ns = 0;
	uint32_t random = 1;

	gpu_trace_begin(&r->t);
	launch = gpu_trace_string(&r->t, "cudaLaunchKernel");
	wait = gpu_trace_string(&r->t, "cudaDeviceSynchronize");
	copy = gpu_trace_string(&r->t, "cudaMemcpyAsync");
	kernel = gpu_trace_string(&r->t, "kernel");
	r->true_start_ns = calloc((size_t)s->steps * LAUNCHES, sizeof(*r->true_start_ns));
	r->kernels = 0;
	for (unsigned step = 0; step < s->steps; step++) {
		for (unsigned i = 0; i < LAUNCHES; i++, correlation++) {
			int64_t start_ns, end_ns, lie_ns = 0, late_ns = 0;

			random = random * 1664525u + 1013904223u;
			gpu_trace_call(&r->t, &(struct call_spec){ .thread = 1,
								   .name = launch,
								   .correlation = correlation,
								   .what = CUDA_CALL_LAUNCH,
								   .start_ns = now_ns,
								   .end_ns = now_ns + 4000 });
			start_ns = now_ns + LATENCY_NS + (random >> 8) % 2000;
			if (step >= s->queue_from)
				start_ns += s->queued_ns;
			if (start_ns < device_ns + 1000)
				start_ns = device_ns + 1000;
			device_ns = end_ns = start_ns + 5000 + (random >> 16) % 20000;
			r->true_start_ns[r->kernels++] = start_ns;
			if (s->lie_every && correlation % s->lie_every == 0)
				lie_ns = s->lie_ns;
			if (s->late_every && correlation % s->late_every == 0)
				late_ns = s->late_ns;
			gpu_trace_activity(
				&r->t, &(struct activity_spec){
					       .thread = 2,
					       .id = kernel,
					       .kind = RECORD_GPU_KERNEL,
					       .correlation = correlation,
					       .context = 1,
					       .stream = 7 + (s->streams ? i % s->streams : 0),
					       .start_ns = device_time(s, step, start_ns) + lie_ns,
					       .end_ns = device_time(s, step, end_ns) + lie_ns +
							 late_ns });
			now_ns += 10000;
		}
		if (s->blocking_copy) {
			int64_t start_ns = (device_ns > now_ns ? device_ns : now_ns) + 2000;

			device_ns = start_ns + 3000;
			gpu_trace_call(&r->t,
				       &(struct call_spec){ .thread = 1,
							    .name = copy,
							    .correlation = correlation,
							    .what = CUDA_CALL_COPY,
							    .start_ns = now_ns,
							    .end_ns = device_ns + RETURN_NS });
			gpu_trace_activity(
				&r->t,
				&(struct activity_spec){
					.thread = 2,
					.id = GPU_COPY_DEVICE_TO_HOST,
					.kind = RECORD_GPU_COPY,
					.correlation = correlation++,
					.context = 1,
					.stream = 7,
					.start_ns = device_time(s, step, start_ns),
					.end_ns = device_time(s, step, device_ns),
					.more = { 4, GPU_MEMORY_DEVICE, GPU_MEMORY_PAGEABLE, 1 } });
			now_ns = device_ns + RETURN_NS;
		}
		if (s->wait != CUDA_CALL_OTHER) {
			int64_t end_ns = (device_ns > now_ns ? device_ns : now_ns) + RETURN_NS;

			gpu_trace_call(&r->t, &(struct call_spec){ .thread = 1,
								   .name = wait,
								   .correlation = correlation++,
								   .what = s->wait,
								   .stream_plus_1 = s->wait_stream,
								   .start_ns = now_ns,
								   .end_ns = end_ns });
			now_ns = end_ns;
		}
		now_ns += s->pause_ns;
	}
	gpu_trace_read(&r->t);
}

static void release(struct simulated *r)
{
	free(r->true_start_ns);
	gpu_trace_release(&r->t);
}

static const struct gpu_clock *clock_of(const struct simulated *r)
{
	assert_int_equal(gpu_clock_count(r->t.gpu), 1);
	return gpu_clock(r->t.gpu, 0);
}

/* The farthest that a kernel's merged start is from the truth. */
static int64_t worst_error(const struct simulated *r)
{
	int64_t worst = 0;
	size_t at = 0;

	for (size_t i = 0; i < gpu_activity_count(r->t.gpu); i++) {
		const struct gpu_activity *a = gpu_activity(r->t.gpu, i);
		int64_t off = gpu_activity_work(r->t.gpu, a)->kind == GPU_KERNEL
				      ? a->start_ns - r->true_start_ns[at++]
				      : 0;

		if (llabs(off) > worst)
			worst = llabs(off);
	}
	return worst;
}

static void a_right_clock_is_left_alone(void **state)
{
	struct simulation s = { .steps = 500, .pause_ns = 9000000, .wait = CUDA_CALL_SYNC_DEVICE };
	struct simulated r;
	const struct gpu_clock *c;

	(void)state;
	simulate(&r, &s);
	c = clock_of(&r);
	assert_int_equal(c->violations_before, 0);
	assert_int_equal(c->violations_after, 0);
	assert_false(c->corrected);
	assert_true(c->offset_ns == 0 && c->drift_ppm == 0);
	assert_int_equal(c->pairs_below, 500 * LAUNCHES);
	assert_int_equal(c->pairs_above, 500 * LAUNCHES);
	/* The tightest pairs of each window are those of the simulation. */
	assert_in_range(c->error_ns, ALL_WINDOWS_NS / 2, ALL_WINDOWS_NS / 2 + 50);
	assert_in_range(c->farthest_ns, RETURN_NS, RETURN_NS + 100);
	assert_int_equal(worst_error(&r), 0);
	release(&r);
}

static void check_repaired(const struct simulation *s, double drift_ppm)
{
	struct simulated r;
	const struct gpu_clock *c;

	simulate(&r, s);
	c = clock_of(&r);
	assert_true(c->violations_before > 0);
	assert_int_equal(c->violations_after, 0);
	assert_true(c->corrected);
	assert_true(fabs(c->drift_ppm - drift_ppm) < 3);
	assert_in_range(c->error_ns, 1, ALL_WINDOWS_NS);
	assert_true(worst_error(&r) <= c->farthest_ns);
	release(&r);
}

static void a_constant_offset_is_taken_out(void **state)
{
	struct simulation s = { .steps = 500, .pause_ns = 9000000, .wait = CUDA_CALL_SYNC_DEVICE };

	(void)state;
	s.offset_ns = -50000;
	check_repaired(&s, 0);
	s.offset_ns = 50000;
	check_repaired(&s, 0);
}

static void a_correction_that_needs_no_drift_has_none(void **state)
{
	struct simulation s = { .steps = 50, .wait = CUDA_CALL_SYNC_DEVICE, .offset_ns = -50000 };
	struct simulated r;

	(void)state;
	simulate(&r, &s);
	assert_true(clock_of(&r)->drift_ppm == 0);
	assert_true(fabs(clock_of(&r)->offset_ns - 50000) <= ALL_WINDOWS_NS / 2.0 + 50);
	release(&r);
}

static void drift_is_taken_out(void **state)
{
	struct simulation s = { .steps = 1000, .pause_ns = 9000000, .wait = CUDA_CALL_SYNC_DEVICE };

	(void)state;
	s.drift_ppm = -100;
	check_repaired(&s, 100);
	s.drift_ppm = 100;
	check_repaired(&s, -100);
	s.offset_ns = 300000;
	check_repaired(&s, -100);
}

/* 8 us in the whole run, less than launches and waits leave room for. */
static void a_drift_that_breaks_nothing_does_not_narrow_the_bound(void **state)
{
	struct simulation s = {
		.steps = 80, .pause_ns = 9000000, .wait = CUDA_CALL_SYNC_DEVICE, .drift_ppm = 10
	};
	struct simulated r;

	(void)state;
	for (s.steps = 40; s.steps <= 80; s.steps += 40) {
		simulate(&r, &s);
		assert_int_equal(clock_of(&r)->violations_before, 0);
		assert_true(worst_error(&r) > 1000);
		assert_true(worst_error(&r) <= clock_of(&r)->farthest_ns);
		release(&r);
	}
	s.steps = 80; /* in the middle of a corridor that nothing but drift explains */
	s.drift_ppm = 100;
	simulate(&r, &s);
	assert_true(clock_of(&r)->corrected);
	assert_int_equal(clock_of(&r)->violations_after, 0);
	assert_true(worst_error(&r) <= clock_of(&r)->error_ns + 100);
	release(&r);
}

/* Tight pairs of other seconds hold as well, as far as clocks may run apart in them. */
static void a_queue_that_is_never_empty_is_bound_by_what_came_before(void **state)
{
	const struct simulation s = { .steps = 60,
				      .pause_ns = 9000000,
				      .wait = CUDA_CALL_SYNC_DEVICE,
				      .queue_from = 20,
				      .queued_ns = 100000000 };
	const int64_t apart_ns = 5ll * 50000; /* 5 s, 50 ppm */
	struct simulated r;

	(void)state;
	simulate(&r, &s);
	assert_false(clock_of(&r)->corrected);
	assert_in_range(clock_of(&r)->error_ns, ALL_WINDOWS_NS / 2,
			(ALL_WINDOWS_NS + apart_ns) / 2);
	assert_true(clock_of(&r)->error_ns > ALL_WINDOWS_NS);
	release(&r);
}

static void where_nothing_ran_nothing_can_be_wrong(void **state)
{
	const struct simulation s = { .steps = 3,
				      .pause_ns = 20000000000,
				      .wait = CUDA_CALL_SYNC_DEVICE };
	struct simulated r;

	(void)state;
	simulate(&r, &s);
	assert_in_range(clock_of(&r)->error_ns, 1, ALL_WINDOWS_NS);
	release(&r);
}

static void blocking_copies_bound_the_clock(void **state)
{
	struct simulation s = {
		.steps = 300, .pause_ns = 9000000, .blocking_copy = true, .offset_ns = 50000
	};
	struct simulated r;

	(void)state;
	check_repaired(&s, 0);
	simulate(&r, &s);
	assert_int_equal(clock_of(&r)->pairs_above, 300);
	release(&r);
}

static void waits_for_a_stream_bound_the_work_of_that_stream(void **state)
{
	struct simulation s = { .steps = 100, .pause_ns = 9000000, .wait = CUDA_CALL_SYNC_STREAM };
	struct simulated r;

	(void)state;
	simulate(&r, &s); /* not told which, but there is one stream */
	assert_int_equal(clock_of(&r)->pairs_above, 100 * LAUNCHES);
	release(&r);
	s.streams = 2; /* not told which of two */
	simulate(&r, &s);
	assert_int_equal(clock_of(&r)->pairs_above, 0);
	assert_int_equal(clock_of(&r)->error_ns, -1);
	release(&r);
	s.wait_stream = 8 + 1;
	simulate(&r, &s);
	assert_int_equal(clock_of(&r)->pairs_above, 100 * LAUNCHES / 2);
	assert_true(clock_of(&r)->error_ns > 0);
	release(&r);
}

static void without_waits_there_is_no_bound(void **state)
{
	struct simulation s = { .steps = 50, .pause_ns = 9000000 };
	struct simulated r;

	(void)state;
	simulate(&r, &s);
	assert_int_equal(clock_of(&r)->error_ns, -1);
	assert_int_equal(clock_of(&r)->farthest_ns, -1);
	assert_int_equal(clock_of(&r)->violations_before, 0);
	release(&r);
	/* A clock that is behind still shows, and goes where nothing is before its launch. */
	s.offset_ns = -50000;
	simulate(&r, &s);
	assert_true(clock_of(&r)->violations_before > 0);
	assert_int_equal(clock_of(&r)->violations_after, 0);
	assert_int_equal(clock_of(&r)->error_ns, -1);
	assert_true(clock_of(&r)->offset_ns > 0 && clock_of(&r)->offset_ns <= 50000);
	release(&r);
}

static void a_few_wrong_pairs_do_not_move_the_clock(void **state)
{
	struct simulation s = { .steps = 1000,
				.pause_ns = 9000000,
				.wait = CUDA_CALL_SYNC_DEVICE,
				.lie_every = 4001,
				.lie_ns = -400000 };
	struct simulated r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct gpu_clock *c;

		s.offset_ns = 50000 * i;
		simulate(&r, &s);
		c = clock_of(&r);
		assert_in_range(c->violations_after, 1, 1000 * (LAUNCHES + 1) / 4001);
		assert_true(fabs(c->offset_ns + s.offset_ns) <= ALL_WINDOWS_NS / 2.0 + 50);
		assert_true(fabs(c->drift_ppm) < 3);
		assert_in_range(c->error_ns, 1, ALL_WINDOWS_NS);
		release(&r);
	}
}

static void an_end_after_the_wait_is_cut_where_the_next_of_the_stream_began(void **state)
{
	struct simulation s = { .steps = 1000,
				.pause_ns = 9000000,
				.wait = CUDA_CALL_SYNC_DEVICE,
				.late_every = 4001,
				.late_ns = 5000000 };
	struct simulated r;
	const struct gpu_clock *c;

	(void)state;
	simulate(&r, &s);
	c = clock_of(&r);
	assert_in_range(c->violations_before, 1, 1000 * (LAUNCHES + 1) / 4001);
	assert_int_equal(c->cut, c->violations_before);
	assert_int_equal(c->violations_after, 0);
	assert_false(c->corrected);
	for (size_t i = 0; i + 1 < gpu_activity_count(r.t.gpu); i++)
		assert_true(gpu_activity(r.t.gpu, i)->end_ns <=
			    gpu_activity(r.t.gpu, i + 1)->start_ns);
	release(&r);
	/* So many are no exceptions: it is the clock that is wrong, and that is said. */
	s.late_every = 97;
	simulate(&r, &s);
	assert_int_equal(clock_of(&r)->cut, 0);
	assert_true(clock_of(&r)->violations_after > 0);
	release(&r);
}

static void a_step_leaves_the_larger_part_right_and_the_rest_told(void **state)
{
	struct simulation s = { .steps = 1000,
				.pause_ns = 9000000,
				.wait = CUDA_CALL_SYNC_DEVICE,
				.step_at = 700,
				.step_ns = 2000000 };
	struct simulated r;
	const struct gpu_clock *c;

	(void)state;
	simulate(&r, &s);
	c = clock_of(&r);
	assert_in_range(c->violations_after, 1, 300 * LAUNCHES);
	assert_true(c->violations_after <= c->violations_before);
	assert_true(fabs(c->offset_ns) <= ALL_WINDOWS_NS);
	assert_in_range(c->farthest_ns, s.step_ns - ALL_WINDOWS_NS, s.step_ns + ALL_WINDOWS_NS);
	release(&r);
}

static void add_kernel(struct gpu_trace *t, uint32_t thread, uint32_t correlation, int64_t start_ns)
{
	gpu_trace_activity(t, &(struct activity_spec){ .thread = thread,
						       .kind = RECORD_GPU_KERNEL,
						       .correlation = correlation,
						       .start_ns = start_ns,
						       .end_ns = start_ns + 100 });
}

static void kernels_without_calls_are_kept_as_they_are(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	add_kernel(&t, 2, 1, 5000);
	add_kernel(&t, 2, 2, 9000);
	gpu_trace_read(&t);
	assert_int_equal(gpu_clock_count(t.gpu), 1);
	assert_int_equal(gpu_clock(t.gpu, 0)->pairs_below, 0);
	assert_int_equal(gpu_clock(t.gpu, 0)->error_ns, -1);
	assert_int_equal(gpu_activity(t.gpu, 0)->start_ns, 5000);
	assert_int_equal(gpu_unmatched_activities(t.gpu), 2);
	gpu_trace_release(&t);
}

static void each_process_has_its_own_correction(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	gpu_trace_call(&t, &(struct call_spec){ .thread = 1,
						.correlation = 1,
						.what = CUDA_CALL_LAUNCH,
						.start_ns = 1000,
						.end_ns = 2000 });
	gpu_trace_call(&t, &(struct call_spec){ .thread = 4,
						.correlation = 1,
						.what = CUDA_CALL_LAUNCH,
						.start_ns = 1000,
						.end_ns = 2000 });
	add_kernel(&t, 2, 1, 1500);
	add_kernel(&t, 5, 1, 400);
	gpu_trace_read(&t);
	assert_int_equal(gpu_clock_count(t.gpu), 2);
	assert_false(gpu_clock(t.gpu, 0)->corrected);
	assert_true(gpu_clock(t.gpu, 1)->corrected);
	assert_int_equal(gpu_clock(t.gpu, 1)->process, 2);
	assert_int_equal(gpu_activity(t.gpu, 0)->start_ns, 1500);
	assert_int_equal(gpu_activity(t.gpu, 1)->start_ns, 1000);
	assert_int_equal(gpu_activity(t.gpu, 1)->end_ns, 1100);
	gpu_trace_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_clock_is_left_alone),
		cmocka_unit_test(a_constant_offset_is_taken_out),
		cmocka_unit_test(a_correction_that_needs_no_drift_has_none),
		cmocka_unit_test(drift_is_taken_out),
		cmocka_unit_test(a_drift_that_breaks_nothing_does_not_narrow_the_bound),
		cmocka_unit_test(a_queue_that_is_never_empty_is_bound_by_what_came_before),
		cmocka_unit_test(where_nothing_ran_nothing_can_be_wrong),
		cmocka_unit_test(blocking_copies_bound_the_clock),
		cmocka_unit_test(waits_for_a_stream_bound_the_work_of_that_stream),
		cmocka_unit_test(without_waits_there_is_no_bound),
		cmocka_unit_test(a_few_wrong_pairs_do_not_move_the_clock),
		cmocka_unit_test(an_end_after_the_wait_is_cut_where_the_next_of_the_stream_began),
		cmocka_unit_test(a_step_leaves_the_larger_part_right_and_the_rest_told),
		cmocka_unit_test(kernels_without_calls_are_kept_as_they_are),
		cmocka_unit_test(each_process_has_its_own_correction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
