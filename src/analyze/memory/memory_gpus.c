/* What NVML reports about the devices. */
#include <stdlib.h>

#include "analyze/memory/memory_collect.h"
#include "format/series.h"

/* What PyTorch's cache of device memory reported (agent/torch/torch_memory.h). */

/* By PyTorch's own mark, or what was seen where the program has set that back. */
static int64_t torch_peak_of(const struct series_table *st, uint32_t process, uint32_t mark_kind,
			     uint32_t device, const struct memory_level *seen)
{
	struct memory_level mark = memory_level(st, process, mark_kind, device);

	return mark.known && mark.peak > seen->peak ? mark.peak : seen->peak;
}

/* It counts since the program began, not since the first reading. */
static int64_t count_of(const struct series_table *st, uint32_t process, uint32_t kind,
			uint32_t device)
{
	return memory_level(st, process, kind, device).last;
}

int memory_torch_collect(struct memory_process *p, const struct series_table *st)
{
	size_t n;
	const struct series *s = series_instances(st, p->process, SERIES_TORCH_RESERVED, &n);

	p->torch = calloc(n + 1, sizeof(*p->torch));
	if (!p->torch)
		return -1;
	p->torch_count = n;
	for (size_t i = 0; i < n; i++) {
		struct memory_torch *t = &p->torch[i];
		uint32_t device = s[i].instance;

		*t = (struct memory_torch){
			.device = device,
			.allocated = memory_level(st, p->process, SERIES_TORCH_ALLOCATED, device),
			.reserved = memory_level(st, p->process, SERIES_TORCH_RESERVED, device),
			.split = memory_level(st, p->process, SERIES_TORCH_SPLIT, device),
			.retries = count_of(st, p->process, SERIES_TORCH_RETRIES, device),
			.ooms = count_of(st, p->process, SERIES_TORCH_OOMS, device),
		};
		t->allocated_peak_bytes = torch_peak_of(st, p->process, SERIES_TORCH_ALLOCATED_PEAK,
							device, &t->allocated);
		t->reserved_peak_bytes = torch_peak_of(st, p->process, SERIES_TORCH_RESERVED_PEAK,
						       device, &t->reserved);
	}
	return 0;
}

double memory_torch_split_share(const struct memory_torch *t)
{
	return t->split.known && t->reserved.mean > 0 ? t->split.mean / t->reserved.mean : 0;
}

#define PAGE_BYTES (2 << 20) /* of a device: it has no smaller ones */

/*
 * NVML's bits, except those for an idle device (0x1) and for clocks that an application set (0x2).
 */
static const struct {
	uint64_t bit;
	const char *name;
} throttles[MEMORY_THROTTLES] = {
	{ 0x4, "power cap" },        { 0x8, "hardware slowdown" },         { 0x10, "sync boost" },
	{ 0x20, "temperature" },     { 0x40, "temperature, by hardware" }, { 0x80, "power brake" },
	{ 0x100, "display clocks" },
};

static void collect_throttles(struct memory_gpu *g, const struct series_table *st)
{
	const struct series *s = series_find(st, 0, SERIES_GPU_THROTTLE_REASONS, g->device);
	uint64_t all = 0;

	g->throttles_known = s != NULL;
	for (size_t i = 0; s && i < MEMORY_THROTTLES; i++) {
		g->throttles[i] = (struct memory_throttle){
			.name = throttles[i].name,
			.share = memory_bits_share(s, throttles[i].bit),
		};
		all |= throttles[i].bit;
	}
	g->throttled_share = s ? memory_bits_share(s, all) : 0;
}

/*
 * Readings are rare, and PyTorch's own mark misses nothing.  Which of several devices is its first
 * one NVML does not say.
 */
static int64_t peak_of(const struct memory_gpu *g, const struct analysis_memory *m)
{
	int64_t peak = g->used.peak;

	for (size_t i = 0; m->gpu_count == 1 && i < m->process_count; i++) {
		const struct memory_process *p = &m->processes[i];

		for (size_t k = 0; k < p->torch_count; k++) {
			if (p->torch[k].reserved_peak_bytes > peak)
				peak = p->torch[k].reserved_peak_bytes;
		}
	}
	return peak;
}

static void collect_course(struct memory_gpu *g, const struct series_table *st, int64_t wall_ns)
{
	const struct series *used = series_find(st, 0, SERIES_GPU_MEMORY_USED, g->device);

	memory_trend_over_time(used, PAGE_BYTES, &g->used_trend);
	g->unseen_ns = used && wall_ns > series_last_ns(used) ? wall_ns - series_last_ns(used) : 0;
}

int memory_gpus_collect(struct analysis_memory *out, const struct series_table *st, int64_t wall_ns)
{
	size_t n;
	const struct series *s = series_instances(st, 0, SERIES_GPU_MEMORY_USED, &n);

	out->gpus = calloc(n + 1, sizeof(*out->gpus));
	if (!out->gpus)
		return -1;
	out->gpu_count = n;
	for (size_t i = 0; i < n; i++) {
		struct memory_gpu *g = &out->gpus[i];
		const struct {
			enum series_kind kind;
			struct memory_level *level;
		} levels[] = {
			{ SERIES_GPU_MEMORY_USED, &g->used },
			{ SERIES_GPU_MEMORY_TOTAL, &g->total },
			{ SERIES_GPU_BUSY, &g->busy_percent },
			{ SERIES_GPU_MEMORY_BUSY, &g->memory_busy_percent },
			{ SERIES_GPU_SM_CLOCK, &g->sm_clock_mhz },
			{ SERIES_GPU_SM_CLOCK_MAX, &g->sm_clock_max_mhz },
			{ SERIES_GPU_MEMORY_CLOCK, &g->memory_clock_mhz },
			{ SERIES_GPU_POWER, &g->power_mw },
			{ SERIES_GPU_POWER_LIMIT, &g->power_limit_mw },
			{ SERIES_GPU_TEMPERATURE, &g->temperature_c },
			{ SERIES_GPU_PCIE_GENERATION, &g->pcie_generation },
			{ SERIES_GPU_PCIE_GENERATION_MAX, &g->pcie_generation_max },
			{ SERIES_GPU_PCIE_WIDTH, &g->pcie_width },
			{ SERIES_GPU_PCIE_WIDTH_MAX, &g->pcie_width_max },
		};

		g->device = s[i].instance;
		for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++)
			*levels[k].level = memory_level(st, 0, levels[k].kind, g->device);
		collect_throttles(g, st);
		collect_course(g, st, wall_ns);
		g->peak_bytes = peak_of(g, out);
	}
	return 0;
}
