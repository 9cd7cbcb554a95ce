#include <math.h>

#include "rules/finding_builder.h"

/* Of the link's bandwidth, packets' headers take so much: pcie-saturated has the same bound. */
#define PACKETS_SHARE 0.8

/*
 * How much of their time copies take from pinned memory: by the bandwidth of pinned copies in the
 * trace, else by that of the link.  Where neither is known staging through a buffer of the driver's
 * makes a copy twice as long: the data crosses the memory once more.
 */
static double shortened(const struct finding_builder *d, double speed)
{
	const struct gpu_usage_sum *pinned = &d->use->h2d.large_pinned;
	double best = pinned->ns ? (double)pinned->bytes / (double)pinned->ns
				 : PACKETS_SHARE * d->m->link_gb_per_s;

	return isnan(best) ? 0.5 : fmin(1, speed / best);
}

static bool evaluate(struct finding_builder *d)
{
	const struct gpu_usage_copies *up = &d->use->h2d;
	double n = (double)d->use->steps, ms = d->m->h2d_pageable_time;
	double exposed_ms = fmin(ms, fmax(d->m->h2d_time, 0));
	double speed = up->pageable.ns ? (double)up->pageable.bytes / (double)up->pageable.ns : 0;
	/* What is left of the copies from pinned memory. */
	double left = shortened(d, speed);
	double least_ms, replayed_ms,
		hidden_ms = fmin(left * exposed_ms, fmax(d->m->gpu_compute_time, 0));
	const char *name;

	finding_where(d, &up->top.where);
	name = finding_place_name(d, &up->top.where);
	finding_evidence(
		d, FROM_ACTIVITIES, finding_strength(finding_share(d, exposed_ms), 0.05),
		"%s per step is copied to the GPU from pageable memory, in %s, at %.1f GB/s",
		finding_bytes(d, (double)up->pageable.bytes / n), finding_ms(d, ms), speed);
	/* The host stages pageable memory itself: the call lasts as long as the copy. */
	finding_evidence(d, FROM_CUDA_CALLS,
			 finding_strength((double)up->call_ns, (double)up->all.ns / 2),
			 "the calls that start these copies block the host for %s per step",
			 finding_ms(d, (double)up->call_ns / 1e6 / n));
	finding_claim(d, TIME_H2D, exposed_ms);
	least_ms = (1 - left) * exposed_ms;
	if (finding_replayed(d, &(struct replay_edit){ .kind = REPLAY_PIN }, &replayed_ms))
		least_ms = fmin(replayed_ms, least_ms + hidden_ms);
	/* Pinned they are shorter; on a stream of their own kernels hide the rest, too. */
	finding_saving(d, least_ms, (1 - left) * exposed_ms + hidden_ms);
	finding_suggest(d,
			"Copy from pinned memory in %s: tensor.pin_memory(), "
			"DataLoader(pin_memory=True), or one pinned buffer that is reused",
			name);
	finding_suggest(d,
			"With pinned memory, .to(device, non_blocking=True) in %s returns "
			"immediately, and the copy can overlap with kernels on a separate stream",
			name);
	finding_suggest(d,
			"Copy less than %s per step: uint8 or float16 instead of float32, "
			"converted on the GPU",
			finding_bytes(d, (double)up->all.bytes / n));
	return true;
}

const struct rule rule_pageable_copy = {
	.id = "pageable-copy",
	.title = "Copies to the GPU come from pageable memory",
	.condition = "min(h2d_pageable_time, h2d_time) / total_time > 0.05",
	.evaluate = evaluate,
};
