/* For each of a few roles: the line of the user's code that has most of it. */
#ifndef ANALYZE_USE_TOPS_H
#define ANALYZE_USE_TOPS_H

#include "analyze/gpu_tally.h"
#include "analyze/step_use.h"
#include "timeline/gpu.h"

enum use_role {
	USE_H2D,
	USE_D2H,
	USE_PLAIN_MATH,
	USE_MOVED,
	USE_LAUNCH,
	USE_MODEL,
	USE_MODEL_WAIT, /* only inside of models */
	USE_ALLOC,
	USE_FREE,
	USE_AFTER_WAIT,
	USE_SHORT_LATE,
	USE_LATE_INSIDE, /* the same; use_tops_find() copies them */
	USE_LONG_LATE,
	USE_ROLES
};

struct use_tops {
	struct gpu_tally rows;
	bool failed; /* out of memory */
};

void use_tops_init(struct use_tops *t);
void use_tops_release(struct use_tops *t);

/* Something of a role that comes from this stack (0: none is known). */
void use_tops_add(struct use_tops *t, enum use_role role, uint32_t stack, int64_t ns,
		  uint64_t bytes);

/* Fills in tops[USE_ROLES]; after this nothing can be added. */
void use_tops_find(struct use_tops *t, const struct gpu_timeline *g, struct use_top *tops);

#endif
