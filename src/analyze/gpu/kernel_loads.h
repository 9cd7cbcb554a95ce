/*
 * How much of the device the kernels of steps use, name by name, by what their launches say:
 * blocks, threads, registers and shared memory.  No counters are needed; what a kernel does with
 * the room that it has is not known.
 */
#ifndef ANALYZE_GPU_KERNEL_LOADS_H
#define ANALYZE_GPU_KERNEL_LOADS_H

#include <stddef.h>
#include <stdint.h>

#include "timeline/gpu.h"

#define KERNEL_LOADS_SHOWN 3u

struct kernel_load {
	const char *name, *full_name;
	uint64_t count;
	int64_t ns;
	/* Means, weighted by time; NAN: the device is not known. */
	double occupancy; /* warps that a multiprocessor holds, of those that it could */
	double waves;     /* blocks, of those that fit on the device at a time */
};

struct kernel_load_sum {
	uint64_t count;
	int64_t ns;
	double occupancy_ns, waves_ns;
};

struct kernel_loads {
	const struct gpu_device *device; /* NULL: unknown */
	struct kernel_load_sum *sums;    /* by the number of a kernel's name */
	size_t count;
};

int kernel_loads_init(struct kernel_loads *l, const struct gpu_timeline *g); /* -1: no memory */
void kernel_loads_release(struct kernel_loads *l);
void kernel_loads_add(struct kernel_loads *l, const struct gpu_work *kernel, int64_t ns);

/* Those with most time, most first; returns how many there are. */
size_t kernel_loads_top(const struct kernel_loads *l, const struct gpu_timeline *g,
			struct kernel_load top[KERNEL_LOADS_SHOWN]);

#endif
