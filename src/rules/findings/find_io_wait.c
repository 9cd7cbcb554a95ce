#include "rules/findings/host_code.h"
#include "rules/findings/input_waits.h"

static bool look(struct draft *d)
{
	const struct time_cause *c = wait_cause(d, TIME_IO_WAIT, false);
	const struct time_cause *nap = wait_cause(d, TIME_SLEEP, false);
	double naps_ms = wait_ms(d, TIME_SLEEP, false);
	double ms = wait_ms(d, TIME_IO_WAIT, false) + host_ms(d, HOST_IO) + naps_ms;
	const char *name;

	/* A step that sleeps waits for something too, and asks for it now and then. */
	if (!c || (nap && nap->ns > c->ns))
		c = nap;
	if (!c || draft_share(d, ms) <= 0.05)
		return false;
	draft_where(d, &c->where);
	name = draft_name(d, &c->where);
	draft_evidence(d, FROM_STATES, draft_strength(draft_share(d, ms), 0.05),
		       "%s spends %s %s (%s) in system calls for data or a device, mostly in %s",
		       draft_thread(d), draft_ms(d, ms), draft_of_step(d), draft_percent(d, ms),
		       name);
	if (naps_ms > 0)
		draft_evidence(d, FROM_STATES, 0, "of it %s asleep (time.sleep())",
			       draft_ms(d, naps_ms));
	draft_evidence_idle(d);
	draft_evidence_off_cpu(d, ms);
	if (d->m->io_bytes_per_step > 0)
		draft_evidence(d, FROM_SERIES, 0.5, "%s %s are read from disks",
			       draft_bytes(d, d->m->io_bytes_per_step), draft_a_step(d));
	draft_claim(d, TIME_IO_WAIT, wait_ms(d, TIME_IO_WAIT, false));
	draft_claim(d, TIME_SLEEP, naps_ms);
	host_claim(d, HOST_IO);
	draft_saving(d, 0.8 * ms, ms / 3, ms);
	draft_suggest(d, "Read ahead: start what %s reads in a thread before the step needs it",
		      name);
	draft_suggest(d, "Keep in memory what %s reads again and again, or map the file", name);
	draft_suggest(d,
		      "Ask for all of a step's data at once (one larger read, one request for "
		      "several keys): %s waits %s %s",
		      name, draft_ms(d, ms), draft_a_step(d));
	return true;
}

const struct rule rule_io_wait = {
	.id = "io-wait",
	.title = "Steps wait for files or the network",
	.condition = "(io_wait_time + sleep_time) / total_time > 0.05",
	.look = look,
};
