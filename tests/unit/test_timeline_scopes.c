/* links: is_timeline */
/* Scopes as timeline_scope() gives them, one line each: name start-end in PARENT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/timeline.h"
#include "story.h"

#define TWO_THREADS                            \
	"process 1 100 app.py 0 1000\n"        \
	"thread 1 1 100 MainThread 0 1000 0\n" \
	"thread 2 1 101 worker 0 900 0\n"

struct recorded {
	char path[32];
	struct trace *trace;
	struct timeline *tl;
};

static void record(struct recorded *r, const char *story)
{
	const struct timeline_visitor nobody = { 0 };
	struct err err;

	strcpy(r->path, "/tmp/scopes-XXXXXX");
	story_write(r->path, story);
	assert_int_equal(trace_open(&r->trace, r->path, &err), 0);
	assert_int_equal(timeline_new(&r->tl, r->trace, &err), 0);
	assert_int_equal(timeline_walk(r->tl, &nobody, &err), 0);
}

static void erase(struct recorded *r)
{
	timeline_free(r->tl);
	trace_close(r->trace);
	unlink(r->path);
}

static void expect(const char *story, const char *scopes)
{
	struct recorded r;
	struct buf text;

	buf_init(&text);
	record(&r, story);
	for (size_t i = 0; i < timeline_scope_count(r.tl); i++) {
		const struct scope *s = timeline_scope(r.tl, i);

		buf_printf(&text, "%s#%" PRIu64 " %" PRId64 "-%" PRId64 "%s", s->name, s->instance,
			   s->start_ns, s->end_ns, s->ended ? "" : "?");
		if (s->parent != SCOPE_NONE)
			buf_printf(&text, " in #%" PRIu64 " depth %u",
				   timeline_scope(r.tl, s->parent)->instance, s->depth);
		buf_add_byte(&text, '\n');
	}
	assert_string_equal(buf_string(&text), scopes);
	buf_release(&text);
	erase(&r);
}

static void scopes_of_a_thread_nest(void **state)
{
	(void)state;
	expect(TWO_THREADS
	       "1: [a#1/0@10 [b#2/0@12 ]#2@15 [b#3/0@16 [c#4/0@17 ]#4@18 ]#3@19 ]#1@20\n"
	       "2: [b#5/0@11 ]#5@30\n",
	       "a#1 10-20\n"
	       "b#2 12-15 in #1 depth 1\n"
	       "b#3 16-19 in #1 depth 1\n"
	       "c#4 17-18 in #3 depth 2\n"
	       "b#5 11-30\n");
}

static void pushed_ranges_nest_and_started_ones_stand_apart(void **state)
{
	(void)state;
	expect(TWO_THREADS
	       "nvtx 1 pushed - 0 -\nnvtx 1 other domain 0 -\nnvtx 2 started - 0 -\n"
	       "1: [started#90/0@5 [pushed#1/0@10 [other#2/0@12 [started#91/0@13 ]#1@14\n"
	       "1: [ours#3/0@15 ]#91@16 ]#2@17 [pushed#4/0@18 ]#3@19 ]#4@20\n"
	       "2: [pushed#5/0@11 ]#90@15 ]#5@30\n",
	       "started#90 5-15\n"
	       "pushed#1 10-14\n"
	       "other#2 12-17 in #1 depth 1\n"
	       "started#91 13-16\n"
	       "ours#3 15-19 in #2 depth 2\n"
	       "pushed#4 18-20 in #3 depth 3\n"
	       "pushed#5 11-30\n");
}

static void a_scope_may_begin_and_end_on_different_threads(void **state)
{
	(void)state;
	/* The end is read before the begin in one direction, after it in the other. */
	expect(TWO_THREADS "1: [a#1/0@10 ]#2@30\n2: [b#2/0@15 ]#1@25\n", "a#1 10-25\n"
									 "b#2 15-30\n");
}

static void interleaved_tasks_keep_their_own_nesting(void **state)
{
	(void)state;
	expect(TWO_THREADS "1: [req#1/7@10 [req#2/8@11 [db#3/7@12 [db#4/8@13 ]#3@20 ]#1@22 "
			   "]#4@30 ]#2@33\n",
	       "req#1 10-22\n"
	       "req#2 11-33\n"
	       "db#3 12-20 in #1 depth 1\n"
	       "db#4 13-30 in #2 depth 1\n");
}

static void a_task_nests_across_threads_and_not_across_processes(void **state)
{
	(void)state;
	expect("process 1 100 a 0 99\nprocess 2 200 b 0 99\n"
	       "thread 1 1 100 - 0 99 0\nthread 2 1 101 - 0 99 0\nthread 3 2 200 - 0 99 0\n"
	       "1: [a#1/7@10\n2: [b#2/7@11 ]#2@12\n1: ]#1@20\n3: [c#1/7@15 ]#1@16\n",
	       "a#1 10-20\n"
	       "b#2 11-12 in #1 depth 1\n"
	       "c#1 15-16\n");
}

static void a_scope_ended_by_another_thread_surrounds_nothing_behind_it(void **state)
{
	(void)state;
	expect(TWO_THREADS "1: [a#1/0@10 [b#2/0@12 ]#2@13 [c#3/0@20 ]#3@21\n2: ]#1@15\n",
	       "a#1 10-15\n"
	       "b#2 12-13 in #1 depth 1\n"
	       "c#3 20-21\n");
}

