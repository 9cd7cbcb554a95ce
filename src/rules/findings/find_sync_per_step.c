#include <math.h>

#include "rules/draft.h"
#include "rules/findings/host_code.h"

static const enum time_class asking[] = { TIME_CPU_PREPROCESSING, TIME_FRAMEWORK, TIME_LAUNCH };

/* What the host does besides on the lines that wait: it is there to ask for what it waits for. */
static double asking_ms(const struct draft *d)
{
	double ms = 0;

	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
		ms += waiting_lines_ms(d, asking[i], TIME_SYNC_WAIT);
	return ms;
}

/* The waits, what belongs to them, and what would run beside the GPU without them. */
static void claim(struct draft *d, double ms)
{
	double waits_ms = draft_part(d, TIME_SYNC_WAIT), asks_ms = asking_ms(d);

	draft_claim(d, TIME_SYNC_WAIT, waits_ms);
	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
		draft_claim(d, asking[i], waiting_lines_ms(d, asking[i], TIME_SYNC_WAIT));
	if (ms > waits_ms + asks_ms)
		draft_claim_hosts(d, ms - waits_ms - asks_ms);
}

static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	const struct use_gaps *gaps = &u->after_wait;
	double ms = d->m->sync_avoidable_time, gap_ms = d->m->sync_gap_time;
	double count = d->m->sync_count_per_step, asks_ms = asking_ms(d);
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
	claim(d, ms);
	draft_saving(d, ms, ms / 2,
		     fmax(fmax(ms, gap_ms), draft_part(d, TIME_SYNC_WAIT) + asks_ms));
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
