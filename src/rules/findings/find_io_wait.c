#include "rules/findings/host_code.h"

static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = wait_cause(d, TIME_IO_WAIT, false);
	const struct time_cause *sleep_cause = wait_cause(d, TIME_SLEEP, false);
	double sleeps_ms = wait_ms(d, TIME_SLEEP, false);
	double ms = wait_ms(d, TIME_IO_WAIT, false) + host_ms(d, HOST_IO) + sleeps_ms;
	const char *name;

	/* A step that sleeps waits for something too, and asks for it now and then. */
	if (!c || (sleep_cause && sleep_cause->ns > c->ns))
		c = sleep_cause;
	if (!c || finding_share(d, ms) <= 0.05)
		return false;
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_STATES, finding_strength(finding_share(d, ms), 0.05),
			 "%s spends %s %s (%s) in system calls for data or a device, mostly in %s",
			 finding_thread(d), finding_ms(d, ms), finding_of_step(d),
			 finding_percent(d, ms), name);
	if (sleeps_ms > 0)
		finding_evidence(d, FROM_STATES, 0, "%s of it is sleep (time.sleep())",
				 finding_ms(d, sleeps_ms));
	finding_evidence_idle(d);
	finding_evidence_off_cpu(d, ms);
	if (d->m->io_bytes_per_step > 0)
		finding_evidence(d, FROM_SERIES, 0.5, "%s %s is read from disks",
				 finding_bytes(d, d->m->io_bytes_per_step), finding_a_step(d));
	finding_claim(d, TIME_IO_WAIT, wait_ms(d, TIME_IO_WAIT, false));
	finding_claim(d, TIME_SLEEP, sleeps_ms);
	host_claim(d, HOST_IO);
	finding_saving(d, ms, ms);
	finding_suggest(d,
			"Read ahead: start the reads of %s in a thread before the step needs "
			"the data",
			name);
	finding_suggest(d, "Cache in memory what %s reads repeatedly, or map the file", name);
	finding_suggest(d,
			"Request all data of a step at once (one larger read, one request for "
			"several keys): %s waits %s %s",
			name, finding_ms(d, ms), finding_a_step(d));
	return true;
}

const struct rule rule_io_wait = {
	.id = "io-wait",
	.title = "Steps wait for files or the network",
	.condition = "(io_wait_time + sleep_time) / total_time > 0.05",
	.evaluate = evaluate,
};
