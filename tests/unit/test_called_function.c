/* links: is_analyze */
/* Which of the functions that a line called is named, and how much of its time that has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story_analysis.h"

#define LAYERS "/usr/lib/python3/dist-packages/torch/nn/"
#define HEAD                                        \
	"process 1 100 app.py 0 100000000\n"        \
	"thread 1 1 100 MainThread 0 100000000 0\n" \
	"thread 3 1 102 cupti 0 100000000 0\n"      \
	"gpu 1 1 10 CUPTI 130000\n"                 \
	"code infer app.py 10\n"                    \
	"code linear " LAYERS "a.py 7\n"            \
	"code conv " LAYERS "b.py 7\n"              \
	"stack 1 linear:9 infer:14\n"               \
	"stack 2 conv:20 infer:14\n"                \
	"stack 3 conv:21 infer:14\n"
#define END "end 100000000 0\n"

/* One stack has most of the time, and another function: 1.6 ms of 2.6 on two lines. */
static void what_a_line_called_is_what_had_most_of_its_time(void **state)
{
	const struct step_breakdown *b;
	const struct time_cause *c;
	struct story_analysis t;

	(void)state;
	b = &analyze_story(&t,
			   HEAD "1: [step#1/0@1000000 {cudaLaunchKernel#1:1/1@2000000 }1@2100000\n"
				"1: {cudaLaunchKernel#2:1/2@2900000 }2@3000000\n"
				"1: {cudaLaunchKernel#3:1/3@3800000 }3@3900000 ]#1@4000000\n"
				"3: kernel:k#1@6000000:5000000+1000/7\n" END)
		     ->steps->breakdown;
	c = &b->causes[0];
	assert_int_equal(c->what, TIME_FRAMEWORK);
	assert_int_equal(c->ns, 2600000);
	assert_string_equal(c->inner.name, "conv");
	assert_int_equal(c->inner_ns, 1600000);
	assert_true(time_cause_is_mostly_inner(c));
	forget(&t);
}

/* Three gaps, by a function once for longest and by another twice. */
static void what_the_launcher_called_is_what_had_most_of_the_time(void **state)
{
	const struct idle_cause *c;
	struct story_analysis t;

	(void)state;
	c = analyze_story(&t,
			  HEAD "1: [step#1/0@1000000 {cudaLaunchKernel#1:1/1@1000000 }1@1100000\n"
			       "1: {cudaLaunchKernel#2:1/1@2100000 }2@2200000\n"
			       "1: {cudaLaunchKernel#3:1/2@3000000 }3@3100000\n"
			       "1: {cudaLaunchKernel#4:1/3@3900000 }4@4000000 ]#1@4000000\n"
			       "3: kernel:k#1@6000000:1100000+100000/7\n"
			       "3: kernel:k#2@6000000:2200000+100000/7\n"
			       "3: kernel:k#3@6000000:3100000+100000/7\n"
			       "3: kernel:k#4@6000000:4000000+100000/7\n" END)
		    ->gpu.sections->blame.items;
	assert_string_equal(idle_cause_name(c), "framework");
	assert_int_equal(c->ns, 900000 + 700000 + 700000);
	assert_string_equal(c->inner.name, "conv");
	assert_int_equal(c->inner_ns, 1400000);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_line_called_is_what_had_most_of_its_time),
		cmocka_unit_test(what_the_launcher_called_is_what_had_most_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
