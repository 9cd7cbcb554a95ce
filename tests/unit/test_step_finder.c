/* links: is_report */
/* Steps that nobody marked, against traces whose truth is plain; all times are in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"
#include "told.h"

#define HEAD                                                              \
	"process 1 100 app.py 0 10000\n"                                  \
	"thread 1 1 100 MainThread 0 10000 0\n"                           \
	"thread 2 1 101 pool 0 10000 0\n"                                 \
	"code <module> /srv/app.py 1\n"                                   \
	"code main /srv/app.py 10\n"                                      \
	"code infer /srv/app.py 20\n"                                     \
	"code run_forever /usr/lib/python3.12/asyncio/events.py 30\n"     \
	"code Module._call_impl /x/site-packages/torch/nn/module.py 40\n" \
	"code decorate /x/site-packages/torch/utils/contexts.py 50\n"     \
	"layer 1 0 Net -\nlayer 2 0 Other -\nlayer 3 1 Linear fc\n"       \
	"layer 11 0 Softmax -\nlayer 12 0 Softmax -\nlayer 13 0 Softmax -\n"
#define END "end 10000 0\n"

/* Of a model that is functions alone. */
#define BARE                                    \
	"process 1 100 app.py 0 10000\n"        \
	"thread 1 1 100 MainThread 0 10000 0\n" \
	"gpu 1 1 1 CUPTI 130000\n"              \
	"code main /srv/app.py 10\n"            \
	"code infer /srv/app.py 20\n"           \
	"code load /srv/app.py 30\n"

/* Each step as "name source count total p50 depth". */
static void expect_steps(const char *story, const char *steps)
{
	static const char *const sources[] = { "scope", "nvtx", "loop", "module", "run" };
	const struct analysis *a;
	struct told told;
	struct buf b;

	buf_init(&b);
	a = tell(&told, story);
	for (size_t i = 0; i < a->step_count; i++)
		buf_printf(&b, "%s: %s %zu %" PRId64 " %" PRId64 " %u\n", a->steps[i].name,
			   sources[a->steps[i].source], a->steps[i].count, a->steps[i].total_ns,
			   a->steps[i].p50_ns, a->steps[i].depth);
	assert_string_equal(buf_string(&b), steps);
	buf_release(&b);
	forget(&told);
}

static void a_loop_has_its_layers_and_what_is_between_them(void **state)
{
	(void)state;
	/* The last one rests 30 as the others do. */
	expect_steps(HEAD "1: +main@10 <1@100 </1@150 <1@200 </1@250 <1@280 </1@350 <1@380 "
			  "</1@400 -main@900\n" END,
		     "Net in main: loop 4 330 80 0\n");
	/* ... unless its function ends before that. */
	expect_steps(HEAD "1: +main@10 <1@100 </1@150 <1@200 </1@250 <1@280 </1@350 <1@380 "
			  "</1@400 -main@410\n" END,
		     "Net in main: loop 4 310 80 0\n");
}

static void functions_of_the_user_lead_to_layers_and_those_of_libraries_do_not(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10\n"
			  "1: +infer@100 +Module._call_impl@102 <1@105 </1@120 "
			  "-Module._call_impl@121 -infer@130\n"
			  "1: +infer@200 +Module._call_impl@202 <1@205 </1@220 "
			  "-Module._call_impl@221 -infer@230\n"
			  "1: +infer@300 +Module._call_impl@302 <1@305 </1@320 "
			  "-Module._call_impl@321 -infer@330\n"
			  "1: -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
}

