/* links: is_analyze */
/* A coroutine that sleeps before a step, against timelines whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "story_analysis.h"

/*
 * Five rounds of 40 ms: a request comes, the batcher takes it up, sleeps for 20 ms, calls the model
 * for 10 ms, and the request goes on; then the loop waits for the next one.  A look every ms.
 */
#define MS 1000000
#define ROUNDS 5

struct scene {
	bool nobody_waits; /* it samples a sensor, say */
	bool late;         /* the request comes when the nap is over */
	bool two_sleep;    /* at once, of the same function */
	bool busy;         /* the loop waits long before the request goes on: for something else */
	bool seen;         /* a look found it on its way to sleep */
	bool paused;       /* calls were not recorded in the middle of the nap */
};

static void add_look(struct buf *s, int stack, int from, int ms, int flags)
{
	buf_printf(s, "look 1 %d %d %d %d %x\n", stack, from + MS / 2, from + ms * MS - MS / 2, ms,
		   (unsigned)flags);
}

static void add_round(struct buf *s, const struct scene *scene, int at)
{
	int awake = at + 20 * MS, done = awake + 10 * MS, on = done + 100000;

	if (!scene->nobody_waits && !scene->late)
		buf_printf(s, "1: +_run_once@%d +submit@%d ~submit@%d -_run_once@%d\n", at - 90000,
			   at - 80000, at - 70000, at - 60000);
	buf_printf(s, "1: +_run_once@%d >run@%d +sleep@%d ~sleep@%d ~run@%d -_run_once@%d\n",
		   at - 50000, at - 40000, at - 30000, at - 20000, at - 10000, at - 5000);
	if (scene->two_sleep)
		buf_printf(s,
			   "1: +_run_once@%d >run@%d +sleep@%d ~sleep@%d ~run@%d -_run_once@%d\n",
			   at - 4000, at - 3500, at - 3000, at - 2500, at - 2000, at - 1500);
	buf_printf(s, "1: +_run_once@%d +EpollSelector.select@%d\n", at - 1000, at);
	if (scene->paused)
		buf_printf(s, "1: |1000@%d ^main@%d ^Runner.run@%d\n", at + 5 * MS, at + 5 * MS,
			   at + 5 * MS);
	else
		buf_printf(s, "1: -EpollSelector.select@%d -_run_once@%d\n", awake - 3000,
			   awake - 2000);
	if (scene->late)
		buf_printf(s, "1: +_run_once@%d +submit@%d ~submit@%d -_run_once@%d\n",
			   awake - 1900, awake - 1800, awake - 1700, awake - 1600);
	buf_printf(s,
		   "1: +_run_once@%d >run@%d >sleep@%d -sleep@%d <1@%d </1@%d ~run@%d "
		   "-_run_once@%d\n",
		   awake - 1000, awake, awake + 1000, awake + 2000, awake + 3000, done - 1000, done,
		   done + 1000);
	if (scene->busy) {
		on = done + 5 * MS;
		buf_printf(s,
			   "1: +_run_once@%d +EpollSelector.select@%d -EpollSelector.select@%d "
			   "-_run_once@%d\n",
			   done + 2000, done + 3000, on - 3000, on - 2000);
	}
	if (!scene->nobody_waits)
		buf_printf(s, "1: +_run_once@%d >submit@%d -submit@%d -_run_once@%d\n", on - 1000,
			   on, on + 10000, on + 20000);
	buf_printf(s, "1: +_run_once@%d +EpollSelector.select@%d\n", on + 30000, on + 40000);
	buf_printf(s, "1: -EpollSelector.select@%d -_run_once@%d\n", at + 39 * MS,
		   at + 39 * MS + 1000);
	if (scene->seen)
		buf_printf(s, "look 1 3 %d %d 1 11\n", at - 25000, at - 25000);
	add_look(s, 1, at, 20, 4);
	add_look(s, 2, awake, 10, 0x11);
	add_look(s, 1, done, 10, 4);
}

