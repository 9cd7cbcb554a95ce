#include "rules/findings/input_waits.h"

static bool look(struct draft *d)
{
	const struct time_cause *c = wait_cause(d, TIME_LOCK_WAIT, false);
	const struct analysis_waits *locks = &d->a->locks;
	double ms = wait_ms(d, TIME_LOCK_WAIT, false);
	const struct analysis_place *holder = NULL;
	const char *who, *waits;

	if (!c || draft_share(d, ms) <= 0.05)
		return false;
	if (c->waited_for.name)
		holder = &c->waited_for;
	else if (locks->count && locks->items[0].holder.name)
		holder = &locks->items[0].holder;
	draft_where(d, holder ? holder : &c->where);
	waits = draft_name(d, &c->where);
	who = holder ? draft_name(d, holder) : "another thread";
	draft_evidence(d, FROM_STATES, draft_strength(draft_share(d, ms), 0.05),
		       "%s waits %s %s (%s) for a lock in %s", draft_thread(d), draft_ms(d, ms),
		       draft_of_step(d), draft_percent(d, ms), waits);
	if (holder)
		draft_evidence(d, FROM_TIMES, 0.6, "meanwhile %s has it", who);
	draft_evidence_idle(d);
	draft_evidence_off_cpu(d, ms);
	draft_claim(d, TIME_LOCK_WAIT, ms);
	draft_saving(d, ms, ms / 2, ms);
	draft_suggest(d,
		      "Do the slow part of %s before the lock is taken or after it is given back",
		      who);
	draft_suggest(d, "Let %s read a copy that is replaced as a whole, so that it needs no lock",
		      waits);
	draft_suggest(d,
		      "Give what %s and %s share several locks, or hand the changes over in a "
		      "queue",
		      who, waits);
	return true;
}

const struct rule rule_lock_contention = {
	.id = "lock-contention",
	.title = "Steps wait for a lock that another thread holds",
	.condition = "lock_wait_time / total_time > 0.05",
	.look = look,
};
