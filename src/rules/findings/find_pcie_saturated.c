#include <math.h>

#include "rules/draft.h"

/* What a bus can do on paper, less a fifth for its protocol, is all there is to have. */
static bool look(struct draft *d)
{
	const struct use_copies *up = &d->use->h2d, *down = &d->use->d2h;
	const struct use_copies *most = up->all.ns > down->all.ns ? up : down;
	double n = (double)d->use->steps, ms = d->m->h2d_time + d->m->d2h_time;
	double speed = fmax(d->m->h2d_gb_per_s, d->m->d2h_gb_per_s);
	const char *name = draft_name(d, &most->top.where);

	draft_where(d, &most->top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, ms), 0.10),
		       "copies between host and GPU take %s of a step (%s), at %.1f GB/s",
		       draft_ms(d, ms), draft_percent(d, ms), speed);
	draft_evidence(d, FROM_SERIES, draft_strength(speed, 0.4 * d->m->link_gb_per_s),
		       "the link can do %.1f GB/s", d->m->link_gb_per_s);
	draft_claim(d, TIME_H2D, d->m->h2d_time);
	draft_claim(d, TIME_D2H, d->m->d2h_time);
	draft_saving(d, ms / 2, ms / 4, ms);
	draft_suggest(d,
		      "Copy less in %s: %s a step now; smaller types, or data that stays on the "
		      "GPU",
		      name, draft_bytes(d, (double)most->all.bytes / n));
	draft_suggest(d,
		      "Compress what %s copies and unpack it on the GPU (JPEG, tokens instead of "
		      "embeddings)",
		      name);
	draft_suggest(d,
		      "Look whether the link runs at its full width and generation (nvidia-smi "
		      "-q -d PERFORMANCE, lspci -vv): it is used at %.1f of %.1f GB/s",
		      speed, d->m->link_gb_per_s);
	return true;
}

const struct rule rule_pcie_saturated = {
	.id = "pcie-saturated",
	.title = "The bus to the GPU is at its limit",
	.condition =
		"max(coalesce(h2d_gb_per_s, 0), coalesce(d2h_gb_per_s, 0)) > 0.8 * link_gb_per_s "
		"AND (h2d_time + d2h_time) / total_time > 0.10",
	.look = look,
};
