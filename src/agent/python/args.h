/*
 * Metadata of scopes and marks: keyword arguments encoded as enum arg_type
 * says.  Numbers, strings, booleans and None keep their value; of anything else
 * only the type's name is kept, because asking an object for its text may run
 * any code (printing a tensor waits for the GPU).  With the GIL.
 */
#ifndef AGENT_PYTHON_ARGS_H
#define AGENT_PYTHON_ARGS_H

#include "agent/python/pyapi.h"
#include "agent/python/text.h"

#define ARGS_MAX_BYTES 3072u

struct args {
	uint32_t bytes;
	uint8_t data[ARGS_MAX_BYTES];
};

/* Adds one, to args that were all zeros at first.  False: it did not fit, and that is marked. */
bool args_put(struct args *out, const struct text *key, PyObject *value);

/* names: the tuple of keywords; values: as many.  What does not fit is cut and marked. */
void args_encode(struct args *out, PyObject *names, PyObject *const *values);

#endif
