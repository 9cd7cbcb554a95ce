/* Names of scopes and marks: Python strings to string ids.  With the GIL. */
#ifndef AGENT_NAMES_H
#define AGENT_NAMES_H

#include "agent/pyapi.h"
#include "agent/ring.h"

/* The id of a str (exactly that type); 0 where it could not be defined. */
uint32_t names_id(struct ring *r, PyObject *name);

#endif
