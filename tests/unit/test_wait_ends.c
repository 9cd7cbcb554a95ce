/* links: is_analyze */
/* Where waits end, and which functions only wait: samples beside recorded calls. */
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
	"thread 2 1 101 pool 0 100000000 0\n"
#define END "end 100000000 0\n"

#define SELECTORS "code EpollSelector.select /usr/lib/python3.12/selectors.py 100\n"

static const struct time_cause *cause(const struct analysis_step *s, enum time_class c)
{
	for (size_t i = 0; i < s->breakdown.cause_count; i++)
		if (s->breakdown.causes[i].what == c)
			return &s->breakdown.causes[i];
	fail_msg("no %s", time_class_name(c));
	return NULL;
}

/*
 * A server's thread waits for a request, serves it, waits again: samples that found it waiting
 * reach halfway into the request, the calls say where the wait ends.
 */
static void a_wait_does_not_reach_into_the_next_call(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD SELECTORS
			  "code loop app.py 10\ncode handle app.py 20\ncode reads app.py 30\n"
			  "stack 1 EpollSelector.select:110 loop:14\nstack 2 reads:31 handle:22\n"
			  "1: +loop@0 +EpollSelector.select@1000000 -EpollSelector.select@9000000\n"
			  "1: [step#1/0@9000000 +handle@9000000 -handle@11000000 ]#1@11000000\n"
			  "1: +EpollSelector.select@11000000 -EpollSelector.select@20000000\n"
			  "1: [step#2/0@20000000 +handle@20000000 +reads@20500000 -reads@23000000\n"
			  "1: -handle@24000000 ]#2@24000000 -loop@30000000\n"
			  "look 1 1 2000000 8500000 7 4\n"
			  /* The request in between was not sampled. */
			  "look 1 1 12500000 19500000 7 4\n"
			  "look 1 2 21000000 22500000 2 4\n"
			  "look 1 1 24500000 26500000 2 4\n" END)
		    ->steps;
	check_sum(&s->breakdown);
	assert_int_equal(s->breakdown.steps, 2);
	assert_int_equal(part(s, TIME_IO_WAIT), 2500000); /* all of reads(), nothing else */
	assert_int_equal(part(s, TIME_IDLE) + part(s, TIME_LOCK_WAIT), 0);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 3500000);
	assert_string_equal(cause(s, TIME_IO_WAIT)->where.name, "reads");
	forget(&t);
}

/*
 * Samples are rarer than calls: three calls of the same function, of which the first was seen to
 * wait for a lock all along.
 */
static void calls_without_samples_do_what_those_with_samples_did(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t,
			  HEAD "code serve app.py 10\ncode run app.py 20\ncode idle app.py 40\n"
			       "stack 1 run:21 serve:12\nstack 2 idle:41\n"
			       "1: [step#1/0@0 +serve@0 +run@1000000 -run@4000000 -serve@4000000 "
			       "]#1@4000000\n"
			       "1: +idle@4000000 -idle@9000000\n"
			       "1: [step#2/0@10000000 +serve@10000000 +run@11000000 -run@14000000 "
			       "-serve@14000000 ]#2@14000000\n"
			       "1: [step#3/0@20000000 +serve@20000000 +run@21000000 -run@24000000 "
			       "-serve@24000000 ]#3@24000000\n"
			       "look 1 1 1000000 3500000 3 3\n"
			       "look 1 2 5000000 8000000 3 11\n"
			       "look 1 2 29000000 30000000 2 11\n" END)
		    ->steps;
	check_sum(&s->breakdown);
	assert_int_equal(s->breakdown.steps, 3);
	assert_int_equal(part(s, TIME_LOCK_WAIT), 9000000);
	assert_int_equal(part(s, TIME_CPU_PREPROCESSING), 3000000);
	assert_int_equal(cause(s, TIME_LOCK_WAIT)->where.line, 21);
	forget(&t);
}

static bool waits(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < a->function_count; i++)
		if (!strcmp(a->functions[i].name, name))
			return a->functions[i].waits;
	fail_msg("no %s", name);
	return false;
}

