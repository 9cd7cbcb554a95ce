/* links: is_analyze */
/*
 * Which line of a model's code something belongs to: that of its own forward(), where that does it
 * all; that of its caller, where modules inside it do; the loop that calls it again and again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story_analysis.h"

#define MODULE "/usr/lib/python3/dist-packages/torch/nn/modules/module.py"

#define HEAD                                                                                       \
	"process 1 100 app.py 0 90000000\n"                                                        \
	"thread 1 1 100 MainThread 0 90000000 0\n"                                                 \
	"thread 3 1 102 cupti 0 90000000 0\n"                                                      \
	"code main /srv/app.py 10\n"                                                               \
	"code Net.forward /srv/app.py 30\n"                                                        \
	"code Net.forward.<locals>.<genexpr> /srv/app.py 31\n"                                     \
	"code Block.forward /srv/app.py 50\n"                                                      \
	"code each /srv/app.py 60\n"                                                               \
	"code Graph.__call__ /srv/app.py 70\n"                                                     \
	"code Graph.__init__ /srv/app.py 80\n"                                                     \
	"code Module._call_impl " MODULE " 1700\n"                                                 \
	"code Linear.forward /usr/lib/python3/dist-packages/torch/nn/modules/linear.py 100\n"      \
	"stack 1 Linear.forward:120 Module._call_impl:1710 Net.forward:33 Module._call_impl:1710 " \
	"main:12\n"                                                                                \
	"stack 2 Linear.forward:120 Module._call_impl:1710 Net.forward.<locals>.<genexpr>:31 "     \
	"Net.forward:31 Module._call_impl:1710 main:12\n"                                          \
	"stack 3 Linear.forward:120 Module._call_impl:1710 Block.forward:52 "                      \
	"Module._call_impl:1710 "                                                                  \
	"Net.forward:34 Module._call_impl:1710 main:12\n"                                          \
	"stack 4 main:14\n"                                                                        \
	"stack 5 Block.forward:53 Module._call_impl:1710 Net.forward:34 Module._call_impl:1710 "   \
	"main:12\n"                                                                                \
	"stack 6 Block.forward:54 Module._call_impl:1710 Net.forward:34 Module._call_impl:1710 "   \
	"main:12\n"                                                                                \
	"stack 7 Graph.__call__:72 each:61 main:15\n"                                              \
	"stack 8 Net.forward:33 Module._call_impl:1710 Graph.__init__:83 main:11\n"                \
	"stack 9 Graph.__call__:72 main:16\n"                                                      \
	"gpu 1 1 10 CUPTI 130000\n"                                                                \
	"1: [request#1/0@1000000\n"
#define END                 \
	"1: ]#1@11000000\n" \
	"end 90000000 0\n"

#define KERNEL "ampere_sgemm_32x32_sliced1x4_nn"

/* A launch every 0.1 ms, each from the next of these stacks; a kernel takes 10 us. */
static void add_launches(struct buf *story, const char *stacks)
{
	for (int i = 0; stacks[i]; i++) {
		int at = 1100000 + 100000 * i;

		buf_printf(story,
			   "1: {cudaLaunchKernel#%d:1/%c@%d }%d@%d\n"
			   "3: kernel:" KERNEL "#%d@20000000:%d+10000/7\n",
			   i + 1, stacks[i], at, i + 1, at + 3000, i + 1, at + 5000);
	}
}

static const struct step_gpu_usage *story_of_launches(struct story_analysis *t, const char *stacks,
						      const char *more)
{
	const struct step_gpu_usage *u;
	struct buf story;

	buf_init(&story);
	buf_add_str(&story, HEAD);
	add_launches(&story, stacks);
	buf_printf(&story, "%s" END, more);
	u = &analyze_story(t, buf_string(&story))->use;
	buf_release(&story);
	return u;
}

static void check(const struct place *p, const char *name, uint32_t line)
{
	assert_non_null(p->name);
	assert_string_equal(p->name, name);
	assert_int_equal(p->line, line);
}

static void a_forward_that_does_it_all_is_the_place(void **state)
{
	const struct step_gpu_usage *u;
	struct story_analysis t;

	(void)state;
	/* Most of it in a comprehension, which is a function of its own but part of forward(). */
	u = story_of_launches(&t, "12222122221222212222", "");
	assert_int_equal(u->short_late.count, 19);
	check(&u->short_late.top.where, "Net.forward", 31);
	check(&u->plain_top.where, "Net.forward", 31);
	/* Whoever calls it puts the batch together. */
	check(&u->model_top.where, "main", 12);
	assert_null(u->model_waits.where.name);
	forget(&t);
}

