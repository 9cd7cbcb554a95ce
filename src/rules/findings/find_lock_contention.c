#include "rules/findings/host_code.h"

/*
 * A lock of the user's is waited for in the user's code or in the standard library's.  Native code
 * of a library has locks of its own (a driver's, an allocator's, a thread pool's), which nobody
 * who calls it can take or release elsewhere.
 */
static bool is_users_lock(const struct time_cause *c)
{
	const struct place *p = c->inner.name ? &c->inner : &c->where;
	enum code_kind kind;

	/* An event loop waits for whatever comes first. */
	if (!p->name || !p->file || function_loops(p->name, p->file))
		return false;
	kind = code_kind(p->name, p->file);
	return kind == CODE_USER || kind == CODE_STANDARD || kind == CODE_WAITS;
}

/* Of all threads: who held what this function waits for. */
static const struct place *known_holder(const struct finding_builder *d, const struct time_cause *c)
{
	const struct analysis_waits *locks = &d->a->locks;

	if (c->waited_for.name)
		return &c->waited_for;
	for (size_t i = 0; i < locks->count; i++)
		if (locks->items[i].holder.name &&
		    place_same_function(&locks->items[i].waiter,
					c->inner.name ? &c->inner : &c->where))
			return &locks->items[i].holder;
	return NULL;
}

static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = NULL;
	const struct place *holder;
	const char *who, *waits;
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *each = &d->parts->causes[i];

		if (each->what != TIME_LOCK_WAIT || wait_is_for_input(d, each) ||
		    !is_users_lock(each))
			continue;
		ms += finding_cause_ms(d, each);
		if (!c && each->where.name)
			c = each;
	}
	if (!c || finding_share(d, ms) <= 0.05)
		return false;
	holder = known_holder(d, c);
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
	finding_saving(d, ms, ms);
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
