#include "rules/finding_builder.h"

static bool evaluate(struct finding_builder *d)
{
	const struct gpu_usage_copies *down = &d->use->d2h;
	const struct time_cause *c = finding_cause(d, TIME_D2H);
	double n = (double)d->use->steps, ms = d->m->d2h_time;
	const struct place *where = down->top.where.name ? &down->top.where : c ? &c->where : NULL;
	const char *name;

	finding_where(d, where);
	name = finding_place_name(d, where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(finding_share(d, ms), 0.05),
			 "%s per step is copied back to the host in %s (%s), while the GPU "
			 "computes nothing",
			 finding_bytes(d, (double)down->all.bytes / n), finding_ms(d, ms),
			 finding_percent(d, ms));
	finding_evidence(
		d, FROM_CUDA_CALLS,
		finding_strength((double)down->call_ns + (double)d->use->waits.ns,
				 (double)down->all.ns / 2),
		"the host waits for these copies: %s per step in copying and synchronising calls",
		finding_ms(d, ((double)down->call_ns + (double)d->use->waits.ns) / 1e6 / n));
	finding_claim(d, TIME_D2H, ms);
	finding_saving(d, ms, ms);
	finding_suggest(d,
			"Reduce on the GPU before %s copies (argmax, topk, the last row): %s per "
			"step is copied back now",
			name, finding_bytes(d, (double)down->all.bytes / n));
	finding_suggest(d,
			"Copy in %s to a pinned buffer with non_blocking=True and read it one step "
			"later",
			name);
	finding_suggest(d,
			"If all of it is needed, copy it as float16 or int32 instead of the "
			"current type in %s",
			name);
	return true;
}

const struct rule rule_readback = {
	.id = "readback",
	.title = "Much data is copied back from the GPU",
	.condition = "d2h_time / total_time > 0.05",
	.evaluate = evaluate,
};
