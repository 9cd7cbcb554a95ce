#include <math.h>

#include "rules/finding_builder.h"

/* Findings that say why. */
static bool is_explained(const struct finding_builder *d)
{
	return finding_found(d, "pageable-copy") || finding_found(d, "readback") ||
	       finding_found(d, "no-overlap") || finding_found(d, "pcie-saturated");
}

/* Only what no other finding takes: the bound is FR-4's. */
static bool evaluate(struct finding_builder *d)
{
	double n = (double)d->use->steps, ms = d->m->h2d_time + d->m->d2h_time;
	double left_ms = fmin(ms, d->m->total_time - d->explained_ms);
	const struct gpu_usage_copies *up = &d->use->h2d, *down = &d->use->d2h;
	const struct gpu_usage_copies *most = up->all.ns > down->all.ns ? up : down;
	const char *name = finding_place_name(d, &most->top.where);

	if (finding_share(d, left_ms) <= 0.20 || is_explained(d))
		return false;
	finding_where(d, &most->top.where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(finding_share(d, ms), 0.20),
			 "copies between host and GPU take %s per step (%s): %s to the GPU, %s to "
			 "the host",
			 finding_ms(d, ms), finding_percent(d, ms),
			 finding_bytes(d, (double)up->all.bytes / n),
			 finding_bytes(d, (double)down->all.bytes / n));
	finding_evidence(d, FROM_CUDA_CALLS,
			 finding_strength((double)(up->call_ns + down->call_ns),
					  (double)(up->all.ns + down->all.ns) / 2),
			 "%s copies per step, most of the time in those of %s",
			 finding_number(d, (double)(up->all.count + down->all.count) / n), name);
	/* How much of it a fix reaches is unknown as long as nothing says why. */
	finding_saving(d, 0, left_ms);
	finding_suggest(d, "Keep data on the GPU between the calls of %s", name);
	finding_suggest(d, "Combine many small copies into one in %s: %s copies per step now", name,
			finding_number(d, (double)(up->all.count + down->all.count) / n));
	finding_suggest(d, "Copy smaller types (uint8, float16) from pinned memory, overlapping "
			   "with the kernels of the previous step");
	return true;
}

const struct rule rule_transfer_overhead = {
	.id = "transfer-overhead",
	.title = "Copies between host and GPU take much of the step",
	.condition = "(h2d_time + d2h_time) / total_time > 0.20",
	.evaluate = evaluate,
	.last = true,
};
