/*
 * Before CPython 3.12: the outermost calls of PyTorch's modules, as scopes named after their class
 * (MODEL_SCOPES in format/request_scopes.h), whether or not calls are recorded at that time.
 *
 * The type of a module that is called gets a call function of ours in its slot, which calls the one
 * that was there: nothing that the program can see is changed, neither the class nor the module.
 * A call inside another one of the same thread costs an increment.
 */
#ifndef AGENT_TORCH_MODEL_CALLS_H
#define AGENT_TORCH_MODEL_CALLS_H

#include "agent/python/pyapi.h"

/*
 * With the GIL, while a recording is on: calls of modules of this type are recorded from now on.
 */
void model_calls_hook(PyObject *type);

/* Likewise all types of modules that there are, when PyTorch may have been imported. */
void model_calls_find(void);

#endif
