/* links: is_report */
/* What an analysis says about layers, against traces whose truth is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"
#include "story_analysis.h"

#define HEAD                                      \
	"process 1 100 app.py 0 1000000\n"        \
	"thread 1 1 100 MainThread 0 1000000 0\n" \
	"thread 2 1 101 pool 0 1000000 0\n"       \
	"thread 3 1 102 cupti 0 1000000 0\n"      \
	"gpu 1 1 10 CUPTI 130000\n"
#define MODEL                       \
	"layer 1 0 Net -\n"         \
	"layer 2 1 Block h.0\n"     \
	"layer 3 1 Linear h.0.fc\n" \
	"layer 4 1 Block h.1\n"     \
	"layer 5 1 Linear h.1.fc\n"
#define END "end 1000000 0\n"

static const struct analysis_layers *layers_of(struct story_analysis *t, const char *story)
{
	return &analyze_story(t, story)->layers;
}

static const struct analysis_layer *find(const struct analysis_layers *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!strcmp(l->items[i].name, name))
			return &l->items[i];
	}
	fail_msg("no layer %s", name);
	return NULL;
}

static bool has_note(const struct analysis *a, const char *part)
{
	for (size_t i = 0; i < a->trust.note_count; i++)
		if (strstr(a->trust.notes[i], part))
			return true;
	return false;
}

/* The promise of the layer view: nothing is counted twice, and nothing is missing. */
static void expect_all_gpu_time(const struct story_analysis *t)
{
	const struct analysis_layers *l = &t->analysis->layers;
	int64_t sum_ns = l->outside_gpu_ns, all_ns = 0;
	uint64_t sum = l->outside_kernels, all = 0;

	for (size_t i = 0; i < l->count; i++) {
		sum_ns += l->items[i].sum.self_gpu_ns;
		sum += l->items[i].sum.self_kernels;
	}
	for (size_t i = 0; i < t->analysis->gpu.section_count; i++) {
		const struct gpu_section *s = &t->analysis->gpu.sections[i];

		all_ns += s->kernel_sum.total_ns + s->copy_sum.total_ns + s->memset_sum.total_ns +
			  s->graph_sum.total_ns;
		all += s->kernel_sum.count;
	}
	assert_int_equal(sum_ns, all_ns);
	assert_int_equal(sum, all);
}

static void expect_tree(const struct analysis_layers *l, const char *tree)
{
	struct buf b;

	buf_init(&b);
	for (size_t i = 0; i < l->count; i++) {
		const struct analysis_layer *one = &l->items[i];

		buf_printf(&b, "%*s%s:%s(%s) %" PRIu64 "\n", (int)one->depth, "", one->root,
			   one->name, one->class_name, one->sum.calls);
		if (one->depth)
			assert_int_equal(l->items[one->parent].depth + 1, one->depth);
		else
			assert_true(one->parent == LAYER_NONE);
	}
	assert_string_equal(buf_string(&b), tree);
	buf_release(&b);
}

static void cpu_time_needs_no_gpu(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t,
		      HEAD MODEL "1: <1@100 <2@110 <3@120 </3@150 </2@160 <4@170 </4@180 </1@200 "
				 "<1@300 </1@310\n" END);
	expect_tree(l, "Net:Net(Net) 2\n"
		       " Net:h.0(Block) 1\n"
		       "  Net:h.0.fc(Linear) 1\n"
		       " Net:h.1(Block) 1\n");
	assert_int_equal(l->items[0].sum.cpu_ns, 110);
	assert_int_equal(l->items[0].sum.self_cpu_ns, 50);
	assert_int_equal(l->items[1].sum.cpu_ns, 50);
	assert_int_equal(l->items[1].sum.self_cpu_ns, 20);
	assert_int_equal(l->items[1].pid, 100);
	assert_int_equal(l->outside_gpu_ns, 0);
	assert_int_equal(l->items[0].sum.gpu_ns, 0);
	forget(&t);
}

/*
 * Two blocks with a kernel of their own and one of their fc each, a kernel before and a
 * copy behind the model, and one of another thread.
 */
#define WORK                                                                                       \
	"1: {cudaLaunchKernel#1:1/0@50 }1@55 <1@100 <2@110 {cudaLaunchKernel#2:1/0@112 }2@115\n"   \
	"1: <3@120 {cudaLaunchKernel#3:1/0@122 }3@125 </3@130 </2@140\n"                           \
	"1: <4@150 {cudaLaunchKernel#4:1/0@152 }4@155 <5@160 {cudaLaunchKernel#5:1/0@162 }5@165\n" \
	"1: </5@170 </4@180 {cudaMemsetAsync#6:4/0@182 }6@184 </1@190\n"                           \
	"1: {cudaMemcpyAsync#7:3/0@195 }7@198\n"                                                   \
	"2: {cudaLaunchKernel#8:1/0@115 }8@118\n"                                                  \
	"3: kernel:a#1@900:60+7/7 kernel:b#2@900:200+10/7 kernel:c#3@900:220+20/7\n"               \
	"3: kernel:b#4@900:245+10/7 kernel:c#5@900:250+30/8 memset:64#6@900:300+5/7\n"             \
	"3: copy:2,3,1,1000#7@900:310+40/7 kernel:d#8@900:230+100/9\n"

