/* links: is_analyze */
/* A found step that waits inside of its own call has a request; one that waits behind it may not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story_analysis.h"

/*
 * Three requests, each with a call of 5 ms and 5 ms until another thread sends the next one; a
 * look every ms.
 */
static const struct analysis_step *story_of_loop(struct story_analysis *t, const char *samples)
{
	struct buf story;
	const struct analysis_step *s;

	buf_init(&story);
	buf_printf(&story,
		   "process 1 100 app.py 0 100000000\n"
		   "thread 1 1 100 MainThread 0 100000000 0\n"
		   "thread 2 1 101 client 0 100000000 0\n"
		   "code main app.py 1\n"
		   "code infer app.py 10\n"
		   "code Condition.wait /usr/lib/python3.12/threading.py 300\n"
		   "layer 1 0 Net -\n"
		   "stack 1 Condition.wait:310 main:5\n"
		   "stack 2 Condition.wait:310 infer:14 main:6\n"
		   "stack 3 infer:12 main:6\n"
		   "1: +main@0\n"
		   "1: +infer@10000000 <1@10100000 </1@10200000 -infer@15000000\n"
		   "1: +infer@20000000 <1@20100000 </1@20200000 -infer@25000000\n"
		   "1: +infer@30000000 <1@30100000 </1@30200000 -infer@35000000\n"
		   "1: -main@40000000\n"
		   "2: +send@19900000 -send@19910000 +send@29900000 -send@29910000\n"
		   "2: +send@39900000 -send@39910000\n"
		   "%send 100000000 0\n",
		   samples);
	s = analyze_story(t, buf_string(&story))->steps;
	assert_string_equal(s->name, "infer in main");
	assert_int_equal(s->breakdown.total_ns, 30000000);
	buf_release(&story);
	return s;
}

static int64_t part(const struct analysis_step *s, enum time_class c)
{
	return s->breakdown.parts[c].ns;
}

static void waits_in_the_call_are_the_requests(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	/* Each is 5 ms in its call, of which it waits 4, and then 5 ms in the loop. */
	s = story_of_loop(&t, "look 1 3 10500000 10500000 1 11\nlook 1 2 11500000 14500000 4 3\n"
			      "look 1 1 15500000 19500000 5 3\n"
			      "look 1 3 20500000 20500000 1 11\nlook 1 2 21500000 24500000 4 3\n"
			      "look 1 1 25500000 29500000 5 3\n"
			      "look 1 3 30500000 30500000 1 11\nlook 1 2 31500000 34500000 4 3\n"
			      "look 1 1 35500000 39500000 5 3\nlook 1 3 40500000 40500000 1 11\n");
	assert_int_equal(part(s, TIME_LOCK_WAIT), 12000000);
	assert_int_equal(part(s, TIME_IDLE), 15000000);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_in_the_call_are_the_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
