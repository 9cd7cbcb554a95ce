/*
 * A model in a stack, of what it started on the GPU or of a sample of it: who calls it, and its own
 * forward().
 *
 * What is to be done about a model as a whole is done where it is called.  But where its
 * forward() starts the work by itself, not by other modules of the user's inside it, that is the
 * function to change.
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
	 * A method of the model itself calls it, or a library does: a generate(), which hands each
	 * call what the one before it returned.
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
