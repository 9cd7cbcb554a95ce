/* links: is_report */
/* Steps that nobody marked, against traces whose truth is plain; all times are in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "steps_kit.h"

/* Of a model that is functions alone. */
#define BARE                                    \
	"process 1 100 app.py 0 10000\n"        \
	"thread 1 1 100 MainThread 0 10000 0\n" \
	"gpu 1 1 1 CUPTI 130000\n"              \
	"code main /srv/app.py 10\n"            \
	"code infer /srv/app.py 20\n"           \
	"code load /srv/app.py 30\n"

/* Of frameworks whose layers are not recorded. */
#define RUNS                                                                         \
	"process 1 100 app.py 0 10000\n"                                             \
	"thread 1 1 100 MainThread 0 10000 0\n"                                      \
	"code <module> /srv/app.py 1\n"                                              \
	"code infer /srv/app.py 20\n"                                                \
	"code identify /x/site-packages/magika/magika.py 30\n"                       \
	"code read /x/site-packages/ocr/main.py 60\n"                                \
	"code find /x/site-packages/ocr/find.py 70\n"                                \
	"code tell /x/site-packages/ocr/tell.py 80\n"                                \
	"code Session.run "                                                          \
	"/x/site-packages/onnxruntime/capi/onnxruntime_inference_collection.py 40\n" \
	"code Layer.__call__ /x/site-packages/keras/src/layers/layer.py 50\n"
#define RUN(at, end) \
	"+identify@" #at "1 +Session.run@" #at "5 -Session.run@" #end " -identify@" #end " "
#define FIRST RUN(10, 150)
#define SECOND RUN(20, 250)
#define THIRD RUN(30, 350)

static void what_is_done_once_is_no_step_beside_what_repeats(void **state)
{
	(void)state;
	expect_steps(HEAD
		     "1: [step#1/0@100 ]#1@150 [step#2/0@200 ]#2@250 [timed#3/0@300 ]#3@900\n" END,
		     "step: scope 2 100 50 0\ntimed: scope 1 600 600 0\n");
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

static void calls_of_a_model_are_steps_where_its_layers_are_not_known(void **state)
{
	(void)state;
	expect_steps(RUNS "1: +<module>@1 " FIRST SECOND THIRD "-<module>@900\n" END,
		     "Session.run in app.py: loop 3 300 100 0\n");
	/* Through a function of the user's. */
	expect_steps(RUNS "1: +<module>@1 +infer@100 " FIRST "-infer@160 +infer@200 " SECOND
			  "-infer@260 +infer@300 " THIRD "-infer@360 -<module>@900\n" END,
		     "infer in app.py: loop 3 300 100 0\n");
	/* Only the outermost: a model of Keras is a layer, and has some. */
	expect_steps(RUNS "1: +<module>@1\n"
			  "1: +Layer.__call__@100 +Layer.__call__@110 -Layer.__call__@120 "
			  "+Layer.__call__@130 -Layer.__call__@140 -Layer.__call__@150\n"
			  "1: +Layer.__call__@200 +Layer.__call__@210 -Layer.__call__@220 "
			  "+Layer.__call__@230 -Layer.__call__@240 -Layer.__call__@250\n"
			  "1: +Layer.__call__@300 -Layer.__call__@350 -<module>@900\n" END,
		     "Layer.__call__ in app.py: loop 3 300 100 0\n");
}

/* One call of a library's function: three times a model, and then another. */
#define DETECT(at)                                                                 \
	"+detect@" #at "00 <1@" #at "10 </1@" #at "20 <1@" #at "30 </1@" #at "40 " \
	"<1@" #at "50 </1@" #at "60 <2@" #at "70 </2@" #at "80 -detect@" #at "90 "

static void a_librarys_call_of_several_models_is_the_step(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 " DETECT(1) DETECT(2) DETECT(3) "-main@900\n" END,
		     "detect in main: loop 3 300 100 0\nNet in detect: loop 9 180 20 1\n"
		     "Other in detect: loop 3 30 10 1\n");
	/* Through a decorator. */
	expect_steps(HEAD "1: +main@10\n"
			  "1: +wrap@95 " DETECT(1) "-wrap@195 +wrap@196 " DETECT(
				  2) "-wrap@295\n"
				     "1: +wrap@296 " DETECT(3) "-wrap@395 -main@900\n" END,
		     "detect in main: loop 3 300 100 0\nNet in detect: loop 9 180 20 1\n"
		     "Other in detect: loop 3 30 10 1\n");
	/* The user's function around it is the step. */
	expect_steps(HEAD "1: +main@10\n"
			  "1: +infer@95 " DETECT(1) "-infer@193 +infer@195 " DETECT(
				  2) "-infer@293\n"
				     "1: +infer@295 " DETECT(3) "-infer@393 -main@900\n" END,
		     "infer in main: loop 3 300 100 0\nNet in detect: loop 9 180 20 1\n"
		     "Other in detect: loop 3 30 10 1\n");
	/* What comes twice is no series: what is in it may be. */
	expect_steps(HEAD "1: +main@10 " DETECT(1) DETECT(2) "-main@900\n" END,
		     "Net in main: loop 6 160 20 0\n");
}

