#include <math.h>

#include "rules/draft.h"

static bool look(struct draft *d)
{
	const struct use_copies *up = &d->use->h2d;
	double n = (double)d->use->steps, ms = d->m->h2d_pageable_time;
	double exposed_ms = fmin(ms, fmax(d->m->h2d_time, 0));
	double pinned = up->large_pinned.ns
				? (double)up->large_pinned.bytes / (double)up->large_pinned.ns
				: 0;
	double speed = up->pageable.ns ? (double)up->pageable.bytes / (double)up->pageable.ns : 0;
	/* Staging through a buffer of the driver's makes a copy two to three times as long. */
	double shorter = pinned > speed ? 1 - speed / pinned : 0.5;
	const char *name;

	draft_where(d, &up->top.where);
	name = draft_name(d, &up->top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, exposed_ms), 0.05),
		       "%s a step are copied to the GPU from pageable memory, in %s, at %.1f GB/s",
		       draft_bytes(d, (double)up->pageable.bytes / n), draft_ms(d, ms), speed);
	/* The host stages pageable memory itself: the call lasts as long as the copy. */
	draft_evidence(d, FROM_CUDA_CALLS,
		       draft_strength((double)up->call_ns, (double)up->all.ns / 2),
		       "the calls that start these copies hold the host for %s of a step",
		       draft_ms(d, (double)up->call_ns / 1e6 / n));
	draft_claim(d, TIME_H2D, exposed_ms);
	draft_saving(d, shorter * exposed_ms, 0.3 * exposed_ms, exposed_ms);
	draft_suggest(d,
		      "Let %s copy from pinned memory: tensor.pin_memory(), DataLoader("
		      "pin_memory=True), or one pinned buffer that is filled again and again",
		      name);
	draft_suggest(d,
		      "With pinned memory, .to(device, non_blocking=True) in %s returns at once, "
		      "and the copy can run beside kernels in a stream of its own",
		      name);
	draft_suggest(d,
		      "Copy less than %s a step: uint8 or float16 instead of float32, converted "
		      "on the GPU",
		      draft_bytes(d, (double)up->all.bytes / n));
	return true;
}

const struct rule rule_pageable_copy = {
	.id = "pageable-copy",
	.title = "Copies to the GPU come from pageable memory",
	.condition = "min(h2d_pageable_time, h2d_time) / total_time > 0.05",
	.look = look,
};
