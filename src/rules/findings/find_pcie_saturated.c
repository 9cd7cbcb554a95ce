#include <math.h>

#include "rules/finding_builder.h"

/* What a bus can do on paper, less a fifth for its protocol, is all there is to have. */
static bool evaluate(struct finding_builder *d)
{
	const struct gpu_usage_copies *up = &d->use->h2d, *down = &d->use->d2h;
	const struct gpu_usage_copies *most = up->all.ns > down->all.ns ? up : down;
	double n = (double)d->use->steps, ms = d->m->h2d_time + d->m->d2h_time;
	double speed = fmax(d->m->h2d_gb_per_s, d->m->d2h_gb_per_s);
	const char *name = finding_place_name(d, &most->top.where);

	finding_where(d, &most->top.where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(finding_share(d, ms), 0.10),
			 "copies between host and GPU take %s per step (%s), at %.1f GB/s",
			 finding_ms(d, ms), finding_percent(d, ms), speed);
	finding_evidence(d, FROM_SERIES, finding_strength(speed, 0.4 * d->m->link_gb_per_s),
			 "the link supports %.1f GB/s", d->m->link_gb_per_s);
	finding_claim(d, TIME_H2D, d->m->h2d_time);
	finding_claim(d, TIME_D2H, d->m->d2h_time);
	/* Types of half the size, or none of it. */
	finding_saving(d, ms / 2, ms);
	finding_suggest(d,
			"Copy less in %s, now %s per step: use smaller types, or keep data on the "
			"GPU",
			name, finding_bytes(d, (double)most->all.bytes / n));
	finding_suggest(d,
			"Compress what %s copies and decompress it on the GPU (JPEG, tokens "
			"instead of embeddings)",
			name);
	finding_suggest(d,
			"Check whether the link runs at its full width and generation (nvidia-smi "
			"-q -d PERFORMANCE, lspci -vv): it is used at %.1f of %.1f GB/s",
			speed, d->m->link_gb_per_s);
	return true;
}

const struct rule rule_pcie_saturated = {
	.id = "pcie-saturated",
	.title = "The PCIe link to the GPU is saturated",
	.condition =
		"max(coalesce(h2d_gb_per_s, 0), coalesce(d2h_gb_per_s, 0)) > 0.8 * link_gb_per_s "
		"AND (h2d_time + d2h_time) / total_time > 0.10",
	.evaluate = evaluate,
};
