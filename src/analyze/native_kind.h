/*
 * What native code is at, by its symbol and its library: the kernel's samples say no more.
 *
 * What a framework does for each operator, whatever its size (arguments are taken apart, a kernel
 * is chosen, a result allocated), has names that are known.  All else of a framework's is taken
 * for its kernels: who is not known to be on the way counts as having arrived.
 */
#ifndef ANALYZE_NATIVE_KIND_H
#define ANALYZE_NATIVE_KIND_H

enum native_kind {
	NATIVE_OTHER,
	NATIVE_ARRAYS,   /* numpy's */
	NATIVE_KERNEL,   /* a framework's, at work */
	NATIVE_DISPATCH, /* a framework's, on the way to its kernels and back */
	NATIVE_PYTHON,   /* the interpreter */
	NATIVE_ANYBODYS, /* the C library's and the loader's: who calls it cannot be seen */
	NATIVE_KINDS
};

/* Either may be NULL; the symbol is readable, not mangled. */
enum native_kind native_kind(const char *symbol, const char *library);

#endif
