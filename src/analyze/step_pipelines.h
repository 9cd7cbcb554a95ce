/*
 * Libraries' functions that the user's code calls: which of them are pipelines?
 *
 * One in which models of several kinds are called, mostly, and that is called often enough to be a
 * series.  Modules of one class are of one kind; where a framework calls all models by one
 * function, they are told apart by the function of the pipeline that leads there.
 */
#ifndef ANALYZE_STEP_PIPELINES_H
#define ANALYZE_STEP_PIPELINES_H

#include "analyze/step_finder.h"

/*
 * After the walk.  Calls that are no pipeline's become unknown: what is in them is the user's
 * function's, as if it had called it itself.  -1: out of memory.
 */
int step_pipelines_settle(struct step_finder *f);

#endif