static void what_a_library_calls_ends_with_itself(void **state)
{
	(void)state;
	expect_steps(
		HEAD
		"1: +<module>@1 +run_forever@10\n"
		"1: >infer@100 <1@105 </1@120 ~infer@130 >infer@200 <1@205 </1@220 ~infer@230\n"
		"1: >infer@300 <1@305 </1@320 ~infer@340 -run_forever@800 -<module>@900\n" END,
		"infer in app.py: loop 3 100 30 0\n");
	expect_steps(HEAD
		     "1: +run_forever@10 +infer@100 <1@105 </1@120 -infer@130 -run_forever@300\n"
		     "2: +run_forever@10 +infer@110 <1@115 </1@120 -infer@130\n"
		     "2: +infer@210 <1@215 </1@220 -infer@230 -run_forever@300\n" END,
		     "infer: loop 3 70 20 0\n");
}

static void a_decorator_of_a_library_is_in_the_loop_around_it(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10\n"
			  "1: +decorate@95 +infer@100 <1@105 </1@120 -infer@130 -decorate@131\n"
			  "1: +decorate@195 +infer@200 <1@205 </1@220 -infer@230 -decorate@231\n"
			  "1: +decorate@295 +infer@300 <1@305 </1@320 -infer@330 -decorate@331\n"
			  "1: -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
}

