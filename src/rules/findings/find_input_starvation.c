#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rules/findings/host_code.h"

/* The wait that takes most of the kinds, if it is for input. */
static const struct time_cause *top_wait(const struct finding_builder *d)
{
	static const enum time_class kinds[] = { TIME_LOCK_WAIT, TIME_IO_WAIT, TIME_SLEEP };
	const struct time_cause *best = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct time_cause *c = wait_cause(d, kinds[i], true);

		if (c && (!best || c->ns > best->ns))
			best = c;
	}
	return best;
}

/* ", in Queue.get": what it waits in; of a coroutine what a look on its way found says nothing. */
static const char *waits_in(struct finding_builder *d, const struct time_cause *c)
{
	const char *text;

	if (!time_cause_is_mostly_inner(c))
		return "";
	if (c->what == TIME_SLEEP && c->inner.file && strstr(c->inner.file, "/asyncio/"))
		return ", in asyncio.sleep()";
	text = finding_text(d->texts, ", in %s", c->inner.name);
	d->failed |= !text;
	return text ? text : "";
}

/* Somebody makes the input, and is too slow. */
static void suggest_workers(struct finding_builder *d, const char *waits, const char *who)
{
	finding_suggest(d,
			"Use more workers for %s (num_workers, more threads or processes): a batch "
			"takes longer to prepare than to compute",
			waits);
	finding_suggest(d,
			"Make %s faster: decode at the size needed, in native code, or store "
			"preprocessed data",
			who);
	finding_suggest(
		d,
		"Prefetch further ahead (prefetch_factor, a longer queue), so that the next input "
		"is ready for %s",
		waits);
}

/* There is input, and the program waits for more of it. */
static void suggest_less_patience(struct finding_builder *d, const char *waits, double ms)
{
	finding_suggest(d, "Shorten the time that %s waits for more input: it takes %s %s", waits,
			finding_ms(d, ms), finding_of_step(d));
	finding_suggest(
		d,
		"Start as soon as the last batch is done, with the requests that have arrived: "
		"while one batch computes, %s collects the next one",
		waits);
	finding_suggest(d,
			"End the wait in %s when no more requests can arrive: as many as there are "
			"clients, or as recent batches had",
			waits);
}

/*
 * However many workers there are, their work needs the CPUs: a step cannot take less than what all
 * processes run in one, shared out among all CPUs.
 */
static double without_cpus_limit_ms(const struct finding_builder *d)
{
	double least_ms = d->m->step_cores_used / d->m->cpus * d->m->total_time;

	return isnan(least_ms) ? d->m->total_time : fmax(0, d->m->total_time - least_ms);
}

/* Sums of all kinds: a loader's workers are processes, a queue's are threads. */
static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = top_wait(d);
	double patience_ms = wait_ms(d, TIME_SLEEP, true);
	double ms = wait_ms(d, TIME_LOCK_WAIT, true) + wait_ms(d, TIME_IO_WAIT, true) + patience_ms;
	const char *waits, *who;

	if (!c || finding_share(d, ms) <= 0.10)
		return false;
	finding_where(d, &c->where);
	waits = finding_place_name(d, &c->where);
	who = c->waited_for.name ? finding_place_name(d, &c->waited_for) : "its workers";
	finding_evidence(d, FROM_STATES, finding_strength(finding_share(d, ms), 0.10),
			 "%s waits %s %s (%s) for its next input%s", waits, finding_ms(d, ms),
			 finding_of_step(d), finding_percent(d, ms), waits_in(d, c));
	if (c->waited_for.name)
		finding_evidence(d, FROM_TIMES, 0.6, "%s prepares it during this time", who);
	if (patience_ms > 0)
		finding_evidence(d, FROM_TIMES,
				 finding_strength(finding_share(d, patience_ms), 0.10),
				 "%s of it end by timeout, not through another thread, and the "
				 "step continues: its input was already there",
				 finding_ms(d, patience_ms));
	if (loader_wait_ms(d) > ms / 2)
		finding_evidence(d, FROM_SCOPES,
				 finding_strength(finding_share(d, loader_wait_ms(d)), 0.10),
				 "the DataLoader itself caused %" PRIu64 " waits, %s %s",
				 d->a->torch.waits.count, finding_ms(d, loader_wait_ms(d)),
				 finding_of_step(d));
	finding_evidence_idle(d);
	finding_evidence_off_cpu(d, ms);
	finding_claim(d, TIME_LOCK_WAIT, wait_ms(d, TIME_LOCK_WAIT, true));
	finding_claim(d, TIME_IO_WAIT, wait_ms(d, TIME_IO_WAIT, true));
	finding_claim(d, TIME_SLEEP, patience_ms);
	ms = fmin(ms, without_cpus_limit_ms(d));
	finding_saving(d, ms, ms);
	if (c->what == TIME_SLEEP)
		suggest_less_patience(d, waits, patience_ms);
	else
		suggest_workers(d, waits, who);
	return true;
}

/* A tenth: FR-4's bound for a GPU that is idle. */
const struct rule rule_input_starvation = {
	.id = "input-starvation",
	.title = "Steps wait for their input",
	.condition = "(lock_wait_time + io_wait_time + sleep_time) / total_time > 0.10",
	.evaluate = evaluate,
};
