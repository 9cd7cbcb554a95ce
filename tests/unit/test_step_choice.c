/* links: is_report */
/* Which candidate is the step: plain loops, requests, workers; all times are in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "steps_kit.h"

/* Four steps of item(), each 100 after the one before; what is in it does not matter. */
#define ITEMS                                                                                   \
	"1: +main@1000000 +item@2000000 +leaf@2000000 -leaf@2100000 -item@2500000 "             \
	"+item@3000000 -item@3500000 +item@4000000 -item@4500000 +item@5000000 -item@5500000\n" \
	"1: -main@9000000\n"
#define PLAIN                                                  \
	"process 1 100 app.py 0 10000000\n"                    \
	"thread 1 1 100 MainThread 0 10000000 0\n"             \
	"thread 2 1 101 pool 0 10000000 0\n"                   \
	"code main /srv/app.py 10\ncode item /srv/app.py 20\n" \
	"code leaf /srv/app.py 30\n"                           \
	"code worker /usr/lib/python3.12/multiprocessing/pool.py 97\n"

static void a_loop_without_models_is_found_by_its_calls(void **state)
{
	(void)state;
	expect_steps(PLAIN ITEMS "end 10000000 0\n", "item in main: loop 4 4000000 1000000 0\n");
	/* A library calls it, again and again: from begin to end. */
	expect_steps(PLAIN "1: +worker@1000000 +item@2000000 -item@2500000 +item@3000000 "
			   "-item@3500000 +item@5000000 -item@5500000 -worker@9000000\n"
			   "end 10000000 0\n",
		     "item: loop 3 1500000 500000 0\n");
	/* What is called once in each call of another is no loop; what was left out is unknown. */
	expect_steps(PLAIN "1: +main@1000000 +item@2000000 -item@4500000 -main@9000000\n"
			   "end 10000000 0\n",
		     "whole run: run 1 10000000 10000000 0\n");
	expect_steps(PLAIN "1: +main@1000000 +item@2000000 -item@2500000 +item@3000000 "
			   "-item@3500000 +item@4000000 -item@4500000 out:item@4600000 "
			   "-main@9000000\nend 10000000 0\n",
		     "whole run: run 1 10000000 10000000 0\n");
	/* Nor where a coroutine calls it: its pieces are not joined. */
	expect_steps(PLAIN "1: +main@1000000 +item@2000000 -item@2500000 ~main@2600000 "
			   ">main@2900000 +item@3000000 -item@3500000 ~main@3600000 >main@3900000 "
			   "+item@4000000 -item@4500000 -main@9000000\nend 10000000 0\n",
		     "whole run: run 1 10000000 10000000 0\n");
	/* A server waits most of the time: what counts is what it does. */
	expect_steps(PLAIN "code socket.accept /usr/lib/python3.12/socket.py 300\n"
			   "1: +worker@0 +socket.accept@1 -socket.accept@4000000 +item@4000000 "
			   "-item@4200000 +socket.accept@4200001 -socket.accept@6000000 "
			   "+item@6000000 -item@6200000 +item@6300000 -item@6500000 "
			   "+socket.accept@6500001 -socket.accept@9900000 -worker@9900001\n"
			   "end 10000000 0\n",
		     "item: loop 3 600000 200000 0\n");
	/* In bursts there may have been others. */
	expect_steps(PLAIN "1: +main@1000000 +item@2000000 -item@2500000 |0@2600000 ^main@4000000 "
			   "+item@4000000 -item@4500000 +item@5000000 -item@5500000 +item@6000000 "
			   "-item@6500000 -main@9000000\nend 10000000 0\n",
		     "whole run: run 1 10000000 10000000 0\n");
}

/* Requests as the agent tells them; each of three tokens. */
#define REQUEST(n, a, b, c, d, e)                                                              \
	"1: [request:_uvicorn#" #n "/1@" #a "00 [request:_Flask#9" #n "/1@" #a "01 +infer@" #a \
	"02 <1@" #b "0 </1@" #b "5 <1@" #c "0 </1@" #c "5 <1@" #d "0 </1@" #d "5 -infer@" #e   \
	"1 ]#9" #n "@" #e "2 ]#" #n "@" #e "5\n"

static void requests_lead_and_what_repeats_inside_is_a_level(void **state)
{
	(void)state;
	expect_steps(HEAD REQUEST(1, 1, 11, 12, 13, 14) REQUEST(2, 2, 21, 22, 23, 24)
			     REQUEST(3, 3, 31, 32, 33, 34) END,
		     "request: uvicorn: request 3 135 45 0\n"
		     "Net in infer: loop 9 90 10 0\ninfer: loop 3 117 39 0\n");
}

#define WORKERS                                                              \
	"process 2 200 app.py 0 10000000\nprocess 3 300 app.py 0 10000000\n" \
	"thread 3 2 200 MainThread 0 10000000 0\nthread 4 3 300 MainThread 0 10000000 0\n"
#define TASK_LOOP(thread)                                                                   \
	thread ": +worker@1000000 +item@2000000 -item@3000000 +item@4000000 -item@5000000 " \
	       "+item@6000000 -item@7000000 -worker@9000000\n"
