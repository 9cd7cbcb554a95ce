/* Whose code a Python function is, and what its time is spent on. */
#ifndef ANALYZE_CLASSES_CODE_KIND_H
#define ANALYZE_CLASSES_CODE_KIND_H

#include <stdbool.h>

enum code_kind {
	CODE_USER,      /* the user's own */
	CODE_LIBRARY,   /* an installed package: it may hold models, or help with anything */
	CODE_PREPARES,  /* a library, or a part of one, that is there for data: numpy, PIL */
	CODE_STANDARD,  /* the standard library, which works for its caller */
	CODE_FRAMEWORK, /* of deep learning, and what it generates */
	CODE_MODULE,    /* ... where it calls a model or a layer: what lies inside is that one's */
	CODE_COMPILES,  /* it, and all that it calls, compiles or traces a model */
	CODE_BUILDS,    /* ... loads, builds, converts or moves a model */
	CODE_LOADS,     /* it waits for the workers of a DataLoader */
	CODE_IMPORTS,   /* all imports of modules that are not there yet go through it */
	CODE_WAITS,     /* for something else to happen: function_waits() */
	CODE_OWN,       /* InferScope's own start-up: no part of the program */
};

enum code_kind code_kind(const char *name, const char *file);

/* Is this package, by the start of a name that a dot ends, a framework? */
bool framework_package(const char *name);

/* Is it what CODE_MODULE is? */
bool code_calls_module(const char *name, const char *file);

/* ... of a framework whose layers the agent does not record? */
bool code_calls_unrecorded_module(const char *name, const char *file);

/*
 * Functions of the standard library in which a thread waits.  Time in them is not work: otherwise
 * reports would show idle threads as the hottest place of a program.
 */

bool function_waits(const char *name, const char *file);

/*
 * Of these, the one that continues when another thread of the process calls the other function, or
 * at its timeout: Python's queues, events, futures and semaphores all wait in it.
 */
bool function_is_woken(const char *name, const char *file);
bool function_wakes(const char *name, const char *file);

/* Of those above, the ones in which an event loop waits for whatever comes first. */
bool function_loops(const char *name, const char *file);

/* Of those above, the ones that only wait: some others process work when it arrives. */
bool function_only_waits(const char *name, const char *file);

/*
 * What native code is doing, by its symbol and its library: the kernel's samples contain no more.
 *
 * The functions that a framework runs for each operator, whatever its size (parsing arguments,
 * choosing a kernel, allocating a result), have known names.  All other functions of a framework
 * count as its kernels.
 */

enum native_kind {
	NATIVE_OTHER,
	NATIVE_ARRAYS,   /* numpy's */
	NATIVE_KERNEL,   /* a framework's, at work */
	NATIVE_DISPATCH, /* a framework's, on the way to its kernels and back */
	NATIVE_PYTHON,   /* the interpreter */
	NATIVE_THREADS,  /* a threading runtime: it distributes work, and waits by spinning */
	NATIVE_ANYBODYS, /* the C library and the loader: the caller is unknown */
	NATIVE_KINDS
};

/* Either may be NULL; the symbol is readable, not mangled. */
enum native_kind native_kind(const char *symbol, const char *library);

#endif
