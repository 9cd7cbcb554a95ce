/* links: is_replay */
/* Replays of timelines whose answers follow from a sum: what is told is what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/replay.h"
#include "story_analysis.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define STEPS 10
#define LATENCY                                                                          \
	(10 * US) /* from a launch to its kernel, and from a kernel to the end of a wait \
		   */

/* A program: its threads' events, and the device's, step by step. */
struct told {
	struct buf host, worker, device, looks;
	int64_t now_ns;
	unsigned calls;
};

static void told_init(struct told *t)
{
	buf_init(&t->host);
	buf_init(&t->worker);
	buf_init(&t->device);
	buf_init(&t->looks);
	t->now_ns = 1 * MS;
	t->calls = 0;
}

static void runs(struct told *t, const char *function, int64_t ns)
{
	buf_printf(&t->host, "1: +%s@%" PRId64 " -%s@%" PRId64 "\n", function, t->now_ns, function,
		   t->now_ns + ns);
	t->now_ns += ns;
}

/* A call of 5 us; what it starts begins at start_ns.  The end of that. */
static int64_t launches(struct told *t, const char *work, int kind, int stream, int64_t start_ns,
			int64_t ns)
{
	unsigned call = ++t->calls;

	buf_printf(&t->host, "1: {cuda#%u:%d/1@%" PRId64 " }%u@%" PRId64 "\n", call, kind,
		   t->now_ns, call, t->now_ns + 5 * US);
	buf_printf(&t->device, "3: %s#%u@90000000:%" PRId64 "+%" PRId64 "/%d\n", work, call,
		   start_ns, ns, stream);
	t->now_ns += 5 * US;
	return start_ns + ns;
}

static int64_t kernel(struct told *t, const char *name, int stream, int64_t start_ns, int64_t ns)
{
	char work[64];

	snprintf(work, sizeof(work), "kernel:%s", name);
	return launches(t, work, CUDA_CALL_LAUNCH, stream, start_ns, ns);
}

static void waits_until(struct told *t, int64_t end_ns)
{
	unsigned call = ++t->calls;

	buf_printf(&t->host, "1: {sync#%u:%d/2@%" PRId64 " }%u@%" PRId64 "\n", call,
		   CUDA_CALL_SYNC_DEVICE, t->now_ns, call, end_ns);
	t->now_ns = end_ns;
}

static void begins(struct told *t, unsigned step)
{
	buf_printf(&t->host, "1: [infer#%u/0@%" PRId64 "\n", step + 1, t->now_ns);
}

static void ends(struct told *t, unsigned step)
{
	buf_printf(&t->host, "1: ]#%u@%" PRId64 "\n", step + 1, t->now_ns);
}

struct replayed {
	struct story_analysis of;
	struct replay *replay;
};

static void replay_told(struct replayed *r, struct told *t)
{
	struct buf story;
	struct err err;

	buf_init(&story);
	buf_printf(&story, "process 1 100 app.py 0 200000000\n"
			   "thread 1 1 100 MainThread 0 200000000 0\n"
			   "thread 2 1 101 worker 0 200000000 0\n"
			   "thread 3 1 102 cupti 0 200000000 0\n"
			   "gpu 1 1 10 CUPTI 130000\n"
			   "device 1 0 20 NVIDIA H200\n"
			   "code infer app.py 10\n"
			   "stack 1 infer:12\n"
			   "stack 2 infer:14\n");
	buf_add(&story, t->host.data, t->host.len);
	buf_add(&story, t->worker.data, t->worker.len);
	buf_add(&story, t->device.data, t->device.len);
	buf_add(&story, t->looks.data, t->looks.len);
	buf_add_str(&story, "end 200000000 0\n");
	analyze_story(&r->of, buf_string(&story));
	assert_int_equal(replay_new(&r->replay, r->of.analysis, &err), 0);
	buf_release(&story);
	buf_release(&t->host);
	buf_release(&t->worker);
	buf_release(&t->device);
	buf_release(&t->looks);
}

static void forget_replay(struct replayed *r)
{
	replay_free(r->replay);
	forget(&r->of);
}

static struct replay_result predict(const struct replayed *r, const struct replay_edit *edits,
				    size_t count)
{
	struct replay_result result;
	struct err err;

	assert_int_equal(replay_predict(r->replay, edits, count, &result, &err), 0);
	return result;
}

static struct replay_result predict_one(const struct replayed *r, struct replay_edit edit)
{
	return predict(r, &edit, 1);
}

static void check_close(double ns, double wanted_ns)
{
	if (ns < wanted_ns - 2 * US || ns > wanted_ns + 2 * US)
		fail_msg("%.0f ns, not %.0f ns", ns, wanted_ns);
}

