/* links: is_timeline */
/* Calls, collections and losses; timeline_text.h has the notation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline_text.h"

static void nested_calls_give_self_and_total(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12 -g@15 +g@16 !g@18 -f@20\n",
	       "g 12-15 self 3 depth 1 call\n"
	       "g 16-18 self 2 depth 1 call\n"
	       "f 10-20 self 5 depth 0 call\n");
}

static void recursion_is_flagged_on_all_but_the_outermost(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@11 +f@12 +f@13 -f@14 -f@15 -g@16 -f@20\n",
	       "f 13-14 self 1 depth 3 call recursive\n"
	       "f 12-15 self 2 depth 2 call recursive\n"
	       "g 11-16 self 2 depth 1 call\n"
	       "f 10-20 self 5 depth 0 call\n");
}

static void a_generator_is_one_call_with_further_segments(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +gen@11 ~gen@13 >gen@15 ~gen@16 *gen@17 !gen@18 -f@20\n",
	       "gen 11-13 self 2 depth 1 call\n"
	       "gen 15-16 self 1 depth 1\n"
	       "gen 17-18 self 1 depth 1\n"
	       "f 10-20 self 6 depth 0 call\n");
}

static void a_collection_is_not_self_time_of_its_function(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 (2@12 +finalizer@13 -finalizer@14 )2@17:42 -f@20\n",
	       "finalizer 13-14 self 1 depth 2 call\n"
	       "gc 12-17 self 4 depth 1 generation 2 freed 42\n"
	       "f 10-20 self 5 depth 0 call\n");
}

static void an_exit_further_down_closes_those_above(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12 +h@13 -f@20\n", "h 13-20 self 7 depth 2 call repaired\n"
							  "g 12-20 self 1 depth 1 call repaired\n"
							  "f 10-20 self 2 depth 0 call\n");
}

static void frames_open_before_the_recording_begin_with_the_thread(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +a@6 -a@8 -g@10 +b@11 -b@12 -f@20\n",
	       "a 6-8 self 2 depth 0 call\n"
	       "g 5-10 self 3 depth 0 start?\n"
	       "b 11-12 self 1 depth 0 call\n"
	       "f 5-20 self 9 depth 0 start?\n");
}

static void an_unseen_entry_inside_complete_frames_stays_inside(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12 -g@13 -x@15 -f@20\n", "g 12-13 self 1 depth 1 call\n"
								"x 13-15 self 2 depth 1 start?\n"
								"f 10-20 self 7 depth 0 call\n");
}

static void open_frames_end_with_their_thread(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12\n", "g 12-1000 self 988 depth 1 call end?\n"
					      "f 10-1000 self 2 depth 0 call end?\n");
}

static void without_a_known_end_the_process_or_the_run_ends_a_thread(void **state)
{
	(void)state;
	expect("process 1 100 app.py 0 500\nthread 1 1 100 - 0 -1 0\n1: +f@10\n",
	       "f 10-500 self 490 depth 0 call end?\n");
	expect("process 1 100 app.py 0 -1\nthread 1 1 100 - 0 -1 0\n1: +f@10\nend 700 0\n",
	       "f 10-700 self 690 depth 0 call end?\n");
	expect("process 1 100 app.py 0 -1\nthread 1 1 100 - 0 -1 0\n1: +f@10 +g@12 -g@13\n",
	       "g 12-13 self 1 depth 1 call\n"
	       "f 10-13 self 2 depth 0 call end?\n");
}

static void a_frame_that_outlives_a_gap_stands(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12 lost:4 -g@30 -f@40\n",
	       "lost 4 12-30\n"
	       "g 12-30 self 0 depth 1 call gap\n"
	       "f 10-40 self 12 depth 0 call gap\n");
}

static void a_frame_left_inside_a_gap_ends_where_it_began(void **state)
{
	(void)state;
	/* g and h were left unseen; what ran on top of them since is f's. */
	expect(ONE_THREAD "1: +f@10 +g@12 +h@14 -h@15 +h@16 lost:2 +k@30 -k@34 -f@40\n",
	       "h 14-15 self 1 depth 2 call\n"
	       "lost 2 16-30\n"
	       "k 30-34 self 4 depth 3 call\n"
	       "h 16-16 self 0 depth 2 call repaired gap\n"
	       "g 12-16 self 3 depth 1 call repaired gap\n"
	       "f 10-40 self 8 depth 0 call gap\n");
}

static void the_first_gap_counts_for_a_frame_that_saw_two(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12 lost:1 +h@20 lost:1 +k@30 -k@31 -f@40\n",
	       "lost 1 12-20\n"
	       "lost 1 20-30\n"
	       "k 30-31 self 1 depth 3 call\n"
	       "h 20-20 self 0 depth 2 call repaired gap\n"
	       "g 12-12 self 0 depth 1 call repaired gap\n"
	       "f 10-40 self 11 depth 0 call gap\n");
}

