/* What a kernel's name says about how it multiplies matrices, or that it only moves data. */
#ifndef ANALYZE_KERNEL_MATH_H
#define ANALYZE_KERNEL_MATH_H

enum kernel_math {
	MATH_OTHER,  /* no matrix kernel, or nothing is known: says neither */
	MATH_TENSOR, /* on tensor cores */
	MATH_PLAIN,  /* on the general units: a matrix kernel that says so */
	MATH_NONE,   /* it writes what it reads, elsewhere: concatenates, copies, transposes */
};

/* Of a demangled name.  Names that are not listed are MATH_OTHER. */
enum kernel_math kernel_math(const char *full_name);

#endif
