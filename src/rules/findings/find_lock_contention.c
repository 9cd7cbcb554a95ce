#include "rules/findings/host_code.h"

static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = wait_cause(d, TIME_LOCK_WAIT, false);
	const struct analysis_waits *locks = &d->a->locks;
	double ms = wait_ms(d, TIME_LOCK_WAIT, false);
	const struct place *holder = NULL;
	const char *who, *waits;

	if (!c || finding_share(d, ms) <= 0.05)
		return false;
	if (c->waited_for.name)
		holder = &c->waited_for;
	else if (locks->count && locks->items[0].holder.name)
		holder = &locks->items[0].holder;
	finding_where(d, holder ? holder : &c->where);
	waits = finding_place_name(d, &c->where);
	who = holder ? finding_place_name(d, holder) : "another thread";
	finding_evidence(d, FROM_STATES, finding_strength(finding_share(d, ms), 0.05),
			 "%s waits %s %s (%s) for a lock in %s", finding_thread(d),
			 finding_ms(d, ms), finding_of_step(d), finding_percent(d, ms), waits);
	if (holder)
		finding_evidence(d, FROM_TIMES, 0.6, "%s holds it during this time", who);
	finding_evidence_idle(d);
	finding_evidence_off_cpu(d, ms);
	finding_claim(d, TIME_LOCK_WAIT, ms);
	finding_saving(d, ms, ms / 2, ms);
	finding_suggest(d, "Do the slow part of %s before acquiring the lock or after releasing it",
			who);
	finding_suggest(d,
			"Let %s read a copy that is replaced as a whole, so that it needs no lock",
			waits);
	finding_suggest(d,
			"Use several locks for the data that %s and %s share, or pass changes "
			"through a queue",
			who, waits);
	return true;
}

const struct rule rule_lock_contention = {
	.id = "lock-contention",
	.title = "Steps wait for a lock that another thread holds",
	.condition = "lock_wait_time / total_time > 0.05",
	.evaluate = evaluate,
};
