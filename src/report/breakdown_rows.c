#include "report/breakdown_rows.h"

size_t breakdown_order(const struct step_breakdown *b, enum time_class order[TIME_CLASSES])
{
	size_t n = 0;

	if (!b->steps)
		return 0;
	for (size_t c = 0; c < TIME_UNATTRIBUTED; c++) {
		size_t at = n;

		if (b->parts[c].ns <= 0)
			continue;
		for (; at && b->parts[order[at - 1]].ns < b->parts[c].ns; at--)
			order[at] = order[at - 1];
		order[at] = (enum time_class)c;
		n++;
	}
	order[n++] = TIME_UNATTRIBUTED;
	return n;
}

bool breakdown_rows(struct breakdown_rows *r, const struct step_breakdown *b, bool all)
{
	size_t n = breakdown_order(b, r->order);

	r->count = n ? n - 1 : 0; /* without what is unattributed */
	r->small = 0;
	r->small_ns = 0;
	while (!all && r->count && b->parts[r->order[r->count - 1]].ns < b->total_ns / 2000) {
		r->count--;
		r->small++;
		r->small_ns += b->parts[r->order[r->count]].ns;
	}
	if (r->small == 1) {
		r->small = 0;
		r->count++;
	}
	return n > 0;
}

size_t breakdown_left_out(const struct analysis_step *s)
{
	size_t all = s->count - s->warmup;

	return s->breakdown.steps < all ? all - s->breakdown.steps : 0;
}