/* Unchanged, it takes what was measured. */
static void check_unchanged(const struct replayed *r, double step_ns)
{
	const struct replay_quality *q = replay_quality(r->replay);
	struct replay_result result = predict(r, NULL, 0);

	assert_int_equal(q->steps, STEPS - 1); /* the first one has none before it */
	check_close(q->step_ns, step_ns);
	assert_true(q->step_error < 0.001);
	assert_true(q->idle_error < 0.001);
	check_close(result.unchanged_ns, step_ns);
	check_close(result.predicted_ns, step_ns);
	check_close(result.saving_ns, 0);
}

#define PREPARE (2 * MS)
#define COMPUTE (3 * MS)

/* Prepares, launches one kernel, waits for it. */
static void tell_one_stream(struct told *t)
{
	told_init(t);
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t end_ns;

		begins(t, i);
		runs(t, "prepare", PREPARE);
		end_ns = kernel(t, "gemm", 7, t->now_ns + LATENCY, COMPUTE);
		waits_until(t, end_ns + LATENCY);
		ends(t, i);
	}
}

static void test_a_step_on_one_stream(void **state)
{
	const double step = PREPARE + COMPUTE + 2 * LATENCY;
	struct replay_result result;
	struct replayed r;
	struct told t;

	(void)state;
	tell_one_stream(&t);
	replay_told(&r, &t);
	check_unchanged(&r, step);
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_FASTER, .name = "prepare" });
	check_close(result.saving_ns, PREPARE);
	check_close(result.idle_predicted_ns, 2 * LATENCY);
	result = predict_one(&r, (struct replay_edit){
					 .kind = REPLAY_FASTER, .name = "prepare", .factor = 0.5 });
	check_close(result.saving_ns, 0.5 * PREPARE);
	result = predict_one(
		&r, (struct replay_edit){ .kind = REPLAY_KERNEL, .name = "gemm", .factor = 0.5 });
	check_close(result.saving_ns, 0.5 * COMPUTE);
	/* While the device computes there is time enough. */
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_OVERLAP, .name = "prepare" });
	check_close(result.predicted_ns, COMPUTE + 2 * LATENCY);
	forget_replay(&r);
}

static void test_edits_together_are_no_sum(void **state)
{
	const struct replay_edit edits[] = {
		{ .kind = REPLAY_OVERLAP, .name = "prepare" },
		{ .kind = REPLAY_KERNEL, .name = "gemm", .factor = 0.1 },
	};
	struct replayed r;
	struct told t;

	(void)state;
	tell_one_stream(&t);
	replay_told(&r, &t);
	/* The other thread is what takes longest now. */
	check_close(predict(&r, edits, 2).predicted_ns, PREPARE);
	forget_replay(&r);
}

static void test_what_the_host_does_not_wait_for_still_takes_the_device(void **state)
{
	struct replay_result result;
	struct replayed r;
	struct told t;

	(void)state;
	tell_one_stream(&t);
	replay_told(&r, &t);
	result = predict_one(
		&r,
		(struct replay_edit){ .kind = REPLAY_REMOVE_SYNC, .file = "app.py", .line = 14 });
	/* The device has 3 ms of work for a step, the host 2: the tenth ends after ten of them. */
	assert_true(result.predicted_ns > COMPUTE);
	assert_true(result.predicted_ns < COMPUTE + 0.2 * COMPUTE);
	forget_replay(&r);
}

static void test_what_does_not_apply_is_told(void **state)
{
	struct replayed r;
	struct told t;

	(void)state;
	tell_one_stream(&t);
	replay_told(&r, &t);
	assert_int_equal(
		predict_one(&r, (struct replay_edit){ .kind = REPLAY_FASTER, .name = "repare" })
			.missed,
		0);
	assert_int_equal(
		predict_one(&r, (struct replay_edit){ .kind = REPLAY_KERNEL, .name = "conv" })
			.missed,
		0);
	assert_int_equal(
		predict_one(&r, (struct replay_edit){ .kind = REPLAY_REMOVE_SYNC, .line = 15 })
			.missed,
		0);
	assert_int_equal(predict_one(&r, (struct replay_edit){ .kind = REPLAY_PIN }).missed, 0);
	assert_int_equal(
		predict_one(&r, (struct replay_edit){ .kind = REPLAY_REMOVE_SYNC, .line = 14 })
			.missed,
		1);
	forget_replay(&r);
}

#define SMALL MS

