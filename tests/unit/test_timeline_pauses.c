/* links: is_timeline */
/* Stretches in which calls are not recorded: another tool has them, or the budget is spent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline_text.h"

static void nothing_is_known_while_another_tool_has_the_calls(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	/* g was left unseen; the collection was seen all the same; k had begun unseen. */
	record(&r, ONE_THREAD "1: +f@10 +g@12 %g@14 (0@20 )0@22:5 %h@25 -k@30 +k@34 -k@36 -f@40\n");
	assert_string_equal(buf_string(&r.text), "gc 20-22 self 2 depth 2 generation 0 freed 5\n"
						 "k 30-30 self 0 depth 2 start?\n"
						 "k 34-36 self 2 depth 2 call\n"
						 "g 12-14 self 2 depth 1 call repaired gap\n"
						 "f 10-40 self 10 depth 0 call gap\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->displaced, 1);
	assert_int_equal(t->displaced_ns, 30 - 14);
	assert_int_equal(t->displaced_first_ns, 14);
	assert_int_equal(t->displaced_first_end_ns, 30);
	assert_string_equal(timeline_function(r.tl, t->displaced_by)->name, "g");
	assert_int_equal(t->gap_ns, 30 - 22 + 20 - 14);
	erase(&r);
	/* Another tool that stays. */
	record(&r, ONE_THREAD "1: +f@10 %f@14 -f@16 %f@20\n");
	t = timeline_thread(r.tl, 0);
	assert_string_equal(buf_string(&r.text), "f 10-16 self 4 depth 0 call gap\n");
	assert_int_equal(t->displaced, 2);
	assert_int_equal(t->displaced_ns, 2 + 1000 - 20);
	assert_int_equal(t->displaced_first_end_ns, 16);
	erase(&r);
}

static void a_pause_ends_what_is_open_and_is_no_damage(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	/* f and g may be other calls of the same functions when the recording goes on. */
	record(&r, ONE_THREAD "1: +f@10 +g@12 |0@15 ^f@40 ^g@40 -g@42 -f@50\n");
	assert_string_equal(buf_string(&r.text), "g 12-15 self 3 depth 1 call paused\n"
						 "f 10-15 self 2 depth 0 call paused\n"
						 "paused 15-40\n"
						 "g 40-42 self 2 depth 1\n"
						 "f 40-50 self 8 depth 0\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->pauses, 1);
	assert_int_equal(t->paused_ns, 25);
	assert_int_equal(t->covered_ns, 5 + 10);
	assert_int_equal(t->repaired + t->open_start + t->open_end + t->gaps, 0);
	assert_int_equal(t->gap_ns, 0);
	erase(&r);
	/* To the end of the thread; and between two calls, where nothing was open. */
	record(&r, ONE_THREAD "1: +f@10 -f@12 |0@15 +g@20 -g@22 |0@30 =m/0@35\n");
	assert_string_equal(buf_string(&r.text), "f 10-12 self 2 depth 0 call\n"
						 "paused 15-20\n"
						 "g 20-22 self 2 depth 0 call\n"
						 "mark m task 0 at 35\n"
						 "paused 30-1000\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->pauses, 2);
	assert_int_equal(t->paused_ns, 5 + 970);
	erase(&r);
}

static void a_pause_told_late_began_when_it_says(void **state)
{
	(void)state;
	expect("process 1 100 app.py 0 9000\nthread 1 1 100 - 0 9000 0\n"
	       "1: +f@1000 |3@8000 ^f@8000 -f@8500\n",
	       "f 1000-5000 self 4000 depth 0 call paused\n"
	       "paused 5000-8000\n"
	       "f 8000-8500 self 500 depth 0\n");
	/* But not before what was recorded meanwhile. */
	expect("process 1 100 app.py 0 9000\nthread 1 1 100 - 0 9000 0\n"
	       "1: +f@1000 (0@6000 )0@6500:1 |3@8000 -g@8500\n",
	       "gc 6000-6500 self 500 depth 1 generation 0 freed 1\n"
	       "f 1000-6500 self 5000 depth 0 call paused\n"
	       "paused 6500-8500\n"
	       "g 8500-8500 self 0 depth 0 start?\n");
}

static void a_collection_that_a_pause_cuts_is_counted_once(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 (2@12 +d@13 |0@15 )2@20:7 (0@22 )0@23:1 ^f@40 -f@50\n",
	       "d 13-15 self 2 depth 2 call paused\n"
	       "gc 12-15 self 1 depth 1 generation 2 freed 0 paused\n"
	       "f 10-15 self 2 depth 0 call paused\n"
	       "gc 22-23 self 1 depth 0 generation 0 freed 1\n"
	       "paused 15-40\n"
	       "f 40-50 self 10 depth 0\n");
}

static void another_tool_may_come_in_a_pause(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	record(&r, ONE_THREAD "1: +f@10 |0@15 %f@20 ^f@40 -f@50\n");
	assert_string_equal(buf_string(&r.text), "f 10-15 self 5 depth 0 call paused\n"
						 "paused 15-20\n"
						 "f 40-50 self 10 depth 0\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->paused_ns, 5);
	assert_int_equal(t->displaced, 1);
	assert_int_equal(t->displaced_ns, 20);
	erase(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_while_another_tool_has_the_calls),
		cmocka_unit_test(a_pause_ends_what_is_open_and_is_no_damage),
		cmocka_unit_test(a_pause_told_late_began_when_it_says),
		cmocka_unit_test(a_collection_that_a_pause_cuts_is_counted_once),
		cmocka_unit_test(another_tool_may_come_in_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
