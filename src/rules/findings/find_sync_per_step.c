#include <math.h>

#include "rules/finding_builder.h"
#include "rules/findings/host_code.h"

static const enum time_class asking[] = { TIME_CPU_PREPROCESSING, TIME_FRAMEWORK, TIME_LAUNCH };

/* What the host does besides on the lines that wait: it is there to ask for what it waits for. */
static double asking_ms(const struct finding_builder *d)
{
	double ms = 0;

	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
		ms += waiting_lines_ms(d, asking[i], TIME_SYNC_WAIT);
	return ms;
}

/* The waits, what belongs to them, and what would run beside the GPU without them. */
static void claim(struct finding_builder *d, double ms)
{
	double waits_ms = finding_part(d, TIME_SYNC_WAIT), asks_ms = asking_ms(d);

	finding_claim(d, TIME_SYNC_WAIT, waits_ms);
	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
		finding_claim(d, asking[i], waiting_lines_ms(d, asking[i], TIME_SYNC_WAIT));
	if (ms > waits_ms + asks_ms)
		finding_claim_hosts(d, ms - waits_ms - asks_ms);
}

static bool evaluate(struct finding_builder *d)
{
	const struct step_gpu_usage *u = d->use;
	const struct gpu_usage_gaps *gaps = &u->after_wait;
	double ms = d->m->sync_avoidable_time, gap_ms = d->m->sync_gap_time;
	double count = d->m->sync_count_per_step, replayed_ms;
	/* Other waits may be for the step's result. */
	const struct replay_edit edit = { .kind = REPLAY_REMOVE_SYNC,
					  .name = gaps->top.where.name };
	const char *name = finding_place_name(d, &gaps->top.where);

	finding_where(d, &gaps->top.where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(finding_share(d, gap_ms), 0.05),
			 "in each step the GPU runs out of work while the host waits for it (%s "
			 "times), and is then idle for %s (%s)",
			 finding_number(d, (double)gaps->count / (double)u->steps),
			 finding_ms(d, gap_ms), finding_percent(d, gap_ms));
	finding_evidence(d, FROM_CUDA_CALLS, finding_strength(finding_share(d, ms), 0.05),
			 "%s synchronisations per step, %s in total; most idle time follows those "
			 "of %s",
			 finding_number(d, count), finding_ms(d, d->m->sync_call_time), name);
	claim(d, ms);
	d->replayed = finding_replayed(d, &edit, &replayed_ms);
	if (d->replayed)
		finding_saving(d, replayed_ms, replayed_ms);
	else /* the idle time behind the waits, and what is avoidable of them: two sides */
		finding_saving(d, fmin(ms, gap_ms), fmax(ms, gap_ms));
	finding_suggest(d,
			"Remove the wait in %s: .item(), .cpu(), bool(tensor), print(tensor) and "
			"torch.cuda.synchronize() all wait for the GPU",
			name);
	finding_suggest(d,
			"Keep the decision on the GPU (torch.where, masks), or read the values of "
			"%s only every few steps",
			name);
	finding_suggest(d,
			"Copy all values of a step at once with non_blocking=True and read them in "
			"the next step, after an event: this removes %s waits per step",
			finding_number(d, count));
	return true;
}

const struct rule rule_sync_per_step = {
	.id = "sync-per-step",
	.title = "The host waits for the GPU, then the GPU waits for the host",
	.condition = "sync_avoidable_time / total_time > 0.05",
	.evaluate = evaluate,
};
