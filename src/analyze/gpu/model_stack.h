/*
 * A model in a stack, of a launch or of a sample: its caller, and its own forward().
 *
 * A model as a whole is changed where it is called.  But if its forward() starts the work itself,
 * not through other modules of the user, that is the function to change.
 */
#ifndef ANALYZE_GPU_MODEL_STACK_H
#define ANALYZE_GPU_MODEL_STACK_H

#include <stdbool.h>

#include "analyze/analysis.h"
#include "timeline/gpu.h"

struct model_stack {
	/* The user's innermost line outside of all modules; function NULL: there is none. */
	struct place caller;
	/*
	 * The line of the outermost module's forward(), if the user wrote it and no other function
	 * of the user's inside it started this; function NULL: it is not so.
	 */
	struct place forward;
	/*
	 * A method of the model itself calls it, or a library does: like generate(), which passes
	 * the result of one call to the next.
	 */
	bool generates;
};

void model_stack_find(struct model_stack *m, const struct gpu_timeline *g, uint32_t stack);

/*
 * A model that is called so many times in a run: the place of a stack, or the line further out
 * that calls it again and again, if the functions in between call it once each.
 */
struct place model_stack_loop(const struct analysis *a, const struct gpu_timeline *g,
			      uint32_t stack, const struct place *from, double calls);

#endif
