/* links: is_analyze */
/* What steps spend their time on, against timelines whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "story_analysis.h"

#define HEAD                                        \
	"process 1 100 app.py 0 100000000\n"        \
	"thread 1 1 100 MainThread 0 100000000 0\n" \
	"thread 2 1 101 pool 0 100000000 0\n"       \
	"thread 3 1 102 cupti 0 100000000 0\n"
#define GPU "gpu 1 1 10 CUPTI 130000\n"
#define END "end 100000000 0\n"

/* Where samples find functions. */
#define SELECTORS "code EpollSelector.select /usr/lib/python3.12/selectors.py 100\n"
#define CONDITION "code Condition.wait /usr/lib/python3.12/threading.py 300\n"

static const struct time_cause *cause(const struct analysis_step *s, enum time_class c)
{
	for (size_t i = 0; i < s->breakdown.cause_count; i++)
		if (s->breakdown.causes[i].what == c)
			return &s->breakdown.causes[i];
	fail_msg("no %s", time_class_name(c));
	return NULL;
}

static void every_moment_of_a_step_has_one_class(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(
		    &t, HEAD GPU
		    "code infer app.py 10\n"
		    "code prepare app.py 30\n"
		    "stack 1 infer:14\n"
		    "1: [step#1/0@1000000 +infer@1000000 +prepare@1000000 -prepare@3000000\n"
		    "1: {cudaMemcpyAsync#1:3/1@3000000 }1@4500000 {cudaLaunchKernel#2:1/1@5000000 "
		    "}2@5200000\n"
		    "1: {cudaStreamSynchronize#3:6.7/1@5300000 }3@8200000 (0@8200000 )0@8700000:1\n"
		    "1: {cudaMalloc#4:8/1@8700000 }4@9000000 {cudaMemcpyAsync#5:3/1@9000000 "
		    "}5@9100000\n"
		    "1: {cudaStreamSynchronize#6:6.7/1@9100000 }6@9900000 -infer@11000000 "
		    "]#1@11000000\n"
		    "3: copy:1,1,3,4096#1@12000000:3500000+1000000/7 "
		    "kernel:k#2@12000000:5500000+2500000/7\n"
		    "3: copy:2,3,2,64#5@12000000:9300000+500000/7\n" END)
		    ->steps;
	assert_int_equal(s->breakdown.steps, 1);
	assert_int_equal(s->breakdown.total_ns, 10000000);
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 3650000);
	/* The way of the operator to its launch; the one to the copy is in prepare()'s time. */
	assert_int_equal(part(s, TIME_FRAMEWORK), 50000);
	assert_int_equal(part(s, TIME_H2D), 1500000); /* the staging of pageable memory too */
	assert_int_equal(part(s, TIME_LAUNCH), 300000);
	assert_int_equal(part(s, TIME_SYNC_WAIT), 700000);
	assert_int_equal(part(s, TIME_GPU_COMPUTE), 2500000);
	assert_int_equal(part(s, TIME_GC), 500000);
	assert_int_equal(part(s, TIME_ALLOCATION), 300000);
	assert_int_equal(part(s, TIME_D2H), 500000);
	assert_int_equal(part(s, TIME_UNATTRIBUTED), 0);
	assert_string_equal(cause(s, TIME_CPU_PREPROCESSING)->where.name, "prepare");
	assert_int_equal(cause(s, TIME_CPU_PREPROCESSING)->ns, 2000000);
	assert_string_equal(cause(s, TIME_GPU_COMPUTE)->where.name, "infer");
	assert_int_equal(cause(s, TIME_GPU_COMPUTE)->where.line, 14);
	assert_string_equal(cause(s, TIME_GC)->where.name, "infer");
	forget(&t);
}

static void kernels_hide_copies_and_both_hide_the_host(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(
		    &t, HEAD GPU
		    "1: {cudaLaunchKernel#1:1/0@500 }1@600 {cudaMemcpyAsync#2:3/0@700 }2@800\n"
		    "1: [step#1/0@1000 +f@1000 -f@6000 ]#1@6000\n"
		    "3: copy:1,2,3,64#2@7000:1000+3000/8 kernel:k#1@7000:2000+1000/7\n" END)
		    ->steps;
	assert_int_equal(part(s, TIME_GPU_COMPUTE), 1000);
	assert_int_equal(part(s, TIME_H2D), 2000);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 2000);
	check_sum(&s->breakdown);
	forget(&t);
}

