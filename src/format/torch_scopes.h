/* Names of the scopes that the agent records of PyTorch by itself (RECORD_SCOPE_BEGIN). */
#ifndef FORMAT_TORCH_SCOPES_H
#define FORMAT_TORCH_SCOPES_H

#define TORCH_SCOPES "torch: " /* so they all begin, and none of them is a step */

#define TORCH_WAIT TORCH_SCOPES "DataLoader wait" /* for a batch of its workers */
#define TORCH_LOAD TORCH_SCOPES "DataLoader load" /* of a batch, in a worker if it has any */

/*
 * A function is compiled: one more time for each set of guards.  Arguments: what follows; the last
 * at its end, where it was compiled before: what its guards refused, in PyTorch's own words.
 */
#define TORCH_COMPILE TORCH_SCOPES "compile"
#define TORCH_COMPILE_FUNCTION "function"
#define TORCH_COMPILE_FILE "file"
#define TORCH_COMPILE_LINE "line"
#define TORCH_COMPILE_REASON "reason"

/* What came of it runs: a graph that was compiled to code. */
#define TORCH_GRAPH TORCH_SCOPES "compiled graph"

/* In the place of a file: operators in a trace of PyTorch's own profiler. */
#define IMPORT_OPERATORS "<torch operator>"
/* ... calls of the C library in one of Nsight Systems. */
#define IMPORT_OS_RUNTIME "<OS runtime>"

#endif
