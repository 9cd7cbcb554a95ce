/* links: is_timeline */
/* Layers, from their begin and end events to spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/layer_stack.h"
#include "timeline_text.h"

#define MODEL ONE_THREAD "layer 1 0 Net -\nlayer 2 1 Block h.0\nlayer 3 1 Linear h.0.fc\n"

static void layers_nest_and_know_what_is_their_own(void **state)
{
	(void)state;
	expect(MODEL "1: <1@10 <2@12 <3@13 </3@18 </2@20 <2@30 </2@34 </1@40\n",
	       "layer Linear 13-18 self 5 depth 2\n"
	       "layer Block 12-20 self 3 depth 1\n"
	       "layer Block 30-34 self 4 depth 1\n"
	       "layer Net 10-40 self 18 depth 0\n");
}

static void functions_and_layers_do_not_disturb_each_other(void **state)
{
	(void)state;
	expect(MODEL "1: +f@5 <1@10 +g@11 <2@12 -g@15 </2@20 </1@40 -f@50\n",
	       "g 11-15 self 4 depth 1 call\n"
	       "layer Block 12-20 self 8 depth 1\n"
	       "layer Net 10-40 self 22 depth 0\n"
	       "f 5-50 self 41 depth 0 call\n");
}

static void an_end_closes_what_has_none(void **state)
{
	struct recorded r;

	(void)state;
	record(&r, MODEL "1: <1@10 <2@12 <3@13 </1@20 </3@21 <1@30 </1@31\n");
	assert_string_equal(buf_string(&r.text), "layer Linear 13-20 self 7 depth 2 repaired\n"
						 "layer Block 12-20 self 1 depth 1 repaired\n"
						 "layer Net 10-20 self 2 depth 0\n"
						 "layer Net 30-31 self 1 depth 0\n");
	assert_int_equal(timeline_thread(r.tl, 0)->unended_layers, 2);
	erase(&r);
}

static void an_end_closes_the_newest_of_its_layer(void **state)
{
	(void)state;
	expect(MODEL "1: <2@10 <2@12 </2@15 </2@20\n", "layer Block 12-15 self 3 depth 1\n"
						       "layer Block 10-20 self 7 depth 0\n");
}

static void what_is_open_at_a_gap_ends_there(void **state)
{
	(void)state;
	expect(MODEL "1: <1@10 <2@12 lost:3 </2@40 </1@50 <1@60 </1@61\n",
	       "layer Block 12-12 self 0 depth 1 gap\n"
	       "layer Net 10-12 self 2 depth 0 gap\n"
	       "lost 3 12-40\n"
	       "layer Net 60-61 self 1 depth 0\n");
}

static void what_is_open_at_the_end_ends_with_its_thread(void **state)
{
	(void)state;
	expect(MODEL "1: <1@10 <2@12\n", "layer Block 12-1000 self 988 depth 1 end?\n"
					 "layer Net 10-1000 self 2 depth 0 end?\n");
}

static void a_folded_layer_is_the_time_of_the_one_around(void **state)
{
	(void)state;
	/* Block goes while Linear is open in it; Linear stays. */
	expect(MODEL "1: <1@10 <2@12 <3@14 </3@15 <3@16 <-2@17 </3@20 </1@40 <-0@41 <2@42 </2@43\n",
	       "layer Linear 14-15 self 1 depth 2\n"
	       "dropped at 1\n"
	       "folded Block\n"
	       "layer Linear 16-20 self 4 depth 1\n"
	       "layer Net 10-40 self 25 depth 0\n"
	       "folded none\n"
	       "layer Block 42-43 self 1 depth 0\n");
}

static void a_model_without_bottom_ends_somewhere(void **state)
{
	struct recorded r;
	struct buf story;
	size_t lines = 0;

	(void)state;
	buf_init(&story);
	buf_add_str(&story, MODEL);
	for (unsigned i = 0; i < LAYER_DEPTH_MAX + 10; i++)
		buf_printf(&story, "1: <2@%u\n", 10 + i);
	for (unsigned i = 0; i < LAYER_DEPTH_MAX + 10; i++)
		buf_printf(&story, "1: </2@%u\n", 10 + LAYER_DEPTH_MAX + 10 + i);
	record(&r, buf_string(&story));
	for (size_t i = 0; i < r.text.len; i++)
		lines += r.text.data[i] == '\n';
	assert_int_equal(lines, LAYER_DEPTH_MAX);
	assert_int_equal(timeline_thread(r.tl, 0)->unended_layers, 0);
	erase(&r);
	buf_release(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_nest_and_know_what_is_their_own),
		cmocka_unit_test(functions_and_layers_do_not_disturb_each_other),
		cmocka_unit_test(an_end_closes_what_has_none),
		cmocka_unit_test(an_end_closes_the_newest_of_its_layer),
		cmocka_unit_test(what_is_open_at_a_gap_ends_there),
		cmocka_unit_test(what_is_open_at_the_end_ends_with_its_thread),
		cmocka_unit_test(a_folded_layer_is_the_time_of_the_one_around),
		cmocka_unit_test(a_model_without_bottom_ends_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