static void an_exit_of_what_was_entered_inside_a_gap_begins_at_its_end(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 lost:3 +a@30 -a@32 -x@35 -f@40\n",
	       "lost 3 10-30\n"
	       "a 30-32 self 2 depth 1 call\n"
	       "x 30-35 self 3 depth 1 start?\n"
	       "f 10-40 self 5 depth 0 call gap\n");
}

static void losses_before_the_first_and_after_the_last_event_are_gaps(void **state)
{
	(void)state;
	expect("process 1 100 app.py 0 1000\nthread 1 1 100 - 5 1000 7\n"
	       "1: lost:3 -f@20 +g@30 -g@35 +h@40 lost:4\n",
	       "lost 3 5-20\n"
	       "f 20-20 self 0 depth 0 start?\n"
	       "g 30-35 self 5 depth 0 call\n"
	       "lost 4 40-1000\n"
	       "h 40-40 self 0 depth 0 call end? gap\n");
}

static void frames_not_seen_since_a_gap_do_not_last_to_the_end(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: +f@10 +g@12 lost:3 +h@30 -h@40 +k@50\n",
	       "lost 3 12-30\n"
	       "h 30-40 self 10 depth 2 call\n"
	       "k 50-1000 self 950 depth 2 call end?\n"
	       "g 12-12 self 0 depth 1 call end? gap\n"
	       "f 10-12 self 2 depth 0 call end? gap\n");
}

static void threads_do_not_mix(void **state)
{
	(void)state;
	expect("process 1 100 app.py 0 99\nthread 1 1 100 - 0 99 0\nthread 2 1 101 - 0 99 0\n"
	       "1: +f@10\n2: +f@11 -f@12\n1: -f@13\n",
	       "f 10-13 self 3 depth 0 call\n"
	       "f 11-12 self 1 depth 0 call\n");
}

static void one_function_may_have_several_code_ids(void **state)
{
	struct recorded r;

	(void)state;
	record(&r, ONE_THREAD "code f a.py 3\ncode f' a.py 3\ncode f'' a.py 4\n"
			      "1: +f@10 +f'@11 +f''@12 -f''@13 -f'@14 -f@15\n");
	assert_string_equal(buf_string(&r.text), "f 12-13 self 1 depth 2 call\n"
						 "f 11-14 self 2 depth 1 call recursive\n"
						 "f 10-15 self 2 depth 0 call\n");
	assert_int_equal(timeline_function_count(r.tl), 2);
	erase(&r);
}

static void code_without_a_name_is_shown_and_counted(void **state)
{
	struct recorded r;

	(void)state;
	record(&r, ONE_THREAD "1: +?77@14 +?78@15 -?78@16 -?77@17\n");
	assert_int_equal(timeline_function_count(r.tl), 1);
	assert_int_equal(timeline_unknown_names(r.tl), 2);
	assert_string_equal(timeline_function(r.tl, 0)->name, "(unknown)");
	erase(&r);
}

static void tallies_say_what_was_repaired(void **state)
{
	const struct thread_counts *t;
	struct recorded r;

	(void)state;
	record(&r, "process 1 100 app.py 0 100\nthread 1 1 100 - 5 100 9\n"
		   "1: -x@6 +f@10 +g@12 -f@20 lost:9 +f@30 +g@25\n");
	t = timeline_thread(r.tl, 0);
	assert_int_equal(t->events, 6);
	assert_int_equal(t->lost, 9);
	assert_int_equal(t->gaps, 1);
	assert_int_equal(t->open_start, 1);
	assert_int_equal(t->repaired, 1);
	assert_int_equal(t->open_end, 2);
	assert_int_equal(t->backwards, 1);
	assert_int_equal(t->covered_ns, 1 + 10 + 70);
	erase(&r);
}

static void marks_are_delivered(void **state)
{
	(void)state;
	expect(ONE_THREAD "1: =epoch/7@10 +f@11 -f@12\n", "mark epoch task 7 at 10\n"
							  "f 11-12 self 1 depth 0 call\n");
}

