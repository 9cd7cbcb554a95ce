#include "analyze/cpu/thread_states.h"

#include <stdlib.h>

#include "base/array.h"

/* An interval in which a thread had the lock. */
struct hold {
	int64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t code; /* the innermost function it was in */
};

struct holds {
	struct hold *items;
	size_t count;
};

static int by_start(const void *a, const void *b)
{
	const struct hold *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/*
 * In order of time and without overlaps: one thread has the lock at a time, though
 * the samples that report it reach a little beyond the moments at which they were taken.
 */
static int collect_holds(struct holds *h, const struct sample_window *w, const struct trace *t)
{
	int64_t until_ns = INT64_MIN;
	size_t n = 0;

	h->count = 0;
	h->items = calloc(w->count + 1, sizeof(*h->items));
	if (!h->items)
		return -1;
	for (size_t i = 0; i < w->count; i++) {
		const struct window_sample *l = &w->items[i];

		if (l->flags & SAMPLE_HAS_GIL)
			h->items[h->count++] = (struct hold){ l->start_ns, l->end_ns, l->thread,
							      window_sample_innermost(t, l) };
	}
	qsort(h->items, h->count, sizeof(*h->items), by_start);
	for (size_t i = 0; i < h->count; i++) {
		struct hold hold = h->items[i];

		if (hold.start_ns < until_ns)
			hold.start_ns = until_ns;
		if (hold.end_ns <= hold.start_ns)
			continue;
		until_ns = hold.end_ns;
		h->items[n++] = hold;
	}
	h->count = n;
	return 0;
}

static size_t first_behind(const struct holds *h, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, h->count, h->items[at].end_ns <= time_ns);
	return at;
}

static int share_out(struct wait_pairs *out, const struct window_sample *l, const struct holds *h,
		     const struct trace *t)
{
	uint32_t waiter = window_sample_innermost(t, l);
	int64_t unknown_ns = l->end_ns - l->start_ns;

	for (size_t i = first_behind(h, l->start_ns);
	     i < h->count && h->items[i].start_ns < l->end_ns; i++) {
		const struct hold *hold = &h->items[i];
		int64_t from = hold->start_ns > l->start_ns ? hold->start_ns : l->start_ns;
		int64_t to = hold->end_ns < l->end_ns ? hold->end_ns : l->end_ns;

		if (hold->thread == l->thread || !hold->code)
			continue;
		unknown_ns -= to - from;
		if (wait_pairs_add(out, waiter, hold->code, WAIT_HOLDER_SEEN, to - from))
			return -1;
	}
	return unknown_ns > 0 ? wait_pairs_add(out, waiter, 0, WAIT_HOLDER_UNKNOWN, unknown_ns) : 0;
}

int gil_waits_collect(struct wait_pairs *out, const struct sample_window *w, const struct trace *t)
{
	struct holds holds;
	int rc = -1;

	if (collect_holds(&holds, w, t))
		return -1;
	for (size_t i = 0; i < w->count; i++) {
		if (window_sample_state(&w->items[i]) == SAMPLE_GIL_WAIT &&
		    share_out(out, &w->items[i], &holds, t))
			goto out;
	}
	rc = 0;
out:
	free(holds.items);
	return rc;
}
