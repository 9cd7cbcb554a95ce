/* links: is_report */
/* What reports say of themselves before they are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "story_analysis.h"

static const char *note_with(const struct analysis *a, const char *part)
{
	for (size_t i = 0; i < a->trust.note_count; i++) {
		if (strstr(a->trust.notes[i], part))
			return a->trust.notes[i];
	}
	return NULL;
}

static void expect_queued(const char *threads, const char *note)
{
	struct story_analysis reported;
	struct buf story;
	const char *found;

	buf_init(&story);
	buf_printf(&story, "process 1 100 app.py 0 1000000000\n%send 1000000000 0\n", threads);
	found = note_with(analyze_story(&reported, buf_string(&story)), "had no CPU");
	if (note)
		assert_string_equal(found, note);
	else
		assert_null(found);
	forget(&reported);
	buf_release(&story);
}

static void who_waits_for_a_cpu_is_told(void **state)
{
	(void)state;
	/* The one that waited longest. */
	expect_queued(
		"thread 1 1 100 MainThread 0 1000000000 0 300000000 700000000\n"
		"thread 2 1 101 worker 0 1000000000 0 300000000 500000000\n",
		"MainThread (thread 100) was ready to run but had no CPU for 70 % of its runnable "
		"time: other threads occupied all CPUs, so measured times of code include "
		"this wait");
	expect_queued(
		"thread 1 1 100 - 0 1000000000 0 200000000 50000000\n",
		"a thread (thread 100) was ready to run but had no CPU for 20 % of its runnable "
		"time: other threads occupied all CPUs, so measured times of code include "
		"this wait");
}

static void a_little_of_it_is_usual(void **state)
{
	(void)state;
	expect_queued("thread 1 1 100 MainThread 0 1000000000 0 900000000 100000000\n", NULL);
	/* Nor does a thread matter that hardly ran. */
	expect_queued("thread 1 1 100 MainThread 0 1000000000 0 1000000 49999999\n", NULL);
	expect_queued("thread 1 1 100 MainThread 0 1000000000 0\n", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_a_cpu_is_told),
		cmocka_unit_test(a_little_of_it_is_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
