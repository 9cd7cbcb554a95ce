#include <math.h>

#include "rules/finding_builder.h"

/* A twentieth of the time stalled is what PSI's own documentation calls noticeable. */
static bool evaluate(struct finding_builder *d)
{
	double share = d->m->memory_stall_share, ms = share * d->m->total_time;

	finding_evidence(d, FROM_SERIES, finding_strength(share, 0.05),
			 "for %.0f %% of the time at least one task waited for memory (PSI)",
			 100 * share);
	if (d->m->major_faults_per_step > 0)
		finding_evidence(d, FROM_KERNEL_TIMES,
				 finding_strength(d->m->major_faults_per_step, 1),
				 "%s page faults %s waited for a disk",
				 finding_number(d, d->m->major_faults_per_step), finding_a_step(d));
	if (d->m->swap_bytes > 0)
		finding_evidence(d, FROM_KERNEL_TIMES, 0.6, "%s are swapped out",
				 finding_bytes(d, d->m->swap_bytes));
	finding_saving(d, ms, ms);
	finding_suggest(
		d,
		"Give the program more memory than its peak of %s, or raise the limit of its "
		"container",
		finding_bytes(d, fmax(d->m->rss_peak_bytes, 0)));
	finding_suggest(d,
			"Load the weights once and share them: safetensors or mmap, fewer worker "
			"processes");
	finding_suggest(d, "Check for memory growth: resident memory grows by %s %s",
			finding_bytes(d, fmax(d->m->rss_growth_per_step, 0)), finding_a_step(d));
	return true;
}

const struct rule rule_memory_pressure = {
	.id = "memory-pressure",
	.title = "The machine is short of memory",
	.condition = "memory_stall_share > 0.05",
	.evaluate = evaluate,
};
