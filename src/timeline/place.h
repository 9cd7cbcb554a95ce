/* A place in Python code: a function, or a line that one was at. */
#ifndef TIMELINE_PLACE_H
#define TIMELINE_PLACE_H

#include <stdint.h>

struct place {
	const char *name; /* qualified, of the function; borrowed from the trace; NULL: unknown */
	const char *file; /* "" or NULL where unknown */
	uint32_t line;    /* of a function: where its definition begins; 0: unknown */
};

#endif
