#include "rules/claims.h"

#include <math.h>

/* As in rule.h: less of a step is not worth a person's time. */
#define WORTH_SHARE 0.05
/* Said of a finding that others have more of than that. */
#define NOTICED 0.05

struct pool {
	double left_ms[TIME_CLASSES];
	double whole_ms; /* all but the GPU's own work and what nobody asked for */
};

static bool is_hosts(enum time_class what)
{
	return what != TIME_GPU_COMPUTE && what != TIME_IDLE;
}

static double hosts_ms(const struct pool *p)
{
	double ms = 0;

	for (enum time_class i = 0; i < TIME_CLASSES; i++)
		if (is_hosts(i))
			ms += p->left_ms[i];
	return ms;
}

static void pool_init(struct pool *p, const struct draft *d)
{
	for (enum time_class i = 0; i < TIME_CLASSES; i++)
		p->left_ms[i] = draft_part(d, i);
	p->whole_ms = hosts_ms(p);
}

static double claimed_ms(const struct draft *d)
{
	double ms = 0;

	for (size_t i = 0; i < TIME_CLASSES; i++)
		ms += d->claims[i];
	return ms;
}

/* What of its claims is still there. */
static double free_share(const struct pool *p, const struct draft *d)
{
	double all_ms = claimed_ms(d), free_ms = 0;

	for (size_t i = 0; i < TIME_CLASSES; i++)
		free_ms += fmin(d->claims[i], p->left_ms[i]);
	return all_ms > 0 ? free_ms / all_ms : 1;
}

/* Sure ones first, as in the report; what each would save of what is left. */
static bool is_better(const struct pool *p, const struct draft *a, const struct draft *b)
{
	double a_free = free_share(p, a), b_free = free_share(p, b);
	bool a_sure = draft_confidence(a, a_free) >= FINDING_SURE;
	bool b_sure = draft_confidence(b, b_free) >= FINDING_SURE;

	if (a_sure != b_sure)
		return a_sure;
	return a->finding.saving_ns * a_free > b->finding.saving_ns * b_free;
}

static void grant(struct pool *p, struct draft *d)
{
	double share = free_share(p, d), rest_ms = hosts_ms(p), taken_ms = 0;

	d->settled = true;
	d->dropped = share < 1 && draft_share(d, share * claimed_ms(d)) <= WORTH_SHARE;
	if (d->dropped)
		return;
	if (share < 1 - NOTICED)
		draft_evidence(d, FROM_TIMES, 0,
			       "other findings have %s of what this takes of a step: it is not "
			       "counted here",
			       draft_ms(d, (1 - share) * claimed_ms(d)));
	draft_shrink(d, share);
	for (enum time_class i = 0; i < TIME_CLASSES; i++) {
		double ms = fmin(d->claims[i], p->left_ms[i]);

		p->left_ms[i] -= ms;
		taken_ms += is_hosts(i) ? ms : 0;
	}
	d->hosts_ms = taken_ms;
	if (!d->rule->of_device && p->whole_ms > 0)
		draft_widen(d, taken_ms + (rest_ms - taken_ms) * taken_ms / p->whole_ms, rest_ms);
}

void claims_settle(struct draft *drafts, size_t count)
{
	struct pool p;

	if (!count)
		return;
	pool_init(&p, &drafts[0]);
	for (size_t n = 0; n < count; n++) {
		struct draft *best = NULL;

		for (size_t i = 0; i < count; i++)
			if (!drafts[i].settled && (!best || is_better(&p, &drafts[i], best)))
				best = &drafts[i];
		if (best)
			grant(&p, best);
	}
}
