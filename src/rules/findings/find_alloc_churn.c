#include <math.h>

#include "rules/draft.h"

static bool look(struct draft *d)
{
	const struct use_top *frees = &d->use->free_top, *allocs = &d->use->alloc_top;
	/* What frees makes the next allocation necessary. */
	const struct use_top *top = 2 * frees->sum.count > allocs->sum.count ? frees : allocs;
	const struct time_cause *c = draft_cause(d, TIME_ALLOCATION);
	double ms = fmax(d->m->allocation_time, 0), count = d->m->alloc_count_per_step;
	const struct analysis_place *where = top->where.name ? &top->where : c ? &c->where : NULL;
	const char *name = draft_name(d, where);

	draft_where(d, where);
	draft_evidence(d, FROM_CUDA_CALLS, draft_strength(count, 1),
		       "%s calls a step allocate or free memory of the GPU or pinned memory, %s "
		       "in all, most of it from %s",
		       draft_number(d, count), draft_ms(d, d->m->alloc_call_time), name);
	draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, ms), 0.05),
		       "in %s of a step (%s) the GPU does nothing for it meanwhile",
		       draft_ms(d, ms), draft_percent(d, ms));
	draft_evidence_idle(d);
	draft_claim(d, TIME_ALLOCATION, ms);
	draft_saving(d, ms, ms / 2, fmax(ms, d->m->alloc_call_time));
	draft_suggest(d,
		      "Leave out torch.cuda.empty_cache() in %s: the next allocation has to ask "
		      "the driver again, and freeing waits for the GPU",
		      name);
	draft_suggest(d,
		      "Allocate buffers once and fill them again (out=, copy_()): %s makes %s "
		      "such calls a step",
		      name, draft_number(d, count));
	draft_suggest(d, "If memory is short, let the allocator grow in place: "
			 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or fixed shapes");
	return true;
}

const struct rule rule_alloc_churn = {
	.id = "alloc-churn",
	.title = "GPU memory is allocated and freed in every step",
	.condition = "alloc_count_per_step >= 0.5 AND allocation_time / total_time > 0.05",
	.look = look,
};
