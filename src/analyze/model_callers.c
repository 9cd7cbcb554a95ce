#include "analyze/model_callers.h"

#include "analyze/model_stack.h"
#include "analyze/use_tops.h"

int model_callers_find(struct analysis *a, const struct kind_sum *kind,
		       const struct time_places *places)
{
	const struct gpu_timeline *g = a->gpu.timeline;
	struct use_top tops[USE_ROLES], *top = &tops[USE_MODEL];
	struct model_stack model;
	struct use_tops t;
	bool failed;

	if (a->use.gpu)
		return 0;
	use_tops_init(&t);
	for (size_t i = 0; i < places->count && i < kind->place_cap; i++) {
		const struct time_place *p = &places->items[i];

		if (p->what == TIME_CPU_COMPUTE && p->stack && kind->places[i].ns[STEPS_ALL] > 0)
			use_tops_add(&t, USE_MODEL, p->stack, kind->places[i].ns[STEPS_ALL], 0);
	}
	failed = t.failed;
	top->where.name = NULL;
	if (!failed && t.rows.count)
		use_tops_find(&t, g, tops);
	use_tops_release(&t);
	if (failed || !top->where.name)
		return failed ? -1 : 0;
	model_stack_find(&model, g, top->stack);
	if (!model.caller.function || model.generates)
		return 0;
	a->use.model_top = *top;
	a->use.model_top.where =
		model_stack_loop(a, g, top->stack, &top->where, step_use_model_calls(a));
	return 0;
}
