/* links: is_timeline */
/* From records to calls and activities, who started what, and from which line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_trace.h"

static void add_call(struct gpu_trace *t, uint32_t thread, enum cuda_call what, const char *name,
		     uint32_t correlation, int64_t start_ns, int64_t end_ns)
{
	gpu_trace_call(t, &(struct call_spec){ .thread = thread,
					       .name = gpu_trace_string(t, name),
					       .correlation = correlation,
					       .what = what,
					       .start_ns = start_ns,
					       .end_ns = end_ns });
}

static void add_named(struct gpu_trace *t, uint32_t thread, uint32_t name, uint32_t correlation,
		      int64_t start_ns, int64_t end_ns)
{
	gpu_trace_activity(
		t, &(struct activity_spec){ .thread = thread,
					    .kind = RECORD_GPU_KERNEL,
					    .id = name,
					    .correlation = correlation,
					    .context = 1,
					    .stream = 7,
					    .start_ns = start_ns,
					    .end_ns = end_ns,
					    .more = { 32, 2, 1, 256, 4, 1, 40, 1024, 2048 } });
}

static void add_kernel(struct gpu_trace *t, uint32_t thread, uint32_t correlation, int64_t start_ns,
		       int64_t end_ns)
{
	add_named(t, thread, gpu_trace_string(t, "_Z5saxpyPfS_fi"), correlation, start_ns, end_ns);
}

static void a_trace_without_a_gpu_is_empty(void **state)
{
	struct gpu_trace t;
	struct place innermost, user;

	(void)state;
	gpu_trace_begin(&t);
	gpu_trace_read(&t);
	assert_int_equal(gpu_activity_count(t.gpu), 0);
	assert_int_equal(gpu_call_count(t.gpu), 0);
	assert_int_equal(gpu_clock_count(t.gpu), 0);
	gpu_stack_places(t.gpu, 5, &innermost, &user);
	assert_null(innermost.name);
	assert_null(user.file);
	gpu_trace_release(&t);
}

static const struct gpu_work *work_of(const struct gpu_trace *t, const struct gpu_activity *a)
{
	return gpu_activity_work(t->gpu, a);
}

static const char *starter_name(const struct gpu_trace *t, size_t activity)
{
	const struct gpu_activity *a = gpu_activity(t->gpu, activity);

	return gpu_call_api(t->gpu, gpu_call(t->gpu, gpu_activity_call(a)))->name;
}

static void kernels_know_their_launch(void **state)
{
	struct gpu_trace t;
	const struct gpu_activity *a;
	const struct gpu_call *c;

	(void)state;
	gpu_trace_begin(&t);
	add_call(&t, 1, CUDA_CALL_LAUNCH, "cudaLaunchKernel", 11, 1000, 1500);
	add_call(&t, 1, CUDA_CALL_LAUNCH, "cudaLaunchKernel", 12, 2000, 2500);
	add_kernel(&t, 2, 12, 6000, 7000);
	add_kernel(&t, 2, 11, 4000, 5000);
	gpu_trace_read(&t);
	assert_int_equal(gpu_activity_count(t.gpu), 2);
	a = gpu_activity(t.gpu, 0);
	assert_int_equal(work_of(&t, a)->kind, GPU_KERNEL);
	assert_int_equal(a->start_ns, 4000);
	assert_int_equal(a->end_ns, 5000);
	assert_true(a->timed);
	assert_int_equal(work_of(&t, a)->stream, 7);
	assert_int_equal(work_of(&t, a)->grid[0], 32);
	assert_int_equal(work_of(&t, a)->block[1], 4);
	assert_int_equal(work_of(&t, a)->registers, 40);
	assert_int_equal(work_of(&t, a)->dynamic_shared_bytes, 2048);
	c = gpu_call(t.gpu, gpu_activity_call(a));
	assert_int_equal(c->correlation, 11);
	assert_int_equal(gpu_activity_correlation(t.gpu, a), 11);
	assert_int_equal(c->start_ns, 1000);
	assert_int_equal(c->end_ns, 1500);
	assert_true(c->ended);
	assert_string_equal(gpu_call_api(t.gpu, c)->name, "cudaLaunchKernel");
	assert_int_equal(gpu_call_activities(t.gpu, c), 1);
	assert_int_equal(gpu_call_activity(t.gpu, c, 0), 0);
	assert_int_equal(gpu_call_activity(t.gpu, gpu_call(t.gpu, 1), 0), 1);
	/* Two string ids with one text are one name. */
	assert_int_equal(gpu_kernel_name_count(t.gpu), 1);
	assert_int_equal(work_of(&t, a)->name, work_of(&t, gpu_activity(t.gpu, 1))->name);
	assert_string_equal(gpu_kernel_name(t.gpu, work_of(&t, a)->name)->full,
			    "saxpy(float*, float*, float, int)");
	assert_string_equal(gpu_kernel_name(t.gpu, work_of(&t, a)->name)->brief, "saxpy");
	gpu_trace_release(&t);
}

