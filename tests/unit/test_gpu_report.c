/* links: is_report is_rules */
/* What an analysis says about the GPU, against traces whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"
#include "rules/judge.h"
#include "story_analysis.h"

#define HEAD                                      \
	"process 1 100 app.py 0 1000000\n"        \
	"thread 1 1 100 MainThread 0 1000000 0\n" \
	"thread 2 1 101 pool 0 1000000 0\n"       \
	"thread 3 1 102 cupti 0 1000000 0\n"      \
	"gpu 1 1 10 CUPTI 130000\n"
#define END "end 1000000 0\n"

static bool has_note(const struct analysis *a, const char *part)
{
	for (size_t i = 0; i < a->trust.note_count; i++)
		if (strstr(a->trust.notes[i], part))
			return true;
	return false;
}

/* Two streams: 100-300 and 200-400, then 500-600. */
#define WORK                                                                     \
	"1: {cudaLaunchKernel#1:1/0@50 }1@60 {cudaLaunchKernel#2:1/0@70 }2@80\n" \
	"1: {cudaMemcpyAsync#3:3/0@90 }3@95\n"                                   \
	"3: kernel:a#1@700:100+200/7 kernel:b#2@700:200+200/8 copy:2,3,1,1000#3@700:500+100/7\n"

static void busy_is_the_union_of_all_streams(void **state)
{
	struct story_analysis t;
	const struct gpu_section *s;

	(void)state;
	s = analyze_story(&t, HEAD WORK END)->gpu.sections;
	assert_int_equal(t.analysis->gpu.section_count, 1);
	assert_int_equal(s->pid, 100);
	assert_int_equal(s->first_ns, 100);
	assert_int_equal(s->last_ns, 600);
	assert_int_equal(s->busy_ns, 400);
	assert_int_equal(s->idle_ns, 100);
	assert_int_equal(s->paused_ns, 0);
	assert_int_equal(s->stream_count, 2);
	assert_int_equal(s->streams[0].stream, 7);
	assert_int_equal(s->streams[0].busy_ns, 300);
	assert_int_equal(s->streams[0].kernels, 1);
	assert_int_equal(s->streams[0].copies, 1);
	assert_int_equal(s->streams[1].busy_ns, 200);
	assert_int_equal(s->d2h_bytes, 1000);
	assert_int_equal(s->h2d_bytes, 0);
	assert_string_equal(s->copies[0].kind, "D2H");
	assert_string_equal(s->copies[0].destination, "pageable");
	forget(&t);
}

static void a_pause_is_neither_busy_nor_idle(void **state)
{
	struct story_analysis t;
	const struct analysis *a;

	(void)state;
	a = analyze_story(&t, HEAD WORK "1: [step#1/0@96 ]#1@190\n"
					"gpu 1 3 420 torch.profiler\ngpu 1 1 480 CUPTI 130000\n"
					"1: [step#2/0@500 ]#2@600 [step#3/0@610 ]#3@620\n"
					"gpu 2 4 615 a second device\n" END);
	assert_int_equal(a->gpu.sections[0].busy_ns, 400);
	assert_int_equal(a->gpu.sections[0].paused_ns, 60);
	assert_int_equal(a->gpu.sections[0].idle_ns, 40);
	assert_true(has_note(a, "paused 1 time, 0.000 s in total"));
	assert_true(has_note(a, "GPU recording stopped at 0.000 s: a second device"));
	/* The last step saw the end of the recording: nothing is known about it. */
	assert_int_equal(a->steps[0].count, 3);
	assert_int_equal(a->steps[0].gpu.steps, 2);
	forget(&t);
}

