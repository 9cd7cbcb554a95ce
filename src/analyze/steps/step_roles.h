/*
 * The role of a process, for the choice of the step.
 *
 * Workers of a DataLoader or of a process pool supply another process: what repeats in them is not
 * what the user waits for.  They are recognized by the functions in which they receive work, which
 * samples show at the outer end of their stacks, and by the agent's scopes.
 */
#ifndef ANALYZE_STEPS_STEP_ROLES_H
#define ANALYZE_STEPS_STEP_ROLES_H

#include "analyze/gpu/gpu_sections.h"
#include "timeline/timeline.h"

enum step_role {
	ROLE_NONE,
	ROLE_LOADS,  /* a DataLoader's worker */
	ROLE_POOLED, /* a worker of a pool of processes */
	ROLE_OWNS,   /* its work runs on a GPU, whatever else it is */
};

struct step_roles {
	uint8_t *roles; /* enum step_role, by the process' position */
	size_t count;
	const struct trace *trace;
};

/* After the walk.  -1: no memory; release it nevertheless. */
int step_roles_find(struct step_roles *r, const struct trace *t, struct timeline *tl,
		    const struct analysis_gpu *gpu, struct err *err);
void step_roles_release(struct step_roles *r);

enum step_role step_role_of(const struct step_roles *r, uint32_t process);

#endif
