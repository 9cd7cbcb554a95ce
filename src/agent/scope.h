/*
 * scope(), mark_event() and counter(): the user's annotations.  With the GIL.
 */
#ifndef AGENT_SCOPE_H
#define AGENT_SCOPE_H

#include "agent/pyapi.h"

/* Creates the types; -1 with an exception set. */
int scope_init(void);

/*
 * scope(name, /, **metadata) and mark_event(name, /, **metadata), as METH_FASTCALL |
 * METH_KEYWORDS.
 */
PyObject *scope_new(PyObject *module, PyObject *const *args, ssize_t n, PyObject *names);
PyObject *scope_mark_event(PyObject *module, PyObject *const *args, ssize_t n, PyObject *names);

/* counter(name, value, /), as METH_FASTCALL. */
PyObject *scope_counter(PyObject *module, PyObject *const *args, ssize_t n);

#endif