/* A library's thread that only waits is idle, whatever its function is called. */
static void a_librarys_function_that_only_waits_is_idle(void **state)
{
#define SITE "/venv/lib/python3.12/site-packages"
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	a = analyze_story(&t, HEAD
			  "code watch " SITE "/ipykernel/iostream.py 10\n"
			  "code parse " SITE "/ipykernel/parse.py 10\n"
			  "code few " SITE "/ipykernel/few.py 10\n"
			  "code poll app.py 10\n"
			  "stack 1 watch:11\nstack 2 parse:11\nstack 3 poll:11\nstack 4 few:11\n"
			  "look 1 1 500000 29500000 30 4\n"
			  "look 1 2 30500000 49500000 20 4\n"
			  "look 1 2 50500000 59500000 10 11\n"
			  "look 1 4 60500000 64500000 5 4\n"
			  "look 2 3 500000 29500000 30 4\n" END);
	assert_true(waits(a, "watch"));
	assert_false(waits(a, "parse")); /* it works for a third of its time */
	assert_false(waits(a, "few"));   /* too few samples to conclude it */
	assert_false(waits(a, "poll"));  /* what the user's own code waits for is worth a look */
	forget(&t);
}

#define LOOP                                                                 \
	SELECTORS "code serve /srv/app.py 10\ncode predict /srv/app.py 30\n" \
		  "code Session.run "                                        \
		  "/x/site-packages/onnxruntime/capi/"                       \
		  "onnxruntime_inference_collection.py 9\n"                  \
		  "stack 1 EpollSelector.select:110 serve:14\n"              \
		  "stack 2 Session.run:12 predict:32\n"
#define WAITING(name)                                                  \
	"1: +serve@0 [" name "#1/0@0 +EpollSelector.select@1000 "      \
	"-EpollSelector.select@9999000 ]#1@10000000 -serve@10000000\n" \
	"look 1 1 500000 9500000 10 4\nlook 2 2 1500000 6500000 6 11\n"

/* An event loop waits for its threads: what they do is what the request's time goes to. */
static void a_request_is_where_its_work_was_handed_out_to(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD LOOP WAITING("request:_uvicorn") END)->steps;
	check_sum(&s->breakdown);
	assert_string_equal(s->name, "request: uvicorn");
	assert_int_equal(part(s, TIME_LOCK_WAIT), 0);
	assert_true(part(s, TIME_CPU_COMPUTE) >= 5000000);
	assert_string_equal(cause(s, TIME_CPU_COMPUTE)->where.name, "predict");
	assert_int_equal(cause(s, TIME_CPU_COMPUTE)->where.line, 32);
	assert_true(part(s, TIME_IDLE) >= 2000000);
	forget(&t);
	/* Of other steps it is not known that it works for them. */
	s = analyze_story(&t, HEAD LOOP WAITING("step") END)->steps;
	assert_int_equal(part(s, TIME_CPU_COMPUTE), 0);
	assert_true(part(s, TIME_LOCK_WAIT) >= 5000000);
	forget(&t);
}

/* What native code of a package waits for is its own threads, for no lock of the user's. */
static void native_calls_are_their_packages(void **state)
{
#define NATIVE(name)                                                          \
	HEAD "code answer /srv/app.py 10\nstack 1 answer:14\n"                \
	     "1: [step#1/0@0 +answer@0 [native:_" name "#2/0@0 ]#2@10000000 " \
	     "-answer@10000000 ]#1@10000000\nlook 1 1 500000 9500000 10 3\n" END

	static const struct {
		const char *story;
		enum time_class what;
	} cases[] = {
		{ NATIVE("ctranslate2.Generator.generate_batch"), TIME_CPU_COMPUTE },
		{ NATIVE("polars.DataFrame.join"), TIME_CPU_PREPROCESSING },
		{ HEAD "code answer /srv/app.py 10\nstack 1 answer:14\n"
		       "1: [step#1/0@0 +answer@0 -answer@10000000 ]#1@10000000\n"
		       "look 1 1 500000 9500000 10 3\n" END,
		  TIME_LOCK_WAIT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct story_analysis t;
		const struct analysis_step *s = analyze_story(&t, cases[i].story)->steps;

		check_sum(&s->breakdown);
		assert_true(part(s, cases[i].what) >= 9000000);
		assert_string_equal(cause(s, cases[i].what)->where.name, "answer");
		forget(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_does_not_reach_into_the_next_call),
		cmocka_unit_test(calls_without_samples_do_what_those_with_samples_did),
		cmocka_unit_test(a_librarys_function_that_only_waits_is_idle),
		cmocka_unit_test(a_request_is_where_its_work_was_handed_out_to),
		cmocka_unit_test(native_calls_are_their_packages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
