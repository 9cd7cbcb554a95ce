#include "analyze/figures/track.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void track_release(struct track *t)
{
	free(t->items);
	memset(t, 0, sizeof(*t));
}

int track_put(struct track *t, const struct piece *p)
{
	struct piece *grown = array_grow(t->items, &t->cap, t->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	t->items = grown;
	grown[t->count++] = *p;
	return 0;
}

int track_add(struct track *t, const struct piece *p)
{
	struct piece *last = t->count ? &t->items[t->count - 1] : NULL;
	struct piece rest = *p;

	if (last && rest.start_ns < last->end_ns)
		rest.start_ns = last->end_ns;
	if (rest.end_ns <= rest.start_ns)
		return 0;
	if (last && last->end_ns == rest.start_ns && last->id == rest.id &&
	    last->more == rest.more) {
		last->end_ns = rest.end_ns;
		return 0;
	}
	return track_put(t, &rest);
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->more < y->more ? -1 : x->more > y->more;
}

void track_sort(struct track *t)
{
	size_t count = t->count;

	if (count)
		qsort(t->items, count, sizeof(*t->items), by_start);
	t->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct piece p = t->items[i];

		track_add(t, &p); /* there is room: it never has more than it had */
	}
}

/* The first that ends behind a time. */
static size_t first_behind(const struct track *t, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, t->count, t->items[at].end_ns <= time_ns);
	return at;
}

void track_open(struct track *t, bool (*source)(void *ctx, struct track *t), void *ctx)
{
	t->count = t->at = 0;
	t->source = source;
	t->ctx = ctx;
	t->failed = t->turned = false;
}

void track_fill(struct track *t)
{
	size_t kept = t->count - t->at;

	if (kept && t->at)
		memmove(t->items, t->items + t->at, kept * sizeof(*t->items));
	t->count = kept;
	t->at = 0;
	while (t->source && t->count < TRACK_WINDOW)
		if (!t->source(t->ctx, t))
			t->source = NULL;
}

void track_move(struct track *t, int64_t now_ns)
{
	const struct piece *p;

	while (track_has(t) && t->items[t->at].end_ns <= now_ns)
		t->at++;
	t->turned = true;
	t->here = NULL;
	t->change_ns = INT64_MAX;
	if (t->at == t->count)
		return;
	p = &t->items[t->at];
	if (p->start_ns <= now_ns)
		t->here = p;
	t->change_ns = p->start_ns > now_ns ? p->start_ns : p->end_ns;
}

void track_seek(struct track *t, int64_t time_ns)
{
	t->turned = false;
	if (!t->source) {
		t->at = first_behind(t, time_ns);
		return;
	}
	while (track_has(t) && t->items[t->at].end_ns <= time_ns)
		t->at++;
}

int64_t track_overlap_ns(const struct track *t, int64_t start_ns, int64_t end_ns)
{
	int64_t sum_ns = 0;

	for (size_t i = first_behind(t, start_ns); i < t->count && t->items[i].start_ns < end_ns;
	     i++) {
		const struct piece *p = &t->items[i];

		sum_ns += (p->end_ns < end_ns ? p->end_ns : end_ns) -
			  (p->start_ns > start_ns ? p->start_ns : start_ns);
	}
	return sum_ns;
}
