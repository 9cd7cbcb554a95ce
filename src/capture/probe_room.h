/* The questions about room: for the buffer and for the trace file; see probe.h. */
#ifndef CAPTURE_PROBE_ROOM_H
#define CAPTURE_PROBE_ROOM_H

#include "capture/probe.h"

void probe_limits(const struct probe_context *c, struct probe_result *out);
void probe_memory(const struct probe_context *c, struct probe_result *out);
void probe_pressure(const struct probe_context *c, struct probe_result *out);
void probe_trace_file(const struct probe_context *c, struct probe_result *out);

#endif
