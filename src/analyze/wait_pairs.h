/* How long one function waited while another had what it wanted, summed up. */
#ifndef ANALYZE_WAIT_PAIRS_H
#define ANALYZE_WAIT_PAIRS_H

#include "analyze/wait_figures.h"
#include "format/trace.h"
#include "timeline/pair_map.h"

struct wait_pair {
	uint32_t waiter, holder; /* code ids; 0: unknown */
	enum wait_evidence evidence;
	int64_t ns;
};

struct wait_pairs {
	struct wait_pair *items;
	size_t count, cap;
	struct pair_map at;
};

void wait_pairs_init(struct wait_pairs *p);
void wait_pairs_release(struct wait_pairs *p);

/* holder 0: its evidence does not matter.  -1: no memory. */
int wait_pairs_add(struct wait_pairs *p, uint32_t waiter, uint32_t holder,
		   enum wait_evidence evidence, int64_t ns);

/* The functions by name, those of one name together, the longest first.  -1: no memory. */
int wait_pairs_finish(const struct wait_pairs *p, const struct trace *t,
		      struct analysis_waits *out);

#endif
