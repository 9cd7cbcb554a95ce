/* Where the process with an id stands in a trace. */
#ifndef TIMELINE_PROCESS_POSITION_H
#define TIMELINE_PROCESS_POSITION_H

#include "base/bisect.h"
#include "format/trace.h"

/* trace_process_count() where there is none; the trace keeps them in order of their ids. */
static inline size_t process_position(const struct trace *t, uint32_t id)
{
	size_t at = 0, count = trace_process_count(t);

	BISECT(at, count, trace_process(t, at)->id < id);
	return at < count && trace_process(t, at)->id == id ? at : count;
}

#endif
