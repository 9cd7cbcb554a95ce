/*
 * What module.c switches on and off in the interpreter besides the tracing of calls.  With the GIL.
 */
#ifndef AGENT_HOOKS_HOOKS_H
#define AGENT_HOOKS_HOOKS_H

#include "agent/python/pyapi.h"

/*
 * scope(), mark_event() and counter(): the user's annotations.  With the GIL.
 */

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

/* Garbage collections as events, through gc.callbacks.  With the GIL. */

void gc_pauses_start(void);
void gc_pauses_stop(void);

#endif
