/* The questions about the GPU; see probe.h. */
#ifndef CAPTURE_PROBE_GPU_H
#define CAPTURE_PROBE_GPU_H

#include "capture/probe.h"

void probe_gpu_driver(struct probe_result *out);
void probe_gpu_cupti(struct probe_result *out);
void probe_gpu_injection(struct probe_result *out);

#endif
