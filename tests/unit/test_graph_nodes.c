/* links: is_timeline */
/* Nodes of CUDA graphs: each activity finds the call that its node was captured in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_trace.h"

#define PLACE 1 /* of a stack that is never defined */

static void add_node(struct gpu_trace *t, uint32_t thread, uint64_t node, uint32_t stack,
		     int64_t time_ns)
{
	gpu_trace_fields(t, &node, 1);
	gpu_trace_event(t, thread, RECORD_GRAPH_NODE, stack, time_ns);
}

static void add_clone(struct gpu_trace *t, uint32_t thread, uint64_t node, uint64_t original,
		      int64_t time_ns)
{
	const uint64_t fields[] = { node, original };

	gpu_trace_fields(t, fields, 2);
	gpu_trace_event(t, thread, RECORD_GRAPH_CLONE, 0, time_ns);
}

static void add_copy(struct gpu_trace *t, uint32_t thread, uint64_t node, int64_t start_ns)
{
	gpu_trace_activity(t, &(struct activity_spec){ .thread = thread,
						       .kind = RECORD_GPU_COPY,
						       .id = GPU_COPY_DEVICE_TO_DEVICE,
						       .correlation = 5,
						       .start_ns = start_ns,
						       .end_ns = start_ns + 10,
						       .more = { 8, 3, 3, 1, 2, node } });
}

static const struct gpu_capture *capture_of(const struct gpu_trace *t, size_t activity)
{
	uint32_t at = gpu_activity_work(t->gpu, gpu_activity(t->gpu, activity))->capture;

	return at == GPU_NONE ? NULL : gpu_capture(t->gpu, at);
}

static void copies_of_copies_lead_to_the_capture(void **state)
{
	const uint64_t big = (uint64_t)9 << 32;
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	add_node(&t, 1, 1, PLACE, 100);
	add_node(&t, 1, 2, PLACE + 1, 110);
	/* A copy is told as made, too, by who instantiates. */
	add_node(&t, 2, big, PLACE + 2, 200);
	add_clone(&t, 2, big, 1, 200);
	add_clone(&t, 2, big + 1, big, 300);
	add_copy(&t, 3, big + 1, 1000);
	add_copy(&t, 3, 2, 2000);
	add_copy(&t, 3, big, 3000);
	gpu_trace_read(&t);
	assert_int_equal(gpu_capture_count(t.gpu), 3);
	assert_int_equal(capture_of(&t, 0)->stack, PLACE);
	assert_int_equal(capture_of(&t, 0)->time_ns, 100);
	assert_int_equal(capture_of(&t, 1)->stack, PLACE + 1);
	assert_ptr_equal(capture_of(&t, 2), capture_of(&t, 0));
	assert_int_equal(capture_of(&t, 0)->activities, 2);
	assert_int_equal(gpu_capture_activity(t.gpu, capture_of(&t, 0), 0), 0);
	assert_int_equal(gpu_capture_activity(t.gpu, capture_of(&t, 0), 1), 2);
	assert_int_equal(gpu_capture_activity(t.gpu, capture_of(&t, 1), 0), 1);
	assert_int_equal(gpu_activity_stack(t.gpu, gpu_activity(t.gpu, 1)), PLACE + 1);
	gpu_trace_release(&t);
}

static void what_is_unknown_counts_for_the_launch(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	gpu_trace_call(&t, &(struct call_spec){ .thread = 1,
						.name = gpu_trace_string(&t, "cudaGraphLaunch"),
						.correlation = 5,
						.stack = PLACE,
						.what = CUDA_CALL_GRAPH_LAUNCH,
						.start_ns = 10,
						.end_ns = 20 });
	add_node(&t, 1, 7, 0, 30);     /* made by a program without Python */
	add_node(&t, 4, 8, PLACE, 30); /* in another process */
	add_clone(&t, 1, 9, 77, 40);   /* of a node that was made before the recording */
	add_copy(&t, 1, 7, 1000);
	add_copy(&t, 1, 8, 2000);
	add_copy(&t, 1, 9, 3000);
	gpu_trace_read(&t);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(gpu_activity_stack(t.gpu, gpu_activity(t.gpu, i)), PLACE);
	assert_non_null(capture_of(&t, 0));
	assert_null(capture_of(&t, 1));
	assert_null(capture_of(&t, 2));
	gpu_trace_release(&t);
}

static void circles_end(void **state)
{
	struct gpu_trace t;

	(void)state;
	gpu_trace_begin(&t);
	add_clone(&t, 1, 1, 2, 10);
	add_clone(&t, 1, 2, 1, 10);
	add_clone(&t, 1, 3, 3, 10);
	add_clone(&t, 1, 4, UINT64_MAX, 10);
	add_node(&t, 1, 5, PLACE, 10);
	gpu_trace_event(&t, 1, RECORD_GRAPH_NODE, PLACE, 20); /* cut short */
	for (uint64_t node = 1; node <= 4; node++)
		add_copy(&t, 1, node, 1000 * (int64_t)node);
	gpu_trace_read(&t);
	for (size_t i = 0; i < 4; i++)
		assert_null(capture_of(&t, i));
	assert_int_equal(gpu_malformed(t.gpu), 1);
	gpu_trace_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_of_copies_lead_to_the_capture),
		cmocka_unit_test(what_is_unknown_counts_for_the_launch),
		cmocka_unit_test(circles_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
