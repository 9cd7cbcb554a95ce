#include <inttypes.h>
#include <string.h>

#include "rules/findings/input_waits.h"

/* The wait that takes most of the kinds, if it is for input. */
static const struct time_cause *top_wait(const struct draft *d)
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
static const char *waits_in(struct draft *d, const struct time_cause *c)
{
	const char *text;

	if (!time_cause_is_mostly_inner(c))
		return "";
	if (c->what == TIME_SLEEP && c->inner.file && strstr(c->inner.file, "/asyncio/"))
		return ", in asyncio.sleep()";
	text = draft_text(d->texts, ", in %s", c->inner.name);
	d->failed |= !text;
	return text ? text : "";
}

/* Somebody makes the input, and is too slow. */
static void suggest_workers(struct draft *d, const char *waits, const char *who)
{
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
}

/* There is input, and the program waits for more of it. */
static void suggest_less_patience(struct draft *d, const char *waits, double ms)
{
	draft_suggest(d, "Shorten the time that %s waits for more input: it is %s %s", waits,
		      draft_ms(d, ms), draft_of_step(d));
	draft_suggest(
		d,
		"Go to work as soon as the last batch is done, with what has come by then: while "
		"one is computed %s gathers the next by itself",
		waits);
	draft_suggest(d,
		      "End the wait in %s when no more can come: as many requests as there are "
		      "clients, or as the batches of late had",
		      waits);
}

/* Sums of all kinds: a loader's workers are processes, a queue's are threads. */
static bool look(struct draft *d)
{
	const struct time_cause *c = top_wait(d);
	double patience_ms = wait_ms(d, TIME_SLEEP, true);
	double ms = wait_ms(d, TIME_LOCK_WAIT, true) + wait_ms(d, TIME_IO_WAIT, true) + patience_ms;
	const char *waits, *who;

	if (!c || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, &c->where);
	waits = draft_name(d, &c->where);
	who = c->waited_for.name ? draft_name(d, &c->waited_for) : "its workers";
	draft_evidence(d, FROM_STATES, draft_strength(draft_share(d, ms), 0.10),
		       "%s waits %s %s (%s) for its next input%s", waits, draft_ms(d, ms),
		       draft_of_step(d), draft_percent(d, ms), waits_in(d, c));
	if (c->waited_for.name)
		draft_evidence(d, FROM_TIMES, 0.6, "meanwhile %s is at work on it", who);
	if (patience_ms > 0)
		draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, patience_ms), 0.10),
			       "%s of it end by themselves, not by another thread, and the step "
			       "goes on: its input had been there",
			       draft_ms(d, patience_ms));
	if (loader_wait_ms(d) > ms / 2)
		draft_evidence(
			d, FROM_SCOPES, draft_strength(draft_share(d, loader_wait_ms(d)), 0.10),
			"the DataLoader itself was waited for %" PRIu64 " times, %s %s",
			d->a->torch.waits.count, draft_ms(d, loader_wait_ms(d)), draft_of_step(d));
	draft_evidence_idle(d);
	draft_evidence_off_cpu(d, ms);
	draft_claim(d, TIME_LOCK_WAIT, wait_ms(d, TIME_LOCK_WAIT, true));
	draft_claim(d, TIME_IO_WAIT, wait_ms(d, TIME_IO_WAIT, true));
	draft_claim(d, TIME_SLEEP, patience_ms);
	draft_saving(d, 0.8 * ms, ms / 3, ms);
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
	.look = look,
};