static void steps_count_the_launches_of_their_thread(void **state)
{
	struct story_analysis t;
	const struct gpu_step_figures *g;

	(void)state;
	g = &analyze_story(&t, HEAD "1: [main#1/0@40\n" WORK "1: ]#1@650\n"
				    "2: [pool#2/0@45 {cudaMemsetAsync#9:4/0@47 }9@48 ]#2@450\n"
				    "3: memset:16#9@700:700+50/7\n" END)
		     ->steps[0]
		     .gpu;
	assert_string_equal(t.analysis->steps[0].name, "main");
	assert_int_equal(g->steps, 1);
	assert_true(g->launches_known);
	assert_int_equal(g->busy_ns, 400);
	assert_int_equal(g->idle_ns, 610 - 400);
	assert_int_equal(g->kernels, 2);
	assert_int_equal(g->copies, 1);
	assert_int_equal(g->d2h_bytes, 1000);
	assert_int_equal(g->launched_ns, 500);
	g = &t.analysis->steps[1].gpu;
	assert_true(g->launches_known);
	assert_int_equal(g->busy_ns, 300);
	assert_int_equal(g->kernels, 0);
	assert_int_equal(g->launched_ns, 50); /* which ran after the step had ended */
	forget(&t);
}

static void interleaved_tasks_do_not_share_launches(void **state)
{
	struct story_analysis t;
	const struct analysis *a;

	(void)state;
	a = analyze_story(&t, HEAD "1: [request#1/7@20 [request#2/8@30\n" WORK
				   "1: ]#1@450 ]#2@500\n" END);
	assert_int_equal(a->steps[0].gpu.steps, 2);
	assert_int_equal(a->steps[0].gpu.busy_ns, 300);
	assert_false(a->steps[0].gpu.launches_known);
	forget(&t);

	/* One inside the other is no such thing, nor is an event loop inside a scope. */
	a = analyze_story(&t, HEAD "1: [outer#1/0@20 [middle#2/7@25 [inner#3/7@30\n" WORK
				   "1: ]#3@450 ]#2@480 [last#4/8@490 ]#4@495 ]#1@500\n" END);
	assert_int_equal(a->step_count, 4);
	for (size_t i = 0; i < a->step_count; i++) {
		bool last = !strcmp(a->steps[i].name, "last");

		assert_true(a->steps[i].gpu.launches_known);
		assert_int_equal(a->steps[i].gpu.kernels, last ? 0 : 2);
	}
	forget(&t);

	/* Nor is what NVTX, which knows no tasks, was told inside one. */
	a = analyze_story(&t, HEAD
			  "nvtx 1 pushed - 0 -\nnvtx 2 started - 0 -\n"
			  "1: [started#9/0@15 [request#1/7@20 [pushed#2/0@25 [pushed#3/0@30\n" WORK
			  "1: ]#3@450 ]#2@480 ]#1@490 ]#9@500\n" END);
	assert_int_equal(a->step_count, 3);
	for (size_t i = 0; i < a->step_count; i++)
		assert_true(a->steps[i].gpu.launches_known && a->steps[i].gpu.kernels == 2);
	assert_int_equal(a->nvtx_count, 2);
	assert_int_equal(a->nvtx[0].gpu_ns, a->nvtx[0].count * 500);
	forget(&t);
}

static void a_run_without_scopes_has_its_figures(void **state)
{
	struct story_analysis t;
	const struct analysis_step *s;

	(void)state;
	s = analyze_story(&t, HEAD WORK END)->steps;
	assert_int_equal(s->source, STEP_WHOLE_RUN);
	assert_int_equal(s->gpu.busy_ns, 400);
	assert_int_equal(s->gpu.idle_ns, 500 - 400); /* imports and the end are left out */
	assert_int_equal(s->gpu.kernels, 2);
	assert_int_equal(s->gpu.launched_ns, 500);
	forget(&t);
}

