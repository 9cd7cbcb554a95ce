#include "analyze/gpu/device_limits.h"

#include <stddef.h>

/*
 * CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; arithmetic from
 * its table of throughputs and, for tensor cores, from NVIDIA's white papers of the V100, T4, A100,
 * GA102, AD102, H100 and B200: operations per second by multiprocessors and boost clock.
 */
static const struct multiprocessor_limits known[] = {
	{ 70, 2048, 32, 65536, 96 << 10, 0, 128, 0, 1024 },
	{ 75, 1024, 16, 65536, 64 << 10, 0, 128, 0, 1024 },
	{ 80, 2048, 32, 65536, 164 << 10, 1024, 128, 1024, 2048 },
	{ 86, 1536, 16, 65536, 100 << 10, 1024, 256, 512, 1024 },
	{ 89, 1536, 24, 65536, 100 << 10, 1024, 256, 512, 1024 },
	{ 90, 2048, 32, 65536, 228 << 10, 1024, 256, 2048, 4096 },
	{ 100, 2048, 32, 65536, 228 << 10, 1024, 256, 4096, 8192 },
};

#define WARP 32u
#define REGISTER_UNIT 256u /* of a warp, from Volta on */

const struct multiprocessor_limits *device_limits(uint32_t capability)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].capability == capability)
			return &known[i];
	return NULL;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint32_t device_limits_blocks(const struct multiprocessor_limits *l, const struct block_shape *b)
{
	uint64_t warps = (b->threads + WARP - 1) / WARP, most = l->blocks, of_warp, shared;

	if (!warps)
		return 0;
	most = smaller(most, l->threads / WARP / warps);
	of_warp =
		((uint64_t)b->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
	if (of_warp)
		most = smaller(most, l->registers / of_warp / warps);
	shared = (uint64_t)b->shared_bytes + l->block_shared_bytes;
	if (shared)
		most = smaller(most, l->shared_bytes / shared);
	return (uint32_t)most;
}
