/* links: is_analyze */
/* Blocks of a multiprocessor: what NVIDIA's occupancy calculator says of the same kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/gpu/device_limits.h"

static void each_limit_can_be_the_smallest(void **state)
{
	static const struct {
		uint32_t capability;
		struct block_shape shape;
		uint32_t blocks;
	} cases[] = {
		{ 90, { 256, 32, 0 }, 8 },          /* 2048 threads */
		{ 90, { 32, 16, 0 }, 32 },          /* blocks */
		{ 90, { 256, 128, 0 }, 2 },         /* registers */
		{ 90, { 128, 32, 100 << 10 }, 2 },  /* shared memory */
		{ 90, { 384, 168, 227 << 10 }, 1 }, /* all that there is */
		{ 75, { 1024, 32, 0 }, 1 },
		{ 86, { 256, 40, 0 }, 6 },
		{ 90, { 0, 0, 0 }, 0 },
		{ 90, { 1ull << 40, 255, 0 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct multiprocessor_limits *l = device_limits(cases[i].capability);

		assert_non_null(l);
		assert_int_equal(device_limits_blocks(l, &cases[i].shape), cases[i].blocks);
	}
	assert_null(device_limits(61));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_limit_can_be_the_smallest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
