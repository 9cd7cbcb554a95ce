/*
 * Calls of native functions by the program's own code, as scopes (NATIVE_SCOPES in
 * format/request_scopes.h).  With the GIL; CPython 3.12 and later.
 *
 * Native code has no events of its own: a loop of a script over a tokenizer, a compiled JAX
 * function or a binding to C++ would be one long call of the script.  So the places of the user's
 * functions that call native code of packages are listened to.  Those whose calls are short, that
 * call Python or the standard library are switched off after a few calls, and cost nothing then.
 */
#ifndef AGENT_HOOKS_NATIVE_SCOPES_H
#define AGENT_HOOKS_NATIVE_SCOPES_H

#include "agent/python/codes.h"

/*
 * The namespace sys.monitoring, and the tool's id there: registers the callbacks.  `disable` is
 * what a callback returns that is done with a place.  Where it fails there are none of these
 * scopes.
 */
void native_scopes_start(PyObject *monitoring, PyObject *disable, int tool);
void native_scopes_stop(void);

/* Listens to the calls of a function that begins.  Keeps a pending exception. */
void native_scopes_listen(PyObject *code);

#endif
