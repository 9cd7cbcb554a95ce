/*
 * UTF-8 text of a Python string, cut to a limit at a character boundary.
 */
#ifndef AGENT_PYTHON_TEXT_H
#define AGENT_PYTHON_TEXT_H

#include "agent/core/ring.h"
#include "agent/python/pyapi.h"

struct text {
	const char *data; /* never NULL */
	uint32_t bytes;
	PyObject *owner; /* keeps data alive; drop it with text_release() */
};

/*
 * Strings with lone surrogates (undecodable file names) are shown with escapes;
 * anything that is not a string, NULL included, as "?".  Leaves no exception.
 * Borrows `string`, which must outlive the text.
 */
struct text text_of(PyObject *string, uint32_t limit);
void text_release(struct text *t);

/* Names of scopes and marks: Python strings to string ids.  With the GIL. */

/* The id of a str (exactly that type); 0 where it could not be defined. */
uint32_t names_id(struct ring *r, PyObject *name);

#endif