/* Class 2 is CUDA_CALL_GRAPH_LAUNCH, 1 a launch. */
static void a_graph_that_is_launched_again_and_again_is_a_step(void **state)
{
	(void)state;
	/* As a layer it was called while it was captured. */
	expect_steps(HEAD "1: +main@10 <1@20 {cudaLaunchKernel#1:1/0@25 }1@26 </1@30\n"
			  "1: +infer@100 {cudaGraphLaunch#2:2/0@105 }2@120 -infer@130\n"
			  "1: +infer@200 {cudaGraphLaunch#3:2/0@205 }3@220 -infer@230\n"
			  "1: +infer@300 {cudaGraphLaunch#4:2/0@305 }4@320 -infer@330\n"
			  "1: {cudaLaunchKernel#5:1/0@340 }5@341 -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
	expect_steps(HEAD "1: +main@10 <1@20 </1@30\n"
			  "1: {cudaGraphLaunch#2:2/0@105 }2@120 {cudaGraphLaunch#3:2/0@205 }3@220\n"
			  "1: {cudaGraphLaunch#4:2/0@305 }4@320 -main@900\n" END,
		     "CUDA graph in main: loop 3 300 100 0\n");
	/* In a layer it is the layer's. */
	expect_steps(HEAD "1: +main@10 <1@100 {cudaGraphLaunch#2:2/0@105 }2@120 </1@150 "
			  "<1@200 {cudaGraphLaunch#3:2/0@205 }3@220 </1@250 "
			  "<1@300 {cudaGraphLaunch#4:2/0@305 }4@320 </1@350 -main@900\n" END,
		     "Net in main: loop 3 300 100 0\n");
}

static void launches_take_the_place_of_layers_that_are_not_there(void **state)
{
	(void)state;
	expect_steps(BARE
		     "1: +main@10\n"
		     "1: +infer@100 {cudaLaunchKernel#1:1/0@105 }1@106 {cudaLaunchKernel#2:1/0@110 "
		     "}2@111 -infer@130\n"
		     "1: +infer@200 {cudaLaunchKernel#3:1/0@205 }3@206 -infer@230\n"
		     "1: +infer@300 {cudaLaunchKernel#4:1/0@305 }4@306 -infer@330\n"
		     "1: -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
	/* In one function a wait ends what belongs together. */
	expect_steps(BARE
		     "1: +main@10\n"
		     "1: {cudaLaunchKernel#1:1/0@100 }1@106 {cudaLaunchKernel#2:1/0@110 }2@111 "
		     "{cudaStreamSynchronize#3:6.7/0@120 }3@140\n"
		     "1: {cudaLaunchKernel#4:1/0@200 }4@206 {cudaStreamSynchronize#5:6.7/0@220 "
		     "}5@240\n"
		     "1: {cudaLaunchKernel#6:1/0@300 }6@306 {cudaStreamSynchronize#7:6.7/0@320 "
		     "}7@340 -main@900\n" END,
		     "GPU work in main: loop 3 290 100 0\n");
}

/* What is over before something begins that is done far more often prepares it. */
static void preparing_is_no_step(void **state)
{
	char story[4096] = BARE "1: +main@10\n";
	size_t n = strlen(story);

	(void)state;
	for (int i = 0; i < 3; i++)
		n += (size_t)snprintf(story + n, sizeof(story) - n,
				      "1: +load@%d {cudaLaunchKernel#%d:1/0@%d }%d@%d -load@%d\n",
				      100 + 200 * i, i + 1, 110 + 200 * i, i + 1, 120 + 200 * i,
				      290 + 200 * i);
	for (int i = 0; i < 16; i++)
		n += (size_t)snprintf(story + n, sizeof(story) - n,
				      "1: +infer@%d {cudaLaunchKernel#%d:1/0@%d }%d@%d -infer@%d\n",
				      1000 + 30 * i, i + 10, 1005 + 30 * i, i + 10, 1010 + 30 * i,
				      1020 + 30 * i);
	snprintf(story + n, sizeof(story) - n, "1: -main@1500\n" END);
	expect_steps(story, "infer in main: loop 16 480 30 0\nload in main: loop 3 570 190 0\n");
}

/* Libraries mark what they do in domains of their own; a program's own marks are steps. */
static void ranges_of_a_library_are_no_steps(void **state)
{
	(void)state;
	for (int whose = 0; whose < 2; whose++) {
		char story[4096];

		snprintf(story, sizeof(story),
			 HEAD "nvtx 1 sum %s 0 -\n"
			      "1: +main@10 <1@100 [sum#1/0@110 ]#1@120 </1@150 <1@200 "
			      "[sum#2/0@210 ]#2@220 </1@250 <1@300 [sum#3/0@310 ]#3@320 </1@350 "
			      "-main@900\n" END,
			 whose ? "-" : "CCCL");
		expect_steps(story,
			     whose ? "sum: nvtx 3 30 10 0\n" : "Net in main: loop 3 300 100 0\n");
	}
	/* One that most of the time is spent in may be the program's own. */
	expect_steps(HEAD "nvtx 1 sum mine 0 -\n"
			  "1: +main@10 [sum#1/0@100 <1@110 </1@150 ]#1@190 [sum#2/0@200 <1@210 "
			  "</1@250 ]#2@290 [sum#3/0@300 <1@310 </1@350 ]#3@390 -main@900\n" END,
		     "sum: nvtx 3 270 90 0\n");
}

static void loops_in_loops_are_kinds_of_steps(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10\n"
			  "1: +infer@100 <1@110 </1@115 <1@120 </1@125 <1@130 </1@135 -infer@150\n"
			  "1: +infer@200 <1@210 </1@215 <1@220 </1@225 <1@230 </1@235 -infer@250\n"
			  "1: +infer@300 <1@310 </1@315 <1@320 </1@325 <1@330 </1@335 -infer@350\n"
			  "1: -main@900\n" END,
		     "Net in infer: loop 9 90 10 1\ninfer in main: loop 3 300 100 0\n");
}

static void two_models_in_turn_are_one_step(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 <2@120 </2@130 <1@200 </1@210 <2@220 </2@230 "
			  "<1@300 </1@310 <2@320 </2@330 -main@390\n" END,
		     "Net in main: loop 3 290 100 0\n");
	/* Modules that are made for one call begin nothing. */
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 <11@120 </11@130 <1@200 </1@210 <12@220 "
			  "</12@230 <1@300 </1@310 <13@320 </13@330 -main@390\n" END,
		     "Net in main: loop 3 290 100 0\n");
}

static void recursion_is_a_loop(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 +main@150 <1@200 </1@210 +main@250 <1@300 "
			  "</1@310 -main@380 -main@390 -main@395\n" END,
		     "Net in main: loop 3 295 100 0\n");
}