static const struct analysis_step *story_of_scene(struct story_analysis *t,
						  const struct scene *scene)
{
	const struct analysis_step *s;
	struct buf story;

	buf_init(&story);
	buf_printf(&story, "process 1 100 app.py 0 300000000\n"
			   "thread 1 1 100 MainThread 0 300000000 0\n"
			   "code main app.py 1\n"
			   "code run app.py 10\n"
			   "code submit app.py 30\n"
			   "code sleep /usr/lib/python3.12/asyncio/tasks.py 650\n"
			   "code Runner.run /usr/lib/python3.12/asyncio/runners.py 90\n"
			   "code _run_once /usr/lib/python3.12/asyncio/base_events.py 1900\n"
			   "code EpollSelector.select /usr/lib/python3.12/selectors.py 450\n"
			   "layer 1 0 Net -\n"
			   "stack 1 EpollSelector.select:460 _run_once:1910 Runner.run:95 main:5\n"
			   "stack 2 run:14 _run_once:1920 Runner.run:95 main:5\n"
			   "stack 3 sleep:660 run:12 _run_once:1920 Runner.run:95 main:5\n"
			   "1: +main@1000 +Runner.run@2000 +_run_once@3000 +run@4000 ~run@5000 "
			   "-_run_once@6000\n");
	for (int i = 0; i < ROUNDS; i++)
		add_round(&story, scene, (10 + 40 * i) * MS);
	buf_add_str(&story, "1: -Runner.run@260000000 -main@261000000\n"
			    "end 300000000 0\n");
	s = analyze_story(t, buf_string(&story))->steps;
	buf_release(&story);
	return s;
}

static void a_nap_that_requests_wait_for_is_part_of_the_step(void **state)
{
	const struct scene scene = { 0 };
	const struct analysis_step *s;
	const struct time_cause *c;
	struct story_analysis t;

	(void)state;
	s = story_of_scene(&t, &scene);
	assert_int_equal(s->count, ROUNDS);
	assert_int_equal(s->p50_ns, 30 * MS + 20000); /* it fell asleep a moment before */
	/* Looks know it to within a millisecond: nothing comes before the first one. */
	assert_true(part(s, TIME_SLEEP) > ROUNDS * 20 * MS - MS);
	assert_true(part(s, TIME_SLEEP) < ROUNDS * 20 * MS + MS);
	assert_true(part(s, TIME_IDLE) < MS);
	check_sum(&s->breakdown);
	c = &s->breakdown.causes[0];
	assert_int_equal(c->what, TIME_SLEEP);
	assert_string_equal(c->where.name, "run");
	assert_string_equal(c->inner.name, "sleep");
	forget(&t);
}

static void the_line_of_a_nap_is_that_of_a_look_on_its_way(void **state)
{
	const struct scene scene = { .seen = true };
	const struct time_cause *c;
	struct story_analysis t;

	(void)state;
	c = &story_of_scene(&t, &scene)->breakdown.causes[0];
	assert_int_equal(c->what, TIME_SLEEP);
	assert_string_equal(c->where.name, "run");
	assert_int_equal(c->where.line, 12);
	assert_string_equal(c->inner.name, "sleep");
	forget(&t);
}

static void other_naps_are_none_of_the_steps(void **state)
{
	static const struct scene scenes[] = {
		{ .nobody_waits = true }, { .late = true },   { .two_sleep = true },
		{ .busy = true },         { .paused = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		struct story_analysis t;
		const struct analysis_step *s = story_of_scene(&t, &scenes[i]);

		/* Behind a pause it is not known that one call of a library's makes them all. */
		if (part(s, TIME_SLEEP) || (s->p50_ns > 11 * MS && !scenes[i].paused))
			fail_msg("scene %zu: asleep for %lld ns, a step takes %lld", i,
				 (long long)part(s, TIME_SLEEP), (long long)s->p50_ns);
		forget(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_nap_that_requests_wait_for_is_part_of_the_step),
		cmocka_unit_test(the_line_of_a_nap_is_that_of_a_look_on_its_way),
		cmocka_unit_test(other_naps_are_none_of_the_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
