/*
 * Files are in order for the most part: a few rising runs, which are merged.  What begins at the
 * same time nests by its end, then by its kind, then as it stood in the file.
 */
#include "import/build/build_order.h"

#include <stdlib.h>
#include <string.h>

int order_new(struct order *o, const struct build *b)
{
	size_t all = 0;
	size_t *next;

	memset(o, 0, sizeof(*o));
	for (size_t i = 1; i < b->thread_count; i++)
		all += b->threads[i].items;
	o->items = malloc((all + 1) * sizeof(*o->items));
	o->first = calloc(b->thread_count + 1, sizeof(*o->first));
	next = calloc(b->thread_count + 1, sizeof(*next));
	if (!o->items || !o->first || !next) {
		free(next);
		order_release(o);
		return -1;
	}
	for (size_t i = 1; i < b->thread_count; i++)
		o->first[i + 1] = o->first[i] + b->threads[i].items;
	memcpy(next, o->first, (b->thread_count + 1) * sizeof(*next));
	for (size_t i = 0; i < b->spans.count; i++) {
		const struct build_span *s = build_span(b, i);
		struct order_item *to = &o->items[next[s->thread]++];

		*to = (struct order_item){ .time_ns = s->start_ns, .span = (uint32_t)i };
		if (s->kind != BUILD_SCOPE || s->end_ns == BUILD_OPEN)
			continue;
		o->items[next[s->thread]++] = (struct order_item){
			.time_ns = s->end_ns,
			.span = (uint32_t)i | ORDER_END,
		};
	}
	free(next);
	return 0;
}

void order_release(struct order *o)
{
	free(o->items);
	free(o->first);
	memset(o, 0, sizeof(*o));
}

/* Ends of scopes come before what begins then, unless the scope itself does. */
static int rank(const struct build_span *s, const struct order_item *x)
{
	if (!(x->span & ORDER_END))
		return 1;
	return s->start_ns < x->time_ns ? 0 : 2;
}

static int64_t nesting_end(const struct build_span *s)
{
	return s->kind == BUILD_MARK || s->kind == BUILD_COUNTER ? s->start_ns : s->end_ns;
}

/* Of two at the same time. */
static bool goes_first(const struct build *b, const struct order_item *x,
		       const struct order_item *y)
{
	const struct build_span *s = build_span(b, x->span & ~ORDER_END);
	const struct build_span *t = build_span(b, y->span & ~ORDER_END);
	int order = rank(s, x) - rank(t, y);

	if (order)
		return order < 0;
	/* Ends are as good in any order. */
	if (!(x->span & ORDER_END)) {
		if (nesting_end(s) != nesting_end(t))
			return nesting_end(s) > nesting_end(t);
		if (s->kind != t->kind)
			return s->kind < t->kind;
	}
	return x->span <= y->span;
}

static inline bool in_order(const struct build *b, const struct order_item *x,
			    const struct order_item *y)
{
	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : goes_first(b, x, y);
}

/* Two runs that follow each other into `to`. */
static void merge(const struct build *b, const struct order_item *from, size_t middle, size_t end,
		  struct order_item *to)
{
	size_t x = 0, y = middle;

	while (x < middle && y < end)
		*to++ = in_order(b, &from[x], &from[y]) ? from[x++] : from[y++];
	memcpy(to, from + x, (middle - x) * sizeof(*to));
	to += middle - x;
	memcpy(to, from + y, (end - y) * sizeof(*to));
}

/* Each run's first item carries its length; how many there are. */
static size_t find_runs(const struct build *b, struct order_item *items, size_t n)
{
	size_t start = 0, runs = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && in_order(b, &items[i - 1], &items[i]))
			continue;
		items[start].run = (uint32_t)(i - start);
		start = i;
		runs++;
	}
	return runs;
}

void order_sort(const struct build *b, struct order_item *items, size_t n, struct order_item *room)
{
	struct order_item *from = items, *to = room, *swap;
	size_t runs = find_runs(b, items, n);

	for (; runs > 1; runs = (runs + 1) / 2) {
		for (size_t at = 0; at < n;) {
			size_t first = from[at].run;
			size_t second = at + first < n ? from[at + first].run : 0;

			merge(b, from + at, first, first + second, to + at);
			to[at].run = (uint32_t)(first + second);
			at += first + second;
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
}

static int compare_activities(const struct build_activity *x, const struct build_activity *y)
{
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_start(const void *x, const void *y, void *ctx)
{
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	int order = compare_activities(build_activity(ctx, i), build_activity(ctx, k));

	return order ? order : (i > k) - (i < k);
}

uint32_t *order_activities(const struct build *b)
{
	size_t n = b->activities.count;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	bool sorted = true;

	for (size_t i = 0; order && i < n; i++) {
		order[i] = (uint32_t)i;
		sorted = sorted && (!i || compare_activities(build_activity(b, i - 1),
							     build_activity(b, i)) <= 0);
	}
	if (order && !sorted)
		qsort_r(order, n, sizeof(*order), by_start, (void *)b);
	return order;
}
