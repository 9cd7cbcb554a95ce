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

/* From the cursor on; *more: of the last piece. */
static int64_t sum_of(struct track *t, uint32_t *more)
{
	int64_t ns = 0, until_ns = INT64_MIN;

	for (; track_has(t); t->at++) {
		const struct piece *p = &t->items[t->at];

		assert_true(p->start_ns >= until_ns);
		until_ns = p->end_ns;
		ns += p->end_ns - p->start_ns;
		*more = p->more;
	}
	return ns;
}

static void a_thread_has_what_it_launched_and_what_nobody_did(void **state)
{
	static const struct {
		size_t thread;
		int64_t compute_ns;
	} truths[] = { { 0, 250 }, { 1, 100 }, { 2, 0 } }; /* the first one's kernels overlap */
	struct device_tracks all = { 0 }, none = { 0 };
	struct device_work work;
	struct story_analysis t;
	uint32_t more = 0;

	(void)state;
	analyze_story(&t, STORY);
	assert_int_equal(device_work_init(&work, &t.analysis->gpu), 0);
	for (size_t i = 0; i < 3; i++) {
		struct device_tracks own = { 0 };

		assert_int_equal(device_work_of_thread(&work, 1, truths[i].thread, &own), 0);
		assert_int_equal(sum_of(&own.tracks[DEVICE_COMPUTE], &more), truths[i].compute_ns);
		assert_int_equal(sum_of(&own.tracks[DEVICE_D2H], &more), 50);
		assert_int_equal(more, TIME_D2H);
		device_tracks_release(&own);
	}
	assert_int_equal(device_work_all(&work, 1, &all), 0);
	assert_int_equal(sum_of(&all.tracks[DEVICE_COMPUTE], &more), 350);
	assert_int_equal(sum_of(&all.tracks[DEVICE_D2H], &more), 50);
	device_tracks_seek(&all, 400); /* in the middle of the second thread's */
	assert_true(track_has(&all.tracks[DEVICE_COMPUTE]));
	assert_in_range(sum_of(&all.tracks[DEVICE_COMPUTE], &more), 1, 349);
	assert_int_equal(device_work_all(&work, 2, &none), 0);
	assert_int_equal(sum_of(&none.tracks[DEVICE_COMPUTE], &more), 0);
	device_tracks_release(&all);
	device_tracks_release(&none);
	device_work_release(&work);
	forget(&t);
}

/* A window gives the same pieces as the whole track, whatever merges at its edges. */
struct counted {
	uint32_t next, count;
};

static bool next_counted(void *ctx, struct track *t)
{
	struct counted *c = ctx;
	/* Every fourth goes on where the one before ended, as the same or as another. */
	int64_t start_ns = (int64_t)c->next * 10 - (c->next % 4 == 0 ? 5 : 0);
	const struct piece p = { start_ns, (int64_t)c->next * 10 + 5, c->next / 16, 0 };

	if (c->next == c->count)
		return false;
	c->next++;
	assert_int_equal(track_add(t, &p), 0);
	return true;
}

static void a_window_shows_what_the_whole_track_does(void **state)
{
	struct counted of_all = { 0, 5000 }, of_window = { 0, 5000 };
	struct track all = { 0 }, window = { 0 };

	(void)state;
	while (next_counted(&of_all, &all))
		;
	track_open(&window, next_counted, &of_window);
	track_seek(&window, 700);
	track_seek(&all, 700);
	for (int64_t now = 700; now < 51000; now += 3) {
		int64_t next_ns = INT64_MAX, window_next_ns = INT64_MAX;
		const struct piece *p = track_turn(&all, now, &next_ns);
		const struct piece *q = track_turn(&window, now, &window_next_ns);

		assert_int_equal(next_ns, window_next_ns);
		assert_int_equal(p != NULL, q != NULL);
		if (!p)
			continue;
		assert_memory_equal(p, q, sizeof(*p));
		assert_true(window.count <= TRACK_WINDOW + 1);
	}
	track_release(&all);
	track_release(&window);
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
		t.turned = false;
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
		cmocka_unit_test(a_window_shows_what_the_whole_track_does),
		cmocka_unit_test(a_cursor_can_be_set_to_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
