#include "analyze/gpu/kernel_loads.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/device_limits.h"

#define WARP 32.0

int kernel_loads_init(struct kernel_loads *l, const struct gpu_timeline *g)
{
	l->device = NULL;
	l->count = gpu_kernel_name_count(g);
	l->sums = calloc(l->count + 1, sizeof(*l->sums));
	return l->sums ? 0 : -1;
}

void kernel_loads_release(struct kernel_loads *l)
{
	free(l->sums);
}

static double product(const uint32_t sizes[3])
{
	return (double)sizes[0] * sizes[1] * sizes[2];
}

void kernel_loads_add(struct kernel_loads *l, const struct gpu_work *kernel, int64_t ns)
{
	struct kernel_load_sum *s = &l->sums[kernel->name];
	const struct multiprocessor_limits *limits =
		l->device ? device_limits(l->device->capability) : NULL;
	double threads = product(kernel->block), blocks = product(kernel->grid), fit, held;
	struct block_shape shape = { .registers = kernel->registers };

	s->count++;
	s->ns = stats_add(s->ns, ns);
	if (!limits || !l->device->multiprocessors || threads > limits->threads)
		return;
	shape.threads = (uint64_t)threads;
	/* A file may say anything: no block has more than fits. */
	shape.shared_bytes = kernel->static_shared_bytes < limits->shared_bytes &&
					     kernel->dynamic_shared_bytes < limits->shared_bytes
				     ? kernel->static_shared_bytes + kernel->dynamic_shared_bytes
				     : limits->shared_bytes;
	fit = device_limits_blocks(limits, &shape);
	if (fit < 1)
		fit = 1; /* it ran */
	held = fmin(fit, ceil(blocks / l->device->multiprocessors));
	/* Of the multiprocessors that have a block at all. */
	s->occupancy_ns += (double)ns *
			   fmin(1, held * ceil(threads / WARP) * WARP / (double)limits->threads) *
			   fmin(1, blocks / l->device->multiprocessors);
	s->waves_ns += (double)ns * blocks / (fit * l->device->multiprocessors);
}

size_t kernel_loads_top(const struct kernel_loads *l, const struct gpu_timeline *g,
			struct kernel_load top[KERNEL_LOADS_SHOWN])
{
	bool known = l->device && device_limits(l->device->capability);
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct kernel_load_sum *s = &l->sums[i];
		const struct gpu_kernel_name *name = gpu_kernel_name(g, (uint32_t)i);
		size_t at = n;

		if (s->ns <= 0)
			continue;
		while (at && top[at - 1].ns < s->ns)
			at--;
		if (at == KERNEL_LOADS_SHOWN)
			continue;
		n += n < KERNEL_LOADS_SHOWN;
		for (size_t k = n - 1; k > at; k--)
			top[k] = top[k - 1];
		top[at] = (struct kernel_load){
			.name = name->brief,
			.full_name = name->full,
			.count = s->count,
			.ns = s->ns,
			.occupancy = known ? s->occupancy_ns / (double)s->ns : NAN,
			.waves = known ? s->waves_ns / (double)s->ns : NAN,
		};
	}
	return n;
}
