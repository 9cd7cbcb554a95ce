/*
 * Steps around calls whose every begin and end is known, but not the functions that make them:
 * scopes of the agent's around functions of libraries and models (format/request_scopes.h).
 *
 * Calls of one name that follow each other in a thread are a loop's, and last until the next one
 * begins: what is between them belongs to the step.  After a pause that is long beside the usual
 * one, and after the last call, a step has the usual rest.
 */
#ifndef ANALYZE_STEPS_CALL_STEPS_H
#define ANALYZE_STEPS_CALL_STEPS_H

#include "analyze/gpu/gpu_steps.h"
#include "analyze/steps/step_finder.h"

/*
 * Of scopes in any order, whose names begin with `prefix` bytes that say what they are.  Puts the
 * scopes into order.  -1: no memory; release the result in any case.
 */
int call_steps_find(struct step_scope *scopes, size_t n, size_t prefix, struct found_steps *out);

#endif