/* Two kernels at the same time: only the longer one counts. */
static void test_two_streams(void **state)
{
	struct replay_result result;
	struct replayed r;
	struct told t;

	(void)state;
	told_init(&t);
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t end_ns;

		begins(&t, i);
		runs(&t, "prepare", PREPARE);
		kernel(&t, "small", 8, t.now_ns + LATENCY, SMALL);
		end_ns = kernel(&t, "large", 7, t.now_ns + LATENCY, COMPUTE);
		waits_until(&t, end_ns + LATENCY);
		ends(&t, i);
	}
	replay_told(&r, &t);
	check_unchanged(&r, PREPARE + COMPUTE + 2 * LATENCY + 5 * US);
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_KERNEL, .name = "small" });
	check_close(result.saving_ns, 0);
	/* The large one is gone: the small one is waited for. */
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_KERNEL, .name = "large" });
	check_close(result.saving_ns, COMPUTE - SMALL + 5 * US);
	forget_replay(&r);
}

/* A kernel of one stream begins when one of another has ended, by an event. */
static void test_a_stream_waits_for_another(void **state)
{
	struct replay_result result;
	struct replayed r;
	struct told t;

	(void)state;
	told_init(&t);
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t first_ns, end_ns;

		begins(&t, i);
		runs(&t, "prepare", PREPARE);
		first_ns = kernel(&t, "first", 7, t.now_ns + LATENCY, COMPUTE);
		end_ns = kernel(&t, "second", 8, first_ns + 2 * US, COMPUTE);
		waits_until(&t, end_ns + LATENCY);
		ends(&t, i);
	}
	replay_told(&r, &t);
	check_unchanged(&r, PREPARE + 2 * COMPUTE + 2 * LATENCY + 2 * US);
	result = predict_one(
		&r, (struct replay_edit){ .kind = REPLAY_KERNEL, .name = "first", .factor = 0.5 });
	check_close(result.saving_ns, 0.5 * COMPUTE);
	forget_replay(&r);
}

#define COPY (4 * MS)

/* A copy from pageable memory, for which its call waits; then a kernel. */
static void test_copies(void **state)
{
	const struct replay_edit both[] = { { .kind = REPLAY_PIN }, { .kind = REPLAY_ASYNC_COPY } };
	struct replay_result result;
	struct replayed r;
	struct told t;
	const double pinned_ns = 20e6 / 50; /* an H200 has 50 bytes a ns; no pinned copy was seen */

	(void)state;
	told_init(&t);
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t start_ns, end_ns;
		unsigned call = ++t.calls;

		begins(&t, i);
		start_ns = t.now_ns;
		end_ns = start_ns + LATENCY + COPY;
		buf_printf(&t.host, "1: {copy#%u:3/1@%" PRId64 " }%u@%" PRId64 "\n", call, start_ns,
			   call, end_ns + LATENCY);
		buf_printf(&t.device,
			   "3: copy:1,1,3,20000000#%u@90000000:%" PRId64 "+%" PRId64 "/7\n", call,
			   start_ns + LATENCY, COPY);
		t.now_ns = end_ns + LATENCY;
		end_ns = kernel(&t, "gemm", 7, t.now_ns + LATENCY, COMPUTE);
		waits_until(&t, end_ns + LATENCY);
		ends(&t, i);
	}
	replay_told(&r, &t);
	check_unchanged(&r, COPY + COMPUTE + 4 * LATENCY);
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_PIN });
	assert_true(result.saving_ns > COPY - pinned_ns);
	assert_true(result.saving_ns < COPY - pinned_ns + 5 * LATENCY);
	/* The device computes meanwhile: the copy takes no time but that of its call. */
	result = predict(&r, both, 2);
	assert_true(result.predicted_ns > COMPUTE);
	assert_true(result.predicted_ns < COMPUTE + 5 * LATENCY);
	forget_replay(&r);
}

/* Kernels of 2 us that are launched every 20: the graph takes its launch and the kernels. */
static void test_launches_become_a_graph(void **state)
{
	enum { KERNELS = 100, TINY = 2 * US, EVERY = 20 * US };
	struct replay_result result;
	struct replayed r;
	struct told t;

	(void)state;
	told_init(&t);
	buf_add_str(&t.host, "layer 1 0 Net -\n");
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t end_ns = 0;

		begins(&t, i);
		buf_printf(&t.host, "1: <1@%" PRId64 "\n", t.now_ns);
		for (unsigned k = 0; k < KERNELS; k++) {
			end_ns = kernel(&t, "tiny", 7, t.now_ns + LATENCY, TINY);
			t.now_ns += EVERY - 5 * US;
		}
		buf_printf(&t.host, "1: </1@%" PRId64 "\n", t.now_ns);
		waits_until(&t, (end_ns > t.now_ns ? end_ns : t.now_ns) + LATENCY);
		ends(&t, i);
	}
	replay_told(&r, &t);
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_GRAPH });
	assert_int_equal(result.missed, 1);
	/* A gap of 1 us between kernels, about; launch and wait as they were. */
	assert_true(result.predicted_ns > KERNELS * TINY);
	assert_true(result.predicted_ns < KERNELS * (TINY + 2 * US) + 10 * LATENCY);
	assert_true(result.unchanged_ns > KERNELS * EVERY);
	forget_replay(&r);
}

