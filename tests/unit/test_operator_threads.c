/* links: is_analyze */
/* The threads of a framework's operators: what their caller waits for is their work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "story_analysis.h"

#define HEAD                                        \
	"process 1 100 app.py 0 100000000\n"        \
	"thread 1 1 100 MainThread 0 100000000 0\n" \
	"thread 3 1 102 cupti 0 100000000 0\n"
#define GPU "gpu 1 1 10 CUPTI 130000\n"
#define END "end 100000000 0\n"

/* The kernel calls a lock what the threads of an operator on a CPU meet at. */
static void operators_that_wait_for_their_threads_compute(void **state)
{
	static const char *const devices[] = { "",
					       GPU "1: {cudaLaunchKernel#1:1/0@9500000 }1@9600000\n"
						   "3: kernel:k#1@9900000:9700000+100000/7\n" };

	for (size_t gpu = 0; gpu < 2; gpu++) {
		const struct analysis_step *s;
		struct story_analysis t;
		struct buf b;

		(void)state;
		buf_init(&b);
		buf_printf(&b,
			   HEAD
			   "code conv /v/site-packages/torch/nn/modules/conv.py 5\n"
			   "code infer app.py 10\n"
			   "stack 1 conv:6 infer:14\nstack 2 infer:15\n"
			   "1: [step#1/0@1000000 ]#1@9000000\n"
			   "look 1 1 1500000 4500000 4 3\nlook 1 2 5500000 8500000 4 3\n%s" END,
			   devices[gpu]);
		s = analyze_story(&t, buf_string(&b))->steps;
		check_sum(&s->breakdown);
		assert_int_equal(part(s, TIME_CPU_COMPUTE), gpu ? 0 : 3500000);
		assert_int_equal(part(s, TIME_LOCK_WAIT), gpu ? 7000000 : 3500000);
		forget(&t);
		buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_that_wait_for_their_threads_compute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
