/* links: is_rules is_report */
/* The summary: what must never be cut, what is worth a line, and how many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"
#include "report/report.h"

#define LINES 38

static char *shown;

static const char *show(const struct made *m, size_t columns)
{
	const struct terminal_style style = {
		.columns = columns,
		.detail = DETAIL_NORMAL,
		.written = (const char *const[]){ "r.md" },
		.written_count = 1,
		.trace = "t.isc",
	};
	size_t bytes = 0;
	FILE *f;

	free(shown);
	shown = NULL;
	f = open_memstream(&shown, &bytes);
	assert_int_equal(report_terminal(m->a, f, &style), 0);
	fclose(f);
	return shown;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static int drop_text(void **state)
{
	(void)state;
	free(shown);
	shown = NULL;
	return 0;
}

/* Lines of 70 columns behind the label cannot hold it all: it goes on in the next. */
static void the_place_of_a_finding_and_its_saving_are_never_cut(void **state)
{
	static const char name[] = "Pipeline.prepare_the_whole_batch.<locals>.normalise_one_image";
	struct made *m = make(true);

	(void)state;
	story_of_preprocessing(m, 60);
	cause(m)->where = (struct place){ name, "/srv/app/preprocessing_steps.py", 1234 };
	judge_it(m);
	assert_true(m->a->findings.sure_count > 0);
	for (size_t columns = 60; columns <= 120; columns += 20) {
		show(m, columns);
		assert_non_null(strstr(shown, "preprocessing_steps.py:1234"));
		assert_non_null(strstr(shown, "  fix     cpu-preprocessing: The host prepares"));
		assert_non_null(strstr(shown, "          saves "));
	}
	forget(m);
}

