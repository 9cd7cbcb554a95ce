/* links: is_analyze */
/* Page faults as a part of steps, against timelines whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "story_analysis.h"

/* One step of 100 ms: 60 ms in fill, 40 ms in read; 40 000 faults, or 10 ms, in it. */
#define HEAD                                                    \
	"process 1 100 app.py 0 300000000\n"                    \
	"thread 1 1 100 MainThread 0 300000000 0 200000000 0\n" \
	"thread 2 1 101 pool 0 300000000 0\n"                   \
	"code fill app.py 10\n"                                 \
	"code read app.py 20\n"                                 \
	"1: [step#1/0@100000000 +fill@100000000 -fill@160000000 +read@160000000\n"
#define STEP_END "1: -read@200000000 ]#1@200000000\n"
#define COUNTS                                                          \
	"series 1 rss_bytes 1000000@50000000 1000000@250000000\n"       \
	"series 1 minor_faults 0@50000000 0@100000000 40000@200000000 " \
	"40000@250000000\n"
#define END "end 300000000 0\n"

#define MS INT64_C(1000000)

static void check_whole(const struct step_breakdown *b)
{
	check_sum(b);
	assert_int_equal(b->total_ns, 100 * MS);
}

static int64_t at(const struct analysis_step *s, enum time_class c, const char *name)
{
	int64_t ns = 0;

	for (size_t i = 0; i < s->breakdown.cause_count; i++)
		if (s->breakdown.causes[i].what == c && s->breakdown.causes[i].where.name &&
		    !strcmp(s->breakdown.causes[i].where.name, name))
			ns += s->breakdown.causes[i].ns;
	return ns;
}

static void assert_near_ms(int64_t ns, double ms)
{
	if (ns < (ms - 0.01) * MS || ns > (ms + 0.01) * MS)
		fail_msg("%.3f ms, expected %.3f", (double)ns / MS, ms);
}

static void add_text(char *story, size_t size, const char *text)
{
	size_t n = strlen(story);

	snprintf(story + n, size - n, "%s", text);
}

/* 25 of fill, as many of another thread. */
static void add_marks(char *story, size_t size, int threads)
{
	size_t n = strlen(story);

	for (int i = 0; i < 25; i++)
		for (int thread = 1; thread <= threads; thread++)
			n += (size_t)snprintf(story + n, size - n,
					      "fault %d %d 1 memset /usr/lib/libc.so.6\n", thread,
					      110000000 + 1000000 * i);
}

static void faults_are_where_they_were_seen(void **state)
{
	(void)state;
	for (int threads = 1; threads <= 2; threads++) {
		char story[16384] = HEAD STEP_END COUNTS;
		const struct analysis_step *s;
		struct story_analysis t;

		add_marks(story, sizeof(story), threads);
		add_text(story, sizeof(story), END);
		s = analyze_story(&t, story)->steps;
		check_whole(&s->breakdown);
		/* Those of the other thread are no part of the step. */
		assert_near_ms(part(s, TIME_PAGE_FAULTS), 10.0 / threads);
		assert_near_ms(at(s, TIME_PAGE_FAULTS, "fill"), 10.0 / threads);
		assert_near_ms(at(s, TIME_CPU_PREPROCESSING, "fill"), 60 - 10.0 / threads);
		assert_near_ms(at(s, TIME_CPU_PREPROCESSING, "read"), 40);
		forget(&t);
	}
}

static void unseen_ones_are_everywhere_alike(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD STEP_END COUNTS END)->steps;
	check_whole(&s->breakdown);
	assert_near_ms(at(s, TIME_PAGE_FAULTS, "fill"), 6);
	assert_near_ms(at(s, TIME_PAGE_FAULTS, "read"), 4);
	forget(&t);
}

/* No more than time was spent there, whatever was counted. */
static void a_place_has_no_more_than_its_time(void **state)
{
	char story[16384] = HEAD STEP_END "series 1 rss_bytes 1000000@50000000 1000000@250000000\n"
					  "series 1 minor_faults 0@50000000 0@100000000 "
					  "4000000@200000000 4000000@250000000\n";
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	add_marks(story, sizeof(story), 1);
	add_text(story, sizeof(story), END);
	s = analyze_story(&t, story)->steps;
	check_whole(&s->breakdown);
	assert_near_ms(part(s, TIME_PAGE_FAULTS), 60);
	assert_int_equal(at(s, TIME_CPU_PREPROCESSING, "fill"), 0);
	assert_near_ms(at(s, TIME_CPU_PREPROCESSING, "read"), 40);
	forget(&t);
}

