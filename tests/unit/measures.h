/*
 * Tests that need a quiet machine stand in an array of their own: `make test-long` runs them, with
 * the argument "measures" (CMakeLists.txt), `make test` the others.
 */
#ifndef TESTS_MEASURES_H
#define TESTS_MEASURES_H

#include <stdbool.h>
#include <string.h>

static inline bool is_measuring(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "measures");
}

#endif
