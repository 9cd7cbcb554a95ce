/* Questions about what is read of memory, kernel and devices; see probe.h. */
#ifndef CAPTURE_PROBE_SYSTEM_H
#define CAPTURE_PROBE_SYSTEM_H

#include "capture/probe.h"

void probe_system(const struct probe_context *c, struct probe_result *out);
void probe_nvml(const struct probe_context *c, struct probe_result *out);

#endif