static void a_launch_belongs_to_the_innermost_layer_of_its_thread(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t, HEAD MODEL WORK END);
	expect_all_gpu_time(&t);
	assert_int_equal(find(l, "h.0.fc")->sum.self_gpu_ns, 20);
	assert_int_equal(find(l, "h.0")->sum.self_gpu_ns, 10);
	assert_int_equal(find(l, "h.0")->sum.gpu_ns, 30);
	assert_int_equal(find(l, "h.0")->sum.kernels, 2);
	assert_int_equal(find(l, "h.0")->sum.self_kernels, 1);
	assert_int_equal(find(l, "h.1")->sum.gpu_ns, 40);
	assert_int_equal(find(l, "Net")->sum.gpu_ns, 75);
	assert_int_equal(find(l, "Net")->sum.self_gpu_ns, 5);
	assert_int_equal(find(l, "Net")->sum.kernels, 4);
	assert_int_equal(l->outside_gpu_ns, 7 + 40 + 100);
	assert_int_equal(l->outside_kernels, 2);
	forget(&t);
}

/* Captured in h.0 and its fc, replayed twice by another thread, once inside h.1. */
static void a_graphs_node_belongs_to_the_layer_of_its_capture(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(
		&t, HEAD MODEL
		"1: <1@100 <2@110 made:1/0@112 {cudaLaunchKernel#2:1/0@112 }2@115\n"
		"1: <3@120 made:2/0@122 {cudaMemcpyAsync#3:3/0@122 }3@125 </3@130 </2@140 </1@150\n"
		"1: cloned:11,1@160 cloned:12,2@160\n"
		"2: {cudaGraphLaunch#4:2/0@200 }4@210 <4@220 {cudaGraphLaunch#5:2/0@230 }5@240\n"
		"2: </4@250\n"
		"3: kernel:k!5,11#4@900:300+10/7 copy:8,3,3,64!5,12#4@900:320+20/7\n"
		"3: kernel:k!5,11#5@900:400+10/7 copy:8,3,3,64!5,12#5@900:420+20/7\n"
		"3: kernel:unknown!5,13#5@900:500+40/7\n" END);
	expect_all_gpu_time(&t);
	assert_int_equal(find(l, "h.0")->sum.self_gpu_ns, 20);
	assert_int_equal(find(l, "h.0")->sum.gpu_ns, 60);
	assert_int_equal(find(l, "h.0")->sum.self_kernels, 2);
	assert_int_equal(find(l, "h.0.fc")->sum.self_gpu_ns, 40);
	assert_int_equal(find(l, "Net")->sum.gpu_ns, 60);
	assert_int_equal(find(l, "Net")->sum.launch_gap_ns, 0);
	assert_int_equal(find(l, "h.1")->sum.gpu_ns, 40); /* of the node that nobody knows */
	assert_int_equal(l->outside_gpu_ns, 0);
	forget(&t);
}

static void launch_gaps_are_idle_time_inside_a_call(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	/* Another thread's kernel, 230 to 330, fills what would be gaps from there on. */
	l = layers_of(&t, HEAD MODEL WORK END);
	assert_int_equal(find(l, "h.0")->sum.launch_gap_ns, 10); /* 210 to 220 */
	assert_int_equal(find(l, "h.1")->sum.launch_gap_ns, 0);
	assert_int_equal(find(l, "Net")->sum.launch_gap_ns, 10);
	assert_int_equal(find(l, "h.0.fc")->sum.launch_gap_ns, 0);
	forget(&t);
	/* Between two calls the GPU may rest: that is no gap of a call. */
	l = layers_of(&t, HEAD MODEL
		      "1: <1@100 {f#1:1/0@110 }1@115 {f#2:1/0@120 }2@125 </1@130\n"
		      "1: <1@200 {f#3:1/0@210 }3@215 {f#4:1/0@220 }4@225 </1@230\n"
		      "3: kernel:a#1@900:150+10/7 kernel:a#2@900:165+5/7 kernel:a#3@900:250+10/7 "
		      "kernel:a#4@900:263+10/7\n" END);
	assert_int_equal(l->items[0].sum.launch_gap_ns, 5 + 3);
	expect_all_gpu_time(&t);
	forget(&t);
}

