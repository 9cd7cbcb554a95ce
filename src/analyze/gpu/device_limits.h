/*
 * What one multiprocessor can do, by the compute capability of its device.  The number of
 * multiprocessors, their clock and the memory's bandwidth are in the trace (struct gpu_device).
 */
#ifndef ANALYZE_GPU_DEVICE_LIMITS_H
#define ANALYZE_GPU_DEVICE_LIMITS_H

#include <stdint.h>

struct multiprocessor_limits {
	uint32_t capability; /* times 10 */
	uint32_t threads, blocks;
	uint32_t registers, shared_bytes;
	uint32_t block_shared_bytes; /* that the driver takes for each block */
	/* Operations of a clock cycle, two for each multiply-add, dense matrices; 0: none. */
	uint32_t float32, tensor_tf32, tensor_half;
};

/* NULL: nothing is known of the capability. */
const struct multiprocessor_limits *device_limits(uint32_t capability);

/* A kernel's blocks: their threads, each thread's registers, each block's shared memory. */
struct block_shape {
	uint64_t threads;
	uint32_t registers, shared_bytes;
};

/* How many such blocks a multiprocessor holds at a time; 0: none, a hostile trace. */
uint32_t device_limits_blocks(const struct multiprocessor_limits *l, const struct block_shape *b);

#endif
