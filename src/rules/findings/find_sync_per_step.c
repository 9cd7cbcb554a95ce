#include <math.h>

#include "rules/draft.h"

static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	const struct use_gaps *gaps = &u->after_wait;
	double ms = d->m->sync_avoidable_time, gap_ms = d->m->sync_gap_time;
	double count = d->m->sync_count_per_step;
	const char *name = draft_name(d, &gaps->top.where);

	draft_where(d, &gaps->top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, gap_ms), 0.05),
		       "in each step the GPU runs out of work while the host waits for it (%s "
		       "times), and then has none for %s (%s)",
		       draft_number(d, (double)gaps->count / (double)u->steps), draft_ms(d, gap_ms),
		       draft_percent(d, gap_ms));
	draft_evidence(d, FROM_CUDA_CALLS, draft_strength(draft_share(d, ms), 0.05),
		       "%s synchronisations a step, %s in all; most idle time follows those of "
		       "%s",
		       draft_number(d, count), draft_ms(d, d->m->sync_call_time), name);
	draft_saving(d, ms, ms / 2, fmax(ms, gap_ms));
	draft_suggest(d,
		      "Leave out the wait in %s: .item(), .cpu(), bool(tensor), print(tensor) "
		      "and torch.cuda.synchronize() all wait for the GPU",
		      name);
	draft_suggest(d,
		      "Keep the decision on the GPU (torch.where, masks), or look at the values "
		      "of %s only every few steps",
		      name);
	draft_suggest(d,
		      "Fetch all values of a step in one copy with non_blocking=True and read "
		      "them in the next step, behind an event: %s waits a step become none",
		      draft_number(d, count));
	return true;
}

const struct rule rule_sync_per_step = {
	.id = "sync-per-step",
	.title = "The host waits for the GPU and then the GPU for the host",
	.condition = "sync_avoidable_time / total_time > 0.05",
	.look = look,
};
