/* links: is_analyze */
/* A wait that nobody ended, and what follows it, against timelines whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "story_analysis.h"

/*
 * Three requests, 20 ms each: 5 ms in infer, and then 15 ms in which the loop waits for a
 * condition; a look every ms.  What another thread does meanwhile comes with the test.
 */
#define MS 1000000
#define REQUESTS 3

struct scene {
	int waits;       /* one after the other, in the 15 ms */
	int notified_ns; /* before the end of each; 0: never */
	int early_ns;    /* a notification so long after the begin of each; 0: none */
	int ready_ns;    /* so long before the end looks find it ready; 0: never */
	int samples;     /* all find it waiting, from the first wait to the last; 0: every ms */
	bool throttled, alone; /* notify() is not recorded; there is no other thread */
	bool joins;            /* the other thread only waits itself, all the time */
	bool pauses;           /* of the other thread's calls, all the time */
};

static void add_looks(struct buf *s, const struct scene *scene, int at)
{
	int wait = at + 5 * MS, last = at + 20 * MS - MS / 2;

	buf_printf(s, "look 1 3 %d %d 5 11\nlook 1 1 %d %d %d 3\n", at + MS / 2, wait - MS / 2,
		   wait + MS / 2, last - scene->ready_ns, 15 - scene->ready_ns / MS);
	if (scene->ready_ns)
		buf_printf(s, "look 1 1 %d %d %d 1\n", last - scene->ready_ns + MS, last,
			   scene->ready_ns / MS);
}

static void add_request(struct buf *s, const struct scene *scene, int at)
{
	int wait = at + 5 * MS, each = 15 * MS / scene->waits;

	buf_printf(s, "1: +infer@%d <1@%d </1@%d -infer@%d\n", at, at + 100000, at + 200000, wait);
	if (!scene->samples)
		add_looks(s, scene, at);
	for (int i = 0; i < scene->waits; i++, wait += each) {
		buf_printf(s, "1: +Condition.wait@%d -Condition.wait@%d\n", wait + 1000,
			   wait + each - 1000);
		if (scene->early_ns && !scene->throttled)
			buf_printf(s, "2: +Condition.notify@%d -Condition.notify@%d\n",
				   wait + scene->early_ns, wait + scene->early_ns + 5000);
		if (scene->notified_ns && !scene->throttled)
			buf_printf(s, "2: +Condition.notify@%d -Condition.notify@%d\n",
				   wait + each - scene->notified_ns,
				   wait + each - scene->notified_ns + 5000);
	}
}

static const struct analysis_step *story_of_scene(struct story_analysis *t,
						  const struct scene *scene)
{
	const struct analysis_step *s;
	struct buf story;

	buf_init(&story);
	buf_printf(&story,
		   "process 1 100 app.py 0 100000000\n"
		   "thread 1 1 100 MainThread 0 100000000 0\n"
		   "%s"
		   "code main app.py 1\n"
		   "code infer app.py 10\n"
		   "code client app.py 20\n"
		   "code Condition.wait /usr/lib/python3.12/threading.py 300\n"
		   "code Condition.notify /usr/lib/python3.12/threading.py 400\n"
		   "code Thread.join /usr/lib/python3.12/threading.py 1100\n"
		   "layer 1 0 Net -\n"
		   "stack 1 Condition.wait:310 main:5\n"
		   "stack 3 infer:12 main:6\n"
		   "1: +main@0\n",
		   scene->alone ? "" : "thread 2 1 101 client 0 100000000 0\n");
	if (!scene->alone)
		buf_add_str(&story, "2: +client@1000\n");
	if (scene->throttled)
		buf_add_str(&story, "2: out:Condition.notify@2000\n");
	if (scene->joins)
		buf_add_str(&story, "2: +Thread.join@3000\n");
	for (int i = 0; i < REQUESTS; i++)
		add_request(&story, scene, (10 + 20 * i) * MS);
	if (scene->samples)
		buf_printf(&story, "look 1 1 %d %d %d 3\n", 16 * MS, 70 * MS, scene->samples);
	/* One more begins, so that it is known what the last wait was followed by. */
	buf_add_str(&story, "look 1 3 70500000 74500000 5 11\n"
			    "1: +infer@70000000 <1@70100000 </1@70200000 -infer@75000000\n"
			    "1: -main@76000000\n");
	if (scene->pauses)
		buf_add_str(&story, "2: |99000@99500000 ^client@99500000\n");
	buf_add_str(&story, "end 100000000 0\n");
	s = analyze_story(t, buf_string(&story))->steps;
	assert_string_equal(s->name, "infer in main");
	check_sum(&s->breakdown);
	buf_release(&story);
	return s;
}

