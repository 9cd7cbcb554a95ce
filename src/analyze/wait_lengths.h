/* How long waits were, without keeping each: by powers of two. */
#ifndef ANALYZE_WAIT_LENGTHS_H
#define ANALYZE_WAIT_LENGTHS_H

#include <stdint.h>

#define WAIT_LENGTHS 64

struct wait_lengths {
	uint64_t count[WAIT_LENGTHS];
	int64_t ns[WAIT_LENGTHS];
};

void wait_lengths_add(struct wait_lengths *w, int64_t ns); /* none of less than 1 ns */

/* What share of all the time the n longest waits took, those of one power taken to be alike. */
double wait_lengths_longest(const struct wait_lengths *w, double n);

#endif