/* The step waits for a lock that a worker has while it computes. */
static void test_two_threads_with_a_lock(void **state)
{
	struct replay_result result;
	struct replayed r;
	struct told t;

	(void)state;
	told_init(&t);
	buf_add_str(&t.host, "code acquire app.py 100\ncode work app.py 300\n"
			     "stack 3 acquire:101 infer:16\nstack 4 work:301\n");
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t start_ns = t.now_ns;

		begins(&t, i);
		runs(&t, "prepare", 2 * MS);
		buf_printf(&t.looks, "look 1 0 %" PRId64 " %" PRId64 " 2 1\n", start_ns + MS / 2,
			   start_ns + 3 * MS / 2);
		/* From 2 to 6 ms it waits; the worker runs from 0 to 6. */
		buf_printf(&t.host, "1: +acquire@%" PRId64 " -acquire@%" PRId64 "\n", t.now_ns,
			   t.now_ns + 4 * MS);
		buf_printf(&t.looks, "look 1 3 %" PRId64 " %" PRId64 " 8 3 99\n", t.now_ns + MS / 4,
			   t.now_ns + 15 * MS / 4);
		t.now_ns += 4 * MS;
		buf_printf(&t.worker, "2: +work@%" PRId64 " -work@%" PRId64 "\n", start_ns,
			   t.now_ns);
		buf_printf(&t.looks, "look 2 4 %" PRId64 " %" PRId64 " 12 11\n", start_ns + MS / 4,
			   t.now_ns - MS / 4);
		ends(&t, i);
	}
	replay_told(&r, &t);
	result = predict(&r, NULL, 0);
	check_close(result.unchanged_ns, 6 * MS);
	/* What goes on in the step meanwhile brings nothing: the worker is as late as before. */
	result = predict_one(&r, (struct replay_edit){ .kind = REPLAY_FASTER, .name = "prepare" });
	assert_true(result.saving_ns < MS / 2);
	result = predict_one(
		&r, (struct replay_edit){ .kind = REPLAY_FASTER, .name = "work", .factor = 0.5 });
	/* Where a wait begins and ends is known by samples: half of one at the last step's end. */
	assert_true(result.saving_ns > 3 * MS - MS / 8);
	assert_true(result.saving_ns < 3 * MS + MS / 8);
	forget_replay(&r);
}

static double path_ns(const struct analysis_critical_path *p, enum critical_kind kind)
{
	return (double)p->kinds_ns[kind] / (double)p->steps;
}

static void test_the_critical_path_is_what_a_step_waits_for(void **state)
{
	struct analysis_critical_path path;
	struct replayed r;
	struct told t;
	struct err err;

	(void)state;
	tell_one_stream(&t);
	replay_told(&r, &t);
	assert_int_equal(replay_critical_path(r.replay, &path, &err), 0);
	assert_int_equal(path.steps, STEPS - 1);
	check_close((double)path.total_ns / (STEPS - 1), PREPARE + COMPUTE + 2 * LATENCY);
	check_close(path_ns(&path, CRITICAL_HOST), PREPARE);
	check_close(path_ns(&path, CRITICAL_DEVICE), COMPUTE);
	check_close(path_ns(&path, CRITICAL_LATENCY), 2 * LATENCY);
	assert_int_equal(path.parts[0].kind, CRITICAL_DEVICE);
	assert_string_equal(path.parts[0].kernel, "gemm");
	assert_int_equal(path.parts[0].where.line, 12);
	assert_int_equal(path.parts[1].kind, CRITICAL_HOST);
	assert_string_equal(path.parts[1].where.name, "prepare");
	critical_path_release(&path);
	forget_replay(&r);
}

static void test_a_trace_without_steps_has_nothing_to_replay(void **state)
{
	struct replayed r;
	struct told t;

	(void)state;
	told_init(&t);
	runs(&t, "prepare", PREPARE);
	replay_told(&r, &t);
	assert_int_equal(replay_quality(r.replay)->steps, 0);
	assert_int_equal(predict_one(&r, (struct replay_edit){ .kind = REPLAY_GRAPH }).steps, 0);
	forget_replay(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_step_on_one_stream),
		cmocka_unit_test(test_edits_together_are_no_sum),
		cmocka_unit_test(test_what_the_host_does_not_wait_for_still_takes_the_device),
		cmocka_unit_test(test_what_does_not_apply_is_told),
		cmocka_unit_test(test_two_streams),
		cmocka_unit_test(test_a_stream_waits_for_another),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_launches_become_a_graph),
		cmocka_unit_test(test_two_threads_with_a_lock),
		cmocka_unit_test(test_the_critical_path_is_what_a_step_waits_for),
		cmocka_unit_test(test_a_trace_without_steps_has_nothing_to_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
