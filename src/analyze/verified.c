#include "analyze/verified.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/stats.h"

#define PAIRS_MAX 64 /* of a file that says more, the first */
#define SCALE 1e6    /* ratios as integers: order statistics are of those */

/* The n-th time that was written; 0: there is none, or it is no time. */
static double nth_ms(const struct trace *t, const char *key, size_t nth)
{
	const char *text = trace_info(t, key, nth);
	double ms = text ? strtod(text, NULL) : 0;

	return isfinite(ms) && ms > 0 ? ms : 0;
}

void verified_collect(struct analysis_verified *v, const struct trace *t, struct notes *n)
{
	int64_t ratios[PAIRS_MAX];
	size_t pairs = 0;

	for (; pairs < PAIRS_MAX; pairs++) {
		double recorded = nth_ms(t, "verify.recorded_ms", pairs);
		double plain = nth_ms(t, "verify.plain_ms", pairs);
		double ratio = plain > 0 ? recorded / plain : 0;

		if (ratio <= 0 || ratio > SCALE)
			break;
		ratios[pairs] = llround(ratio * SCALE);
	}
	v->pairs = pairs;
	if (!pairs)
		return;
	stats_sort(ratios, pairs);
	v->ratio = (double)stats_percentile(ratios, pairs, 0.5) / SCALE;
	v->low = (double)ratios[0] / SCALE;
	v->high = (double)ratios[pairs - 1] / SCALE;
	if (pairs == 1)
		notes_add(
			n,
			"with recording the workload took %.3f times as long as without, start-up "
			"included; that is one pair of runs: what else the machine did is in it",
			v->ratio);
	else
		notes_add(
			n,
			"with recording the workload took %.3f times as long as without, start-up "
			"included: the median of %zu pairs of runs, which gave %.3f to %.3f; what "
			"else the machine did is in it",
			v->ratio, pairs, v->low, v->high);
}