static void code_in_a_model_is_the_frameworks(void **state)
{
	static const char story[] =
		HEAD "%s"
		     "code forward app.py 30\n"
		     "code Module.__call__ /usr/lib/python3/dist-packages/torch/nn/module.py 7\n"
		     "code resize /usr/lib/python3/dist-packages/numpy/lib.py 9\n"
		     "code loads /usr/lib/python3.12/json/__init__.py 9\n"
		     "layer 1 0 Net -\n"
		     "1: [step#1/0@1000 +infer@1000 +loads@1100 -loads@1200\n"
		     "1: +Module.__call__@2000 <1@2100 +forward@2200 +resize@2500 -resize@2600\n"
		     "1: -forward@3000 </1@3900 -Module.__call__@4000 -infer@5000 ]#1@5000\n"
		     "%s" END;
	const struct analysis_step *s;
	struct story_analysis t;
	char text[4096];

	(void)state;
	snprintf(text, sizeof(text), story, GPU, "3: kernel:k#1@9000:8000+10/7\n");
	s = analyze_story(&t, text)->steps;
	assert_int_equal(part(s, TIME_FRAMEWORK), 1900);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 2100);
	assert_int_equal(part(s, TIME_CPU_COMPUTE), 0);
	forget(&t);
	/* Without a GPU there is nothing that it could be on top of. */
	snprintf(text, sizeof(text), story, "", "");
	s = analyze_story(&t, text)->steps;
	assert_int_equal(part(s, TIME_CPU_COMPUTE), 1900);
	assert_int_equal(part(s, TIME_FRAMEWORK), 0);
	check_sum(&s->breakdown);
	forget(&t);
}

/* By the calls around it, as where layers are folded, or by samples alone. */
static void a_library_on_no_list_is_the_models_inside_of_one(void **state)
{
#define SITE "/usr/lib/python3/dist-packages"
#define LIBRARIES                                                        \
	"code infer app.py 10\n"                                         \
	"code Module._call_impl " SITE "/torch/nn/modules/module.py 7\n" \
	"code C2f.forward " SITE "/ultralytics/nn/block.py 30\n"         \
	"code Image.resize " SITE "/PIL/Image.py 9\n"                    \
	"code letterbox " SITE "/ultralytics/data/augment.py 5\n"        \
	"code normpath /usr/lib/python3.12/posixpath.py 5\n"
	static const char *const stories[] = {
		HEAD LIBRARIES
		"1: [step#1/0@0 +infer@0 +letterbox@1000000 -letterbox@3000000\n"
		"1: +Module._call_impl@3000000 +C2f.forward@4000000 +Image.resize@6000000\n"
		"1: -Image.resize@7000000 +normpath@7000000 -normpath@8000000\n"
		"1: -C2f.forward@8000000 -Module._call_impl@9000000 -infer@9000000 "
		"]#1@9000000\n" END,
		HEAD LIBRARIES
		"stack 1 infer:12\n"
		"stack 2 letterbox:6 infer:12\n"
		"stack 3 Module._call_impl:8 infer:13\n"
		"stack 4 C2f.forward:31 Module._call_impl:8 infer:13\n"
		"stack 5 Image.resize:9 C2f.forward:32 Module._call_impl:8 infer:13\n"
		"stack 6 normpath:6 C2f.forward:33 Module._call_impl:8 infer:13\n"
		"1: [step#1/0@1000000 ]#1@10000000\n"
		"look 1 1 500000 1500000 2 11\n"
		"look 1 2 2500000 3500000 2 11\n"
		"look 1 3 4500000 4500000 1 11\n"
		"look 1 4 5500000 6500000 2 11\n"
		"look 1 5 7500000 7500000 1 11\n"
		"look 1 6 8500000 8500000 1 11\n"
		"look 1 3 9500000 9500000 1 11\n"
		"look 1 1 10500000 10500000 1 11\n" END,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		struct story_analysis t;
		const struct analysis_step *s = analyze_story(&t, stories[i])->steps;

		/* infer()'s own, that of letterbox(), which no model calls, and PIL's. */
		assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 4000000);
		/* The layer's, with what it asks of the standard library. */
		assert_int_equal(part(s, TIME_CPU_COMPUTE), 5000000);
		check_sum(&s->breakdown);
		forget(&t);
	}
