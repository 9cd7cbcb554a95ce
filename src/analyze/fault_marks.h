/*
 * Page faults that were seen when they happened, of each process in order of time.  The kernel
 * tells a part of them: how they are spread over threads and moments is known, not how many
 * there were.
 */
#ifndef ANALYZE_FAULT_MARKS_H
#define ANALYZE_FAULT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/sample_walk.h"

enum fault_kind { FAULT_MINOR, FAULT_MAJOR, FAULT_KINDS };

struct fault_mark {
	int64_t time_ns;
	uint32_t process; /* id */
	uint32_t thread;  /* position; trace_thread_count(): one without Python */
	uint32_t count;   /* of faults that it stands for */
	enum fault_kind kind;
};

struct fault_marks {
	struct fault_mark *items; /* by process, then by time, once sorted */
	size_t count, cap;
};

int fault_marks_add(struct fault_marks *m, const struct fault_at *f); /* -1: no memory */
void fault_marks_sort(struct fault_marks *m);
/* Those of a process; *count: how many follow each other. */
const struct fault_mark *fault_marks_of(const struct fault_marks *m, uint32_t process,
					size_t *count);
void fault_marks_release(struct fault_marks *m);

#endif
