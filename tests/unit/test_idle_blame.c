/* links: is_analyze */
/* Why the GPU was idle, against timelines whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story_analysis.h"

#define HEAD                                        \
	"process 1 100 app.py 0 100000000\n"        \
	"thread 1 1 100 MainThread 0 100000000 0\n" \
	"thread 2 1 101 pool 0 100000000 0\n"       \
	"thread 3 1 102 cupti 0 100000000 0\n"      \
	"gpu 1 1 10 CUPTI 130000\n"
#define END "end 100000000 0\n"
#define SELECTORS "code EpollSelector.select /usr/lib/python3.12/selectors.py 100\n"

static void check_sum(const struct gpu_section *s)
{
	int64_t sum_ns = s->blame.no_load_ns + s->blame.unexplained_ns;

	for (size_t i = 0; i < s->blame.count; i++)
		sum_ns += s->blame.items[i].ns;
	assert_int_equal(sum_ns, s->idle_ns);
}

static const struct idle_cause *blamed(const struct gpu_section *s, const char *name)
{
	for (size_t i = 0; i < s->blame.count; i++)
		if (!strcmp(idle_cause_name(&s->blame.items[i]), name))
			return &s->blame.items[i];
	fail_msg("no %s", name);
	return NULL;
}

static void a_gap_is_what_its_launcher_did(void **state)
{
	const struct gpu_section *s;
	const struct idle_cause *c;
	struct story_analysis t;

	(void)state;
	s = analyze_story(
		    &t,
		    HEAD "code infer app.py 10\n"
			 "code prepare app.py 30\n"
			 "stack 1 infer:14\n"
			 "1: [step#1/0@1000 +infer@1000 {cudaLaunchKernel#1:1/1@1100 }1@1200\n"
			 "1: {cudaStreamSynchronize#2:6.7/1@1300 }2@3100 +prepare@3200\n"
			 "1: -prepare@6200 (0@6300 )0@6800:1 {cudaLaunchKernel#3:1/1@7000 }3@7300\n"
			 "1: -infer@9000 ]#1@9000\n"
			 "3: kernel:a#1@9500:2000+1000/7 kernel:b#3@9500:8000+500/7\n" END)
		    ->gpu.sections;
	assert_int_equal(s->idle_ns, 5000);
	check_sum(s);
	assert_int_equal(s->blame.unexplained_ns, 0);
	assert_int_equal(s->blame.no_load_ns, 0);
	assert_int_equal(s->blame.steps, 1);
	c = &s->blame.items[0];
	assert_string_equal(idle_cause_name(c), "cpu_preprocessing");
	assert_string_equal(c->where.name, "prepare");
	assert_int_equal(c->ns, 3000);
	assert_int_equal(c->in_steps_ns, 3000);
	assert_int_equal(c->gaps, 1);
	assert_int_equal(blamed(s, "sync_wait")->ns, 100);
	assert_int_equal(blamed(s, "gc")->ns, 500);
	assert_int_equal(blamed(s, "launch")->ns, 300);
	assert_int_equal(blamed(s, "launch")->where.line, 14);
	assert_int_equal(blamed(s, "launch_latency")->ns, 700);
	forget(&t);
}

/* The device had been given its work before it became idle. */
static void late_work_is_the_devices_own(void **state)
{
	const struct gpu_section *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "1: [step#1/0@1000 +f@1000 {cudaLaunchKernel#1:1/0@1100 }1@1200\n"
			       "1: {cudaLaunchKernel#2:1/0@1300 }2@1400 -f@9000 ]#1@9000\n"
			       "3: kernel:a#1@9500:2000+1000/7 kernel:b#2@9500:3500+500/7\n" END)
		    ->gpu.sections;
	assert_int_equal(s->blame.count, 1);
	assert_string_equal(idle_cause_name(s->blame.items), "launch_latency");
	assert_int_equal(s->blame.items->ns, 500);
	check_sum(s);
	forget(&t);
}

static void no_request_is_no_load(void **state)
{
	static const char *const stories[] = {
		/* Between two requests. */
		"1: +serve@0 [req#1/0@100000 {cudaLaunchKernel#1:1/0@110000 }1@120000 ]#1@900000\n"
		"1: +EpollSelector.select@1000000 -EpollSelector.select@9000000\n"
		"1: [req#2/0@9100000 {cudaLaunchKernel#2:1/0@9200000 }2@9300000 ]#2@9900000\n",
		/* Inside one: it waits for something else. */
		"1: +serve@0 [req#1/0@100000 {cudaLaunchKernel#1:1/0@110000 }1@120000\n"
		"1: +EpollSelector.select@1000000 -EpollSelector.select@9000000\n"
		"1: {cudaLaunchKernel#2:1/0@9200000 }2@9300000 ]#1@9900000\n",
	};
	const struct gpu_section *s;
	char story[4096];
	struct story_analysis t;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(story, sizeof(story),
			 HEAD SELECTORS "code serve app.py 10\n"
					"stack 1 EpollSelector.select:110 serve:15\n"
					"%s"
					"look 1 1 1500000 8500000 8 4\n"
					"look 1 0 9500000 9500000 1 1\n"
					"3: kernel:a#1@9500000:200000+800000/7 "
					"kernel:b#2@9500000:9400000+1000/7\n" END,
			 stories[i]);
		s = analyze_story(&t, story)->gpu.sections;
		assert_int_equal(s->idle_ns, 8400000);
		check_sum(s);
		if (i) {
			assert_int_equal(s->blame.no_load_ns, 0);
			assert_string_equal(idle_cause_name(s->blame.items), "idle");
		} else {
			assert_int_equal(s->blame.no_load_ns, 8000000);
		}
		forget(&t);
	}
}

static void work_that_nobody_launched_is_unexplained(void **state)
{
	const struct gpu_section *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD "3: kernel:a#1@9000:1000+100/7 kernel:b#2@9000:3000+100/7\n" END)
		    ->gpu.sections;
	assert_int_equal(s->idle_ns, 1900);
	assert_int_equal(s->blame.unexplained_ns, 1900);
	assert_int_equal(s->blame.count, 0);
	forget(&t);
}

/* What was not recorded is nobody's. */
static void pauses_of_the_recording_are_left_out(void **state)
{
	const struct gpu_section *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "gpu 2 3 4000 paused\ngpu 2 1 6000 CUPTI 130000\n"
			       "1: +f@0 {cudaLaunchKernel#1:1/0@1100 }1@1200\n"
			       "1: {cudaLaunchKernel#2:1/0@7000 }2@7500 -f@9000\n"
			       "3: kernel:a#1@9500:2000+1000/7 kernel:b#2@9500:8000+500/7\n" END)
		    ->gpu.sections;
	assert_int_equal(s->paused_ns, 2000);
	assert_int_equal(s->idle_ns, 3000);
	check_sum(s);
	assert_int_equal(blamed(s, "cpu_preprocessing")->ns, 2000);
	assert_int_equal(blamed(s, "launch_latency")->ns, 500);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_what_its_launcher_did),
		cmocka_unit_test(late_work_is_the_devices_own),
		cmocka_unit_test(no_request_is_no_load),
		cmocka_unit_test(work_that_nobody_launched_is_unexplained),
		cmocka_unit_test(pauses_of_the_recording_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