/* Self times of all spans and the gaps must add up to the time that is covered at all. */
static void self_times_add_up_whatever_is_lost(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		unsigned rng = seed * 2654435761u;
		struct recorded r;
		struct buf story;
		int64_t sum = 0, now = 10;

		buf_init(&story);
		buf_add_str(&story, ONE_THREAD "1:");
		for (int i = 0; i < 120; i++) {
			rng = rng * 1103515245u + 12345u;
			now += rng >> 20 & 3;
			if ((rng >> 8) % 11 == 0)
				buf_printf(&story, " lost:2");
			buf_printf(&story, " %c%c@%d", "+>*-~!-"[(rng >> 12) % 7],
				   'a' + (int)(rng >> 16) % 5, (int)now);
		}
		buf_add_str(&story, "\n");
		record(&r, buf_string(&story));
		for (const char *p = buf_string(&r.text); (p = strstr(p, "self ")); p++) {
			int64_t self = strtoll(p + 5, NULL, 10);

			assert_true(self >= 0);
			sum += self;
		}
		sum += timeline_thread(r.tl, 0)->gap_ns;
		assert_int_equal(sum, timeline_thread(r.tl, 0)->covered_ns);
		assert_true(sum <= 1000 - 5);
		erase(&r);
		buf_release(&story);
	}
}

/* Any kinds, ids, times and payloads, as a hostile file may hold them. */
static void write_noise(char *path, uint32_t seed)
{
	const struct trace_process process = { .id = 1, .pid = 1, .end_ns = -7, .name = "x" };
	struct trace_thread thread = { .process = 1, .name = "", .produced = 9, .lost = 1 };
	struct trace_writer *w = NULL;
	uint64_t rng = seed;
	struct err err;
	int fd = mkstemp(path);

	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(trace_write_process(w, &process, &err), 0);
	for (thread.id = 1; thread.id <= 3; thread.id++) {
		uint64_t index = 0;

		rng = rng * 6364136223846793005u + 1442695040888963407u;
		thread.start_ns = (int64_t)(rng >> (rng >> 60)) - 5;
		thread.end_ns = (int64_t)rng;
		assert_int_equal(trace_write_thread(w, &thread, &err), 0);
		for (int i = 0; i < 300; i++) {
			uint8_t kind, payload[6];
			size_t bytes;

			rng = rng * 6364136223846793005u + 1442695040888963407u;
			kind = (uint8_t)(1 + (rng >> 40) % 12);
			kind |= kind >= 8 ? RECORD_PAYLOAD : 0;
			bytes = kind & RECORD_PAYLOAD ? (size_t)(rng >> 50) % 7 : 0;
			memcpy(payload, &rng, sizeof(payload));
			index += (rng >> 33) % 20 ? 0 : rng >> 35;
			assert_int_equal(
				trace_write_event(w, thread.id, index++, kind,
						  (uint32_t)(rng >> 45) % 9,
						  (int64_t)(rng << 13 >> (4 + (rng >> 59))) - 9,
						  bytes ? payload : NULL, bytes, &err),
				0);
		}
	}
	assert_int_equal(trace_writer_flush(w, 0, 0, &err), 0);
	trace_writer_free(w);
	close(fd);
}

static void noise_is_walked_to_the_end(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 300; seed++) {
		const struct timeline_visitor v = { 0 };
		char path[] = "/tmp/timeline-XXXXXX";
		struct timeline *tl = NULL;
		struct trace *t = NULL;
		uint64_t events = 0;
		struct err err;

		write_noise(path, seed);
		assert_int_equal(trace_open(&t, path, &err), 0);
		assert_int_equal(timeline_new(&tl, t, &err), 0);
		assert_int_equal(timeline_walk(tl, &v, &err), 0);
		for (size_t i = 0; i < trace_thread_count(t); i++) {
			const struct thread_counts *totals = timeline_thread(tl, i);

			events += totals->events;
			assert_true(totals->start_ns >= 0 && totals->end_ns >= totals->start_ns);
			assert_true(totals->covered_ns <= totals->end_ns - totals->start_ns);
		}
		assert_int_equal(events, 900);
		for (size_t i = 0; i < timeline_scope_count(tl); i++)
			assert_true(timeline_scope(tl, i)->end_ns >=
				    timeline_scope(tl, i)->start_ns);
		timeline_free(tl);
		trace_close(t);
		unlink(path);
	}
}