static void correlations_belong_to_their_process(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	add_call(&t, 1, CUDA_CALL_LAUNCH, "a", 5, 1000, 1500);
	add_call(&t, 4, CUDA_CALL_LAUNCH, "b", 5, 1000, 1500);
	add_kernel(&t, 5, 5, 4000, 5000);
	gpu_trace_read(&t);
	assert_string_equal(starter_name(&t, 0), "b");
	assert_int_equal(gpu_call_activities(t.gpu, gpu_call(t.gpu, 0)), 0);
	assert_int_equal(gpu_unmatched_launches(t.gpu), 1);
	assert_int_equal(gpu_unmatched_activities(t.gpu), 0);
	gpu_trace_release(&t);
}

static void equal_work_is_kept_once_and_its_calls_too(void **state)
{
	struct gpu_trace t;
	uint32_t name;

	(void)state;
	gpu_trace_begin(&t);
	name = gpu_trace_string(&t, "_Z5saxpyPfS_fi");
	for (uint32_t i = 1; i <= 50; i++) {
		add_call(&t, i % 2 ? 1 : 3, CUDA_CALL_LAUNCH, i % 2 ? "a" : "b", i, i * 1000,
			 i * 1000 + 500);
		add_named(&t, 2, name, i, i * 1000 + 600, i * 1000 + 700);
	}
	add_named(&t, 2, name, 99, 90000, 90100);
	add_named(&t, 5, name, 1, 90000, 90100);
	gpu_trace_read(&t);
	for (size_t i = 0; i < 50; i++) {
		const struct gpu_activity *a = gpu_activity(t.gpu, i);

		assert_int_equal(gpu_activity_correlation(t.gpu, a), i + 1);
		assert_ptr_equal(work_of(&t, a)->grid, work_of(&t, gpu_activity(t.gpu, 0))->grid);
		assert_string_equal(starter_name(&t, i), i % 2 ? "b" : "a");
		assert_int_equal(gpu_call_api(t.gpu, gpu_call(t.gpu, gpu_activity_call(a)))->thread,
				 i % 2 ? 2 : 0);
	}
	assert_int_equal(gpu_activity_call(gpu_activity(t.gpu, 50)), GPU_NONE);
	assert_int_equal(gpu_activity_correlation(t.gpu, gpu_activity(t.gpu, 50)), 99);
	assert_int_equal(work_of(&t, gpu_activity(t.gpu, 51))->process, 2);
	assert_int_equal(gpu_unmatched_activities(t.gpu), 2);
	gpu_trace_release(&t);
}

static void numbers_may_begin_anew_after_a_pause_but_not_otherwise(void **state)
{
	struct gpu_trace t;

	(void)state;
	for (int pauses = 0; pauses < 2; pauses++) {
		gpu_trace_begin(&t);
		add_call(&t, 1, CUDA_CALL_LAUNCH, "a", 5, 1000, 1500);
		add_call(&t, 1, CUDA_CALL_LAUNCH, "b", 5, 20000, 20500);
		add_kernel(&t, 2, 5, 4000, 5000);
		if (pauses)
			gpu_trace_event(&t, 2, RECORD_GPU_STATE, GPU_STATE_PAUSED, 10000);
		add_kernel(&t, 2, 5, 21000, 22000);
		gpu_trace_read(&t);
		assert_int_equal(gpu_ambiguous_activities(t.gpu), pauses ? 0 : 2);
		assert_int_equal(gpu_unmatched_launches(t.gpu), pauses ? 0 : 2);
		for (size_t i = 0; pauses && i < 2; i++)
			assert_string_equal(starter_name(&t, i), i ? "b" : "a");
		gpu_trace_release(&t);
	}
}