#define GENERATE(at)                                                                      \
	"+detect@" #at "00 <1@" #at "10 </1@" #at "20 <1@" #at "30 </1@" #at "40 <1@" #at \
	"50 </1@" #at "60 -detect@" #at "90 "

static void a_librarys_loop_of_one_model_is_a_loop(void **state)
{
	(void)state;
	expect_steps(HEAD "1: +main@10 " GENERATE(1) GENERATE(2) GENERATE(3) "-main@900\n" END,
		     "Net in main: loop 9 260 20 0\n");
}

#define READ(at)                                                                         \
	"+read@" #at "00 +find@" #at "05 +Session.run@" #at "10 -Session.run@" #at "20 " \
	"-find@" #at "25 +tell@" #at "40 +Session.run@" #at "50 -Session.run@" #at "60 " \
	"+Session.run@" #at "70 -Session.run@" #at "80 -tell@" #at "85 -read@" #at "90 "

static void models_of_one_function_are_told_apart_by_who_calls_it(void **state)
{
	(void)state;
	expect_steps(RUNS "1: +<module>@1 " READ(1) READ(2) READ(3) "-<module>@900\n" END,
		     "read in app.py: loop 3 300 100 0\n");
}

static void where_some_were_not_recorded_their_number_is_not_known(void **state)
{
	(void)state;
	expect_steps(RUNS "1: +<module>@1 " FIRST SECOND THIRD
			  "out:Session.run@400 -<module>@900\n" END,
		     "whole run: run 1 10000 10000 0\n");
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
	/* In one function a wait ends what belongs together, whatever its line. */
	expect_steps(BARE
		     "1: +main@10\n"
		     "1: {cudaLaunchKernel#1:1/0@100 }1@106 {cudaLaunchKernel#2:1/0@110 }2@111 "
		     "{cudaStreamSynchronize#3:6.7/0@120 }3@140\n"
		     "1: {cudaLaunchKernel#4:1/0@200 }4@206 {cudaStreamSynchronize#5:6.7/0@220 "
		     "}5@240\n"
		     "1: {cudaLaunchKernel#6:1/0@300 }6@306 {cudaStreamSynchronize#7:6.7/0@320 "
		     "}7@340 -main@900\n" END,
		     "GPU work in main: loop 3 300 100 0\n");
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
	/* The recording of calls pauses for most of the time between them: others are missing. */
	expect_steps(HEAD "1: +main@10 <1@100 </1@110 |0@120 <1@200 </1@210 <1@300 </1@310\n"
			  "1: <1@400 </1@410\n" END,
		     "whole run: run 1 10000 10000 0\n");
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

/* As torch.nonzero() has them: functions are around them, and none is called in them. */
#define CUB "nvtx 1 cub::Sum CCCL 0 -\n"

static void ranges_that_a_library_opens_are_no_steps(void **state)
{
	(void)state;
	expect_steps(HEAD CUB "1: +main@10\n"
			      "1: <1@100 [cub::Sum#1/0@110 ]#1@115 </1@120\n"
			      "1: <1@200 [cub::Sum#2/0@210 ]#2@215 </1@220\n"
			      "1: <1@300 [cub::Sum#3/0@310 ]#3@315 </1@320 -main@900\n" END,
		     "Net in main: loop 3 300 100 0\n");
	/* With the calls not recorded, layers show it. */
	expect_steps(HEAD CUB "1: <1@100 [cub::Sum#1/0@110 ]#1@115 </1@120\n"
			      "1: <1@200 </1@220 <1@300 </1@320\n" END,
		     "Net: module 3 60 20 0\n");
	/* Beside a program's own, which are around what it calls. */
	expect_steps(HEAD CUB "nvtx 1 request - 0 -\n1: +main@10\n"
			      "1: [request#1/0@100 +infer@101 [cub::Sum#2/0@110 ]#2@115 -infer@120 "
			      "]#1@130 -main@900\n" END,
		     "request: nvtx 1 30 30 0\n");
	/* range_push() returns inside of its range; later it is left out for being short. */
	expect_steps(HEAD "nvtx 1 request - 0 -\n1: +main@10\n"
			  "1: +decorate@99 [request#1/0@100 -decorate@101 ]#1@130\n"
			  "1: out:decorate@131 [request#2/0@200 ]#2@230 -main@900\n" END,
		     "request: nvtx 2 60 30 0\n");
	/* In a domain of its own. */
	expect_steps(HEAD "nvtx 1 request mine 0 -\n1: +main@10\n"
			  "1: [request#1/0@100 <1@110 </1@120 ]#1@130 -main@900\n" END,
		     "request: nvtx 1 30 30 0\n");
	/* Nothing of Python's is known: as in a program without it. */
	expect_steps(HEAD "nvtx 1 batch mine 0 -\n1: [batch#1/0@110 ]#1@115\n" END,
		     "batch: nvtx 1 5 5 0\n");
	/* Nothing else is: the program itself may have opened them around native code. */
	expect_steps(HEAD "nvtx 1 batch mine 0 -\n"
			  "1: +main@10 [batch#1/0@110 ]#1@115 -main@900\n" END,
		     "batch: nvtx 1 5 5 0\n");
	/* Those of libraries that are known never are. */
	expect_steps(HEAD CUB "1: +main@10 [cub::Sum#1/0@110 ]#1@115 -main@900\n" END,
		     "whole run: run 1 10000 10000 0\n");
	expect_steps(HEAD "nvtx 1 XlaModule TSL 0 -\n"
			  "1: [XlaModule#1/0@100 +main@110 -main@115 ]#1@120\n" END,
		     "whole run: run 1 10000 10000 0\n");
	/* It ends in another thread. */
	expect_steps(HEAD "nvtx 2 request - 0 -\n1: +main@10 [request#1/0@100 -main@900\n"
			  "2: ]#1@130\n" END,
		     "request: nvtx 1 30 30 0\n");
}

#define LINES "stack 1 main:12\nstack 2 infer:22\nstack 3 infer:23\nstack 4 infer:24\n"

/* Class 6 waits for a stream, 3 copies. */
static void without_models_the_waits_for_the_device_lead(void **state)
{
	(void)state;
	expect_steps(HEAD LINES
		     "1: +main@10\n"
		     "1: +infer@100 {cudaLaunchKernel#1:1/2@101 }1@102 "
		     "{cudaStreamSynchronize#2:6/3@105 }2@120 "
		     "-infer@130\n"
		     "1: +infer@200 {cudaStreamSynchronize#3:6/3@205 }3@220 -infer@230\n"
		     "1: +infer@300 {cudaMemcpy#4:3/3@305 }4@320 -infer@330 -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
	/* Three lines that wait are no loop; an asynchronous copy is no wait. */
	expect_steps(HEAD LINES "1: +main@10\n"
				"1: +infer@100 {cudaStreamSynchronize#1:6/2@101 }1@102 "
				"{cudaStreamSynchronize#2:6/3@103 "
				"}2@104 {cudaStreamSynchronize#3:6/4@105 }3@106 -infer@130\n"
				"1: +infer@200 {cudaStreamSynchronize#4:6/2@201 }4@202 "
				"{cudaStreamSynchronize#5:6/3@203 "
				"}5@204 {cudaStreamSynchronize#6:6/4@205 }6@206 -infer@230\n"
				"1: +infer@300 {cudaStreamSynchronize#7:6/2@301 }7@302 "
				"{cudaMemcpyAsync#8:3/3@303 }8@304 "
				"{cudaMemcpyAsync#9:3/3@305 }9@306 -infer@330 -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
	/* A step is over when it has what it waited for. */
	expect_steps(HEAD LINES "1: +main@10 {cudaStreamSynchronize#1:6/1@190 }1@200\n"
				"1: {cudaStreamSynchronize#2:6/1@280 }2@300\n"
				"1: {cudaStreamSynchronize#3:6/1@390 }3@420 -main@900\n" END,
		     "line 12 in main: loop 3 310 100 0\n");
	/* In layers there may be waits as well: those are no steps. */
	expect_steps(HEAD LINES
		     "1: +main@10 <1@100 {cudaStreamSynchronize#1:6/1@110 }1@120 </1@150 "
		     "<1@200 {cudaStreamSynchronize#2:6/1@210 }2@220 </1@250 "
		     "<1@300 {cudaStreamSynchronize#3:6/1@310 }3@320 </1@350 -main@900\n" END,
		     "Net in main: loop 3 300 100 0\n");
}

static void while_the_gpu_is_not_recorded_no_step_lasts(void **state)
{
	(void)state;
	/* The one before the pause rests 70 as the others do. */
	expect_steps(HEAD LINES
		     "gpu 1 1 5 CUPTI\n1: +main@10\n"
		     "1: {cudaLaunchKernel#9:1/1@90 }9@91 kernel:gemm#9@95:92+2/7\n"
		     "1: +infer@100 {cudaStreamSynchronize#1:6/3@105 }1@120 -infer@130\n"
		     "1: +infer@200 {cudaStreamSynchronize#2:6/3@205 }2@220 -infer@230\n"
		     "gpu 1 3 400 paused\ngpu 1 1 700 CUPTI\n"
		     "1: +infer@800 {cudaStreamSynchronize#3:6/3@805 }3@820 -infer@830\n"
		     "1: +infer@900 {cudaStreamSynchronize#4:6/3@905 }4@920 -infer@930\n"
		     "1: +infer@1000 {cudaStreamSynchronize#5:6/3@1005 }5@1020 -infer@1030\n"
		     "1: -main@2000\n" END,
		     "infer in main: loop 5 500 100 0\n");
}

static void without_waits_the_launches_lead(void **state)
{
	(void)state;
	/* Two in one line are one. */
	expect_steps(HEAD LINES
		     "1: +main@10\n"
		     "1: +infer@100 {cudaLaunchKernel#1:1/2@101 }1@102 "
		     "{cudaLaunchKernel#2:1/2@103 }2@104 {cudaLaunchKernel#3:1/2@105 }3@106 "
		     "-infer@130\n"
		     "1: +infer@200 {cudaLaunchKernel#4:1/2@201 }4@202 -infer@230\n"
		     "1: +infer@300 {cudaLaunchKernel#5:1/2@301 }5@302 -infer@330\n"
		     "1: -main@900\n" END,
		     "infer in main: loop 3 300 100 0\n");
}

static void what_is_over_before_others_repeat_is_set_up(void **state)
{
	(void)state;
	/* Three calls to warm up, of which the first takes longer than all requests together. */
	expect_steps(HEAD
		     "1: +main@10 <1@100 </1@1100 <1@1100 </1@1110 <1@1110 </1@1120 -main@1130\n"
		     "2: +run_forever@10\n"
		     "2: +infer@2000 <1@2005 </1@2020 -infer@2030\n"
		     "2: +infer@2100 <1@2105 </1@2120 -infer@2130\n"
		     "2: +infer@2200 <1@2205 </1@2220 -infer@2230\n"
		     "2: +infer@2300 <1@2305 </1@2320 -infer@2330 -run_forever@3000\n" END,
		     "infer: loop 4 120 30 0\nNet in main: loop 3 1020 10 0\n");
	/* Longer by any account, but rarer and earlier; the other way round it is not. */
	expect_steps(HEAD
		     "1: +main@10 <1@100 </1@150 <1@200 </1@250 <1@300 </1@350 -main@400\n"
		     "1: +infer@500 <1@510 </1@530 <1@540 </1@560 <1@570 </1@590 <1@600 </1@620 "
		     "-infer@650\n" END,
		     "Net in infer: loop 4 120 30 0\nNet in main: loop 3 300 100 0\n");
	expect_steps(HEAD
		     "1: +infer@100 <1@110 </1@130 <1@140 </1@160 <1@170 </1@190 <1@200 </1@220 "
		     "-infer@250\n"
		     "1: +main@300 <1@310 </1@350 <1@410 </1@450 <1@510 </1@550 -main@650\n" END,
		     "Net in main: loop 3 300 100 0\nNet in infer: loop 4 120 30 0\n");
}

static void without_steps_the_run_is_what_lies_between_the_gpus_work(void **state)
{
	(void)state;
	expect_steps(HEAD LINES "1: +main@10 {cudaLaunchKernel#1:1/1@100 }1@110\n"
				"1: kernel:gemm#1@3000:200+50/7 kernel:gemm#1@3000:800+100/7 "
				"-main@4000\n" END,
		     "from the GPU's first work to its last: run 1 700 700 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_once_is_no_step_beside_what_repeats),
		cmocka_unit_test(a_loop_has_its_layers_and_what_is_between_them),
		cmocka_unit_test(
			functions_of_the_user_lead_to_layers_and_those_of_libraries_do_not),
		cmocka_unit_test(calls_of_a_model_are_steps_where_its_layers_are_not_known),
		cmocka_unit_test(a_librarys_call_of_several_models_is_the_step),
		cmocka_unit_test(a_librarys_loop_of_one_model_is_a_loop),
		cmocka_unit_test(models_of_one_function_are_told_apart_by_who_calls_it),
		cmocka_unit_test(where_some_were_not_recorded_their_number_is_not_known),
		cmocka_unit_test(what_a_library_calls_ends_with_itself),
		cmocka_unit_test(a_decorator_of_a_library_is_in_the_loop_around_it),
		cmocka_unit_test(a_graph_that_is_launched_again_and_again_is_a_step),
		cmocka_unit_test(launches_take_the_place_of_layers_that_are_not_there),
		cmocka_unit_test(preparing_is_no_step),
		cmocka_unit_test(loops_in_loops_are_kinds_of_steps),
		cmocka_unit_test(two_models_in_turn_are_one_step),
		cmocka_unit_test(recursion_is_a_loop),
		cmocka_unit_test(two_of_a_kind_in_a_function_are_no_loop),
		cmocka_unit_test(layers_called_from_nowhere_are_steps_themselves),
		cmocka_unit_test(a_function_that_was_left_out_is_looked_through),
		cmocka_unit_test(a_call_without_an_end_is_no_step),
		cmocka_unit_test(no_step_lasts_over_a_time_in_which_layers_were_not_recorded),
		cmocka_unit_test(little_that_repeats_is_the_whole_run),
		cmocka_unit_test(ranges_that_a_library_opens_are_no_steps),
		cmocka_unit_test(without_models_the_waits_for_the_device_lead),
		cmocka_unit_test(while_the_gpu_is_not_recorded_no_step_lasts),
		cmocka_unit_test(without_waits_the_launches_lead),
		cmocka_unit_test(what_is_over_before_others_repeat_is_set_up),
		cmocka_unit_test(without_steps_the_run_is_what_lies_between_the_gpus_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