#define TASKS \
	"look 3 1 1000000 9000000 8 1\nlook 4 1 1000000 9000000 8 1\n" TASK_LOOP("3") TASK_LOOP("4")

static void workers_supply_others_and_do_not_lead(void **state)
{
	(void)state;
	/* The tasks of a pool's workers are one kind, which leads if nothing else repeats. */
	expect_steps(PLAIN WORKERS "stack 1 item:21 worker:99\n" TASKS "end 10000000 0\n",
		     "item: loop 6 6000000 1000000 0\n");
	expect_steps(PLAIN WORKERS "stack 1 item:21 worker:99\n" TASKS ITEMS "end 10000000 0\n",
		     "item in main: loop 4 4000000 1000000 0\n");
	/* A DataLoader's do not even then. */
	expect_steps(PLAIN WORKERS "code _worker_loop "
				   "/x/site-packages/torch/utils/data/_utils/worker.py 200\n"
				   "stack 1 item:21 _worker_loop:299\n" TASKS "end 10000000 0\n",
		     "whole run: run 1 10000000 10000000 0\n");
}

#define CALLED(name, n, a, b) "1: [" name "#" #n "/1@" #a "00000 ]#" #n "@" #b "00000\n"

static void native_functions_that_a_script_calls_are_steps(void **state)
{
	(void)state;
	/* Each lasts until the next begins. */
	expect_steps(PLAIN "1: +main@0\n" CALLED("native:_encode", 1, 10, 15)
			     CALLED("native:_encode", 2, 20, 25)
				     CALLED("native:_encode", 3, 30,
					    35) "1: -main@9000000\nend 10000000 0\n",
		     "encode: module 3 3000000 1000000 0\n");
	/* A loop of Python's functions says more. */
	expect_steps(PLAIN ITEMS "2: [native:_encode#1/1@2000000 ]#1@2900000 "
				 "[native:_encode#2/1@3000000 ]#2@3900000 "
				 "[native:_encode#3/1@4000000 ]#3@4900000\nend 10000000 0\n",
		     "item in main: loop 4 4000000 1000000 0\n");
}

static void what_takes_next_to_no_time_is_no_step(void **state)
{
#define WORKED(ns)                                                                               \
	"process 1 100 app.py 0 1000000000\n"                                                    \
	"thread 1 1 100 MainThread 0 1000000000 0 " ns " 0\n" CALLED("call:_predict", 1, 10, 12) \
		CALLED("call:_predict", 2, 20, 22)                                               \
			CALLED("call:_predict", 3, 30, 32) "end 1000000000 0\n"

	(void)state;
	expect_steps(WORKED("900000000"), "whole run: run 1 1000000000 1000000000 0\n");
	/* One that waits all the time works for nothing else. */
	expect_steps(WORKED("1000000"), "predict: module 3 3000000 1000000 0\n");
}

static void pauses_of_a_loop_are_its_own_if_there_are_many(void **state)
{
#define PAIRS(n, a, b, c, d) CALLED("call:_predict", 1##n, a, b) CALLED("call:_predict", 2##n, c, d)

	(void)state;
	/* Batches that come in pairs. */
	expect_steps(PLAIN PAIRS(1, 10, 11, 12, 13) PAIRS(2, 30, 31, 32, 33)
			     PAIRS(3, 50, 51, 52, 53) PAIRS(4, 70, 71, 72, 73) "end 10000000 0\n",
		     "predict: module 8 6400000 200000 0\n");
	/* Once in a while somebody waits for the next: it ended. */
	expect_steps(PLAIN PAIRS(1, 10, 11, 12, 13) PAIRS(2, 14, 15, 16, 17)
			     PAIRS(3, 18, 19, 20, 21) PAIRS(4, 80, 81, 82, 83) "end 10000000 0\n",
		     "predict: module 8 1600000 200000 0\n");
}

/* Three tokens of 300 each, with next to nothing outside of them. */
#define ANSWER(n)                                                                                  \
	"1: +infer@" #n "000 [call:_generate#" #n "/1@" #n "001 <1@" #n "002 </1@" #n "290 <1@" #n \
	"300 </1@" #n "590 <1@" #n "600 </1@" #n "890 ]#" #n "@" #n "895 -infer@" #n "900\n"

static void a_librarys_tokens_are_levels_of_its_calls(void **state)
{
	(void)state;
	expect_steps(HEAD ANSWER(1) ANSWER(2) ANSWER(3) ANSWER(4) ANSWER(5) ANSWER(6) END,
		     "infer: loop 6 5400 900 0\nNet in infer: loop 18 5388 300 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_without_models_is_found_by_its_calls),
		cmocka_unit_test(requests_lead_and_what_repeats_inside_is_a_level),
		cmocka_unit_test(workers_supply_others_and_do_not_lead),
		cmocka_unit_test(native_functions_that_a_script_calls_are_steps),
		cmocka_unit_test(what_takes_next_to_no_time_is_no_step),
		cmocka_unit_test(pauses_of_a_loop_are_its_own_if_there_are_many),
		cmocka_unit_test(a_librarys_tokens_are_levels_of_its_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
