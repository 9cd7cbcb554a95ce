/*
 * Steps around calls whose beginnings and ends are all known, but not their callers: scopes that
 * the agent records around functions of libraries and models (format/request_scopes.h).
 *
 * Calls of one name that follow each other in a thread belong to a loop, and last until the next
 * one begins: what is between them belongs to the step.  After a pause much longer than usual, and
 * after the last call, a step gets the usual time between calls.
 */
#ifndef ANALYZE_STEPS_CALL_STEPS_H
#define ANALYZE_STEPS_CALL_STEPS_H

#include "analyze/analysis.h"
#include "analyze/gpu/gpu_steps.h"
#include "analyze/steps/step_finder.h"

/*
 * Needs a->threads.  For scopes in any order, whose names begin with a prefix of `prefix` bytes
 * that names their kind.  Sorts the scopes.  -1: no memory; release the result in any case.
 */
int call_steps_find(const struct analysis *a, struct step_scope *scopes, size_t n, size_t prefix,
		    struct found_steps *out);

#endif
