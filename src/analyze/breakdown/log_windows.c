/* Which steps and threads the log of the host (figures/host_log.h) is about. */
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/breakdown/step_sweep.h"

/* Calls, samples and CUDA calls of a thread, about: each may begin a piece of the log. */
static double events_of(const struct analysis *a, size_t thread)
{
	const struct analysis_thread *t = &a->threads[thread];

	return (double)t->events + (double)(t->end_ns - t->start_ns) / 1e6;
}

#define LOGGED_MORE 8u /* threads of the process that have no steps and launch nothing */

/* What else happens in the process: a step may wait for it. */
static void want_busy_threads(const struct analysis *a, const struct trace *t, bool *wanted,
			      uint32_t process)
{
	size_t n = 0;

	for (size_t i = 0; i < trace_thread_count(t) && n < LOGGED_MORE; i++) {
		if (trace_thread(t, i)->process != process || wanted[i] ||
		    !a->threads[i].covered_ns)
			continue;
		wanted[i] = true;
		n++;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct step_item *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

int log_windows_choose(struct analysis *a, const struct trace *t, bool *wanted)
{
	struct step_item *items;
	size_t count = 0;
	double events = 0, span_ns = 0;
	int rc;

	if (!a->step_count || !a->steps[0].item_count || a->steps[0].source == STEP_WHOLE_RUN)
		return host_log_choose(&a->host_log, NULL, 0, 0);
	items = calloc(a->steps[0].item_count, sizeof(*items));
	if (!items)
		return -1;
	for (size_t i = 0; i < a->steps[0].item_count; i++) {
		const struct step_item *item = &a->step_items.items[a->steps[0].first_item + i];
		uint32_t process = trace_thread(t, item->thread)->process;

		if (!count)
			a->host_log.process = process;
		if (process == a->host_log.process)
			items[count++] = *item;
	}
	want_busy_threads(a, t, wanted, a->host_log.process);
	qsort(items, count, sizeof(*items), by_time);
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		int64_t ns = a->threads[i].end_ns - a->threads[i].start_ns;

		if (wanted[i] && ns > 0 && trace_thread(t, i)->process == a->host_log.process)
			events += events_of(a, i) / (double)ns;
	}
	for (size_t i = 0; i < count; i++)
		span_ns += (double)(items[i].end_ns - items[i].start_ns);
	rc = host_log_choose(&a->host_log, items, count, events * span_ns / (double)count);
	free(items);
	return rc;
}