static void a_pause_of_the_recording_is_no_gap(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t, HEAD MODEL "1: <1@100 {f#1:1/0@110 }1@115\n"
				     "gpu 1 3 160 torch.profiler\ngpu 1 1 180 CUPTI 130000\n"
				     "1: {f#2:1/0@190 }2@195 </1@199\n"
				     "3: kernel:a#1@900:150+5/7 kernel:a#2@900:200+5/7\n" END);
	assert_int_equal(l->items[0].sum.launch_gap_ns, 45 - 20);
	forget(&t);
}

static void a_layer_inside_itself_is_not_counted_twice(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t, HEAD MODEL "1: <2@100 <2@110 {f#1:1/0@112 }1@115 </2@120 </2@150\n"
				     "3: kernel:a#1@900:200+10/7\n" END);
	assert_int_equal(find(l, "h.0")->sum.calls, 2);
	assert_int_equal(find(l, "h.0")->sum.cpu_ns, 50);
	assert_int_equal(find(l, "h.0")->sum.self_cpu_ns, 50);
	assert_int_equal(find(l, "h.0")->sum.gpu_ns, 10);
	assert_int_equal(find(l, "h.0")->sum.kernels, 1);
	expect_all_gpu_time(&t);
	/* Its root was never called itself, and has a row all the same. */
	expect_tree(l, "Net:Net(Net) 0\n Net:h.0(Block) 2\n");
	forget(&t);
}

static void a_folded_layer_is_part_of_the_one_around(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t, HEAD MODEL
		      "1: <1@100 <2@110 {f#1:1/0@112 }1@115 <-2@117 {f#2:1/0@120 }2@125\n"
		      "1: </1@200 <1@300 {f#3:1/0@310 }3@315 </1@320\n"
		      "3: kernel:a#1@900:200+10/7 kernel:a#2@900:220+10/7 "
		      "kernel:a#3@900:320+10/7\n" END);
	expect_all_gpu_time(&t);
	assert_int_equal(find(l, "Net")->sum.self_gpu_ns, 30);
	assert_int_equal(find(l, "Net")->sum.self_cpu_ns, 120);
	assert_true(find(l, "h.0")->folded);
	assert_false(find(l, "Net")->folded);
	assert_int_equal(find(l, "h.0")->sum.calls, 0);
	assert_int_equal(l->folded, 1);
	assert_true(has_note(t.analysis, "1 layer exceeded the budget"));
	forget(&t);
	/* The outermost: what it launched is outside of all layers. */
	l = layers_of(&t, HEAD MODEL
		      "1: <1@100 {f#1:1/0@112 }1@115 <-1@117 {f#2:1/0@120 }2@125 </1@130\n"
		      "3: kernel:a#1@900:200+10/7 kernel:a#2@900:220+10/7\n" END);
	expect_all_gpu_time(&t);
	assert_int_equal(l->outside_gpu_ns, 20);
	forget(&t);
}

static void threads_have_layers_of_their_own(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t,
		      HEAD MODEL "1: <1@100 {f#1:1/0@112 }1@115 </1@200\n"
				 "2: {f#2:1/0@50 }2@60 <1@110 <3@115 {f#3:1/0@120 }3@125 </3@130 "
				 "</1@140 {f#4:1/0@150 }4@155\n"
				 "3: kernel:a#1@900:200+1/7 kernel:a#2@900:220+2/7 "
				 "kernel:a#3@900:230+4/7 kernel:a#4@900:240+8/7\n" END);
	expect_all_gpu_time(&t);
	assert_int_equal(find(l, "Net")->sum.calls, 2);
	assert_int_equal(find(l, "Net")->sum.gpu_ns, 1 + 4);
	assert_int_equal(find(l, "h.0.fc")->sum.gpu_ns, 4);
	assert_int_equal(l->outside_gpu_ns, 2 + 8);
	forget(&t);
}

static void graphs_and_what_no_call_explains_are_counted(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t, HEAD MODEL "1: <1@100 {cudaGraphLaunch#1:2/0@112 }1@115 </1@200\n"
				     "3: kernel:a#1@900:200+1/7 kernel:b#1@900:210+2/7 "
				     "graph:5#1@900:215+3/8 kernel:c#99@900:240+8/7 "
				     "kernel:d#1@900:0+0/7\n" END);
	expect_all_gpu_time(&t);
	assert_int_equal(l->items[0].sum.gpu_ns, 6);
	assert_int_equal(l->items[0].sum.kernels, 3); /* one of them without times */
	assert_int_equal(l->outside_gpu_ns, 8);
	forget(&t);
}

