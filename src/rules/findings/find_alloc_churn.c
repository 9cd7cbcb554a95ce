#include <math.h>

#include "rules/finding_builder.h"

static bool evaluate(struct finding_builder *d)
{
	const struct gpu_top_line *frees = &d->use->free_top, *allocs = &d->use->alloc_top;
	/* What frees makes the next allocation necessary. */
	const struct gpu_top_line *top = 2 * frees->sum.count > allocs->sum.count ? frees : allocs;
	const struct time_cause *c = finding_cause(d, TIME_ALLOCATION);
	double ms = fmax(d->m->allocation_time, 0), count = d->m->alloc_count_per_step;
	const struct place *where = top->where.name ? &top->where : c ? &c->where : NULL;
	const char *name = finding_place_name(d, where);

	finding_where(d, where);
	finding_evidence(d, FROM_CUDA_CALLS, finding_strength(count, 1),
			 "%s calls per step allocate or free GPU memory or pinned memory, %s in "
			 "total, mostly from %s",
			 finding_number(d, count), finding_ms(d, d->m->alloc_call_time), name);
	finding_evidence(d, FROM_TIMES, finding_strength(finding_share(d, ms), 0.05),
			 "for %s per step (%s) the GPU runs nothing for the step during these "
			 "calls",
			 finding_ms(d, ms), finding_percent(d, ms));
	finding_evidence_idle(d);
	finding_claim(d, TIME_ALLOCATION, ms);
	/* Those of other threads, or beside the GPU's work, may hold up steps as well. */
	finding_saving(d, ms, fmax(ms, d->m->alloc_call_time));
	finding_suggest(d,
			"Remove torch.cuda.empty_cache() from %s: after it the next allocation "
			"goes to the driver again, and freeing waits for the GPU",
			name);
	finding_suggest(d,
			"Allocate buffers once and reuse them (out=, copy_()): %s makes %s such "
			"calls per step",
			name, finding_number(d, count));
	finding_suggest(d, "If memory is short, let the allocator grow in place with "
			   "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use fixed shapes");
	return true;
}

const struct rule rule_alloc_churn = {
	.id = "alloc-churn",
	.title = "GPU memory is allocated and freed in every step",
	.condition = "alloc_count_per_step >= 0.5 AND allocation_time / total_time > 0.05",
	.evaluate = evaluate,
};
