#include <inttypes.h>

#include "rules/findings/input_waits.h"

/* Sums of both kinds: a loader's workers are processes, a queue's are threads. */
static bool look(struct draft *d)
{
	const struct time_cause *lock = wait_cause(d, TIME_LOCK_WAIT, true);
	const struct time_cause *io = wait_cause(d, TIME_IO_WAIT, true), *c;
	double ms = wait_ms(d, TIME_LOCK_WAIT, true) + wait_ms(d, TIME_IO_WAIT, true);
	const char *waits, *who;

	c = !lock || (io && io->ns > lock->ns) ? io : lock;
	if (!c || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, &c->where);
	waits = draft_name(d, &c->where);
	who = c->waited_for.name ? draft_name(d, &c->waited_for) : "its workers";
	draft_evidence(d, FROM_STATES, draft_strength(draft_share(d, ms), 0.10),
		       "%s waits %s of a step (%s) for its next input%s%s", waits, draft_ms(d, ms),
		       draft_percent(d, ms), c->inner.name ? ", in " : "",
		       c->inner.name ? c->inner.name : "");
	if (c->waited_for.name)
		draft_evidence(d, FROM_TIMES, 0.6, "meanwhile %s is at work on it", who);
	if (loader_wait_ms(d) > ms / 2)
		draft_evidence(
			d, FROM_SCOPES, draft_strength(draft_share(d, loader_wait_ms(d)), 0.10),
			"the DataLoader itself was waited for %" PRIu64 " times, %s of a step",
			d->a->torch.waits.count, draft_ms(d, loader_wait_ms(d)));
	draft_evidence_idle(d);
	draft_evidence_off_cpu(d, ms);
	draft_claim(d, TIME_LOCK_WAIT, wait_ms(d, TIME_LOCK_WAIT, true));
	draft_claim(d, TIME_IO_WAIT, wait_ms(d, TIME_IO_WAIT, true));
	draft_saving(d, 0.8 * ms, ms / 3, ms);
	draft_suggest(d,
		      "Use more workers for %s (num_workers, more threads or processes): one "
		      "batch takes longer to prepare than to compute",
		      waits);
	draft_suggest(d,
		      "Make %s faster: decode at the size that is needed, in native code, or "
		      "store the data prepared",
		      who);
	draft_suggest(d,
		      "Prefetch further ahead (prefetch_factor, a longer queue), so that %s finds "
		      "the next input ready",
		      waits);
	return true;
}

/* A tenth: FR-4's bound for a GPU that is idle. */
const struct rule rule_input_starvation = {
	.id = "input-starvation",
	.title = "Steps wait for their input",
	.condition = "(lock_wait_time + io_wait_time) / total_time > 0.10",
	.look = look,
};
