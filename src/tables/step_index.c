#include "tables/step_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Steps of asyncio tasks that interleave on one thread: of more, the latest ones only. */
#define OPEN_MAX 64

static int compare_refs(const void *a, const void *b)
{
	const struct step_ref *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

/* Kinds come most important first: *first becomes, of each, whether it is its process' first. */
static int find_first_kinds(const struct analysis *a, bool **first)
{
	size_t count = 0; /* the analysis keeps the single steps of a few kinds only */

	for (size_t i = 0; i < a->step_items.count; i++)
		if (a->step_items.items[i].kind >= count &&
		    a->step_items.items[i].kind < a->step_count)
			count = a->step_items.items[i].kind + 1u;
	*first = calloc(a->step_count + 1, sizeof(**first));
	if (!*first)
		return -1;
	for (size_t i = 0; i < count; i++) {
		size_t earlier = 0;

		while (earlier < i &&
		       !((*first)[earlier] && a->steps[earlier].pid == a->steps[i].pid))
			earlier++;
		(*first)[i] = earlier == i;
	}
	return 0;
}

int step_index_init(struct step_index *x, const struct analysis *a)
{
	bool *first;

	memset(x, 0, sizeof(*x));
	x->items = &a->step_items;
	x->refs = calloc(x->items->count + 1, sizeof(*x->refs));
	if (!x->refs || find_first_kinds(a, &first))
		return -1;
	for (size_t i = 0; i < x->items->count; i++) {
		const struct step_item *item = &x->items->items[i];

		if (item->kind < a->step_count && first[item->kind])
			x->refs[x->count++] = (struct step_ref){
				.thread = item->thread,
				.item = (uint32_t)i,
				.start_ns = item->start_ns,
				.end_ns = item->end_ns,
			};
	}
	free(first);
	qsort(x->refs, x->count, sizeof(*x->refs), compare_refs);
	for (size_t i = 0; i < x->count; i++) {
		struct step_ref *r = &x->refs[i];

		r->latest_ns = r->end_ns;
		if (i && r[-1].thread == r->thread && r[-1].latest_ns > r->latest_ns)
			r->latest_ns = r[-1].latest_ns;
	}
	return 0;
}

void step_index_release(struct step_index *x)
{
	free(x->refs);
	memset(x, 0, sizeof(*x));
}

size_t step_index_at(const struct step_index *x, size_t thread, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, x->count,
	       x->refs[at].thread < thread ||
		       (x->refs[at].thread == thread && x->refs[at].start_ns <= time_ns));
	for (size_t n = 0; at && n < OPEN_MAX; n++) {
		const struct step_ref *r = &x->refs[--at];

		if (r->thread != thread || r->latest_ns <= time_ns)
			break;
		if (r->end_ns > time_ns)
			return r->item;
	}
	return STEP_INDEX_NONE;
}