#undef LIBRARIES
#undef SITE
}

static void waits_are_those_that_samples_saw(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	/* Looks every ms: running, for the GIL that the pool has, for a lock, for data. */
	s = analyze_story(&t,
			  HEAD SELECTORS "code handle app.py 10\n"
					 "code other app.py 40\n"
					 "stack 1 handle:14\n"
					 "stack 2 other:41\n"
					 "stack 3 EpollSelector.select:110 handle:15\n"
					 "1: [step#1/0@0 +handle@0 -handle@10000000 ]#1@10000000\n"
					 "look 1 1 500000 1500000 2 11\n"
					 "look 1 1 2500000 3500000 2 2\n"
					 "look 2 2 2500000 3500000 2 11\n"
					 "look 1 1 4500000 5500000 2 3\n"
					 "look 1 1 6500000 7500000 2 4\n"
					 "look 1 3 8500000 9500000 2 4\n"
					 "look 1 1 10500000 10500000 1 11\n" END)
		    ->steps;
	assert_int_equal(s->breakdown.total_ns, 10000000);
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 2000000);
	assert_int_equal(part(s, TIME_GIL_WAIT), 2000000);
	assert_string_equal(cause(s, TIME_GIL_WAIT)->where.name, "handle");
	assert_int_equal(cause(s, TIME_GIL_WAIT)->where.line, 14);
	assert_string_equal(cause(s, TIME_GIL_WAIT)->waited_for.name, "other");
	assert_int_equal(part(s, TIME_LOCK_WAIT), 2000000);
	assert_int_equal(part(s, TIME_IO_WAIT), 2000000);
	assert_int_equal(part(s, TIME_IDLE), 2000000);
	assert_true(s->breakdown.parts[TIME_IDLE].error_ns > 0);
	assert_int_equal(s->breakdown.parts[TIME_CPU_PREPROCESSING].error_ns, 0);
	forget(&t);
}

/* Inside of a step a sleep is a part of it; between two of them the loop lets time pass. */
static void sleeping_is_no_io(void **state)
{
	static const char *const stacks[] = { "infer:24 main:12", "main:12" };

	(void)state;
	for (int between = 0; between < 2; between++) {
		const struct analysis_step *s;
		char story[2048];
		struct story_analysis t;

		snprintf(story, sizeof(story),
			 HEAD "code main app.py 10\n"
			      "code infer app.py 20\n"
			      "layer 1 0 Net -\n"
			      "stack 1 %s\n"
			      "1: +main@0 +infer@1000000 <1@1000000 </1@2000000 -infer@3000000\n"
			      "1: +infer@11000000 <1@11000000 </1@12000000 -infer@13000000\n"
			      "1: +infer@21000000 <1@21000000 </1@22000000 -infer@23000000\n"
			      "1: -main@31000000\n"
			      "look 1 1 4500000 9500000 6 6\n" END,
			 stacks[between]);
		s = analyze_story(&t, story)->steps;
		check_sum(&s->breakdown);
		assert_int_equal(part(s, TIME_IO_WAIT), 0);
		assert_int_equal(part(s, TIME_SLEEP), between ? 0 : 5000000);
		assert_int_equal(part(s, TIME_IDLE), between ? 5000000 : 0);
		forget(&t);
	}
}

static void who_waits_for_a_queue_waits_for_who_fills_it(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD CONDITION
			  "code serve app.py 10\n"
			  "code produce app.py 40\n"
			  "stack 1 Condition.wait:310 serve:14\n"
			  "stack 2 produce:41\n"
			  "1: [step#1/0@0 +serve@0 +Condition.wait@0 -Condition.wait@8000000\n"
			  "1: -serve@8000000 ]#1@8000000\n"
			  "look 1 1 500000 7500000 8 3\n"
			  "look 1 1 8500000 8500000 1 11\n"
			  "look 2 2 500000 3500000 4 11\n"
			  "look 2 2 4500000 8500000 4 4\n" END)
		    ->steps;
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_LOCK_WAIT), 4000000);
	assert_string_equal(cause(s, TIME_LOCK_WAIT)->waited_for.name, "produce");
	assert_int_equal(cause(s, TIME_LOCK_WAIT)->waited_for.line, 41);
	/* Then nobody was at it. */
	assert_int_equal(part(s, TIME_IDLE), 4000000);
	forget(&t);
}

