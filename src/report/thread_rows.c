#include "report/thread_rows.h"

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
