/* What PyTorch's cache of device memory told of itself (agent/torch_memory.h). */
#include <stdlib.h>

#include "analyze/memory_collect.h"
#include "analyze/memory_levels.h"
#include "format/series.h"

/* By PyTorch's own mark, or what was seen where the program has set that back. */
static int64_t peak_of(const struct series_table *st, uint32_t process, uint32_t mark_kind,
		       uint32_t device, const struct memory_level *seen)
{
	struct memory_level mark = memory_level(st, process, mark_kind, device);

	return mark.known && mark.peak > seen->peak ? mark.peak : seen->peak;
}

/* It counts since the program began, not since somebody looks. */
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
		t->allocated_peak_bytes =
			peak_of(st, p->process, SERIES_TORCH_ALLOCATED_PEAK, device, &t->allocated);
		t->reserved_peak_bytes =
			peak_of(st, p->process, SERIES_TORCH_RESERVED_PEAK, device, &t->reserved);
	}
	return 0;
}

double memory_torch_split_share(const struct memory_torch *t)
{
	return t->split.known && t->reserved.mean > 0 ? t->split.mean / t->reserved.mean : 0;
}