static void what_the_framework_tells_comes_before_samples(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "code infer app.py 10\nstack 1 infer:14\n"
			       "1: [step#1/0@0 +infer@0 [torch:_compile#2/0@1000000 ]#2@4000000\n"
			       "1: [torch:_DataLoader_wait#3/0@5000000 ]#3@6000000\n"
			       "1: -infer@8000000 ]#1@8000000\n"
			       "look 1 1 500000 7500000 8 3\n"
			       "look 1 1 8500000 8500000 1 11\n" END)
		    ->steps;
	assert_int_equal(part(s, TIME_COMPILE), 3000000);
	assert_int_equal(cause(s, TIME_COMPILE)->where.line, 14);
	assert_int_equal(part(s, TIME_IO_WAIT), 1000000);
	assert_int_equal(part(s, TIME_LOCK_WAIT), 3500000);
	check_sum(&s->breakdown);
	forget(&t);
}

static void steps_of_two_threads_have_their_own_work(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD GPU
			  "1: [step#1/0@1000 +f@1000 {cudaLaunchKernel#1:1/0@1000 }1@1100\n"
			  "1: {cudaDeviceSynchronize#2:5/0@1100 }2@5000 -f@5000 ]#1@5000\n"
			  "2: [step#2/0@1000 +g@1000 {cudaLaunchKernel#3:1/0@1000 }3@1100\n"
			  "2: {cudaDeviceSynchronize#4:5/0@1100 }4@5000 -g@5000 ]#2@5000\n"
			  "3: kernel:a#1@6000:1100+1000/7 kernel:b#3@6000:2100+2000/8\n" END)
		    ->steps;
	assert_int_equal(s->breakdown.steps, 2);
	assert_int_equal(s->breakdown.total_ns, 8000);
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_GPU_COMPUTE), 3000);
	assert_int_equal(part(s, TIME_LAUNCH), 200);
	assert_int_equal(part(s, TIME_SYNC_WAIT), 4800); /* each waits for the other's too */
	forget(&t);
}

static void steps_inside_steps_are_counted_in_both(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "1: [request#1/0@1000 +f@1000 [decode#2/0@2000 (0@2500 )0@2600:0\n"
			       "1: ]#2@3000 [decode#3/0@3000 ]#3@3500 -f@4000 ]#1@4000\n" END)
		    ->steps;
	assert_int_equal(t.analysis->step_count, 2);
	assert_string_equal(s[0].name, "request");
	assert_int_equal(s[0].breakdown.total_ns, 3000);
	assert_int_equal(part(&s[0], TIME_GC), 100);
	assert_int_equal(s[1].breakdown.total_ns, 1500);
	assert_int_equal(part(&s[1], TIME_GC), 100);
	assert_int_equal(part(&s[1], TIME_CPU_PREPROCESSING), 1400);
	check_sum(&s[1].breakdown);
	forget(&t);
}

static void interleaved_tasks_are_said_to_share(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(
		    &t, HEAD
		    "1: +main@0 [req#1/1@1000 [req#2/2@2000 ]#1@3000 ]#2@4000 -main@5000\n" END)
		    ->steps;
	assert_true(s->breakdown.shared);
	assert_int_equal(s->breakdown.total_ns, 4000);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 4000);
	forget(&t);
}

static void what_nothing_explains_is_unattributed(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "1: [step#1/0@1000 +f@1000 +g@2000 lost:10 -f@5000 ]#1@6000\n" END)
		    ->steps;
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 1000);
	assert_int_equal(part(s, TIME_UNATTRIBUTED), 4000); /* lost, and after the last call */
	forget(&t);
}

