#include <math.h>

#include "rules/finding_builder.h"

/*
 * Pageable copies cannot overlap, and are pageable-copy's; what comes back from the GPU
 * is readback's.
 */
static bool evaluate(struct finding_builder *d)
{
	const struct gpu_usage_copies *up = &d->use->h2d;
	double n = (double)d->use->steps;
	double exposed_ms = fmax(0, d->m->h2d_time - d->m->h2d_pageable_time);
	double ms = fmin(exposed_ms, d->m->gpu_compute_time), replayed_ms;
	const struct replay_edit edit = { .kind = REPLAY_ASYNC_COPY };
	const char *name = finding_place_name(d, &up->top.where);

	if (finding_share(d, ms) <= 0.05)
		return false;
	finding_where(d, &up->top.where);
	finding_evidence(
		d, FROM_ACTIVITIES, finding_strength(finding_share(d, ms), 0.05),
		"copies of %s per step to the GPU run for %s (%s) while it computes nothing, "
		"although it computes for %s of the step",
		finding_bytes(d, (double)up->all.bytes / n), finding_ms(d, exposed_ms),
		finding_percent(d, exposed_ms), finding_ms(d, d->m->gpu_compute_time));
	/* The host does not hold them up: the calls return before the copies are done. */
	finding_evidence(
		d, FROM_CUDA_CALLS, finding_strength((double)up->all.ns, (double)up->call_ns),
		"the calls of %s return immediately: only the order in the stream keeps the copies "
		"from overlapping with kernels",
		name);
	finding_claim(d, TIME_H2D, ms);
	d->replayed = finding_replayed(d, &edit, &replayed_ms);
	if (d->replayed)
		finding_saving(d, replayed_ms, replayed_ms);
	else
		finding_saving(d, ms, ms);
	finding_suggest(d,
			"Copy the next input in %s on a separate stream while the current one is "
			"computed (torch.cuda.Stream, then wait_stream)",
			name);
	finding_suggest(d,
			"Alternate between two buffers, so that %s never waits for the one in "
			"use",
			name);
	finding_suggest(d,
			"Split the %s of a step into parts, so that the GPU starts with the first "
			"while the others are copied",
			finding_bytes(d, (double)up->all.bytes / n));
	return true;
}

const struct rule rule_no_overlap = {
	.id = "no-overlap",
	.title = "Copies and kernels run one after the other instead of overlapping",
	.condition = "(h2d_time - h2d_pageable_time) / total_time > 0.05 AND gpu_compute_time > 0",
	.evaluate = evaluate,
};
