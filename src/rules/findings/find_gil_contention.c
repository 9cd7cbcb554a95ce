#include "rules/draft.h"

static bool look(struct draft *d)
{
	const struct time_cause *c = draft_cause(d, TIME_GIL_WAIT);
	const struct analysis_waits *gil = &d->a->gil;
	const struct analysis_wait *w = gil->count ? &gil->items[0] : NULL;
	double ms = draft_part(d, TIME_GIL_WAIT);
	const struct analysis_place *holder = c && c->waited_for.name ? &c->waited_for
					      : w && w->holder.name   ? &w->holder
								      : NULL;
	const struct analysis_place *waiter = c ? &c->where : w ? &w->waiter : NULL;
	const char *who = draft_name(d, holder), *waits = draft_name(d, waiter);

	/* What is to be changed is what holds it. */
	draft_where(d, holder ? holder : waiter);
	draft_evidence(d, FROM_STATES, draft_strength(draft_share(d, ms), 0.05),
		       "%s waits %s %s (%s) for the interpreter's lock, mostly in %s",
		       draft_thread(d), draft_ms(d, ms), draft_of_step(d), draft_percent(d, ms),
		       waits);
	if (holder)
		draft_evidence(d, FROM_TIMES, 0.6, "meanwhile %s has the lock", who);
	draft_evidence_idle(d);
	draft_evidence_off_cpu(d, ms);
	draft_claim(d, TIME_GIL_WAIT, ms);
	draft_saving(d, ms, ms / 2, ms);
	draft_suggest(d, "Run %s in a process of its own: threads of one Python take turns", who);
	draft_suggest(
		d,
		"Shorten what %s does while requests are served, or do it less often: they lose "
		"%s %s",
		who, draft_ms(d, ms), draft_a_step(d));
	draft_suggest(d,
		      "Let %s spend its time in native code that gives the lock back (torch, "
		      "numpy), or use a Python without it (3.13t and later)",
		      who);
	return true;
}

const struct rule rule_gil_contention = {
	.id = "gil-contention",
	.title = "Threads wait for the interpreter's lock",
	.condition = "gil_wait_time / total_time > 0.05",
	.look = look,
};