/* Neither calls nor samples were recorded: the stacks of the CUDA calls are what is known. */
static void between_two_cuda_calls_it_is_on_its_way_to_the_next(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD GPU
			  "code infer app.py 10\n"
			  "code linear /usr/lib/python3/dist-packages/torch/nn/functional.py 7\n"
			  "stack 1 linear:9 infer:14\nstack 2 infer:15\n"
			  "1: [step#1/0@1000000 {cudaLaunchKernel#1:1/1@2000000 }1@2100000\n"
			  "1: {cudaStreamSynchronize#2:6.7/2@4000000 }2@4600000 ]#1@5000000\n"
			  "3: kernel:k#1@6000000:2500000+1000000/7\n" END)
		    ->steps;
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_FRAMEWORK), 1000000);
	assert_int_equal(cause(s, TIME_FRAMEWORK)->where.line, 14);
	assert_string_equal(cause(s, TIME_FRAMEWORK)->inner.name, "linear");
	/* From the launch to the kernel, and from there to the wait, in the user's own line. */
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 900000);
	assert_int_equal(part(s, TIME_UNATTRIBUTED), 400000); /* there is no next one */
	forget(&t);
}

static void without_steps_the_run_is_one(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD "1: +f@1000000 -f@90000000\n" END)->steps;
	assert_int_equal(s->source, STEP_WHOLE_RUN);
	assert_int_equal(s->breakdown.total_ns, 100000000);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 89000000);
	assert_int_equal(part(s, TIME_UNATTRIBUTED), 11000000);
	forget(&t);
	/* Nothing at all was recorded. */
	s = analyze_story(&t, END)->steps;
	assert_int_equal(s->breakdown.steps, 0);
	forget(&t);
}

static void functions_that_are_left_out_are_sampled(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD "code dispatch /usr/lib/python3/dist-packages/torch/_ops.py 9\n"
				   "code infer app.py 10\n"
				   "stack 1 dispatch:11 infer:14\n"
				   "stack 2 infer:15\n"
				   "1: +infer@0 +dispatch@10 -dispatch@20 out:dispatch@30\n"
				   "1: [step#1/0@1000000 ]#1@5000000 -infer@6000000\n"
				   "look 1 1 500000 2500000 3 11\n"
				   "look 1 2 3500000 4500000 2 11\n"
				   "look 1 2 5500000 5500000 1 11\n" END)
		    ->steps;
	assert_int_equal(part(s, TIME_CPU_COMPUTE), 2000000);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 2000000);
	assert_true(s->breakdown.parts[TIME_CPU_COMPUTE].error_ns > 0);
	forget(&t);
}

/* Twenty steps of 1000 ns; one calls something for 5000 more. */
static void slow_steps_tell_what_they_did_more(void **state)
{
	const struct slow_steps *slow;
	char story[8192];
	struct story_analysis t;
	int64_t at = 1000;
	size_t n;

	(void)state;
	n = (size_t)snprintf(story, sizeof(story), HEAD);
	for (int i = 1; i <= 20; i++) {
		n += (size_t)snprintf(story + n, sizeof(story) - n, "1: [step#%d/0@%jd +f@%jd", i,
				      (intmax_t)at, (intmax_t)at);
		at += 500;
		if (i == 13) {
			n += (size_t)snprintf(story + n, sizeof(story) - n,
					      " +reload@%jd -reload@%jd", (intmax_t)at,
					      (intmax_t)at + 5000);
			at += 5000;
		}
		at += 500;
		n += (size_t)snprintf(story + n, sizeof(story) - n, " -f@%jd ]#%d@%jd\n",
				      (intmax_t)at, i, (intmax_t)at);
	}
	snprintf(story + n, sizeof(story) - n, END);
	slow = &analyze_story(&t, story)->steps->breakdown.slow;
	assert_int_equal(slow->steps, 1);
	assert_int_equal(slow->typical_steps, 4);
	assert_int_equal(slow->from_ns, 6000);
	assert_true(slow->mean_ns == 6000 && slow->typical_mean_ns == 1000);
	assert_int_equal(slow->cause_count, 1);
	assert_string_equal(slow->causes[0].cause.where.name, "reload");
	assert_true(slow->causes[0].more_ns == 5000);
	forget(&t);
}

static void warm_up_is_in_no_part(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "1: [s#1/0@0 (2@0 )2@90000:0 ]#1@100000 [s#2/0@100000 ]#2@110000\n"
			       "1: [s#3/0@110000 ]#3@120000 [s#4/0@120000 ]#4@130000\n"
			       "1: [s#5/0@130000 ]#5@140000\n" END)
		    ->steps;
	assert_int_equal(s->warmup, 1);
	assert_int_equal(s->breakdown.steps, 4);
	assert_int_equal(s->breakdown.total_ns, 40000);
	assert_int_equal(part(s, TIME_GC), 0);
	forget(&t);
}

