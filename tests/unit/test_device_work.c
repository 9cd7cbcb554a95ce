/* links: is_analyze */
/* What the device did, for a process and for each of its threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/breakdown/step_sweep.h"
#include "analyze/figures/breakdown.h"
#include "story_analysis.h"

/*
 * Two threads launch in turns, a third never; nobody knows who copied to the host.  The kernel of
 * the second thread is told first, and begins last.
 */
#define STORY                                                                             \
	"process 1 100 app.py 0 1000000\n"                                                \
	"thread 1 1 100 MainThread 0 1000000 0\n"                                         \
	"thread 2 1 101 second 0 1000000 0\n"                                             \
	"thread 3 1 102 third 0 1000000 0\n"                                              \
	"gpu 1 1 10 CUPTI 130000\n"                                                       \
	"1: {cudaLaunchKernel#1:1/0@50 }1@60 {cudaLaunchKernel#3:1/0@70 }3@80\n"          \
	"2: {cudaLaunchKernel#2:1/0@55 }2@65\n"                                           \
	"3: kernel:b#2@900:500+100/8 kernel:a#1@900:100+200/7 kernel:a#3@900:250+100/9\n" \
	"3: copy:2,3,1,1000#77@900:600+50/7\n"                                            \
	"end 1000000 0\n"

static int64_t sum_of(const struct track *t)
{
	int64_t ns = 0;

	for (size_t i = 0; i < t->count; i++) {
		ns += t->items[i].end_ns - t->items[i].start_ns;
		assert_true(!i || t->items[i - 1].end_ns <= t->items[i].start_ns);
	}
	return ns;
}

static void a_thread_has_what_it_launched_and_what_nobody_did(void **state)
{
	static const struct {
		size_t thread;
		int64_t compute_ns;
	} truths[] = { { 0, 250 }, { 1, 100 }, { 2, 0 } }; /* the first one's kernels overlap */
	const struct device_tracks *all;
	struct device_work work;
	struct story_analysis t;

	(void)state;
	analyze_story(&t, STORY);
	assert_int_equal(device_work_init(&work, &t.analysis->gpu), 0);
	for (size_t i = 0; i < 3; i++) {
		struct device_tracks own = { 0 };

		assert_int_equal(device_work_of_thread(&work, 1, truths[i].thread, &own), 0);
		assert_int_equal(sum_of(&own.tracks[DEVICE_COMPUTE]), truths[i].compute_ns);
		assert_int_equal(sum_of(&own.tracks[DEVICE_D2H]), 50);
		assert_int_equal(own.tracks[DEVICE_D2H].items[0].more, TIME_D2H);
		device_tracks_release(&own);
	}
	all = device_work_all(&work, 1);
	assert_int_equal(sum_of(&all->tracks[DEVICE_COMPUTE]), 350);
	assert_int_equal(sum_of(&all->tracks[DEVICE_D2H]), 50);
	assert_ptr_equal(device_work_all(&work, 1), all); /* collected once */
	assert_int_equal(device_work_all(&work, 2)->tracks[DEVICE_COMPUTE].count, 0);
	device_work_release(&work);
	forget(&t);
}

static void a_cursor_can_be_set_to_any_time(void **state)
{
	const struct piece pieces[] = { { 10, 20, 1, 0 }, { 30, 40, 2, 0 }, { 40, 50, 3, 0 } };
	struct track t = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(track_add(&t, &pieces[i]), 0);
	for (int64_t now = 60; now >= 0; now--) {
		int64_t next_ns = INT64_MAX, seek_ns = INT64_MAX;
		const struct piece *p, *q;

		t.at = 0;
		p = track_turn(&t, now, &next_ns);
		track_seek(&t, now);
		q = track_turn(&t, now, &seek_ns);
		assert_ptr_equal(p, q);
		assert_int_equal(next_ns, seek_ns);
	}
	track_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_what_it_launched_and_what_nobody_did),
		cmocka_unit_test(a_cursor_can_be_set_to_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
