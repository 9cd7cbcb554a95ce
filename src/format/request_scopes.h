/* Requests of servers, as the agent records them: scopes of these names. */
#ifndef FORMAT_REQUEST_SCOPES_H
#define FORMAT_REQUEST_SCOPES_H

/* So their names all begin; behind it the library that handles the request. */
#define REQUEST_SCOPES "request: "
/* ... and those of pieces of work that a pool takes up, or a queue hands out. */
#define WORK_SCOPES "work item: "
/* ... calls of libraries' functions that run models: pipelines, estimators, sessions; */
#define CALL_SCOPES "call: "
/* before CPython 3.12 the outermost calls of PyTorch's modules, behind it the class. */
#define MODEL_SCOPES "model: "
/* From CPython 3.12 on: calls of native functions by the user's own code, if they are not short. */
#define NATIVE_SCOPES "native: " /* behind it the package, a dot, the qualified name */

#endif