/* Of steps that take long the first is warm-up if it is far out, and not if all are so unlike. */
static void warm_up_is_what_is_far_out(void **state)
{
	static const struct {
		int64_t ns[6];
		size_t warmup;
	} cases[] = {
		{ { 230, 101, 99, 100, 102, 98 }, 1 },
		{ { 140, 101, 99, 100, 102, 98 }, 0 }, /* not half as long again */
		{ { 230, 101, 240, 100, 180, 98 }, 0 },
		{ { 101, 230, 99, 100, 102, 98 }, 0 }, /* not the first */
		{ { 900, 350, 99, 100, 300, 98 },
		  2 }, /* three times the median, whatever they are */
		{ { 230, 101, 99, 100, 98, 230 }, 0 }, /* it comes again */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char story[1024] = HEAD;
		size_t n = strlen(story);
		int64_t now = 0;
		struct story_analysis t;

		for (int k = 0; k < 6; k++) {
			int64_t end = now + 1000 * cases[i].ns[k];

			n += (size_t)snprintf(story + n, sizeof(story) - n,
					      "1: [s#%d/0@%jd ]#%d@%jd\n", k, (intmax_t)now, k,
					      (intmax_t)end);
			now = end;
		}
		snprintf(story + n, sizeof(story) - n, END);
		assert_int_equal(analyze_story(&t, story)->steps->warmup, cases[i].warmup);
		forget(&t);
	}
}

/* A copy to pageable memory waits for what is before it in its stream, and only then copies. */
static void a_copy_to_the_host_waits_before_it_copies(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD GPU
			  "code infer app.py 10\n"
			  "stack 1 infer:14\n"
			  "1: [step#1/0@1000000 +infer@1000000 {cudaMemcpyAsync#1:3/1@1000000 "
			  "}1@9000000 -infer@11000000 ]#1@11000000\n"
			  "3: copy:2,3,1,4096#1@12000000:6000000+1000000/7\n" END)
		    ->steps;
	check_sum(&s->breakdown);
	assert_int_equal(part(s, TIME_SYNC_WAIT), 5000000);
	assert_int_equal(part(s, TIME_D2H), 3000000);
	forget(&t);
}

static void few_steps_have_no_slow_ones(void **state)
{
	struct story_analysis t;

	(void)state;
	assert_int_equal(analyze_story(&t, HEAD "1: [s#1/0@10 ]#1@20 [s#2/0@20 ]#2@90\n" END)
				 ->steps->breakdown.slow.steps,
			 0);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_of_a_step_has_one_class),
		cmocka_unit_test(kernels_hide_copies_and_both_hide_the_host),
		cmocka_unit_test(code_in_a_model_is_the_frameworks),
		cmocka_unit_test(a_library_on_no_list_is_the_models_inside_of_one),
		cmocka_unit_test(waits_are_those_that_samples_saw),
		cmocka_unit_test(sleeping_is_no_io),
		cmocka_unit_test(who_waits_for_a_queue_waits_for_who_fills_it),
		cmocka_unit_test(what_the_framework_tells_comes_before_samples),
		cmocka_unit_test(steps_of_two_threads_have_their_own_work),
		cmocka_unit_test(steps_inside_steps_are_counted_in_both),
		cmocka_unit_test(interleaved_tasks_are_said_to_share),
		cmocka_unit_test(what_nothing_explains_is_unattributed),
		cmocka_unit_test(between_two_cuda_calls_it_is_on_its_way_to_the_next),
		cmocka_unit_test(without_steps_the_run_is_one),
		cmocka_unit_test(functions_that_are_left_out_are_sampled),
		cmocka_unit_test(slow_steps_tell_what_they_did_more),
		cmocka_unit_test(warm_up_is_in_no_part),
		cmocka_unit_test(warm_up_is_what_is_far_out),
		cmocka_unit_test(a_copy_to_the_host_waits_before_it_copies),
		cmocka_unit_test(few_steps_have_no_slow_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
