#include <math.h>

#include "rules/draft.h"

/* A twentieth of the time stalled is what PSI's own documentation calls noticeable. */
static bool look(struct draft *d)
{
	double share = d->m->memory_stall_share, ms = share * d->m->total_time;

	draft_evidence(d, FROM_SERIES, draft_strength(share, 0.05),
		       "for %.0f %% of the time something waited for memory (PSI)", 100 * share);
	if (d->m->major_faults_per_step > 0)
		draft_evidence(d, FROM_KERNEL_TIMES, draft_strength(d->m->major_faults_per_step, 1),
			       "%s page faults %s had to wait for a disk",
			       draft_number(d, d->m->major_faults_per_step), draft_a_step(d));
	if (d->m->swap_bytes > 0)
		draft_evidence(d, FROM_KERNEL_TIMES, 0.6, "%s are swapped out",
			       draft_bytes(d, d->m->swap_bytes));
	draft_saving(d, ms, ms / 3, ms);
	draft_suggest(d,
		      "Give the program more memory than the %s that it has at its peak, or raise "
		      "the limit of its container",
		      draft_bytes(d, fmax(d->m->rss_peak_bytes, 0)));
	draft_suggest(d, "Load the weights once and share them: safetensors or mmap, fewer worker "
			 "processes");
	draft_suggest(d, "Look for growth: resident memory grows by %s %s",
		      draft_bytes(d, fmax(d->m->rss_growth_per_step, 0)), draft_a_step(d));
	return true;
}

const struct rule rule_memory_pressure = {
	.id = "memory-pressure",
	.title = "The machine is short of memory",
	.condition = "memory_stall_share > 0.05",
	.look = look,
};
