#include <math.h>

#include "rules/draft.h"

/* Findings that say why. */
static bool is_explained(const struct draft *d)
{
	return draft_found(d, "pageable-copy") || draft_found(d, "readback") ||
	       draft_found(d, "no-overlap") || draft_found(d, "pcie-saturated");
}

/* Only what no other finding takes: the bound is FR-4's. */
static bool look(struct draft *d)
{
	double n = (double)d->use->steps, ms = d->m->h2d_time + d->m->d2h_time;
	double left_ms = fmin(ms, d->m->total_time - d->explained_ms);
	const struct use_copies *up = &d->use->h2d, *down = &d->use->d2h;
	const struct use_copies *most = up->all.ns > down->all.ns ? up : down;
	const char *name = draft_name(d, &most->top.where);

	if (draft_share(d, left_ms) <= 0.20 || is_explained(d))
		return false;
	draft_where(d, &most->top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, ms), 0.20),
		       "copies between host and GPU take %s of a step (%s): %s up, %s down",
		       draft_ms(d, ms), draft_percent(d, ms),
		       draft_bytes(d, (double)up->all.bytes / n),
		       draft_bytes(d, (double)down->all.bytes / n));
	draft_evidence(d, FROM_CUDA_CALLS,
		       draft_strength((double)(up->call_ns + down->call_ns),
				      (double)(up->all.ns + down->all.ns) / 2),
		       "%s copies a step, most of the time for those of %s",
		       draft_number(d, (double)(up->all.count + down->all.count) / n), name);
	draft_saving(d, left_ms / 2, left_ms / 4, left_ms);
	draft_suggest(d, "Keep data on the GPU between the calls of %s", name);
	draft_suggest(d, "Make one copy of many small ones in %s: %s copies a step now", name,
		      draft_number(d, (double)(up->all.count + down->all.count) / n));
	draft_suggest(d, "Copy in smaller types (uint8, float16), from pinned memory, beside the "
			 "kernels of the step before");
	return true;
}

const struct rule rule_transfer_overhead = {
	.id = "transfer-overhead",
	.title = "Copies between host and GPU take much of the step",
	.condition = "(h2d_time + d2h_time) / total_time > 0.20",
	.look = look,
	.last = true,
};
