#include "rules/finding_builder.h"

static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = finding_cause(d, TIME_GIL_WAIT);
	const struct analysis_waits *gil = &d->a->gil;
	const struct analysis_wait *w = gil->count ? &gil->items[0] : NULL;
	double ms = finding_part(d, TIME_GIL_WAIT);
	const struct place *holder = c && c->waited_for.name ? &c->waited_for
				     : w && w->holder.name   ? &w->holder
							     : NULL;
	const struct place *waiter = c ? &c->where : w ? &w->waiter : NULL;
	const char *who = finding_place_name(d, holder), *waits = finding_place_name(d, waiter);

	/* What is to be changed is what holds it. */
	finding_where(d, holder ? holder : waiter);
	finding_evidence(d, FROM_STATES, finding_strength(finding_share(d, ms), 0.05),
			 "%s waits %s %s (%s) for the GIL, mostly in %s", finding_thread(d),
			 finding_ms(d, ms), finding_of_step(d), finding_percent(d, ms), waits);
	if (holder)
		finding_evidence(d, FROM_TIMES, 0.6, "%s holds the GIL during this time", who);
	finding_evidence_idle(d);
	finding_evidence_off_cpu(d, ms);
	finding_claim(d, TIME_GIL_WAIT, ms);
	finding_saving(d, ms, ms);
	finding_suggest(d,
			"Run %s in a separate process: only one thread of a Python process "
			"holds the GIL at a time",
			who);
	finding_suggest(
		d,
		"Shorten what %s does while requests are served, or do it less often: requests "
		"lose %s %s",
		who, finding_ms(d, ms), finding_a_step(d));
	finding_suggest(d,
			"Move the work of %s into native code that releases the GIL (torch, "
			"numpy), or use free-threaded Python (3.13t and later)",
			who);
	return true;
}

const struct rule rule_gil_contention = {
	.id = "gil-contention",
	.title = "Threads wait for the GIL",
	.condition = "gil_wait_time / total_time > 0.05",
	.evaluate = evaluate,
};
