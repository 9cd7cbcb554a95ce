#include "analyze/gpu_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void gpu_tally_init(struct gpu_tally *t, size_t bytes_each)
{
	memset(t, 0, sizeof(*t));
	pair_map_init(&t->at);
	t->bytes_each = bytes_each;
}

void gpu_tally_release(struct gpu_tally *t)
{
	pair_map_release(&t->at);
	free(t->items);
	memset(t, 0, sizeof(*t));
}

static char *item(const struct gpu_tally *t, size_t i)
{
	return (char *)t->items + i * t->bytes_each;
}

void *gpu_tally_at(struct gpu_tally *t, uint64_t a, uint64_t b)
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

void gpu_tally_fold(struct gpu_tally *t, int (*identity)(const void *, const void *),
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

void *gpu_tally_take(struct gpu_tally *t, int (*order)(const void *, const void *), size_t *count)
{
	void *items = t->items;

	if (t->count)
		qsort(items, t->count, t->bytes_each, order);
	*count = t->count;
	t->items = NULL;
	t->count = t->cap = 0;
	return items;
}