static void scopes_that_end_out_of_order_do_not_confuse_later_ones(void **state)
{
	(void)state;
	expect(TWO_THREADS "1: [a#1/0@10 [b#2/0@11 ]#1@12 [c#3/0@13 ]#2@14 [d#4/0@15 ]#3@16 "
			   "]#4@17\n",
	       "a#1 10-12\n"
	       "b#2 11-14 in #1 depth 1\n"
	       "c#3 13-16 in #2 depth 2\n"
	       "d#4 15-17 in #3 depth 3\n");
}

static void equal_times_follow_the_order_of_the_events(void **state)
{
	(void)state;
	expect(TWO_THREADS "1: [a#1/0@10 [b#2/0@10 ]#2@10 ]#1@10 [c#3/0@10 ]#3@10\n",
	       "a#1 10-10\n"
	       "b#2 10-10 in #1 depth 1\n"
	       "c#3 10-10\n");
}

static void a_scope_without_end_lasts_as_long_as_its_thread(void **state)
{
	(void)state;
	expect(TWO_THREADS "2: [a#1/0@10 [b#2/0@12 ]#2@13\n", "a#1 10-900?\n"
							      "b#2 12-13 in #1 depth 1\n");
}

static void a_scope_lost_in_a_gap_surrounds_nothing_behind_it(void **state)
{
	(void)state;
	expect(TWO_THREADS "1: [a#1/0@10 [b#2/0@12 ]#2@13 lost:5 [b#3/0@40 ]#3@41\n",
	       "a#1 10-1000?\n"
	       "b#2 12-13 in #1 depth 1\n"
	       "b#3 40-41\n");
}

static void ends_without_a_begin_are_counted(void **state)
{
	struct recorded r;

	(void)state;
	record(&r, TWO_THREADS "1: ]#9@5 [a#1/0@10 ]#1@20 ]#1@21 [b#2/0@30\n2: ]#2@29\n");
	assert_int_equal(timeline_scope_count(r.tl), 2);
	assert_int_equal(timeline_lost_scope_begins(r.tl), 3);
	assert_false(timeline_scope(r.tl, 1)->ended);
	erase(&r);
	record(&r, TWO_THREADS "1: ]#9@5\n");
	assert_int_equal(timeline_lost_scope_begins(r.tl), 1);
	erase(&r);
}

/* Requests of 100 tasks on one thread, all open at once, ended in a mixed order. */
static void a_hundred_interleaved_requests_have_their_own_latencies(void **state)
{
	struct recorded r;
	struct buf story;

	(void)state;
	buf_init(&story);
	buf_add_str(&story, "process 1 100 app.py 0 99999\nthread 1 1 100 - 0 99999 0\n1:");
	for (int i = 0; i < 100; i++)
		buf_printf(&story, " [req#%d/%d@%d", 2 * i + 1, i + 1, 100 + i);
	for (int i = 0; i < 100; i++)
		buf_printf(&story, " [db#%d/%d@%d", 2 * i + 2, i + 1, 1000 + i);
	for (int i = 0; i < 100; i++) {
		int which = i * 37 % 100;

		buf_printf(&story, " ]#%d@%d ]#%d@%d", 2 * which + 2, 2000 + 10 * i, 2 * which + 1,
			   2005 + 10 * i);
	}
	buf_add_byte(&story, '\n');
	record(&r, buf_string(&story));
	assert_int_equal(timeline_scope_count(r.tl), 200);
	for (size_t n = 0; n < 100; n++) {
		size_t which = n * 37 % 100;
		const struct scope *req = timeline_scope(r.tl, which);
		const struct scope *db = timeline_scope(r.tl, 100 + which);

		assert_int_equal(req->end_ns - req->start_ns, 2005 + 10 * n - (100 + which));
		assert_int_equal(db->end_ns - db->start_ns, 2000 + 10 * n - (1000 + which));
		assert_int_equal(req->parent, SCOPE_NONE);
		assert_int_equal(db->parent, which);
	}
	erase(&r);
	buf_release(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_of_a_thread_nest),
		cmocka_unit_test(pushed_ranges_nest_and_started_ones_stand_apart),
		cmocka_unit_test(a_scope_may_begin_and_end_on_different_threads),
		cmocka_unit_test(interleaved_tasks_keep_their_own_nesting),
		cmocka_unit_test(a_task_nests_across_threads_and_not_across_processes),
		cmocka_unit_test(a_scope_ended_by_another_thread_surrounds_nothing_behind_it),
		cmocka_unit_test(scopes_that_end_out_of_order_do_not_confuse_later_ones),
		cmocka_unit_test(equal_times_follow_the_order_of_the_events),
		cmocka_unit_test(a_scope_without_end_lasts_as_long_as_its_thread),
		cmocka_unit_test(a_scope_lost_in_a_gap_surrounds_nothing_behind_it),
		cmocka_unit_test(ends_without_a_begin_are_counted),
		cmocka_unit_test(a_hundred_interleaved_requests_have_their_own_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