static void losses_leave_the_sum_whole(void **state)
{
	const struct analysis_layers *l;
	struct story_analysis t;

	(void)state;
	l = layers_of(&t,
		      HEAD MODEL "1: <1@100 <2@105 {f#1:1/0@112 }1@115 lost:5 {f#2:1/0@150 }2@155\n"
				 "1: </1@160 <1@170 <2@175 {f#3:1/0@180 }3@185 </1@190\n"
				 "3: kernel:a#1@900:200+1/7 kernel:a#2@900:220+2/7 "
				 "kernel:a#3@900:230+4/7\n" END);
	expect_all_gpu_time(&t);
	assert_int_equal(find(l, "h.0")->sum.gpu_ns, 1 + 4);
	assert_int_equal(l->outside_gpu_ns, 2);
	assert_int_equal(l->unended, 3);
	assert_true(has_note(t.analysis, "3 layer calls without a recorded end"));
	forget(&t);
}

static void two_roots_of_a_class_have_numbers(void **state)
{
	struct story_analysis t;

	(void)state;
	expect_tree(layers_of(&t, HEAD MODEL "layer 11 0 Net -\nlayer 12 11 Block h.0\n"
					     "1: <11@10 <12@11 </12@12 </11@13 <1@20 <2@21 </2@22 "
					     "</1@23\n" END),
		    "Net:Net(Net) 1\n Net:h.0(Block) 1\nNet#2:Net#2(Net) 1\n Net#2:h.0(Block) 1\n");
	forget(&t);
}

static void modules_made_for_one_call_share_a_row(void **state)
{
	struct story_analysis t;

	(void)state;
	/* 6 and 7 are made inside h.0, 8 and 9 outside of everything. */
	expect_tree(layers_of(&t, HEAD MODEL
			      "layer 6 0 Softmax -\nlayer 7 0 Softmax -\nlayer 8 0 Softmax -\n"
			      "layer 9 0 Softmax -\n"
			      "1: <8@1 </8@2 <1@10 <2@11 <6@12 </6@13 </2@14 </1@15\n"
			      "1: <9@16 </9@17 <1@20 <2@21 <7@22 </7@23 </2@24 </1@25\n" END),
		    "Softmax:Softmax(Softmax) 2\n"
		    "Net:Net(Net) 2\n"
		    " Net:h.0(Block) 2\n"
		    "  Net:Softmax(Softmax) 2\n");
	forget(&t);
}

static void a_model_called_inside_another_stands_under_it(void **state)
{
	struct story_analysis t;

	(void)state;
	expect_tree(layers_of(&t, HEAD MODEL "layer 11 0 Draft -\nlayer 12 11 Linear head\n"
					     "1: <1@10 <2@11 <11@12 <12@13 </12@14 </11@15 </2@16 "
					     "</1@17\n" END),
		    "Net:Net(Net) 1\n"
		    " Net:h.0(Block) 1\n"
		    "  Draft:Draft(Draft) 1\n"
		    "   Draft:head(Linear) 1\n");
	forget(&t);
}

static void what_is_undefined_or_leads_in_a_circle_is_shown(void **state)
{
	struct story_analysis t;

	(void)state;
	/* 77 is nowhere defined; 20's root is none; 31 and 32 were each first seen in the other. */
	expect_tree(
		layers_of(&t, HEAD
			  "layer 20 21 Odd a.b\n"
			  "layer 31 0 A -\nlayer 33 31 X x\nlayer 32 0 B -\nlayer 34 32 Y y\n"
			  "1: <77@1 </77@2 <20@3 </20@4\n"
			  "1: <33@10 <32@11 </32@12 </33@13 <34@20 <31@21 </31@22 </34@23\n" END),
		"(unknown):(unknown)((unknown)) 1\n"
		"Odd:Odd(Odd) 1\n"
		"B:B(B) 1\n"
		" B:y(Y) 1\n"
		"  A:A(A) 1\n"
		"   A:x(X) 1\n");
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_needs_no_gpu),
		cmocka_unit_test(a_launch_belongs_to_the_innermost_layer_of_its_thread),
		cmocka_unit_test(a_graphs_node_belongs_to_the_layer_of_its_capture),
		cmocka_unit_test(launch_gaps_are_idle_time_inside_a_call),
		cmocka_unit_test(a_pause_of_the_recording_is_no_gap),
		cmocka_unit_test(a_layer_inside_itself_is_not_counted_twice),
		cmocka_unit_test(a_folded_layer_is_part_of_the_one_around),
		cmocka_unit_test(threads_have_layers_of_their_own),
		cmocka_unit_test(graphs_and_what_no_call_explains_are_counted),
		cmocka_unit_test(losses_leave_the_sum_whole),
		cmocka_unit_test(two_roots_of_a_class_have_numbers),
		cmocka_unit_test(modules_made_for_one_call_share_a_row),
		cmocka_unit_test(a_model_called_inside_another_stands_under_it),
		cmocka_unit_test(what_is_undefined_or_leads_in_a_circle_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
