/* links: is_timeline */
/* Functions that were left out of the trace, and exceptions, for the budget's sake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline_text.h"

static void a_function_that_is_left_out_folds_into_its_callers(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	/* g and its recursion go, with their time; f and h stay. */
	record(&r, ONE_THREAD "1: +f@10 +g@12 +g@13 -g@15 +h@16 -h@18 +g@20 +h@21 out:g@25 "
			      "-h@30 -f@50\n");
	assert_string_equal(buf_string(&r.text), "g 13-15 self 2 depth 2 call recursive\n"
						 "h 16-18 self 2 depth 2 call\n"
						 "left out g at 25\n"
						 "h 21-30 self 9 depth 1 call\n"
						 "f 10-50 self 27 depth 0 call\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->repaired + t->open_start + t->open_end + t->unwound, 0);
	assert_int_equal(t->covered_ns, 40);
	erase(&r);
	/* The outermost: what it called is on no other frame then. */
	record(&r, ONE_THREAD "1: +g@10 +h@12 -h@18 +f@20 out:g@25 -f@30 +h@40 -h@45\n");
	assert_string_equal(buf_string(&r.text), "h 12-18 self 6 depth 1 call\n"
						 "left out g at 25\n"
						 "f 20-30 self 10 depth 0 call\n"
						 "h 40-45 self 5 depth 0 call\n");
	assert_int_equal(timeline_thread(r.tl, 0)->covered_ns, 6 + 10 + 5);
	erase(&r);
}

static void who_is_traced_again_may_have_an_end_and_no_beginning(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	record(&r, ONE_THREAD "1: +f@10 +g@12 out:g@15 out:@20 -g@22 +g@25 -g@30 -g@31 -f@50\n");
	assert_string_equal(buf_string(&r.text), "left out g at 15\n"
						 "all traced at 20\n"
						 "g 25-30 self 5 depth 1 call\n"
						 "f 10-50 self 35 depth 0 call\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->repaired + t->open_start + t->open_end, 0);
	erase(&r);
	/* Without such a reason it is damage. */
	record(&r, ONE_THREAD "1: +f@10 -g@22 -f@50\n");
	assert_int_equal(timeline_thread(r.tl, 0)->open_start, 1);
	erase(&r);
}

static void folding_across_a_gap_keeps_the_sums(void **state)
{
	(void)state;
	/* g goes from between f and h, all three open at the gap; none is seen afterwards. */
	expect(ONE_THREAD "1: +f@10 +x@11 -x@13 +g@14 +x@15 -x@18 +h@20 +x@21 -x@22 lost:3 +x@100 "
			  "-x@110 out:g@120\n",
	       "x 11-13 self 2 depth 1 call\n"
	       "x 15-18 self 3 depth 2 call\n"
	       "x 21-22 self 1 depth 3 call\n"
	       "lost 3 22-100\n"
	       "x 100-110 self 10 depth 3 call\n"
	       "left out g at 120\n"
	       "h 20-22 self 1 depth 1 call end? gap\n"
	       "f 10-22 self 5 depth 0 call end? gap\n");
}

static void exits_by_exception_may_be_left_out(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	record(&r, ONE_THREAD "1: +f@10 unwinding:0@11 +g@12 +h@13 -f@20 unwinding:1@25 -x@30\n");
	assert_string_equal(buf_string(&r.text), "h 13-20 self 7 depth 2 call repaired\n"
						 "g 12-20 self 1 depth 1 call repaired\n"
						 "f 10-20 self 2 depth 0 call\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->unwound, 2);
	assert_int_equal(t->repaired + t->open_start, 0);
	erase(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_that_is_left_out_folds_into_its_callers),
		cmocka_unit_test(who_is_traced_again_may_have_an_end_and_no_beginning),
		cmocka_unit_test(folding_across_a_gap_keeps_the_sums),
		cmocka_unit_test(exits_by_exception_may_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