static void a_model_of_models_is_placed_where_it_is_called(void **state)
{
	const struct step_gpu_usage *u;
	struct story_analysis t;

	(void)state;
	u = story_of_launches(&t, "13333133331333313333", "");
	check(&u->short_late.top.where, "main", 12);
	check(&u->plain_top.where, "main", 12);
	/* However deep they are. */
	check(&u->late_inside.where, "Block.forward", 52);
	forget(&t);
}

static void what_is_outside_of_a_model_stays_where_it_is(void **state)
{
	const struct step_gpu_usage *u;
	struct story_analysis t;

	(void)state;
	u = story_of_launches(&t, "4444444444", "");
	check(&u->short_late.top.where, "main", 14);
	check(&u->plain_top.where, "main", 14);
	check(&u->model_top.where, "main", 14);
	forget(&t);
}

static void a_line_of_the_function_with_most_launches(void **state)
{
	const struct step_gpu_usage *u;
	struct story_analysis t;

	(void)state;
	/* No line of Block.forward has as many as line 33 of Net.forward, all of them have more. */
	u = story_of_launches(&t, "1111155556666663", "");
	check(&u->late_inside.where, "Block.forward", 54);
	forget(&t);
}

static void waits_inside_of_the_model_are_told_from_those_behind_it(void **state)
{
	const struct step_gpu_usage *u;
	struct story_analysis t;

	(void)state;
	u = story_of_launches(&t, "3333",
			      "1: {cudaStreamSynchronize#40:6.7/5@5000000 }40@5010000\n"
			      "1: {cudaStreamSynchronize#41:6.7/4@6000000 }41@8000000\n");
	assert_int_equal(u->waits.count, 2);
	check(&u->model_waits.where, "Block.forward", 53);
	assert_int_equal(u->model_waits.sum.count, 1);
	forget(&t);
	u = story_of_launches(&t, "3333",
			      "1: {cudaStreamSynchronize#41:6.7/4@6000000 }41@8000000\n");
	assert_null(u->model_waits.where.name);
	forget(&t);
}

/* Replays of a graph with one node; as many calls of the function that replays it. */
static const struct step_gpu_usage *story_of_replays(struct story_analysis *t, int count, int stack,
						     const char *loop)
{
	const struct step_gpu_usage *u;
	struct buf story;

	buf_init(&story);
	buf_add_str(&story, HEAD "1: made:5/8@900000\n");
	if (loop)
		buf_printf(&story, "1: +%s@1050000\n", loop);
	for (int i = 0; i < count; i++) {
		int at = 1100000 + 100000 * i;

		buf_printf(&story,
			   "1: +Graph.__call__@%d {cudaGraphLaunch#%d:2/%d@%d }%d@%d "
			   "-Graph.__call__@%d\n"
			   "3: kernel:" KERNEL "!9,5#%d@20000000:%d+50000/7\n",
			   at - 1000, i + 1, stack, at, i + 1, at + 3000, at + 4000, i + 1,
			   at + 5000);
	}
	if (loop)
		buf_printf(&story, "1: -%s@10000000\n", loop);
	buf_add_str(&story, END);
	u = &analyze_story(t, buf_string(&story))->use;
	buf_release(&story);
	return u;
}

static void a_captured_model_is_placed_in_the_loop_that_replays_it(void **state)
{
	const struct step_gpu_usage *u;
	struct story_analysis t;

	(void)state;
	u = story_of_replays(&t, 16, 7, "each");
	assert_int_equal(u->calls[CUDA_CALL_GRAPH_LAUNCH].count, 16);
	check(&u->launch_top.where, "Net.forward", 33); /* what its kernels are of */
	check(&u->model_top.where, "each", 61);
	forget(&t);
	/* Once in a step: where it is replayed, not where it was captured. */
	u = story_of_replays(&t, 1, 9, NULL);
	check(&u->model_top.where, "Graph.__call__", 72);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forward_that_does_it_all_is_the_place),
		cmocka_unit_test(a_model_of_models_is_placed_where_it_is_called),
		cmocka_unit_test(what_is_outside_of_a_model_stays_where_it_is),
		cmocka_unit_test(a_line_of_the_function_with_most_launches),
		cmocka_unit_test(waits_inside_of_the_model_are_told_from_those_behind_it),
		cmocka_unit_test(a_captured_model_is_placed_in_the_loop_that_replays_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