/* A huge page takes far longer: what does not fit one place was at the other. */
static void what_does_not_fit_is_elsewhere(void **state)
{
	char story[16384] = HEAD STEP_END
		"series 1 rss_bytes 1000000@50000000 1000000@250000000\n"
		"series 1 minor_faults 0@50000000 0@100000000 280000@200000000 280000@250000000\n";
	const struct analysis_step *s;
	size_t n;
	struct story_analysis t;

	(void)state;
	add_marks(story, sizeof(story), 1); /* 25 in fill, and three times as many in read */
	n = strlen(story);
	for (int i = 0; i < 75; i++)
		n += (size_t)snprintf(story + n, sizeof(story) - n,
				      "fault 1 %d 1 memset /usr/lib/libc.so.6\n",
				      161000000 + 400000 * i);
	add_text(story, sizeof(story), END);
	s = analyze_story(&t, story)->steps;
	check_whole(&s->breakdown);
	assert_near_ms(at(s, TIME_PAGE_FAULTS, "read"), 40);
	assert_true(at(s, TIME_PAGE_FAULTS, "fill") > 28 * MS);
	assert_true(part(s, TIME_PAGE_FAULTS) <= 71 * MS);
	forget(&t);
}

/* Without counts nothing is moved, and waits are none of it but for those from disk. */
static void waits_for_a_disk_are_faults_too(void **state)
{
	const struct analysis_step *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD STEP_END END)->steps;
	check_whole(&s->breakdown);
	assert_int_equal(part(s, TIME_PAGE_FAULTS), 0);
	forget(&t);
	s = analyze_story(&t,
			  HEAD STEP_END "stack 1 read:22\n"
					"look 1 1 160000000 199000000 40 5\n"
					"series 1 rss_bytes 1000000@50000000 1000000@250000000\n"
					"series 1 major_faults 0@50000000 0@100000000 "
					"200@200000000 200@250000000\n" END)
		    ->steps;
	check_whole(&s->breakdown);
	assert_near_ms(part(s, TIME_PAGE_FAULTS), 10);
	assert_true(at(s, TIME_PAGE_FAULTS, "read") > 3 * MS);
	forget(&t);
}

/* The GPU waits for them as well: what idle time has of them, by the same shares. */
static void idle_time_is_blamed_on_them(void **state)
{
	const struct analysis *a;
	const struct idle_blame *b;
	int64_t sum_ns, faults_ns = 0;
	struct story_analysis t;

	(void)state;
	a = analyze_story(&t, HEAD "gpu 1 1 10 CUPTI 130000\n"
				   "stack 1 read:21\n"
				   "1: {cudaLaunchKernel#1:1/1@199000000 }1@199100000\n" STEP_END
				   "2: kernel:first#9@90000000:90000000+10000000/7\n"
				   "2: kernel:k#1@200000000:199100000+500000/7\n" COUNTS END);
	b = &a->gpu.sections[0].blame;
	sum_ns = b->no_load_ns + b->unexplained_ns;
	for (size_t i = 0; i < b->count; i++) {
		sum_ns += b->items[i].ns;
		if (b->items[i].what == TIME_PAGE_FAULTS)
			faults_ns += b->items[i].ns;
	}
	assert_int_equal(sum_ns, a->gpu.sections[0].idle_ns);
	assert_true(faults_ns > 9 * MS && faults_ns <= 10 * MS);
	forget(&t);
}

/*
 * 40 faults take 8 ms in the kernel, far more than small pages do.  If resident memory rises by
 * more than such pages explain, and again, they are huge, and take up to 0.128 ms each; if it
 * rises once, or not, the time in the kernel is something else's.
 */
static void huge_pages_take_their_time(void **state)
{
	static const struct {
		const char *rss;
		double ms;
	} cases[] = {
		{ "1000000@50000000 1000000@100000000 50000000@130000000 1000000@150000000 "
		  "50000000@180000000 1000000@250000000",
		  40 * 0.128 },
		{ "1000000@50000000 1000000@100000000 50000000@130000000 50000000@250000000",
		  0.01 },
		{ "1000000@50000000 1000000@250000000", 0.01 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct analysis_step *s;
		char story[4096] = HEAD STEP_END
			"series 1 minor_faults 0@50000000 0@100000000 40@200000000 40@250000000\n"
			"series 1 cpu_system_us 0@50000000 0@100000000 8000@200000000 "
			"8000@250000000\n"
			"series 1 rss_bytes ";
		struct story_analysis t;

		add_text(story, sizeof(story), cases[i].rss);
		add_text(story, sizeof(story), "\n" END);
		s = analyze_story(&t, story)->steps;
		check_whole(&s->breakdown);
		assert_near_ms(part(s, TIME_PAGE_FAULTS), cases[i].ms);
		forget(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_are_where_they_were_seen),
		cmocka_unit_test(unseen_ones_are_everywhere_alike),
		cmocka_unit_test(a_place_has_no_more_than_its_time),
		cmocka_unit_test(what_does_not_fit_is_elsewhere),
		cmocka_unit_test(waits_for_a_disk_are_faults_too),
		cmocka_unit_test(idle_time_is_blamed_on_them),
		cmocka_unit_test(huge_pages_take_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