/* A text without its line breaks and their indents, to be looked for in. */
static bool says(const char *text)
{
	char *flat = strdup(shown), *to = flat;
	bool found;

	for (const char *from = shown; *from; from++) {
		if (*from != ' ' && *from != '\n')
			*to++ = *from;
		else if (to > flat && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
	found = strstr(flat, text) != NULL;
	free(flat);
	return found;
}

/* It is their figures that stand at their ends. */
static void sentences_are_whole(void **state)
{
	static char note[] =
		"calls were recorded for 5.3 % of the threads' time, with 2 pauses, "
		"to stay within --max-overhead: call counts are lower bounds, and call "
		"times cover only the recorded part; --cpu trace records all calls";
	static char *notes[] = { note };
	struct made *m = make(true);
	struct analysis *a = m->a;
	const char **advice, *was;

	(void)state;
	story_of_preprocessing(m, 60);
	judge_it(m);
	advice = a->findings.items[0].suggestions;
	was = *advice;
	*advice = "Let malloc keep the memory that <module> (raise.py:4) frees instead of "
		  "returning it to the system: start the program with MALLOC_MMAP_MAX_=0 and "
		  "MALLOC_TRIM_THRESHOLD_=4294967296 (glibc); 14090 faults per step take 39.9 ms";
	a->steps[0].name = "MTCNN";
	a->steps[0].memory.rss.late = (struct trend_line){ .slope = 2.3e6, 1.74e6, 2.76e6 };
	a->memory.machine.limit = MEMORY_LIMIT_MACHINE;
	a->memory.machine.least_left_bytes = 23920000000;
	a->memory.warnings[0].what = MEMORY_LEAK;
	a->memory.warning_count = 1;
	a->gc = (struct analysis_gc){ .count = 702, .total_ns = 753000000, .longest_ns = 185 };
	a->trust.notes = notes;
	a->trust.note_count = 1;
	for (size_t columns = 60; columns <= 120; columns += 10) {
		show(m, columns);
		assert_true(says("14090 faults per step take 39.9 ms"));
		assert_true(says("is exhausted after about 10.4 k more of them"));
		assert_int_equal(says("longest"), says("longest 185 ns"));
		assert_true(says("records all calls"));
		assert_null(strstr(shown, "\xe2\x80\xa6"));
		assert_true(lines_of(shown) <= LINES);
	}
	/* Nobody knows how long it lasts where the pace is hardly known. */
	a->steps[0].memory.rss.late.low = 13100;
	show(m, 80);
	assert_true(says("is sufficient for at least about 8667 more of them"));
	*advice = was;
	forget(m);
}

static void the_verdict_is_whole(void **state)
{
	struct made *m = make(true);

	(void)state;
	story_of_preprocessing(m, 60);
	judge_it(m);
	show(m, 80);
	assert_non_null(
		strstr(shown, "nothing for the step, mostly CPU preprocessing; the GPU 40 %"));
	forget(m);
}

static void what_took_next_to_no_time_is_not_worth_a_line(void **state)
{
	struct made *m = make(true);

	(void)state;
	m->waits[0] = (struct analysis_wait){ .waiter = user, .ns = m->a->run.wall_ns / 50 };
	m->a->locks = (struct analysis_waits){ m->a->run.wall_ns / 50, 1, m->waits };
	assert_non_null(strstr(show(m, 80), "\n  locks   threads waited "));
	m->a->locks.total_ns = m->a->run.wall_ns / 200;
	assert_null(strstr(show(m, 80), "\n  locks "));
	forget(m);
}

static void a_breakdown_of_some_steps_says_so(void **state)
{
	struct made *m = make(true);

	(void)state;
	assert_null(strstr(show(m, 80), "with the GPU recorded"));
	m->a->steps[0].breakdown.steps = STEPS / 2;
	assert_non_null(strstr(show(m, 80), "share  of 50 steps with the GPU recorded\n"));
	forget(m);
}

static void rendered(const struct report_backend *as, const struct made *m,
		     enum report_detail detail, struct buf *out)
{
	buf_clear(out);
	as->render(out, m->a, detail);
	assert_false(out->failed);
}

/* The colours of the page's key go with the rows. */
static void parts_that_would_read_zero_are_one_row(void **state)
{
	struct made *m = make(true);
	struct buf out;

	(void)state;
	buf_init(&out);
	take(m, TIME_GC, 0.001);
	take(m, TIME_IO_WAIT, 0.002);
	judge_it(m);
	rendered(&report_markdown, m, DETAIL_NORMAL, &out);
	assert_non_null(strstr(buf_string(&out), "(100.0 %)\n- Others: 3.00 µs (0.0 %)\n- Unattr"));
	rendered(&report_markdown, m, DETAIL_FULL, &out);
	assert_null(strstr(buf_string(&out), "Others"));
	assert_non_null(strstr(buf_string(&out), "- Garbage collection: 1.00 µs (0.0 %)\n"));
	rendered(&report_html, m, DETAIL_NORMAL, &out);
	assert_null(strstr(buf_string(&out), "li:nth-child(2)"));
	assert_non_null(strstr(buf_string(&out), "li:nth-child(3){--key:var(--unattributed)}"));
	buf_release(&out);
	forget(m);
}

/* Half a name says nothing, and a number that is cut is wrong. */
static void of_a_list_those_items_are_shown_that_fit(void **state)
{
	static struct gpu_kernel_figures kernels[] = {
		{ "a_kernel_of_twenty_six_letters", "a", 1, 1, 600, 1 },
		{ "another_kernel_with_a_name_that_is_too_long_for_the_line", "b", 1, 1, 300, 1 },
		{ "c", "c", 1, 1, 100, 1 },
	};
	struct made *m = make(true);

	(void)state;
	m->section.kernel_groups = kernels;
	m->section.kernel_group_count = 3;
	m->section.kernel_sum.total_ns = 1000;
	assert_non_null(strstr(show(m, 80), "\n  kernels 60.0 % a_kernel_of_twenty_six_letters\n"));
	assert_non_null(strstr(show(m, 120), "too_long_for_the_line"));
	forget(m);
}

/* A function where it is most of its library, and its name fits. */
static void native_code_is_told_by_library(void **state)
{
	struct made *m = make(true);
	struct analysis_native *n = &m->a->native;

	(void)state;
	*n = (struct analysis_native){ .samples = 100, .library_count = 3 };
	n->libraries[0] = (struct analysis_native_row){ NULL, "/l/libtorch.so", user, 50, 0 };
	n->libraries[1] = (struct analysis_native_row){ "gc_collect", "/l/python3", user, 30, 0 };
	n->libraries[2] = (struct analysis_native_row){ NULL, NULL, user, 15, 0 };
	assert_non_null(strstr(show(m, 97),
			       "\n  native  of all CPU time: 50.0 % libtorch.so, 30.0 % python3 "
			       "(mostly gc_collect)\n"));
	assert_non_null(strstr(show(m, 77), "\n  native  of all CPU time: 50.0 % libtorch.so, "
					    "30.0 % python3\n"));
	assert_non_null(strstr(show(m, 107), "gc_collect), 15.0 % (unknown)\n"));
	forget(m);
}

static void who_had_a_lock_is_shown_however_long_the_name_of_who_waited(void **state)
{
	struct made *m = make(true);
	struct place waiter = user;

	(void)state;
	waiter.name = "Pipeline.prepare_the_whole_batch.<locals>.normalise_one_image_after_another";
	m->waits[0] = (struct analysis_wait){ .waiter = waiter,
					      .holder = other,
					      .ns = m->a->run.wall_ns / 50 };
	m->a->gil = (struct analysis_waits){ m->a->run.wall_ns / 50, 1, m->waits };
	assert_non_null(strstr(show(m, 80), " while count held it\n"));
	forget(m);
}

static void files_of_one_name_stay_apart(void **state)
{
	static struct gpu_line_figures line = { .function = "load", .file = "/srv/app/a/utils.py" };
	static struct idle_cause idle = { .where = { "load", "/srv/app/b/utils.py", 3 }, .ns = 10 };
	struct made *m = make(true);

	(void)state;
	m->a->run.root = (char[]){ "/srv/app" };
	m->section.idle_ns = 10;
	m->section.lines = &line;
	m->section.line_count = 1;
	m->section.blame = (struct idle_blame){ .count = 1, .items = &idle };
	show(m, 80);
	assert_non_null(strstr(shown, " load a/utils.py:0\n"));
	assert_non_null(strstr(shown, " load b/utils.py:3\n"));
	forget(m);
}

static void a_healthy_run_is_told_so(void **state)
{
	struct made *m = make(true);

	(void)state;
	assert_non_null(strstr(show(m, 80), "\n  fix     nothing: no rule found time that could "));
	m->a->steps[0].source = STEP_WHOLE_RUN;
	assert_null(strstr(show(m, 80), "\n  fix "));
	forget(m);
}

static void the_rest_of_a_run_without_steps_is_told(void **state)
{
	struct made *m = make(true);

	(void)state;
	m->a->run.wall_ns = 30000000000;
	m->a->in_steps.from_ns = 20000000000;
	m->a->in_steps.until_ns = 20800000000;
	m->a->in_steps.importing_ns = 25900000000;
	assert_null(strstr(show(m, 80), "\n  rest "));
	m->a->steps[0].source = STEP_WHOLE_RUN;
	assert_non_null(strstr(show(m, 80), "\n  rest    29.2 s of 30.0 s before and after that, "
					    "25.9 s of it importing modules\n"));
	m->a->in_steps.from_ns = 5800000000; /* 15 of 30 s */
	assert_null(strstr(show(m, 80), "\n  rest "));
	forget(m);
}

/* Something to say about everything: the least important goes, and no table is there. */
static void there_are_never_more_lines_than_a_screen_has(void **state)
{
	static struct analysis_function functions[2];
	static struct gpu_kernel_figures kernel = { "gemm", "gemm", 1, 10, 1000, 100 };
	static struct gpu_copy_figures copy = { "H2D", "pageable", "device", true, 1, 1, 1000 };
	static struct gpu_line_figures line = { .function = "infer", .file = "a.py", .line = 3 };
	static struct idle_cause idle = { .where = { "infer", "a.py", 3 }, .ns = 10 };
	static char *notes[] = { "one", "two", "three", "four" };
	struct made *m = make(true);
	struct analysis *a = m->a;

	(void)state;
	story_of_preprocessing(m, 30);
	take(m, TIME_SYNC_WAIT, 10);
	take(m, TIME_H2D, 8);
	take(m, TIME_GC, 6);
	take(m, TIME_LAUNCH, 5);
	take(m, TIME_IO_WAIT, 4);
	a->use.after_wait = (struct gpu_usage_gaps){ .count = 100 * STEPS, .ns = 30 * MS };
	a->use.waits = (struct gpu_usage_sum){ 100 * STEPS, 0, 40 * MS };
	judge_it(m);
	for (int i = 0; i < 2; i++)
		functions[i] = (struct analysis_function){
			.name = "f", .file = "a.py", .self_ns = a->run.wall_ns, .waits = i == 1
		};
	a->functions = functions;
	a->function_count = 2;
	a->working_count = 1;
	a->gil = a->locks = (struct analysis_waits){ a->run.wall_ns, 1, m->waits };
	m->waits[0] = (struct analysis_wait){ .waiter = user, .ns = 5 };
	a->native = (struct analysis_native){ .samples = 1, .library_count = 1 };
	a->native.libraries[0] = (struct analysis_native_row){ "gemm", "libmkl.so", user, 1, 1 };
	a->gc = (struct analysis_gc){ .count = 3, .total_ns = 5 };
	a->trust.notes = notes;
	a->trust.note_count = 4;
	m->section.kernel_groups = &kernel;
	m->section.copies = &copy;
	m->section.lines = &line;
	m->section.blame = (struct idle_blame){ .count = 1, .items = &idle };
	m->section.kernel_group_count = m->section.copy_count = m->section.line_count = 1;
	show(m, 60);
	assert_true(lines_of(shown) <= LINES);
	assert_non_null(strstr(shown, "\n  gpu "));
	assert_non_null(strstr(shown, "\n  idle "));
	assert_non_null(strstr(shown, "\n  trace   t.isc\n"));
	forget(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_place_of_a_finding_and_its_saving_are_never_cut,
					  drop_text),
		cmocka_unit_test_teardown(sentences_are_whole, drop_text),
		cmocka_unit_test_teardown(the_verdict_is_whole, drop_text),
		cmocka_unit_test_teardown(what_took_next_to_no_time_is_not_worth_a_line, drop_text),
		cmocka_unit_test_teardown(a_breakdown_of_some_steps_says_so, drop_text),
		cmocka_unit_test(parts_that_would_read_zero_are_one_row),
		cmocka_unit_test_teardown(of_a_list_those_items_are_shown_that_fit, drop_text),
		cmocka_unit_test_teardown(native_code_is_told_by_library, drop_text),
		cmocka_unit_test_teardown(
			who_had_a_lock_is_shown_however_long_the_name_of_who_waited, drop_text),
		cmocka_unit_test_teardown(files_of_one_name_stay_apart, drop_text),
		cmocka_unit_test_teardown(a_healthy_run_is_told_so, drop_text),
		cmocka_unit_test_teardown(the_rest_of_a_run_without_steps_is_told, drop_text),
		cmocka_unit_test_teardown(there_are_never_more_lines_than_a_screen_has, drop_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
