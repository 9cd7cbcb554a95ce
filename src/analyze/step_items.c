#include "analyze/step_items.h"

#include "base/array.h"

int step_items_add(struct step_items *items, int64_t start_ns, int64_t end_ns, uint32_t thread)
{
	struct step_item *grown =
		array_grow(items->items, &items->cap, items->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	items->items = grown;
	grown[items->count++] = (struct step_item){ start_ns, end_ns, thread, 0, STEPS_ALL };
	return 0;
}