static void thousands_of_functions_keep_their_names(void **state)
{
	const uint32_t functions = 3000;
	const struct trace_process process = { .id = 1, .pid = 1, .end_ns = -1, .name = "x" };
	const struct trace_thread thread = { .id = 1, .process = 1, .end_ns = -1, .name = "" };
	const struct timeline_visitor nobody = { 0 };
	char path[] = "/tmp/timeline-XXXXXX";
	struct trace_writer *w = NULL;
	struct timeline *tl = NULL;
	struct trace *t = NULL;
	struct err err;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(trace_write_process(w, &process, &err), 0);
	assert_int_equal(trace_write_thread(w, &thread, &err), 0);
	for (uint32_t i = 0; i < 2 * functions; i++) {
		char code[16]; /* line, length of the name, name, file: each function has two ids */
		int n = snprintf(code, sizeof(code), "\1\5f%04ua.py", i / 2);

		assert_int_equal(trace_write_def(w, DEF_CODE, i + 1, code, (size_t)n, &err), 0);
		assert_int_equal(trace_write_event(w, 1, i, RECORD_CALL, i + 1, i, NULL, 0, &err),
				 0);
	}
	assert_int_equal(trace_writer_flush(w, 0, 0, &err), 0);
	trace_writer_free(w);
	close(fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_int_equal(timeline_new(&tl, t, &err), 0);
	assert_int_equal(timeline_walk(tl, &nobody, &err), 0);
	assert_int_equal(timeline_function_count(tl), functions);
	for (uint32_t i = 0; i < functions; i++) {
		const struct place *f = timeline_function(tl, i);
		char name[16];

		snprintf(name, sizeof(name), "f%04u", i);
		assert_string_equal(f->name, name);
		assert_string_equal(f->file, "a.py");
		assert_int_equal(f->line, 1);
	}
	timeline_free(tl);
	trace_close(t);
	unlink(path);
}

struct span_count {
	uint64_t spans;
	uint32_t deepest;
};

static void count_span(void *ctx, const struct span *s)
{
	struct span_count *c = ctx;

	c->spans++;
	c->deepest = s->depth > c->deepest ? s->depth : c->deepest;
}

static void a_stack_deeper_than_any_real_one_is_bounded(void **state)
{
	const uint32_t limit = 1u << 20, calls = limit + 10;
	const struct trace_process process = { .id = 1, .pid = 1, .end_ns = -1, .name = "x" };
	const struct trace_thread thread = { .id = 1, .process = 1, .end_ns = -1, .name = "" };
	struct span_count count = { 0 };
	const struct timeline_visitor v = { .ctx = &count, .function = count_span };
	char path[] = "/tmp/timeline-XXXXXX";
	struct trace_writer *w = NULL;
	struct timeline *tl = NULL;
	struct trace *t = NULL;
	struct err err;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(trace_write_process(w, &process, &err), 0);
	assert_int_equal(trace_write_thread(w, &thread, &err), 0);
	/* Irregular, as real times are: a reader refuses what compresses too well. */
	for (uint32_t i = 0; i < 2 * calls; i++)
		assert_int_equal(trace_write_event(w, 1, i, i < calls ? RECORD_CALL : RECORD_RETURN,
						   7, 64ll * i + (2654435761u * i >> 26), NULL, 0,
						   &err),
				 0);
	assert_int_equal(trace_writer_flush(w, 0, 0, &err), 0);
	trace_writer_free(w);
	close(fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_int_equal(timeline_new(&tl, t, &err), 0);
	assert_int_equal(timeline_walk(tl, &v, &err), 0);
	assert_int_equal(count.spans, limit);
	assert_int_equal(count.deepest, limit - 1);
	assert_int_equal(timeline_thread(tl, 0)->repaired, 0);
	assert_int_equal(timeline_thread(tl, 0)->open_end, 0);
	timeline_free(tl);
	trace_close(t);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_calls_give_self_and_total),
		cmocka_unit_test(recursion_is_flagged_on_all_but_the_outermost),
		cmocka_unit_test(a_generator_is_one_call_with_further_segments),
		cmocka_unit_test(a_collection_is_not_self_time_of_its_function),
		cmocka_unit_test(an_exit_further_down_closes_those_above),
		cmocka_unit_test(frames_open_before_the_recording_begin_with_the_thread),
		cmocka_unit_test(an_unseen_entry_inside_complete_frames_stays_inside),
		cmocka_unit_test(open_frames_end_with_their_thread),
		cmocka_unit_test(without_a_known_end_the_process_or_the_run_ends_a_thread),
		cmocka_unit_test(a_frame_that_outlives_a_gap_stands),
		cmocka_unit_test(a_frame_left_inside_a_gap_ends_where_it_began),
		cmocka_unit_test(the_first_gap_counts_for_a_frame_that_saw_two),
		cmocka_unit_test(an_exit_of_what_was_entered_inside_a_gap_begins_at_its_end),
		cmocka_unit_test(losses_before_the_first_and_after_the_last_event_are_gaps),
		cmocka_unit_test(frames_not_seen_since_a_gap_do_not_last_to_the_end),
		cmocka_unit_test(threads_do_not_mix),
		cmocka_unit_test(one_function_may_have_several_code_ids),
		cmocka_unit_test(code_without_a_name_is_shown_and_counted),
		cmocka_unit_test(tallies_say_what_was_repaired),
		cmocka_unit_test(marks_are_delivered),
		cmocka_unit_test(self_times_add_up_whatever_is_lost),
		cmocka_unit_test(noise_is_walked_to_the_end),
		cmocka_unit_test(thousands_of_functions_keep_their_names),
		cmocka_unit_test(a_stack_deeper_than_any_real_one_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
