#include "analyze/open_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void open_steps_release(struct open_steps *o)
{
	free(o->items);
	memset(o, 0, sizeof(*o));
}

static int64_t end_of(const struct open_steps *o, size_t at)
{
	return o->items[at].item->end_ns;
}

static void swap(struct open_steps *o, size_t a, size_t b)
{
	struct open_step t = o->items[a];

	o->items[a] = o->items[b];
	o->items[b] = t;
}

int open_steps_push(struct open_steps *o, const struct step_item *item,
		    const struct class_sums *sums)
{
	struct open_step *grown = array_grow(o->items, &o->cap, o->count + 1, sizeof(*grown));
	size_t at = o->count;

	if (!grown)
		return -1;
	o->items = grown;
	grown[o->count++] = (struct open_step){ item, *sums };
	for (; at && end_of(o, (at - 1) / 2) > end_of(o, at); at = (at - 1) / 2)
		swap(o, at, (at - 1) / 2);
	return 0;
}

void open_steps_pop(struct open_steps *o)
{
	o->items[0] = o->items[--o->count];
	for (size_t at = 0, least;; at = least) {
		least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < o->count && end_of(o, child) < end_of(o, least))
				least = child;
		}
		if (least == at)
			break;
		swap(o, at, least);
	}
}
