/* Page faults by Python line: the kernel's samples of them, each with the look nearest in time. */
#ifndef ANALYZE_FAULT_LINES_H
#define ANALYZE_FAULT_LINES_H

#include "analyze/analysis.h"
#include "analyze/look_window.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"

struct fault_tally {
	uint32_t stack; /* id; 0: no Python, or it was not looked at */
	uint64_t minor, major;
	int64_t last_ns;
};

struct fault_lines {
	struct fault_tally *items;
	size_t count, cap;
	struct pair_map at; /* (0, stack) */
};

void fault_lines_init(struct fault_lines *f);
void fault_lines_release(struct fault_lines *f);

/* `window`: sorted, of the fault's process and time; NULL: none.  -1: no memory. */
int fault_lines_add(struct fault_lines *f, const struct fault_at *fault,
		    const struct look_window *window);

/* Fills in the lines of a->memory; needs a->gpu, which knows lines of stacks.  -1: no memory. */
int fault_lines_finish(const struct fault_lines *f, struct analysis *a);

#endif
