/* Where the process with an id stands in a trace. */
#ifndef TIMELINE_PROCESS_POSITION_H
#define TIMELINE_PROCESS_POSITION_H

#include "format/trace.h"

/* trace_process_count() where there is none; the trace keeps them in order of their ids. */
static inline size_t process_position(const struct trace *t, uint32_t id)
{
	size_t low = 0, count = trace_process_count(t), high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (trace_process(t, mid)->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && trace_process(t, low)->id == id ? low : count;
}

#endif