static void lines_are_those_of_the_user(void **state)
{
	struct story_analysis t;
	const struct gpu_section *s;

	(void)state;
	s = analyze_story(&t, HEAD
			  "code infer /app/serve.py 40\n"
			  "code linear /usr/lib/python3/dist-packages/torch/nn.py 5\n"
			  "code gelu /usr/lib/python3/dist-packages/torch/nn.py 50\n"
			  "stack 1 linear:7 infer:44\nstack 2 gelu:52 infer:44\nstack 3 infer:45\n"
			  "1: {cudaLaunchKernel#1:1/1@50 }1@60 {cudaLaunchKernel#2:1/2@70 }2@90\n"
			  "1: {cudaLaunchKernel#3:1/0@95 }3@96\n"
			  "1: {cudaDeviceSynchronize#4:5/3@97 }4@900\n"
			  "3: kernel:a#1@700:100+200/7 kernel:b#2@700:300+200/7\n"
			  "3: kernel:b#3@700:500+90/7\n" END)
		    ->gpu.sections;
	assert_int_equal(s->line_count, 2);
	assert_string_equal(s->lines[0].function, "infer");
	assert_string_equal(s->lines[0].file, "/app/serve.py");
	assert_int_equal(s->lines[0].line, 44);
	assert_int_equal(s->lines[0].calls, 2);
	assert_int_equal(s->lines[0].gpu_ns, 400);
	assert_int_equal(s->lines[0].api_ns, 30);
	assert_string_equal(s->lines[1].function, "(no Python line)");
	assert_string_equal(s->lines[1].file, "");
	assert_int_equal(s->lines[1].gpu_ns, 90);
	assert_int_equal(s->sync_count, 1);
	assert_int_equal(s->syncs[0].line, 45);
	assert_int_equal(s->syncs[0].api_ns, 803);
	assert_int_equal(s->call_count, 2);
	assert_string_equal(s->calls[0].name, "cudaDeviceSynchronize");
	assert_int_equal(s->kernel_count, 2);
	assert_string_equal(s->kernels[0].name, "b");
	assert_int_equal(s->kernels[0].count, 2);
	assert_int_equal(s->kernels[0].total_ns, 290);
	assert_int_equal(s->kernels[0].longest_ns, 200);
	forget(&t);
}

static void the_process_with_most_gpu_time_comes_first(void **state)
{
	struct story_analysis t;
	const struct analysis_gpu *g;

	(void)state;
	g = &analyze_story(&t, HEAD
			   "process 2 200 big.py 0 1000000\nthread 4 2 200 - 0 1000000 0\n" WORK
			   "4: {cudaLaunchKernel#1:1/0@50 }1@60 kernel:a#1@9000:100+8000/7\n" END)
		     ->gpu;
	assert_int_equal(g->section_count, 2);
	assert_int_equal(g->sections[0].pid, 200);
	assert_int_equal(g->sections[0].busy_ns, 8000);
	assert_int_equal(g->sections[1].pid, 100);
	assert_int_equal(g->sections[1].busy_ns, 400);
	forget(&t);
}

static void what_has_no_times_is_counted(void **state)
{
	struct story_analysis t;
	const struct analysis *a;

	(void)state;
	a = analyze_story(&t, HEAD "1: {cudaLaunchKernel#1:1/0@50 }1@60\n3: kernel:a#1@700:0+0/7\n"
				   "3: dropped:4@800 overhead:900+25@950\n" END);
	assert_int_equal(a->gpu.sections[0].kernels[0].count, 1);
	assert_int_equal(a->gpu.sections[0].kernels[0].total_ns, 0);
	assert_int_equal(a->gpu.sections[0].busy_ns, 0);
	assert_int_equal(a->trust.untimed_activities, 1);
	assert_int_equal(a->trust.cupti_dropped, 4);
	assert_int_equal(a->trust.cupti_overhead_ns, 25);
	assert_true(has_note(a, "4 GPU activities were dropped by CUPTI"));
	assert_true(has_note(a, "1 GPU activity without times"));
	assert_false(has_note(a, "GPU clock"));
	forget(&t);
}

