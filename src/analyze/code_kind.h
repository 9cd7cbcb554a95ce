/* Whose code a Python function is, and what its time is spent on. */
#ifndef ANALYZE_CODE_KIND_H
#define ANALYZE_CODE_KIND_H

#include <stdbool.h>

enum code_kind {
	CODE_USER,      /* the user's own */
	CODE_LIBRARY,   /* an installed package that is no framework: numpy, PIL */
	CODE_STANDARD,  /* the standard library, which works for whoever calls it */
	CODE_FRAMEWORK, /* of deep learning, and what it generates */
	CODE_COMPILES,  /* it, and all that it calls, compiles or traces a model */
	CODE_LOADS,     /* it waits for the workers of a DataLoader */
	CODE_WAITS,     /* for something else to happen: waits.h */
};

enum code_kind code_kind(const char *name, const char *file);

#endif
