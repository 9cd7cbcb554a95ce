#include "report/table_rows.h"

#include <stdlib.h>

/* By the kernel's account, else by samples, else by what was recorded. */
static int64_t ran_ns(const struct analysis_thread *t)
{
	if (t->timed)
		return t->on_cpu_ns;
	return t->states.known ? t->states.ns[SAMPLE_RUNNING] : t->covered_ns;
}

static int most_first(const void *a, const void *b)
{
	const struct analysis_thread *x = *(const struct analysis_thread *const *)a;
	const struct analysis_thread *y = *(const struct analysis_thread *const *)b;

	if (ran_ns(x) != ran_ns(y))
		return ran_ns(x) > ran_ns(y) ? -1 : 1;
	return x < y ? -1 : x > y; /* they lie in one array */
}

const struct analysis_thread **thread_rows(const struct analysis *a)
{
	const struct analysis_thread **rows = calloc(a->thread_count + 1, sizeof(const void *));

	for (size_t i = 0; rows && i < a->thread_count; i++)
		rows[i] = &a->threads[i];
	if (rows && a->thread_count)
		qsort(rows, a->thread_count, sizeof(const void *), most_first);
	return rows;
}

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

size_t breakdown_throttled(const struct analysis_step *s)
{
	size_t all = s->count - s->warmup;

	return s->breakdown.steps < all ? all - s->breakdown.steps : 0;
}
