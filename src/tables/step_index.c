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

/* Kinds come most important first. */
static bool is_first_of_its_process(const struct analysis *a, size_t kind)
{
	for (size_t i = 0; i < kind; i++)
		if (a->steps[i].pid == a->steps[kind].pid && a->steps[i].item_count)
			return false;
	return true;
}

static void add_kind(struct step_index *x, const struct analysis *a, size_t kind)
{
	const struct analysis_step *s = &a->steps[kind];
	bool first = is_first_of_its_process(a, kind);

	for (size_t i = s->first_item; i < s->first_item + s->item_count; i++) {
		const struct step_item *item = &x->items->items[i];

		x->kind_of[i] = (uint32_t)kind;
		if (first)
			x->refs[x->count++] = (struct step_ref){
				.thread = item->thread,
				.item = (uint32_t)i,
				.start_ns = item->start_ns,
				.end_ns = item->end_ns,
			};
	}
}

int step_index_init(struct step_index *x, const struct analysis *a)
{
	memset(x, 0, sizeof(*x));
	x->items = &a->step_items;
	x->kind_of = calloc(x->items->count + 1, sizeof(*x->kind_of));
	x->refs = calloc(x->items->count + 1, sizeof(*x->refs));
	if (!x->kind_of || !x->refs)
		return -1;
	for (size_t k = 0; k < a->step_count; k++)
		add_kind(x, a, k);
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
	free(x->kind_of);
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