static void two_of_a_kind_in_a_function_are_no_loop(void **state)
{
	(void)state;
	/* Once with the condition and once without it, in each step. */
	expect_steps(HEAD "1: +main@10\n"
			  "1: +infer@100 <1@110 </1@115 <1@120 </1@125 -infer@150\n"
			  "1: +infer@200 <1@210 </1@215 <1@220 </1@225 -infer@250\n"
			  "1: +infer@300 <1@310 </1@315 <1@320 </1@325 -infer@350\n"
			  "1: -main@400\n" END,
		     "infer in main: loop 3 300 100 0\n");
}

static void layers_called_from_nowhere_are_steps_themselves(void **state)
{
	(void)state;
	expect_steps(HEAD "1: <1@100 <3@101 </3@105 </1@110 <1@200 </1@210 <1@300 </1@320\n" END,
		     "Net: module 3 40 10 0\n");
	expect_steps(HEAD "1: <1@100 </1@110 <11@111 </11@112 <1@200 </1@210 <12@211 </12@212\n"
			  "1: <1@300 </1@320 <13@321 </13@323\n" END,
		     "Net: module 3 40 10 0\nSoftmax: module 3 4 1 0\n");
	/* The recording of calls paused for most of the time. */
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 |0@120 <1@200 </1@210 <1@300 </1@310\n"
			  "1: <1@400 </1@410\n" END,
		     "Net: module 4 40 10 0\n");
}

static void a_function_that_was_left_out_is_looked_through(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 +infer@100 <1@110 </1@115 out:infer@116\n"
			  "1: <1@210 </1@215 <1@310 </1@315 -main@400\n" END,
		     "Net in main: loop 3 290 100 0\n");
}

static void a_call_without_an_end_is_no_step(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 <1@200 </1@210 <1@300 </1@310 <1@400\n" END,
		     "Net in main: loop 3 300 100 0\n");
}

static void no_step_lasts_over_a_time_in_which_layers_were_not_recorded(void **state)
{
	(void)state;
	/* The third rests 50 as the others do, and not until the fourth begins. */
	expect_steps(HEAD "1: +main@10 <1@100 </1@150 <1@200 </1@250 <1@300 </1@350 <-1@360\n"
			  "1: <-0@5000 <1@5010 </1@5060 <1@5110 </1@5160 -main@6000\n" END,
		     "Net in main: loop 5 500 100 0\n");
}

static void little_that_repeats_is_the_whole_run(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 <1@200 </1@210 -main@300\n" END,
		     "whole run: run 1 10000 10000 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_has_its_layers_and_what_is_between_them),
		cmocka_unit_test(
			functions_of_the_user_lead_to_layers_and_those_of_libraries_do_not),
		cmocka_unit_test(what_a_library_calls_ends_with_itself),
		cmocka_unit_test(a_decorator_of_a_library_is_in_the_loop_around_it),
		cmocka_unit_test(a_graph_that_is_launched_again_and_again_is_a_step),
		cmocka_unit_test(launches_take_the_place_of_layers_that_are_not_there),
		cmocka_unit_test(preparing_is_no_step),
		cmocka_unit_test(ranges_of_a_library_are_no_steps),
		cmocka_unit_test(loops_in_loops_are_kinds_of_steps),
		cmocka_unit_test(two_models_in_turn_are_one_step),
		cmocka_unit_test(recursion_is_a_loop),
		cmocka_unit_test(two_of_a_kind_in_a_function_are_no_loop),
		cmocka_unit_test(layers_called_from_nowhere_are_steps_themselves),
		cmocka_unit_test(a_function_that_was_left_out_is_looked_through),
		cmocka_unit_test(a_call_without_an_end_is_no_step),
		cmocka_unit_test(no_step_lasts_over_a_time_in_which_layers_were_not_recorded),
		cmocka_unit_test(little_that_repeats_is_the_whole_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
