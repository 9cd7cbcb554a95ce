#include <math.h>

#include "rules/draft.h"

/*
 * Pageable copies cannot overlap, and are pageable-copy's; what comes back from the GPU
 * is readback's.
 */
static bool look(struct draft *d)
{
	const struct use_copies *up = &d->use->h2d;
	double n = (double)d->use->steps;
	double exposed_ms = fmax(0, d->m->h2d_time - d->m->h2d_pageable_time);
	double ms = fmin(exposed_ms, d->m->gpu_compute_time);
	const char *name = draft_name(d, &up->top.where);

	if (draft_share(d, ms) <= 0.05)
		return false;
	draft_where(d, &up->top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, ms), 0.05),
		       "copies to the GPU of %s a step run for %s (%s) while it computes nothing, "
		       "although it computes for %s of the step",
		       draft_bytes(d, (double)up->all.bytes / n), draft_ms(d, exposed_ms),
		       draft_percent(d, exposed_ms), draft_ms(d, d->m->gpu_compute_time));
	/* The host does not hold them up: the calls return before the copies are done. */
	draft_evidence(d, FROM_CUDA_CALLS, draft_strength((double)up->all.ns, (double)up->call_ns),
		       "the calls of %s return at once: nothing but the order in the stream keeps "
		       "the copies from running beside kernels",
		       name);
	draft_claim(d, TIME_H2D, ms);
	draft_saving(d, 0.8 * ms, 0.4 * ms, ms);
	draft_suggest(d,
		      "Copy the next input in %s on a stream of its own while this one is "
		      "computed (torch.cuda.Stream, then wait_stream)",
		      name);
	draft_suggest(d, "Use two buffers in turn, so that %s never waits for the one in use",
		      name);
	draft_suggest(d,
		      "Split the %s of a step into parts, and let the GPU begin with the first "
		      "while the others are copied",
		      draft_bytes(d, (double)up->all.bytes / n));
	return true;
}

const struct rule rule_no_overlap = {
	.id = "no-overlap",
	.title = "Copies and kernels take turns instead of overlapping",
	.condition = "(h2d_time - h2d_pageable_time) / total_time > 0.05 AND gpu_compute_time > 0",
	.look = look,
};
