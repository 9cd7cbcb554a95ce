#include "analyze/figures/pair_totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void pair_totals_init(struct pair_totals *t, size_t bytes_each)
{
	memset(t, 0, sizeof(*t));
	pair_map_init(&t->at);
	t->bytes_each = bytes_each;
}

void pair_totals_release(struct pair_totals *t)
{
	pair_map_release(&t->at);
	free(t->items);
	memset(t, 0, sizeof(*t));
}

static char *item(const struct pair_totals *t, size_t i)
{
	return (char *)t->items + i * t->bytes_each;
}

void *pair_totals_at(struct pair_totals *t, uint64_t a, uint64_t b)
{
	size_t i = pair_map_find(&t->at, a, b);
	void *grown;

	if (i != PAIR_NONE)
		return item(t, i);
	grown = array_grow(t->items, &t->cap, t->count + 1, t->bytes_each);
	if (!grown)
		return NULL;
	t->items = grown;
	if (pair_map_put(&t->at, a, b, t->count))
		return NULL;
	memset(item(t, t->count), 0, t->bytes_each);
	return item(t, t->count++);
}

void pair_totals_merge(struct pair_totals *t, int (*identity)(const void *, const void *),
		       void (*add)(void *into, const void *from))
{
	size_t n = 0;

	if (!t->count)
		return;
	qsort(t->items, t->count, t->bytes_each, identity);
	for (size_t i = 0; i < t->count; i++) {
		if (n && !identity(item(t, n - 1), item(t, i)))
			add(item(t, n - 1), item(t, i));
		else
			memmove(item(t, n++), item(t, i), t->bytes_each);
	}
	t->count = n;
}

void *pair_totals_take(struct pair_totals *t, int (*order)(const void *, const void *),
		       size_t *count)
{
	void *items = t->items;

	if (t->count)
		qsort(items, t->count, t->bytes_each, order);
	*count = t->count;
	t->items = NULL;
	t->count = t->cap = 0;
	return items;
}