static void a_report_without_a_gpu_says_why(void **state)
{
	static const struct {
		const char *story, *note;
	} cases[] = {
		{ "process 1 100 app.py 0 9\nend 9 0\n", "no CUDA activity" },
		{ "info gpu off\nprocess 1 100 app.py 0 9\nend 9 0\n",
		  "the GPU was not recorded: recording it was switched off" },
		{ HEAD END, "no GPU work was recorded" },
		{ "process 1 100 app.py 0 9\nthread 1 1 100 - 0 9 0\n"
		  "gpu 1 2 5 libcupti is missing: install cuda-cupti\nend 9 0\n",
		  "the GPU was not recorded: libcupti is missing: install cuda-cupti" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct story_analysis t;
		const struct analysis *a = analyze_story(&t, cases[i].story);
		struct err err;

		assert_int_equal(judge(t.analysis, NULL, &err), 0);
		assert_true(has_note(a, cases[i].note));
		assert_int_equal(a->gpu.section_count, 0);
		assert_int_equal(a->steps[0].gpu.steps, 0);
		assert_non_null(strstr(a->verdict.because, "the GPU was not recorded"));
		forget(&t);
	}
}

/* What a reader could not tell apart is one row; JSON has each by its full name. */
static void kernels_of_one_brief_name_are_one_row(void **state)
{
	const struct gpu_section *s;
	struct story_analysis t;

	(void)state;
	s = analyze_story(&t, HEAD
			  "1: {cudaLaunchKernel#1:1/0@50 }1@60 {cudaLaunchKernel#2:1/0@70 }2@80\n"
			  "1: {cudaLaunchKernel#3:1/0@90 }3@95\n"
			  "3: kernel:_Z1kIiEvT_#1@700:100+200/7 kernel:_Z1kIfEvT_#2@700:300+50/7\n"
			  "3: kernel:other#3@700:400+210/7\n" END)
		    ->gpu.sections;
	assert_int_equal(s->kernel_count, 3);
	assert_string_equal(s->kernels[0].name, "other");
	assert_int_equal(s->kernel_group_count, 2);
	assert_string_equal(s->kernel_groups[0].name, "k");
	assert_int_equal(s->kernel_groups[0].variants, 2);
	assert_int_equal(s->kernel_groups[0].count, 2);
	assert_int_equal(s->kernel_groups[0].total_ns, 250);
	assert_int_equal(s->kernel_groups[0].longest_ns, 200);
	assert_int_equal(s->kernel_groups[1].variants, 1);
	forget(&t);
}

static void the_summary_stays_on_one_screen(void **state)
{
	const struct terminal_style style = { .columns = 60,
					      .written = (const char *const[]){ "r.md" },
					      .written_count = 1,
					      .trace = "t" };
	char story[4096] = HEAD "1: (0@1 )0@2:1 (0@3 )0@4:1\n", *text = NULL;
	size_t used = strlen(story);
	size_t n = 0, lines = 0;
	struct story_analysis t;
	FILE *f;

	(void)state;
	for (int i = 0; i < 9; i++) {
		used += (size_t)snprintf(story + used, sizeof(story) - used,
					 "2: [s%d#%d/0@%d +f%d@%d -f%d@%d ]#%d@%d\n", i, i + 1,
					 100 * i, i, 100 * i + 1, i, 100 * i + 9, i + 1,
					 100 * i + 20);
	}
	snprintf(story + used, sizeof(story) - used, "%s", WORK END);
	analyze_story(&t, story);
	f = open_memstream(&text, &n);
	assert_int_equal(report_terminal(t.analysis, f, &style), 0);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	assert_in_range(lines, 20, 38);
	assert_non_null(strstr(text, "\n  gpu     busy 80.0 % of 500 ns, 2 kernels\n"));
	free(text);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_is_the_union_of_all_streams),
		cmocka_unit_test(a_pause_is_neither_busy_nor_idle),
		cmocka_unit_test(steps_count_the_launches_of_their_thread),
		cmocka_unit_test(interleaved_tasks_do_not_share_launches),
		cmocka_unit_test(a_run_without_scopes_has_its_figures),
		cmocka_unit_test(lines_are_those_of_the_user),
		cmocka_unit_test(the_process_with_most_gpu_time_comes_first),
		cmocka_unit_test(what_has_no_times_is_counted),
		cmocka_unit_test(kernels_of_one_brief_name_are_one_row),
		cmocka_unit_test(a_report_without_a_gpu_says_why),
		cmocka_unit_test(the_summary_stays_on_one_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