static void a_graph_launch_started_all_its_nodes(void **state)
{
	static const int64_t starts[] = { 9000, 3000, 6000 };
	struct gpu_trace t;
	const struct gpu_call *c;

	(void)state;
	gpu_trace_begin(&t);
	add_call(&t, 1, CUDA_CALL_LAUNCH, "cudaLaunchKernel", 4, 100, 200);
	add_call(&t, 1, CUDA_CALL_GRAPH_LAUNCH, "cudaGraphLaunch", 5, 1000, 1500);
	for (size_t i = 0; i < 3; i++)
		add_kernel(&t, 2, 5, starts[i], starts[i] + 100);
	add_kernel(&t, 2, 4, 5000, 5500);
	gpu_trace_read(&t);
	c = gpu_call(t.gpu, 1);
	assert_int_equal(gpu_call_activities(t.gpu, c), 3);
	assert_int_equal(gpu_call_activity(t.gpu, c, 0), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(gpu_activity(t.gpu, gpu_call_activity(t.gpu, c, i))->start_ns,
				 3000 * ((int64_t)i + 1));
	gpu_trace_release(&t);
}

static void captured_launches_are_not_missed(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	add_call(&t, 1, CUDA_CALL_GRAPH_BUILD, "cudaStreamBeginCapture", 1, 100, 200);
	add_call(&t, 1, CUDA_CALL_LAUNCH, "cudaLaunchKernel", 2, 300, 400);
	add_call(&t, 1, CUDA_CALL_GRAPH_BUILD, "cudaStreamEndCapture", 3, 500, 600);
	add_call(&t, 1, CUDA_CALL_LAUNCH, "cudaLaunchKernel", 4, 700, 800);
	gpu_trace_read(&t);
	assert_int_equal(gpu_unmatched_launches(t.gpu), 1);
	gpu_trace_release(&t);
}

static void copies_and_memsets_say_what_they_moved(void **state)
{
	struct gpu_trace t;
	const struct gpu_activity *a;

	(void)state;
	gpu_trace_begin(&t);
	gpu_trace_activity(&t, &(struct activity_spec){ .thread = 2,
							.kind = RECORD_GPU_COPY,
							.id = GPU_COPY_HOST_TO_DEVICE,
							.start_ns = 100,
							.end_ns = 200,
							.more = { 4096, GPU_MEMORY_PAGEABLE,
								  GPU_MEMORY_DEVICE, 1, 3, 77 } });
	gpu_trace_activity(&t, &(struct activity_spec){ .thread = 2,
							.kind = RECORD_GPU_MEMSET,
							.id = GPU_MEMORY_DEVICE,
							.start_ns = 300,
							.end_ns = 400,
							.more = { 512, 0, 1 } });
	gpu_trace_activity(&t, &(struct activity_spec){ .thread = 2,
							.kind = RECORD_GPU_COPY,
							.id = 4, /* array to host */
							.start_ns = 500,
							.end_ns = 600,
							.more = { 8, 99, 7 } });
	gpu_trace_activity(&t, &(struct activity_spec){ .thread = 2,
							.kind = RECORD_GPU_GRAPH,
							.start_ns = 700,
							.end_ns = 800,
							.more = { 9 } });
	gpu_trace_read(&t);
	a = gpu_activity(t.gpu, 0);
	assert_int_equal(work_of(&t, a)->kind, GPU_COPY);
	assert_int_equal(work_of(&t, a)->copy, GPU_COPY_HOST_TO_DEVICE);
	assert_int_equal(work_of(&t, a)->bytes, 4096);
	assert_int_equal(work_of(&t, a)->source, GPU_MEMORY_PAGEABLE);
	assert_int_equal(work_of(&t, a)->destination, GPU_MEMORY_DEVICE);
	assert_true(work_of(&t, a)->asynchronous);
	assert_int_equal(work_of(&t, a)->graph, 3);
	assert_int_equal(work_of(&t, a)->graph_node, 77);
	a = gpu_activity(t.gpu, 1);
	assert_int_equal(work_of(&t, a)->kind, GPU_MEMSET);
	assert_int_equal(work_of(&t, a)->bytes, 512);
	assert_int_equal(work_of(&t, a)->destination, GPU_MEMORY_DEVICE);
	assert_true(work_of(&t, a)->asynchronous);
	a = gpu_activity(t.gpu, 2);
	assert_int_equal(work_of(&t, a)->copy, GPU_COPY_DEVICE_TO_HOST);
	assert_int_equal(work_of(&t, a)->source, GPU_MEMORY_UNKNOWN);
	assert_int_equal(work_of(&t, a)->destination, GPU_MEMORY_MANAGED);
	a = gpu_activity(t.gpu, 3);
	assert_int_equal(work_of(&t, a)->kind, GPU_GRAPH);
	assert_int_equal(work_of(&t, a)->graph, 9);
	gpu_trace_release(&t);
}

static void unknown_times_are_counted_and_come_first(void **state)
{
	struct gpu_trace t;
	const uint64_t fields[] = { 0, 0, 0, 1, 7, 5 };
	const uint64_t huge[] = { UINT64_MAX, UINT64_MAX, 0, 1, 7, 5 };

	(void)state;
	gpu_trace_begin(&t);
	add_kernel(&t, 2, 4, -500, 100); /* before the recording began */
	gpu_trace_fields(&t, fields, 6);
	gpu_trace_event(&t, 2, RECORD_GPU_KERNEL, 1, 50);
	gpu_trace_fields(&t, huge, 6);
	gpu_trace_event(&t, 2, RECORD_GPU_KERNEL, 1, 60);
	gpu_trace_fields(&t, fields, 5); /* cut short */
	gpu_trace_event(&t, 2, RECORD_GPU_KERNEL, 1, 70);
	gpu_trace_read(&t);
	assert_int_equal(gpu_activity_count(t.gpu), 3);
	assert_int_equal(gpu_untimed_activities(t.gpu), 2);
	assert_int_equal(gpu_malformed(t.gpu), 1);
	assert_false(gpu_activity(t.gpu, 0)->timed);
	assert_int_equal(gpu_activity(t.gpu, 1)->end_ns, 0);
	assert_int_equal(gpu_activity(t.gpu, 2)->start_ns, -500);
	assert_string_equal(
		gpu_kernel_name(t.gpu, work_of(&t, gpu_activity(t.gpu, 0))->name)->brief,
		"(unknown)");
	gpu_trace_release(&t);
}

static void calls_without_an_exit_end_where_they_must_have(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	add_call(&t, 1, CUDA_CALL_SYNC_DEVICE, "outer", 1, 100, -1);
	add_call(&t, 1, CUDA_CALL_OTHER, "inner", 2, 200, -1);
	gpu_trace_event(&t, 1, RECORD_CUDA_EXIT, 1, 300);
	gpu_trace_event(&t, 1, RECORD_CUDA_EXIT, 99, 350); /* entered before the recording */
	add_call(&t, 1, CUDA_CALL_LAUNCH, "lost", 3, 400, -1);
	t.index[1] += 10; /* its exit is among these */
	gpu_trace_event(&t, 1, RECORD_CUDA_EXIT, 3, 500);
	add_call(&t, 1, CUDA_CALL_SYNC_DEVICE, "killed", 4, 600, -1);
	gpu_trace_event(&t, 1, RECORD_GC_BEGIN, 0, 700);
	gpu_trace_read(&t);
	assert_int_equal(gpu_call_count(t.gpu), 4);
	assert_int_equal(gpu_call(t.gpu, 0)->end_ns, 300);
	assert_true(gpu_call(t.gpu, 0)->ended);
	assert_int_equal(gpu_call(t.gpu, 1)->end_ns, 300);
	assert_false(gpu_call(t.gpu, 1)->ended);
	assert_int_equal(gpu_call(t.gpu, 2)->end_ns, 500);
	assert_false(gpu_call(t.gpu, 2)->ended);
	assert_int_equal(gpu_call(t.gpu, 3)->end_ns, 700);
	assert_false(gpu_call(t.gpu, 3)->ended);
	gpu_trace_release(&t);
}

static void endless_nesting_gives_up_the_outermost(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	for (uint32_t i = 1; i <= 40; i++)
		add_call(&t, 1, CUDA_CALL_OTHER, "f", i, (int64_t)i * 10, -1);
	for (uint32_t i = 40; i > 0; i--)
		gpu_trace_event(&t, 1, RECORD_CUDA_EXIT, i, 1000 + (int64_t)(40 - i) * 10);
	gpu_trace_read(&t);
	assert_true(gpu_call(t.gpu, 39)->ended);
	assert_true(gpu_call(t.gpu, 30)->ended);
	assert_false(gpu_call(t.gpu, 0)->ended);
	assert_int_equal(gpu_call(t.gpu, 0)->end_ns, 170);
	gpu_trace_release(&t);
}

static uint32_t add_code(struct gpu_trace *t, const char *name, const char *file, uint32_t line)
{
	struct buf def;
	uint32_t id;

	buf_init(&def);
	buf_add_varint(&def, line);
	buf_add_varint(&def, strlen(name));
	buf_add_str(&def, name);
	buf_add_str(&def, file);
	id = gpu_trace_define(t, DEF_CODE, def.data, def.len);
	buf_release(&def);
	return id;
}

/* Each two bytes of code are the next line. */
static void add_lines(struct gpu_trace *t, uint32_t code)
{
	static const uint8_t lines[] = { 8, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1 }; /* Python 3.8 */
	struct err err;

	must(trace_write_def(t->writer, DEF_LINES, code, lines, sizeof(lines), &err));
}

static uint32_t add_stack(struct gpu_trace *t, const uint32_t *codes, size_t n)
{
	struct buf def;
	uint32_t id;

	buf_init(&def);
	for (size_t i = 0; i < n; i++) {
		buf_add_varint(&def, codes[i]);
		buf_add_varint(&def, 2 * i + 2);
	}
	id = gpu_trace_define(t, DEF_STACK, def.data, def.len);
	buf_release(&def);
	return id;
}

static void stacks_lead_to_lines(void **state)
{
	struct gpu_trace t;
	struct place innermost, user, frame;
	uint32_t codes[4], stack, library, unknown;

	(void)state;
	gpu_trace_begin(&t);
	codes[0] = 0; /* unknown */
	codes[1] =
		add_code(&t, "Linear.forward", "/v/lib/python3.12/site-packages/t/linear.py", 100);
	codes[2] = add_code(&t, "infer", "/home/u/serve.py", 40);
	codes[3] = add_code(&t, "main", "/home/u/serve.py", 70);
	for (size_t i = 1; i < 4; i++)
		add_lines(&t, codes[i]);
	stack = add_stack(&t, codes, 4);
	library = add_stack(&t, codes, 2);
	unknown = add_stack(&t, codes, 1);
	gpu_trace_call(&t, &(struct call_spec){ .thread = 1,
						.correlation = 1,
						.stack = stack,
						.what = CUDA_CALL_LAUNCH,
						.start_ns = 10,
						.end_ns = 20 });
	gpu_trace_read(&t);
	gpu_stack_places(t.gpu, gpu_call(t.gpu, 0)->stack, &innermost, &user);
	assert_string_equal(innermost.name, "Linear.forward");
	assert_int_equal(innermost.line, 102);
	assert_string_equal(user.name, "infer");
	assert_string_equal(user.file, "/home/u/serve.py");
	assert_int_equal(user.line, 43);
	gpu_stack_places(t.gpu, library, &innermost, &user);
	assert_string_equal(user.name, "Linear.forward"); /* the outermost */
	gpu_stack_places(t.gpu, unknown, &innermost, &user);
	assert_null(innermost.name);
	assert_null(user.name);
	assert_true(gpu_stack_frame(t.gpu, stack, 0, &frame));
	assert_null(frame.name);
	assert_true(gpu_stack_frame(t.gpu, stack, 3, &frame));
	assert_string_equal(frame.name, "main");
	assert_int_equal(frame.line, 74);
	assert_false(gpu_stack_frame(t.gpu, stack, 4, &frame));
	assert_false(gpu_stack_frame(t.gpu, codes[1], 0, &frame)); /* not a stack */
	gpu_trace_release(&t);
}

static void add_device(struct gpu_trace *t, uint32_t thread, const char *name, uint64_t memory)
{
	const uint64_t fields[] = { memory, 4800000000u, 132, 1980000, 90 };

	gpu_trace_fields(t, fields, 5);
	buf_add_str(&t->payload, name);
	gpu_trace_event(t, thread, RECORD_GPU_DEVICE, 0, 10);
}

static void devices_and_changes_are_told(void **state)
{
	static const char text[] = "no libcupti: install it";
	struct gpu_trace t;
	const uint64_t overhead[] = { 5, 250 };

	(void)state;
	gpu_trace_begin(&t);
	add_device(&t, 1, "NVIDIA H200", 1);
	add_device(&t, 1, "NVIDIA H200", 150000000000u); /* told again: the later one counts */
	add_device(&t, 4, "NVIDIA \xff", 2);
	buf_add_str(&t.payload, text);
	gpu_trace_event(&t, 1, RECORD_GPU_STATE, GPU_STATE_UNAVAILABLE, 33);
	gpu_trace_event(&t, 1, RECORD_GPU_STATE, 77, 34); /* of a later version */
	gpu_trace_event(&t, 2, RECORD_GPU_DROPPED, 5, 40);
	gpu_trace_event(&t, 2, RECORD_GPU_DROPPED, 6, 50);
	for (int i = 0; i < 2; i++) {
		gpu_trace_fields(&t, overhead, 2);
		gpu_trace_event(&t, 2, RECORD_GPU_OVERHEAD, 1, 60);
	}
	gpu_trace_read(&t);
	assert_int_equal(gpu_device_count(t.gpu), 2);
	assert_string_equal(gpu_device(t.gpu, 0)->name, "NVIDIA H200");
	assert_int_equal(gpu_device(t.gpu, 0)->memory_bytes, 150000000000u);
	assert_int_equal(gpu_device(t.gpu, 0)->multiprocessors, 132);
	assert_int_equal(gpu_device(t.gpu, 0)->capability, 90);
	assert_int_equal(gpu_device(t.gpu, 1)->process, 2);
	assert_string_equal(gpu_device(t.gpu, 1)->name, "NVIDIA \xef\xbf\xbd");
	assert_int_equal(gpu_change_count(t.gpu), 1);
	assert_int_equal(gpu_change(t.gpu, 0)->state, GPU_STATE_UNAVAILABLE);
	assert_int_equal(gpu_change(t.gpu, 0)->time_ns, 33);
	assert_string_equal(gpu_change(t.gpu, 0)->text, text);
	assert_int_equal(gpu_dropped(t.gpu), 11);
	assert_int_equal(gpu_overhead_ns(t.gpu), 500);
	gpu_trace_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_without_a_gpu_is_empty),
		cmocka_unit_test(kernels_know_their_launch),
		cmocka_unit_test(correlations_belong_to_their_process),
		cmocka_unit_test(equal_work_is_kept_once_and_its_calls_too),
		cmocka_unit_test(numbers_may_begin_anew_after_a_pause_but_not_otherwise),
		cmocka_unit_test(a_graph_launch_started_all_its_nodes),
		cmocka_unit_test(captured_launches_are_not_missed),
		cmocka_unit_test(copies_and_memsets_say_what_they_moved),
		cmocka_unit_test(unknown_times_are_counted_and_come_first),
		cmocka_unit_test(calls_without_an_exit_end_where_they_must_have),
		cmocka_unit_test(endless_nesting_gives_up_the_outermost),
		cmocka_unit_test(stacks_lead_to_lines),
		cmocka_unit_test(devices_and_changes_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