/* All but a few microseconds on the way in and out. */
static void assert_near_ms(int64_t ns, int64_t ms)
{
	if (ns < ms * MS - 20000 || ns > ms * MS + 20000)
		fail_msg("%.3f ms, expected %d", (double)ns / MS, (int)ms);
}

/* How much of the waits each of the two has. */
static void expect(const struct scene *scene, int64_t sleep_ms, int64_t idle_ms)
{
	const struct analysis_step *s;
	struct story_analysis t;

	s = story_of_scene(&t, scene);
	assert_near_ms(part(s, TIME_SLEEP), REQUESTS * sleep_ms);
	assert_near_ms(part(s, TIME_IDLE), REQUESTS * idle_ms);
	forget(&t);
}

static void a_wait_that_nobody_ends_was_for_time(void **state)
{
	(void)state;
	expect(&(struct scene){ .waits = 1, .alone = true }, 15, 0);
	/* Something came, and the thread waited on for more. */
	expect(&(struct scene){ .waits = 1, .early_ns = 2 * MS }, 15, 0);
}

static void one_that_is_ended_was_for_a_request(void **state)
{
	(void)state;
	expect(&(struct scene){ .waits = 1, .notified_ns = 50000 }, 0, 15);
	expect(&(struct scene){ .waits = 1, .notified_ns = 900000 }, 0, 15);
}

static int64_t slept_ns(const struct scene *scene)
{
	int64_t ns;
	struct story_analysis t;

	ns = part(story_of_scene(&t, scene), TIME_SLEEP);
	forget(&t);
	return ns;
}

/* On a busy machine: it was woken 6 ms before it got a CPU. */
static void who_was_woken_may_have_to_wait_for_a_cpu(void **state)
{
	struct scene busy = { .waits = 1, .notified_ns = 6 * MS + MS / 2, .ready_ns = 6 * MS };

	(void)state;
	assert_int_equal(slept_ns(&busy), 0);
	/* Nobody did that: its time was over. */
	busy.notified_ns = 0;
	busy.early_ns = 2 * MS;
	assert_true(slept_ns(&busy) >= REQUESTS * 8 * MS);
}

/* Between two looks it may have been woken at any time. */
static void where_looks_are_rare_less_is_known(void **state)
{
	struct scene rare = { .waits = 1, .notified_ns = 6 * MS, .samples = 7 };

	(void)state;
	assert_int_equal(slept_ns(&rare), 0);
	rare.samples = 55;
	assert_true(slept_ns(&rare) >= REQUESTS * 13 * MS);
}

static void a_queue_that_is_polled_in_vain_is_empty(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	/* Three waits of 5 ms: the first two are followed by a wait, the last one by work. */
	s = story_of_scene(&t, &(struct scene){ .waits = 3, .alone = true });
	assert_true(part(s, TIME_SLEEP) >= REQUESTS * 4 * MS);
	assert_true(part(s, TIME_SLEEP) <= REQUESTS * 6 * MS);
	assert_true(part(s, TIME_IDLE) >= REQUESTS * 9 * MS);
	forget(&t);
	/* And where a request ends the last one there is nothing that it waited for on purpose. */
	expect(&(struct scene){ .waits = 3, .notified_ns = 50000 }, 0, 15);
}

static void what_is_not_recorded_may_have_ended_it(void **state)
{
	(void)state;
	expect(&(struct scene){ .waits = 1, .throttled = true }, 0, 15);
	/* But not by a thread that waits itself. */
	expect(&(struct scene){ .waits = 1, .throttled = true, .joins = true }, 15, 0);
	expect(&(struct scene){ .waits = 1, .pauses = true }, 0, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_that_nobody_ends_was_for_time),
		cmocka_unit_test(one_that_is_ended_was_for_a_request),
		cmocka_unit_test(who_was_woken_may_have_to_wait_for_a_cpu),
		cmocka_unit_test(where_looks_are_rare_less_is_known),
		cmocka_unit_test(a_queue_that_is_polled_in_vain_is_empty),
		cmocka_unit_test(what_is_not_recorded_may_have_ended_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
