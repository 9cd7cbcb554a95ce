#include "rules/draft.h"

static bool look(struct draft *d)
{
	const struct use_copies *down = &d->use->d2h;
	const struct time_cause *c = draft_cause(d, TIME_D2H);
	double n = (double)d->use->steps, ms = d->m->d2h_time;
	const struct analysis_place *where = down->top.where.name ? &down->top.where
					     : c                  ? &c->where
								  : NULL;
	const char *name;

	draft_where(d, where);
	name = draft_name(d, where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, ms), 0.05),
		       "%s a step are copied back to the host in %s (%s), while the GPU computes "
		       "nothing",
		       draft_bytes(d, (double)down->all.bytes / n), draft_ms(d, ms),
		       draft_percent(d, ms));
	draft_evidence(d, FROM_CUDA_CALLS,
		       draft_strength((double)down->call_ns + (double)d->use->waits.ns,
				      (double)down->all.ns / 2),
		       "the host waits for them: %s of a step in copying and synchronising calls",
		       draft_ms(d, ((double)down->call_ns + (double)d->use->waits.ns) / 1e6 / n));
	draft_claim(d, TIME_D2H, ms);
	draft_saving(d, 0.8 * ms, 0.4 * ms, ms);
	draft_suggest(d,
		      "Reduce on the GPU before %s copies (argmax, topk, the last row): %s a "
		      "step come back now",
		      name, draft_bytes(d, (double)down->all.bytes / n));
	draft_suggest(d,
		      "Copy in %s to a pinned buffer with non_blocking=True and read it one step "
		      "later",
		      name);
	draft_suggest(d,
		      "If all of it is needed, copy it as float16 or int32 instead of what it is "
		      "now in %s",
		      name);
	return true;
}

const struct rule rule_readback = {
	.id = "readback",
	.title = "Much data is copied back from the GPU",
	.condition = "d2h_time / total_time > 0.05",
	.look = look,
};
