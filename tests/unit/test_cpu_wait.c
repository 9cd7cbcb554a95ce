/* links: is_rules */
/* Threads that are ready to run and have no CPU: whose fault it is, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "rules/judge.h"
#include "story_analysis.h"

/*
 * Ten steps of 10 ms, in each of which the thread has no CPU for 6 ms.  The kernel's figures of the
 * thread say the same: it had one for 40 ms of 100 and queued for 60.
 */
static void put_story(struct buf *out, int cpus, int busy_cores, bool told)
{
	buf_printf(out, "info gpu on\ninfo cpus %d\nprocess 1 7 app.py 0 100000000\n", cpus);
	buf_add_str(out, "thread 1 1 7 MainThread 0 100000000 0 40000000 60000000\n"
			 "code infer app.py 20\nstack 1 infer:24\n");
	buf_printf(out, "series 1 cpu_user_us 0@0 %d@100000000\n", busy_cores * 100000);
	for (int i = 0; i < 10; i++) {
		int at = i * 10;

		if (told)
			buf_printf(out, "look 1 0 %d000000 %d000000 1 301\n", at + 2, at + 8);
		buf_printf(out,
			   "1: [step#%d/0@%d000001 +infer@%d000001 -infer@%d999999 ]#%d@%d999999\n",
			   i + 1, at, at, at + 9, i + 1, at + 9);
	}
	buf_add_str(out, "look 1 1 500000 99500000 100 1\nend 100000000 0\n");
}

static const struct analysis *judged(struct story_analysis *t, int cpus, int busy_cores, bool told)
{
	struct buf story;
	struct err err;

	buf_init(&story);
	put_story(&story, cpus, busy_cores, told);
	analyze_story(t, buf_string(&story));
	assert_int_equal(judge(t->analysis, NULL, &err), 0);
	buf_release(&story);
	return t->analysis;
}

static const struct analysis_finding *found(const struct analysis *a, const char *id)
{
	for (size_t i = 0; i < a->findings.count; i++)
		if (!strcmp(a->findings.items[i].id, id))
			return &a->findings.items[i];
	return NULL;
}

/* Its own threads ran on two CPUs and queued for 1.5 times as long: five could run. */
static void more_threads_than_cpus_are_a_finding(void **state)
{
	const struct analysis_finding *f;
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	a = judged(&t, 2, 2, true);
	assert_true(a->crowd.own && a->crowd.runnable > 4.9 && a->crowd.runnable < 5.1);
	check_sum(&a->steps[0].breakdown);
	assert_int_equal(part(&a->steps[0], TIME_CPU_WAIT), 60000000);
	f = found(a, "cpu-oversubscribed");
	assert_non_null(f);
	assert_ptr_equal(f, &a->findings.items[0]);
	assert_string_equal(f->where.name, "infer");
	assert_int_equal(f->where.line, 24);
	assert_true(f->confidence >= FINDING_SURE);
	forget(&t);
}

/* The same waits where its own threads fit the CPUs: other programs took them. */
static void what_other_programs_take_is_a_note(void **state)
{
	const struct analysis *a;
	struct story_analysis t;
	bool noted = false;

	(void)state;
	a = judged(&t, 16, 2, true);
	assert_false(a->crowd.own);
	assert_int_equal(part(&a->steps[0], TIME_CPU_WAIT), 0);
	assert_null(found(a, "cpu-oversubscribed"));
	for (size_t i = 0; i < a->trust.note_count; i++)
		noted |= strstr(a->trust.notes[i], "other programs occupied the CPUs") != NULL;
	assert_true(noted);
	forget(&t);
}

/* Where the kernel tells the sum alone, as in most containers, it is spread evenly. */
static void without_each_absence_the_sum_is_shared_out(void **state)
{
	const struct analysis *a;
	struct story_analysis t;
	int64_t ns;

	(void)state;
	a = judged(&t, 2, 2, false);
	ns = part(&a->steps[0], TIME_CPU_WAIT);
	assert_true(ns > 59000000 && ns < 61000000);
	check_sum(&a->steps[0].breakdown);
	assert_non_null(found(a, "cpu-oversubscribed"));
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_threads_than_cpus_are_a_finding),
		cmocka_unit_test(what_other_programs_take_is_a_note),
		cmocka_unit_test(without_each_absence_the_sum_is_shared_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
