/* Whose code a Python function is, and what its time is spent on. */
#ifndef ANALYZE_CODE_KIND_H
#define ANALYZE_CODE_KIND_H

#include <stdbool.h>

enum code_kind {
	CODE_USER,      /* the user's own */
	CODE_LIBRARY,   /* an installed package: it may hold models, or help with anything */
	CODE_PREPARES,  /* a library, or a part of one, that is there for data: numpy, PIL */
	CODE_STANDARD,  /* the standard library, which works for whoever calls it */
	CODE_FRAMEWORK, /* of deep learning, and what it generates */
	CODE_MODULE,    /* ... where it calls a model or a layer: what lies inside is that one's */
	CODE_COMPILES,  /* it, and all that it calls, compiles or traces a model */
	CODE_LOADS,     /* it waits for the workers of a DataLoader */
	CODE_IMPORTS,   /* all imports of modules that are not there yet go through it */
	CODE_WAITS,     /* for something else to happen: waits.h */
};

enum code_kind code_kind(const char *name, const char *file);

/* Is it what CODE_MODULE is? */
bool code_calls_module(const char *name, const char *file);

/* ... of a framework whose layers the agent does not record? */
bool code_calls_untold_module(const char *name, const char *file);

#endif
